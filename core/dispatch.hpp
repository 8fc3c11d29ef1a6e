// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dispatch: what starts now under a policy with a fixed order, without a plan of what starts later.
 *
 * Jobs are looked at in the policy's order; one that fits starts, the first Policy::holds that do
 * not keep their earliest place ahead, anew each time.  What starts is what a plan of the whole
 * queue would start at once (decode.hpp), for a fraction of its cost:
 *
 *     The profile of running jobs and held GPUs is kept from event to event, the queue in order.
 *     For each size of block the end of the longest stretch that is free from now on is known, so
 *     that a job that cannot start is passed over at once; it only ever moves nearer while jobs
 *     take places.  When no later job of the queue fits under it, nothing more can start, and no
 *     place ahead matters any more.
 *
 * Services' holds are planned when a step begins, and stay for the step.
 * Cost of an event: O(nodes × segments + queue), and a look at the profile for each job that starts
 * or holds a place.
 */
#pragma once

#include "policy.hpp"
#include "scheduler.hpp"

namespace foresight {

/// The policy's order is no searched one (Order::value, rank), and jobs do not age; the workload
/// and policy outlive the scheduler.
[[nodiscard]] bool dispatches(const Policy& policy) noexcept;
[[nodiscard]] std::unique_ptr<Scheduler> dispatching_scheduler(const Workload& workload,
                                                               const Policy& policy);

} // namespace foresight
