// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profile: everything that is spoken for, over time: nodes, limits, room beyond the horizon.
 *
 * "Profile" is the backfilling literature's word for the free resources seen from now on
 * (Mu'alem & Feitelson, TPDS 2001).
 */
#pragma once

#include "gaps.hpp"
#include "timeline.hpp"
#include "usage.hpp"

#include <optional>
#include <span>

namespace foresight {

/// A snapshot's node classes with their closures sorted, for quick looks.
class Closures {
public:
    explicit Closures(const Snapshot& snapshot);

    /// The end of the closures that keep a job of the class off the node if it ran in
    /// [from, until), so that it may be tried again there; `from` when nothing does.
    [[nodiscard]] Seconds clear_of(int node_class, int node, Seconds from,
                                   Seconds until) const noexcept;

    /// The node's closures for the class, by time, disjoint.
    [[nodiscard]] std::span<const Closure> of(int node_class, int node) const noexcept;

private:
    std::vector<std::vector<Closure>> of_class_; ///< by (node, from), disjoint
};

class Profile {
public:
    /// The snapshot's running jobs taken; nothing else.
    explicit Profile(const Snapshot& snapshot);

    [[nodiscard]] const Timeline& timeline() const noexcept { return timeline_; }
    [[nodiscard]] Timeline& timeline() noexcept { return timeline_; }

    /// Keeps an index of gaps for blocks of these sizes from now on; changes made through
    /// timeline() after this call would not reach it.
    void index_gaps(const std::vector<int>& sizes, Block rule) {
        gaps_.emplace(sizes, rule, timeline_);
    }
    /// The index, or null.
    [[nodiscard]] const Gaps* gaps() const noexcept { return gaps_ ? &*gaps_ : nullptr; }

    /// The first time ≥ from at which every limit has room for the job, for `duration`.
    [[nodiscard]] Seconds limits_allow(const Job& job, Seconds from,
                                       Seconds duration) const noexcept;

    /// Whether `gpus` more may be held past the horizon's end (Fit::may_overrun).
    [[nodiscard]] bool may_overrun(int gpus) const noexcept {
        return overrun_gpus_ + gpus <= overrun_room_;
    }

    void take(const Job& job, const std::vector<Share>& shares, Seconds start, Seconds end);
    /// Of take() what it does to the limits.
    void take_limits(const Job& job, Seconds start, Seconds end) {
        count(job.limits, start, end, 1);
    }
    void give(const Job& job, const std::vector<Share>& shares, Seconds start, Seconds end);

private:
    void count(const std::vector<LimitUse>& uses, Seconds start, Seconds end, int sign);

    Timeline timeline_;
    std::optional<Gaps> gaps_;
    std::vector<Usage> limits_;
    Seconds horizon_;
    int overrun_gpus_ = 0;
    int overrun_room_ = 0;
};

} // namespace foresight
