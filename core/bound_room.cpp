// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The room that the bound's lesser prices share (bound.hpp): how many GPUs may be held past the
 * horizon, what a second wide job costs, which cuts for neighbours there are, how many of their
 * blocks fit in each step.  Cost: O(nodes × (log nodes + cuts)), once.
 */
#include "bound.hpp"

#include "value.hpp"

#include <algorithm>
#include <limits>

namespace foresight {

namespace {

/// Most cuts for neighbours.
constexpr std::size_t kMostCuts = 6;

} // namespace

/// Jobs that end past the horizon may together hold what the applications' peaks leave.
void Bound::set_overruns() {
    double room = 0;
    for (const Node& node : snapshot_.nodes) {
        room += node.gpus;
    }
    for (const App& app : snapshot_.apps) {
        room -= app.demand.empty() ? 0 : *std::max_element(app.demand.begin(), app.demand.end());
    }
    for (const Running& job : snapshot_.running) {
        if (job.end > snapshot_.horizon() && job.app < 0) {
            room -= count_gpus(job.shares);
        }
    }
    room_.back() = std::max(0.0, room);
}

/// How many GPUs must be missing for a second wide job beside the first: with jobs of at least g
/// GPUs, c/2 < g <= c, that is 2g - c, and then n of them that hold s, b of them (of more than c)
/// e too many, obey n + e/q <= 1 + missing/q with q = 2g - c, as s <= c + missing.  Where all wide
/// jobs have more than c the same holds with q = c.
void Bound::price_widths() {
    if (left_.empty()) {
        return;
    }
    constexpr double kNone = std::numeric_limits<double>::infinity();
    const auto steps = static_cast<std::size_t>(steps_);
    second_.assign(steps, 1.0);
    for (std::size_t step = 0; step < steps; ++step) {
        double narrowest = kNone;
        for (const Choice& choice : choices_) {
            if (2 * choice.least > left_[step]) {
                narrowest = std::min(narrowest, choice.least);
            }
        }
        if (left_[step] >= 1 && narrowest < kNone) {
            second_[step] =
                std::max(1.0, narrowest <= left_[step] ? 2 * narrowest - left_[step] : left_[step]);
        }
        highest_[steps + step] = penalty_[step] * second_[step] / scale(step);
    }
}

/// Whole nodes, each beside the next, that a request holds wherever it lies: it fills the nodes of
/// a stretch from GPU 0 of the first, the last in part, and none is larger than the class's
/// largest.
int Bound::whole_neighbours(const Option& option) const noexcept {
    const Request& request = option.request;
    const int line = sizes_[static_cast<std::size_t>(option.node_class)].line;
    if (snapshot_.block == Block::any || line <= 0 || request.gpus() <= line ||
        request.chunk.gpus != 1 || request.chunks_per_node_max < line || request.whole_nodes) {
        return 0;
    }
    return request.gpus() / line;
}

/// A cut for each count of nodes that jobs hold, those that most GPU time is asked for.
void Bound::set_cuts() {
    std::vector<std::pair<double, int>> wanted;
    for (const Choice& choice : choices_) {
        if (choice.nodes > 0) {
            const auto known = std::find_if(wanted.begin(), wanted.end(), [&](const auto& entry) {
                return entry.second == choice.nodes;
            });
            auto& entry = known == wanted.end() ? wanted.emplace_back(0.0, choice.nodes) : *known;
            entry.first -= choice.gpus * static_cast<double>(choice.length);
        }
    }
    if (wanted.empty()) {
        return;
    }
    std::sort(wanted.begin(), wanted.end());
    wanted.resize(std::min(wanted.size(), kMostCuts));
    int line = 0;
    for (const ClassSize& size : sizes_) {
        line = std::max(line, size.line);
    }
    for (const auto& [time, nodes] : wanted) {
        cuts_.push_back({nodes, static_cast<double>(nodes) * line});
    }
    std::sort(cuts_.begin(), cuts_.end(),
              [](const Cut& a, const Cut& b) { return a.nodes < b.nodes; });
    const auto more = cuts_.size() * static_cast<std::size_t>(steps_);
    room_.insert(room_.end() - 1, more, 0.0);
    highest_.insert(highest_.end() - 1, more, highest_.front());
    cut_use_.assign(cuts_.size() * use_.size(), 0.0);
    set_cut_room(whole_from());
}

/// When each node is free as a whole, and its place among the nodes with GPUs, the first first.
/// Nodes without GPUs do not part their neighbours.
std::vector<std::pair<Seconds, int>> Bound::whole_from() const {
    std::vector<Seconds> free_from(snapshot_.nodes.size(), snapshot_.now);
    for (const Running& job : snapshot_.running) {
        for (const Share& share : job.shares) {
            const auto index = static_cast<std::size_t>(share.node);
            if ((share.gpus & lowest_gpus(snapshot_.nodes[index].gpus)) != 0) {
                Seconds& from = free_from[index];
                from = std::max(from, job.end);
            }
        }
    }
    std::vector<std::pair<Seconds, int>> freed;
    int place = 0;
    for (std::size_t i = 0; i < free_from.size(); ++i) {
        const Node& node = snapshot_.nodes[i];
        if (node.gpus > 0) {
            const GpuMask all = lowest_gpus(node.gpus);
            if ((node.usable & all) == all && free_from[i] < horizon_) {
                freed.emplace_back(free_from[i], place);
            }
            ++place;
        }
    }
    std::sort(freed.begin(), freed.end());
    return freed;
}

/// Nodes join runs as they get free: from then on there are more blocks.
void Bound::set_cut_room(const std::vector<std::pair<Seconds, int>>& freed) {
    // By place, of a run's first and last node: the run's length.
    std::vector<int> run(snapshot_.nodes.size() + 2, 0);
    std::vector<double> change(cut_use_.size(), 0.0);
    for (const auto& [from, place] : freed) {
        const auto at = static_cast<std::size_t>(place) + 1;
        const int before = run[at - 1];
        const int after = run[at + 1];
        const int joined = before + 1 + after;
        run[at] = joined;
        run[at - static_cast<std::size_t>(before)] = joined;
        run[at + static_cast<std::size_t>(after)] = joined;
        const auto step = static_cast<std::size_t>(from / length_);
        const double part = static_cast<double>(from % length_) / static_cast<double>(length_);
        for (std::size_t k = 0; k < cuts_.size(); ++k) {
            const int nodes = cuts_[k].nodes;
            const double more = cuts_[k].scale * (joined / nodes - before / nodes - after / nodes);
            change[k * use_.size() + step] += more * (1 - part);
            change[k * use_.size() + step + 1] += more * part;
        }
    }
    for (std::size_t k = 0; k < cuts_.size(); ++k) {
        double room = 0;
        for (std::size_t step = 0; step < static_cast<std::size_t>(steps_); ++step) {
            room += change[k * use_.size() + step];
            room_[row(k) + step] = room;
        }
    }
}

/// What jobs take of the cuts' room.
void Bound::take_cut_use() {
    for (std::size_t k = 0; k < cuts_.size(); ++k) {
        double used = 0;
        for (std::size_t step = 0; step < static_cast<std::size_t>(steps_); ++step) {
            used += cut_use_[k * use_.size() + step];
            slack_[row(k) + step] -= used;
        }
    }
}

} // namespace foresight
