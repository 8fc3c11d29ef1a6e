// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Strip search: a better order of jobs for a small cluster, within a budget.
 *
 * A solution is an order of jobs and a side for each (policy.hpp).  A trial moves or swaps jobs, or
 * turns a side, and is decoded from the first changed position on, the states before it kept; it
 * is given up as soon as it has lost more than it may, and ends where its state is the current
 * solution's again.  Worse trials are accepted within a threshold that falls with the budget
 * (threshold accepting: Dueck & Scheuer 1990); after many in vain the best solution is shaken
 * (iterated local search: Lourenco, Martin & Stutzle 2003).  Draws come from a fixed seed.
 * A tier, and an administrator's word, stay above all value: no move crosses them.
 * Cost: a trial is O(jobs x segments) of a few instructions, some microseconds.
 */
#pragma once

#include "plan.hpp"
#include "policy.hpp"

#include <atomic>

namespace foresight {

struct StripPlan {
    std::vector<Placement> placements; ///< in the order in which they were decided
    std::vector<Hold> holds;           ///< one for each application
    std::vector<Entry> order;          ///< with sides: decode_strip() makes the same plan of it
    std::uint64_t work = 0;            ///< work units spent (planner.hpp)
};

/// The best plan found; the snapshot must suit a strip.  `holds` say how many GPUs applications
/// are to have in each step; on which, the search may change.  With budget 0 it tries a few orders,
/// one with job `first` at the front of its class unless that is negative.
[[nodiscard]] StripPlan search_strip(const Snapshot& snapshot, const Policy& policy,
                                     const std::vector<Hold>& holds, std::uint64_t budget,
                                     const std::atomic<bool>* cancel, int first = -1);

/// The plan of one order that has every job once.
[[nodiscard]] StripPlan decode_strip(const Snapshot& snapshot, const Policy& policy,
                                     const std::vector<Hold>& holds,
                                     const std::vector<Entry>& order);

} // namespace foresight
