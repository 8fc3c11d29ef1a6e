// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promises: what the last plan announced for the jobs that still wait, and what a plan pays for
 * moving it back.  Cost: O(places log places).
 */
#pragma once

#include "memory.hpp"
#include "value.hpp"

namespace foresight {

/// An announced place of a job that still waits.
struct Promise {
    const Remembered* announced = nullptr;
    int job = 0; ///< index in the present snapshot
    int option = 0;
    Seconds start = 0;  ///< not in the past
    double worth = 0;   ///< reward of the place
    bool pinned = true; ///< false: its job was raised since, and queues like a new one
};

class Promises {
public:
    Promises(const Snapshot& snapshot, const Policy& policy, const Memory& memory);

    /// In the last plan's order.
    [[nodiscard]] const std::vector<Promise>& all() const noexcept { return promises_; }
    [[nodiscard]] double priority(int job) const noexcept {
        return priority_[static_cast<std::size_t>(job)];
    }

    /// What the demand costs that a plan misses.
    [[nodiscard]] double missed(const Draft& draft) const;

    /// Value by aged priority, less unmet demand, less what late starts cost.
    [[nodiscard]] double score(const Draft& draft) const;

    /// For each of `placements` how often its start was moved back, with this plan.
    [[nodiscard]] std::vector<int> delays(const std::vector<Placement>& placements) const;

private:
    void add(const Remembered& announced, int index);
    void forget_started();
    /// Calls with (index of a promise, index of a placement or -1), tasks of a job in order of
    /// their starts.
    template <typename Function>
    void match(const std::vector<Placement>& placements, Function function) const;

    const Snapshot& snapshot_;
    double move_gain_;
    Weights weights_;
    std::vector<double> priority_; ///< by job, aged
    std::vector<Promise> promises_;
    std::vector<std::size_t> by_job_; ///< promises by (job, start)
};

} // namespace foresight
