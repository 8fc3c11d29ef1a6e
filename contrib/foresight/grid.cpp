/*
 * Grid: see grid.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "grid.hpp"

#include "io/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

namespace foresight::command {

namespace {

constexpr int kMostRows = 128;
constexpr char kIdle = '.';
constexpr char kDemand = '#'; ///< held by an application and wanted
constexpr char kSpare = '-';  ///< held, but above its demand

/// A stretch of time of one GPU.
struct Stretch {
    Seconds start;
    Seconds end;
    char symbol;
    int colour; ///< -1: no colour
};

using Row = std::vector<Stretch>;

/// What each column of the picture stands for.
struct Columns {
    int count = 0;
    double seconds = 0; ///< of one column

    Columns(const Snapshot& snapshot, int room) {
        const int steps = snapshot.steps;
        const int times = std::min(room / std::max(steps, 1), 4);
        count = times >= 1 ? steps * times : std::max(room, 1);
        seconds = static_cast<double>(snapshot.horizon()) / count;
    }
};

std::vector<int> gpus_in(GpuMask mask) {
    std::vector<int> gpus;
    for (; mask != 0; mask &= mask - 1) {
        gpus.push_back(std::countr_zero(mask));
    }
    return gpus;
}

/// A row for each GPU of the nodes.
using GpuRows = std::map<std::pair<int, int>, Row>;

void add_holds(const Snapshot& snapshot, const Plan& plan, GpuRows& rows) {
    for (std::size_t a = 0; a < plan.holds.size() && a < snapshot.apps.size(); ++a) {
        const std::vector<GpuSet>& steps = plan.holds[a].steps;
        for (std::size_t step = 0; step < steps.size(); ++step) {
            int left = snapshot.apps[a].demand[step];
            for (const auto& [node, mask] : steps[step]) {
                for (const int gpu : gpus_in(mask)) {
                    const Seconds start = static_cast<Seconds>(step) * snapshot.step;
                    rows[{node, gpu}].push_back({start, start + snapshot.step,
                                                 left-- > 0 ? kDemand : kSpare, -1});
                }
            }
        }
    }
}

GpuRows rows_of(const Snapshot& snapshot, const Plan& plan, const std::vector<Block>& blocks) {
    GpuRows rows;
    for (const Block& block : blocks) {
        for (const Share& share : *block.shares) {
            for (const int gpu : gpus_in(share.gpus)) {
                rows[{share.node, gpu}].push_back(
                    {block.start, block.end, block.symbol, block.colour});
            }
        }
    }
    add_holds(snapshot, plan, rows);
    return rows;
}

/// What takes most of a column: the symbol of a stretch, or idle.
const Stretch* most_of(const Row& row, double from, double until) {
    const Stretch* best = nullptr;
    double longest = 0;
    double taken = 0;
    for (const Stretch& stretch : row) {
        const double overlap = std::min(until, static_cast<double>(stretch.end)) -
                               std::max(from, static_cast<double>(stretch.start));
        if (overlap > 0) {
            taken += overlap;
            if (overlap > longest) {
                longest = overlap;
                best = &stretch;
            }
        }
    }
    return (until - from) - taken > longest ? nullptr : best;
}

std::string draw_row(const Row& row, const Columns& columns, const Terminal& terminal) {
    std::string text;
    for (int c = 0; c < columns.count; ++c) {
        const Stretch* stretch = most_of(row, c * columns.seconds, (c + 1) * columns.seconds);
        if (stretch == nullptr) {
            text += terminal.dim(std::string(1, kIdle));
        } else if (stretch->colour < 0) {
            text += terminal.bold(std::string(1, stretch->symbol));
        } else {
            text += terminal.painted(std::string(1, stretch->symbol), stretch->colour);
        }
    }
    return text;
}

/// GPUs of a node in use, a digit a column.
std::string draw_node(const GpuRows& rows, int node, int gpus, const Columns& columns) {
    std::string text;
    for (int c = 0; c < columns.count; ++c) {
        int busy = 0;
        for (int gpu = 0; gpu < gpus; ++gpu) {
            const auto row = rows.find({node, gpu});
            busy += row != rows.end() && most_of(row->second, c * columns.seconds,
                                                 (c + 1) * columns.seconds) != nullptr;
        }
        text += busy == 0 ? kIdle : busy > 9 ? '*' : static_cast<char>('0' + busy);
    }
    return text;
}

/// Marks of time under the picture.
std::string draw_axis(const Columns& columns, std::size_t indent) {
    std::string line(indent, ' ');
    constexpr int apart = 12;
    for (int c = 0; c < columns.count; c += apart) {
        const std::string mark = io::format_duration(std::llround(c * columns.seconds));
        const std::size_t at = indent + static_cast<std::size_t>(c);
        if (line.size() <= at && c + static_cast<int>(mark.size()) <= columns.count) {
            line.append(at - line.size(), ' ');
            line += mark + " ";
        }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

std::size_t widest_name(const Snapshot& snapshot) {
    constexpr std::size_t most = 16;
    std::size_t width = 0;
    for (const Node& node : snapshot.nodes) {
        width = std::max(width, static_cast<std::size_t>(columns_of(io::printable(node.name))));
    }
    return std::min(width, most);
}

std::string padded(const std::string& text, std::size_t width) {
    const std::string fit = clipped(text, static_cast<int>(width));
    return fit + std::string(width - static_cast<std::size_t>(columns_of(fit)), ' ');
}

} // namespace

std::vector<Block> blocks_of(const Snapshot& snapshot, const Plan& plan) {
    std::vector<Block> blocks;
    for (const Running& running : snapshot.running) {
        blocks.push_back({'?', 0, running.id, running.kind, running.priority, 0, running.end, true,
                          &running.shares});
    }
    for (const Placement& placed : plan.placements) {
        const Job& job = snapshot.jobs[static_cast<std::size_t>(placed.job)];
        blocks.push_back({'?', 0, job.id, job.kind, job.priority, placed.start, placed.end, false,
                          &placed.shares});
    }
    std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
        const int left = a.shares->empty() ? 0 : a.shares->front().node;
        const int right = b.shares->empty() ? 0 : b.shares->front().node;
        return std::tuple(a.start, left) < std::tuple(b.start, right);
    });
    constexpr std::string_view symbols =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        blocks[i].symbol = symbols[i % symbols.size()];
        blocks[i].colour = static_cast<int>(i % 12);
    }
    return blocks;
}

std::string draw_grid(const Snapshot& snapshot, const Plan& plan,
                      const std::vector<Block>& blocks, const Terminal& terminal) {
    int gpus = 0;
    for (const Node& node : snapshot.nodes) {
        gpus += node.gpus;
    }
    const bool by_gpu = gpus <= kMostRows;
    const std::size_t name = widest_name(snapshot);
    const std::size_t indent = name + (by_gpu ? 4 : 1);
    const Columns columns(snapshot, terminal.width - static_cast<int>(indent));
    const GpuRows rows = rows_of(snapshot, plan, blocks);
    static const Row none;
    std::string text;
    int drawn = 0;
    for (std::size_t n = 0; n < snapshot.nodes.size() && drawn < kMostRows; ++n) {
        const Node& node = snapshot.nodes[n];
        const int index = static_cast<int>(n);
        if (!by_gpu) {
            text += padded(io::printable(node.name), name) + " " +
                    draw_node(rows, index, node.gpus, columns) + "\n";
            ++drawn;
            continue;
        }
        for (int gpu = 0; gpu < node.gpus; ++gpu, ++drawn) {
            const auto row = rows.find({index, gpu});
            const std::string number = std::to_string(gpu);
            text += padded(gpu == 0 ? io::printable(node.name) : "", name) +
                    std::string(3 - number.size(), ' ') + number + " " +
                    draw_row(row == rows.end() ? none : row->second, columns, terminal) + "\n";
        }
    }
    if (!by_gpu && static_cast<int>(snapshot.nodes.size()) > drawn) {
        text += "... " + std::to_string(snapshot.nodes.size() - static_cast<std::size_t>(drawn)) +
                " more nodes\n";
    }
    return text + draw_axis(columns, indent) + "\n";
}

std::string place_text(const Snapshot& snapshot, const std::vector<Share>& shares) {
    std::string text;
    for (const Share& share : shares) {
        text += (text.empty() ? "" : "+") +
                io::printable(snapshot.nodes[static_cast<std::size_t>(share.node)].name) + ":";
        const std::vector<int> gpus = gpus_in(share.gpus);
        for (std::size_t i = 0; i < gpus.size();) {
            std::size_t last = i;
            while (last + 1 < gpus.size() && gpus[last + 1] == gpus[last] + 1) {
                ++last;
            }
            text += (i == 0 ? "" : ",") + std::to_string(gpus[i]) +
                    (last > i ? "-" + std::to_string(gpus[last]) : "");
            i = last + 1;
        }
    }
    return text;
}

} // namespace foresight::command
