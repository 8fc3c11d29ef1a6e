// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Simulation: a workload run by a scheduler, event by event.
 *
 * Time goes from event to event: a job is submitted or ends, a step begins.  At the start of each
 * step, and after an event as soon as the interval since the last decision is over, the scheduler
 * says what starts now.  It knows what a resource manager would know then: limits, not lengths; an
 * expectation of demand, not demand.  Nothing is ever interrupted, but for a job at its limit.
 * A service holds for a step what the first decision in it says.
 *
 * No clock, no randomness: the same workload and expectation give the same log.
 * Cost: that of the decisions, and O(jobs + steps) beside them.
 */
#pragma once

#include "planner.hpp"
#include "workload.hpp"

#include <functional>
#include <vector>

namespace foresight {

/// What is expected of services' demand.
class Expectation {
public:
    Expectation() = default;
    Expectation(const Expectation&) = delete;
    Expectation(Expectation&&) = delete;
    Expectation& operator=(const Expectation&) = delete;
    Expectation& operator=(Expectation&&) = delete;
    virtual ~Expectation() = default;

    /// GPUs that the service is to hold in each of `steps` steps from `step` on, where it has
    /// `held` until now.  Called once for each step and service, in order of time.
    [[nodiscard]] virtual std::vector<int> curve(std::size_t service, int step, int steps,
                                                 int held) = 0;
};

struct SimulationLog;

struct SimulationOptions {
    PlanOptions plan;         ///< its `cancel` ends the simulation early
    Seconds interval = 60;    ///< between decisions, but for those at the start of a step
    bool whole_plans = false; ///< also where a dispatcher starts the same jobs (dispatch.hpp), so
                              ///< that every waiting job is announced
    bool remember = true;     ///< announced starts stay, where plans are made (memory.hpp)
    Seconds end = kNever; ///< else over when no job is left that could start, and not before the
                          ///< services are
    /// Called at the start of each step with the time and the log so far; may be empty.
    std::function<void(Seconds, const SimulationLog&)> progress{};
};

/// A job that was started.
struct Run {
    int job = 0; ///< index into Workload::jobs
    Seconds start = 0;
    Seconds end = 0; ///< may lie after the simulation's end
    std::vector<Share> shares;
    Seconds announced = kNever; ///< start that was first announced for it while it waited, if any
};

struct SimulationLog {
    std::vector<Run> runs;                  ///< in order of start
    std::vector<std::vector<GpuSet>> held;  ///< by service and step
    std::vector<std::vector<int>> expected; ///< by service and step: GPUs that it was to hold
    int decisions = 0;
    int events = 0;       ///< submissions, ends and steps
    int most_waiting = 0; ///< jobs
    Seconds end = 0;
    bool complete = true; ///< false: cancelled
};

/// The workload is checked: a step and a horizon of at least one, ids once, jobs in order.
[[nodiscard]] SimulationLog simulate(const Workload& workload, Expectation& expectation,
                                     const SimulationOptions& options);

} // namespace foresight
