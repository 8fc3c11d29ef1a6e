// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile.hpp"

#include "value.hpp"

#include <algorithm>
#include <tuple>

namespace foresight {

Closures::Closures(const Snapshot& snapshot) {
    of_class_.reserve(snapshot.classes.size());
    for (const NodeClass& node_class : snapshot.classes) {
        std::vector<Closure> sorted = node_class.closures;
        std::sort(sorted.begin(), sorted.end(), [](const Closure& a, const Closure& b) {
            return std::tie(a.node, a.from) < std::tie(b.node, b.from);
        });
        std::vector<Closure> merged;
        for (const Closure& closure : sorted) {
            if (closure.until <= closure.from) {
                continue;
            }
            if (!merged.empty() && merged.back().node == closure.node &&
                closure.from <= merged.back().until) {
                merged.back().until = std::max(merged.back().until, closure.until);
            } else {
                merged.push_back(closure);
            }
        }
        of_class_.push_back(std::move(merged));
    }
}

Seconds Closures::clear_of(int node_class, int node, Seconds from, Seconds until) const noexcept {
    const std::vector<Closure>& list = of_class_[static_cast<std::size_t>(node_class)];
    if (list.empty()) {
        return from;
    }
    auto closure =
        std::lower_bound(list.begin(), list.end(), node,
                         [](const Closure& entry, int wanted) { return entry.node < wanted; });
    for (; closure != list.end() && closure->node == node && closure->from < until; ++closure) {
        if (closure->until > from) {
            return closure->until;
        }
    }
    return from;
}

std::span<const Closure> Closures::of(int node_class, int node) const noexcept {
    const std::vector<Closure>& list = of_class_[static_cast<std::size_t>(node_class)];
    if (list.empty()) {
        return {};
    }
    const auto begin =
        std::lower_bound(list.begin(), list.end(), node,
                         [](const Closure& entry, int wanted) { return entry.node < wanted; });
    const auto end =
        std::find_if(begin, list.end(), [&](const Closure& entry) { return entry.node != node; });
    return {begin, end};
}

Profile::Profile(const Snapshot& snapshot)
    : timeline_(snapshot.nodes), horizon_(snapshot.horizon()) {
    limits_.reserve(snapshot.limits.size());
    for (const Limit& limit : snapshot.limits) {
        limits_.emplace_back(limit.max);
    }
    for (const Node& node : snapshot.nodes) {
        overrun_room_ += node.gpus;
    }
    for (const App& app : snapshot.apps) {
        overrun_room_ -=
            app.demand.empty() ? 0 : *std::max_element(app.demand.begin(), app.demand.end());
    }
    for (const Running& job : snapshot.running) {
        for (const Share& share : job.shares) {
            timeline_.take(share, 0, job.end);
        }
        count(job.limits, 0, job.end, 1);
        // An application's own jobs stand on GPUs that its peak already keeps.
        if (job.end > horizon_ && job.app < 0) {
            overrun_gpus_ += count_gpus(job.shares);
        }
    }
}

Seconds Profile::limits_allow(const Job& job, Seconds from, Seconds duration) const noexcept {
    // Each limit may push the start past what another one allowed: until none does.
    for (bool moved = !job.limits.empty(); moved && from < kNever;) {
        moved = false;
        for (const LimitUse& use : job.limits) {
            const Seconds start =
                limits_[static_cast<std::size_t>(use.limit)].earliest(from, duration, use.amount);
            moved = moved || start > from;
            from = start;
        }
    }
    return from;
}

void Profile::count(const std::vector<LimitUse>& uses, Seconds start, Seconds end, int sign) {
    for (const LimitUse& use : uses) {
        limits_[static_cast<std::size_t>(use.limit)].add(start, end, sign * use.amount);
    }
}

void Profile::take(const Job& job, const std::vector<Share>& shares, Seconds start, Seconds end) {
    for (const Share& share : shares) {
        timeline_.take(share, start, end);
        if (gaps_) {
            gaps_->update(timeline_, share.node);
        }
    }
    count(job.limits, start, end, 1);
    overrun_gpus_ += end > horizon_ && job.app < 0 ? count_gpus(shares) : 0;
}

void Profile::give(const Job& job, const std::vector<Share>& shares, Seconds start, Seconds end) {
    for (const Share& share : shares) {
        timeline_.give(share, start, end);
        if (gaps_) {
            gaps_->update(timeline_, share.node);
        }
    }
    count(job.limits, start, end, -1);
    overrun_gpus_ -= end > horizon_ && job.app < 0 ? count_gpus(shares) : 0;
}

} // namespace foresight
