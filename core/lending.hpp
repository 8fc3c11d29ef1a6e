// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lending: which nodes of a reservation its application needs now, and when the others are due
 * back.
 *
 * The nodes of the administrator's reservation stand in a rank: those that run the application's
 * jobs, those that it holds, those that it lent, the first due first.  Node number r is needed in
 * each step in which the curve wants more GPUs than the nodes before it have.  One that is not
 * needed now is lent until the first step that needs it.  Nothing is interrupted: a node with the
 * application's jobs stays, and one that is wanted back sooner than the jobs on it end is missed
 * until then; of those the first to end comes back first.
 *
 * A due time is moved only when demand comes sooner, or when it is less than half the horizon away
 * and could be later: what does not change the loan changes nothing.
 *
 * Cost: O(nodes log nodes + nodes × steps).
 */
#pragma once

#include "model.hpp"

#include <vector>

namespace foresight {

struct LendingNode {
    int gpus = 0;
    bool held = false;      ///< in the reservation now
    bool used = false;      ///< runs jobs of the application
    bool healthy = true;    ///< up, and not drained
    Seconds busy_until = 0; ///< when its other jobs are surely over; 0 or a past time: it has none
    Seconds due = 0;        ///< of a node that is lent: when
};

struct LendingTerms {
    Seconds now = 0;
    Seconds from = 0;                   ///< start of the curve's first step
    Seconds step = 0;                   ///< its length
    Seconds least_loan = 0;             ///< shorter ones are not worth a change
    std::int64_t max_swap = kUnlimited; ///< GPUs that may change hands now
};

struct Lending {
    /// By node: 0 where it is to be held now, else until when it is lent.
    std::vector<Seconds> due;
    int missing = 0; ///< GPUs wanted now that no node is there for
};

/// `curve`: GPUs wanted, by step.  At least one node is held.
[[nodiscard]] Lending lend(const std::vector<LendingNode>& nodes, const std::vector<int>& curve,
                           const LendingTerms& terms);

} // namespace foresight
