// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The plan: what a planner decided about a snapshot, as a value.
 */
#pragma once

#include "model.hpp"
#include "reason.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foresight {

/// A job's place: one task of it from start to end on fixed shares.
struct Placement {
    int job = 0;    ///< index into Snapshot::jobs
    int task = 0;   ///< 0 … tasks-1, in order of start
    int option = 0; ///< index into Job::options
    Seconds start = 0;
    Seconds end = 0;
    std::vector<Share> shares; ///< nodes ascending
};

/// A job (or the rest of its tasks) without a place, and all that keeps it from one.
struct Unplaced {
    int job = 0;
    std::vector<Reason> reasons; ///< the heaviest first; never empty
};

/// What one application holds: an entry a step.
struct Hold {
    std::vector<GpuSet> steps;
};

struct Metrics {
    double utilisation = 0;
    double value = 0;
    double objective = 0;
    double shortfall_gpu_steps = 0;
    double swaps = 0;
    int jobs_placed = 0;
    int jobs_completed = 0;
    double wait_mean_s = 0; ///< from submission to start, of the batch jobs that get a place
    double wait_max_s = 0;
    /// (Wait + length) ÷ length, lengths under ten seconds count as ten (Feitelson 1997).
    double bounded_slowdown_mean = 0;
    double bounded_slowdown_max = 0;
    double fragmentation = 0; ///< fragmentation.hpp
};

struct Plan {
    std::string policy;
    std::vector<Placement> placements; ///< in the order in which they were decided
    /// Why placements[i] is not earlier; empty for one that starts at once.  Same length.
    std::vector<std::vector<Reason>> waits;
    std::vector<Unplaced> unplaced;
    std::vector<Hold> holds; ///< one for each Snapshot::apps
    Metrics metrics;
    /// No plan of the snapshot has a larger objective (bound.hpp); none for a cancelled plan.
    std::optional<double> bound;
    std::uint64_t work = 0;   ///< work units spent; the budget's unit (planner.hpp)
    std::uint64_t budget = 0; ///< work units granted to the search
    bool complete = true;   ///< false: cancelled or out of budget before every job was looked at
};

} // namespace foresight
