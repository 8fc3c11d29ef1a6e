// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prices: orders of a long queue from the bound's prices, and the bound itself.
 *
 * A job's start in the relaxation is where it would be in a plan that is nearly best; decoded in
 * the order of those starts a queue yields much more than in the order of priorities (Möhring,
 * Schulz, Stork & Uetz 2003).  The relaxation knows no shapes: under a block
 * rule wide jobs come forward by a share of the horizon for each doubling, or they find no
 * neighbours left.  Short jobs come forward too: what a plan is worth hardly depends on which of
 * two jobs of a priority goes first, and the mean wait does (shortest processing time first: Smith
 * 1956).  On generated queues of 1,000 and 10,000 jobs a thirty-second of the horizon for each
 * halving costs half a percent of the value, and takes a fifth off the mean wait and two thirds
 * off the mean bounded slowdown.
 *
 * Shapes count once before: no job starts sooner than it would beside what runs alone.  That is a
 * look at one place for each job, and a block over nodes among scattered running jobs often has
 * none for days.
 *
 * Cost: what the bound's rounds cost, and O(jobs log jobs).
 */
#pragma once

#include "bound.hpp"
#include "policy.hpp"

#include <optional>

namespace foresight {

/// How far jobs come forward in the order, as shares of the horizon.
struct Forward {
    double wide = 0;  ///< for each doubling of GPUs
    double brief = 0; ///< for each halving of the length below the horizon
};

class Prices {
public:
    Prices(const Snapshot& snapshot, const Policy& policy) : snapshot_(snapshot), policy_(policy) {}

    /// The queue by starts at prices that are lowered by so many rounds first, towards a plan that
    /// reaches `reached` (or a guess).
    [[nodiscard]] std::vector<Entry> order(const std::vector<Entry>& queue, int rounds,
                                           double reached, const Forward& forward);

    /// What a plan of this queue may reach: jobs poured into the GPUs that are left, in order.
    [[nodiscard]] double guess(const std::vector<Entry>& queue) const;

    /// A bound of the snapshot's plans, without rounds: the same whatever order() did before.
    [[nodiscard]] Bound bound();

    /// Work units spent (planner.hpp).
    [[nodiscard]] std::uint64_t work() const noexcept { return ordering_ ? ordering_->work() : 0; }

private:
    /// The bound that orders: jobs weigh what the policy says they do.
    [[nodiscard]] Bound& ordering();
    void look_at_starts();

    const Snapshot& snapshot_;
    const Policy& policy_;
    bool looked_ = false;
    std::optional<Snapshot> later_; ///< if a job starts later beside what runs
    std::optional<Snapshot> aged_;  ///< if a wait makes a job weigh more
    std::optional<Bound> ordering_;
};

} // namespace foresight
