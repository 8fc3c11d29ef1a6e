// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Value: what a plan is worth, as the published benchmark counts it.
 */
#pragma once

#include "plan.hpp"

namespace foresight {

/// Decay-weighted time, in steps, with O(1) lookups.
class Weights {
public:
    explicit Weights(const Snapshot& snapshot);

    /// Weight of [from, until) clipped to the horizon, in steps.
    [[nodiscard]] double between(Seconds from, Seconds until) const noexcept {
        return until <= from ? 0.0 : up_to(until) - up_to(from);
    }
    [[nodiscard]] double of_step(int step) const noexcept;

private:
    [[nodiscard]] double up_to(Seconds time) const noexcept;

    Seconds step_;
    int steps_;
    double slope_; ///< fall of the weight from one step to the next
};

/// The reward of a job that holds `gpus` GPUs from `start` to `end`.
[[nodiscard]] inline double reward(const Weights& weights, double priority, int gpus, Seconds start,
                                   Seconds end) noexcept {
    return priority * gpus * weights.between(start, end);
}

/// GPUs of a set of shares.
[[nodiscard]] int count_gpus(const std::vector<Share>& shares) noexcept;
[[nodiscard]] int count_gpus(const GpuSet& set) noexcept;

/// GPUs that are in one set and not in the other.
[[nodiscard]] int count_changes(const GpuSet& before, const GpuSet& after) noexcept;

/// All metrics of a plan: running jobs, placements and holds.
[[nodiscard]] Metrics measure(const Snapshot& snapshot, const Plan& plan);

} // namespace foresight
