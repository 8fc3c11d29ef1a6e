// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * On line: a small cluster that lives by plans.  Jobs arrive, what a plan starts now runs, jobs
 * end, mostly before their limits; at each event the queue is planned again, with memory.  Every
 * plan is validated, and no GPU ever has two jobs.
 */
#pragma once

#include "instance.hpp"
#include "planner.hpp"

#include <map>

namespace foresight::test {

class Online {
public:
    /// A job and when it really ends after its start (s).
    struct Arrival {
        Job job; ///< `submit` is absolute
        Seconds runs = 0;
    };

    /// `cluster` has nodes, classes, steps and rules; its jobs and running jobs are ignored.
    Online(Snapshot cluster, PlanOptions options)
        : cluster_(std::move(cluster)), options_(options) {}

    void submit(Arrival arrival) { arrivals_.push_back(std::move(arrival)); }

    /// Plans at every event up to `until`.
    void run_until(Seconds until);

    [[nodiscard]] Seconds now() const noexcept { return now_; }
    /// When a job started, or -1.
    [[nodiscard]] Seconds started(const std::string& id) const;
    /// The last announced start of a waiting job, or -1.
    [[nodiscard]] Seconds announced(const std::string& id) const;
    /// How many times an announced start moved back by more than a minute.
    [[nodiscard]] int moved_back() const noexcept { return moved_back_; }
    [[nodiscard]] int plans() const noexcept { return plans_; }

private:
    struct Active {
        Job job;
        Seconds start = 0;
        Seconds limit = 0; ///< end by its limit
        Seconds end = 0;   ///< really
        std::vector<Share> shares;
    };

    [[nodiscard]] Snapshot look() const;
    void plan();
    [[nodiscard]] Seconds next_event() const;

    Snapshot cluster_;
    PlanOptions options_;
    Memory memory_;
    std::vector<Arrival> arrivals_; ///< not started yet
    std::vector<Active> active_;
    std::map<std::string, Seconds> started_;
    std::map<std::string, Seconds> announced_;
    Seconds now_ = 0;
    Seconds origin_ = 0;
    int moved_back_ = 0;
    int plans_ = 0;
};

} // namespace foresight::test
