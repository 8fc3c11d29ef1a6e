// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prices: orders of a long queue from the bound's prices, and the bound itself.
 *
 * A job's start in the relaxation is where it would be in a plan that is nearly best; decoded in
 * the order of those starts a queue yields much more than in the order of priorities (Möhring,
 * Schulz, Stork & Uetz 2003).  The relaxation knows no shapes: under a block
 * rule wide jobs come forward by a share of the horizon for each doubling, or they find no
 * neighbours left.
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

class Prices {
public:
    Prices(const Snapshot& snapshot, const Policy& policy) : snapshot_(snapshot), policy_(policy) {}

    /// The queue by starts at prices that are lowered by so many rounds first, towards a plan that
    /// reaches `reached` (or a guess).  A wide job comes forward by `lead` of the horizon for each
    /// doubling of its GPUs.
    [[nodiscard]] std::vector<Entry> order(const std::vector<Entry>& queue, int rounds,
                                           double reached, double lead);

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
