// SPDX-License-Identifier: GPL-2.0-or-later
#include "fragmentation.hpp"

#include "block.hpp"

#include <algorithm>
#include <array>

namespace foresight {

namespace {

/// Waiting jobs by the GPUs that they want together, at most a node's.
using Sizes = std::array<int, kMaxGpusPerNode + 1>;

Sizes sizes_of_the_queue(const Snapshot& snapshot, const Plan& plan) {
    Sizes jobs{};
    const auto count = [&](int job, int option) {
        const Job& waiting = snapshot.jobs[static_cast<std::size_t>(job)];
        const Request& request = waiting.options[static_cast<std::size_t>(option)].request;
        if (waiting.app < 0) {
            ++jobs[static_cast<std::size_t>(
                std::min(gpus_together(request, snapshot.block), kMaxGpusPerNode))];
        }
    };
    for (const Placement& place : plan.placements) {
        if (place.start > snapshot.now) {
            count(place.job, place.option);
        }
    }
    for (const Unplaced& unplaced : plan.unplaced) {
        count(unplaced.job, 0);
    }
    return jobs;
}

/// Free GPUs of each node when what starts now runs.
std::vector<GpuMask> free_now(const Snapshot& snapshot, const Plan& plan) {
    std::vector<GpuMask> free;
    free.reserve(snapshot.nodes.size());
    for (const Node& node : snapshot.nodes) {
        free.push_back(node.usable & lowest_gpus(node.gpus));
    }
    const auto take = [&](int node, GpuMask gpus) {
        free[static_cast<std::size_t>(node)] &= ~gpus;
    };
    for (const Running& job : snapshot.running) {
        for (const Share& share : job.shares) {
            take(share.node, job.end > snapshot.now ? share.gpus : 0);
        }
    }
    for (const Placement& place : plan.placements) {
        if (place.start <= snapshot.now) {
            for (const Share& share : place.shares) {
                take(share.node, share.gpus);
            }
        }
    }
    const auto step = static_cast<std::size_t>(snapshot.now / std::max<Seconds>(1, snapshot.step));
    for (const Hold& hold : plan.holds) {
        if (step < hold.steps.size()) {
            for (const auto& [node, gpus] : hold.steps[step]) {
                take(node, gpus);
            }
        }
    }
    return free;
}

} // namespace

int gpus_together(const Request& request, Block rule) noexcept {
    const int gpus = request.gpus();
    if (rule != Block::any || request.nodes_max <= 1) {
        return gpus;
    }
    // Rounded up, without adding to what may be the largest number there is.
    const int more = gpus % request.nodes_max != 0 ? 1 : 0;
    return std::max(request.chunk.gpus, gpus / request.nodes_max + more);
}

double fragmentation(const Snapshot& snapshot, const Plan& plan) {
    const Sizes jobs = sizes_of_the_queue(snapshot, plan);
    const std::vector<GpuMask> free = free_now(snapshot, plan);
    std::int64_t all = 0;
    for (const GpuMask gpus : free) {
        all += count_gpus(gpus);
    }
    std::int64_t waiting = 0;
    double unusable = 0;
    for (std::size_t size = 1; all > 0 && size < jobs.size(); ++size) {
        if (jobs[size] == 0) {
            continue;
        }
        std::int64_t usable = 0;
        for (std::size_t node = 0; node < free.size(); ++node) {
            // What is larger than the node takes it whole, with others.
            const int wanted =
                std::max(1, std::min(static_cast<int>(size), snapshot.nodes[node].gpus));
            usable += count_gpus(in_blocks(free[node], wanted, snapshot.block));
        }
        waiting += jobs[size];
        unusable += jobs[size] * static_cast<double>(all - usable) / static_cast<double>(all);
    }
    return waiting > 0 ? unusable / static_cast<double>(waiting) : 0;
}

} // namespace foresight
