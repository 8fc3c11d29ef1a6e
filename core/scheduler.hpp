// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scheduler: who decides in a simulation what starts (simulate.hpp).
 *
 * It is told of submissions, ends and steps, and asked at a moment what starts then.  Times are
 * seconds from the workload's start; jobs are indices into Workload::jobs.
 */
#pragma once

#include "workload.hpp"

#include <memory>
#include <utility>

namespace foresight {

struct PlanOptions;

/// A job that starts or is to start, where that is decided.
struct Start {
    int job = 0;
    std::vector<Share> shares;
};

/// What a scheduler says at one moment.
struct Decision {
    /// What each service holds in this step; empty when that was decided before in this step.
    std::vector<GpuSet> held;
    std::vector<Start> starts;                      ///< now
    std::vector<std::pair<int, Seconds>> announced; ///< waiting jobs that have a place later
    bool complete = true;                           ///< false: cancelled
};

class Scheduler {
public:
    Scheduler() = default;
    Scheduler(const Scheduler&) = delete;
    Scheduler(Scheduler&&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;
    Scheduler& operator=(Scheduler&&) = delete;
    virtual ~Scheduler() = default;

    virtual void submit(int job) = 0;
    /// A job that this scheduler started is over, at its limit or before.
    virtual void end(int job, Seconds now) = 0;
    /// A step begins; what each service is to hold in the steps from it on.
    virtual void begin_step(int step, const std::vector<std::vector<int>>& curves) = 0;
    /// Time never goes back.  What is decided here is what happens.
    virtual Decision decide(Seconds now) = 0;
};

/// What a scheduler knows before anything happens: no jobs, no demand, origin at the start.
[[nodiscard]] Snapshot snapshot_of(const Workload& workload);

/// One that makes a plan of the whole queue each time (planner.hpp).  `remember`: announced starts
/// stay (memory.hpp).
[[nodiscard]] std::unique_ptr<Scheduler>
planning_scheduler(const Workload& workload, const PlanOptions& options, bool remember);

} // namespace foresight
