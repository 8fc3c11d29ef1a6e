// SPDX-License-Identifier: GPL-2.0-or-later
#include "realtime.hpp"

#include "value.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

namespace foresight {

std::vector<int> hold_curve(const App& app, Realtime mode) {
    std::vector<std::int64_t> curve(app.demand.begin(), app.demand.end());
    if (mode == Realtime::static_peak && !curve.empty()) {
        const std::int64_t peak = *std::max_element(curve.begin(), curve.end());
        std::fill(curve.begin(), curve.end(), peak);
    }
    if (app.max_swap < kUnlimited) {
        const std::int64_t swap = app.max_swap;
        for (std::size_t i = curve.size(); i-- > 1;) {
            curve[i - 1] = std::max(curve[i - 1], curve[i] - swap); // grow early
        }
        for (std::size_t i = 1; i < curve.size(); ++i) {
            curve[i] = std::max(curve[i], curve[i - 1] - swap); // hold longer
        }
        if (app.held) {
            std::int64_t least = count_gpus(*app.held);
            std::int64_t most = least;
            for (std::int64_t& held : curve) {
                least = std::max<std::int64_t>(0, least - swap);
                most += swap;
                held = std::clamp(held, least, most); // miss least
            }
        }
    }
    return {curve.begin(), curve.end()};
}

namespace {

/// Plans the holds of one application, step by step.
class Holder {
public:
    Holder(const Snapshot& snapshot, int index, const std::vector<Placement>& own,
           const Profile& profile)
        : snapshot_(snapshot), app_(snapshot.apps[static_cast<std::size_t>(index)]), index_(index),
          own_(own), timeline_(profile.timeline()), closures_(snapshot),
          node_class_(app_.node_class), now_(snapshot.nodes.size(), 0),
          mine_(snapshot.nodes.size(), 0) {
        if (node_class_ >= 0) {
            nodes_ = snapshot.classes[static_cast<std::size_t>(node_class_)].nodes;
        } else {
            nodes_.resize(snapshot.nodes.size());
            std::iota(nodes_.begin(), nodes_.end(), 0);
        }
        if (app_.held) {
            for (const auto& [node, gpus] : *app_.held) {
                now_[static_cast<std::size_t>(node)] = gpus;
            }
        }
    }

    Hold plan(const std::vector<int>& curve) {
        curve_ = &curve;
        Hold hold;
        hold.steps.reserve(curve.size());
        for (step_ = 0; step_ < static_cast<int>(curve.size()); ++step_) {
            advance();
            GpuSet set;
            GpuSet kept;
            for (const int node : nodes_) {
                const GpuMask gpus = now_[static_cast<std::size_t>(node)];
                if (gpus != 0) {
                    set.emplace_back(node, gpus);
                }
                if (const GpuMask rest = gpus & ~mine_[static_cast<std::size_t>(node)]; rest != 0) {
                    kept.emplace_back(node, rest);
                }
            }
            hold.steps.push_back(std::move(set));
            kept_.steps.push_back(std::move(kept));
        }
        return hold;
    }

    /// What is held beside the GPUs that the application's own jobs have taken.
    [[nodiscard]] const Hold& kept() const noexcept { return kept_; }

private:
    [[nodiscard]] Seconds begin_of(int step) const {
        return std::max(snapshot_.now, step * snapshot_.step);
    }
    [[nodiscard]] Seconds end_of(int step) const { return (step + 1) * snapshot_.step; }

    /// GPUs of the node that may be held from this step to the end of step `last`: as many as
    /// their CPUs and memory allow, the application's own among them.
    [[nodiscard]] GpuMask available(int node, int last) const {
        const Seconds from = begin_of(step_);
        const Seconds until = end_of(last);
        if (until <= from) {
            return 0;
        }
        const GpuMask own = mine_[static_cast<std::size_t>(node)];
        if (node_class_ >= 0 && closures_.clear_of(node_class_, node, from, until) > from) {
            return own;
        }
        const Window free = timeline_.window(node, from, until);
        std::int64_t room = std::popcount(free.gpus);
        room = app_.per_gpu.cpus > 0
                   ? std::min(room, std::max<std::int64_t>(0, free.cpus) / app_.per_gpu.cpus)
                   : room;
        room = app_.per_gpu.memory_mib > 0
                   ? std::min(room,
                              std::max<std::int64_t>(0, free.memory_mib) / app_.per_gpu.memory_mib)
                   : room;
        // Held ones first, then from the high end.
        GpuMask chosen = own;
        for (GpuMask pool : {free.gpus & now_[static_cast<std::size_t>(node)],
                             free.gpus & ~now_[static_cast<std::size_t>(node)]}) {
            for (; pool != 0 && room > 0; --room) {
                const GpuMask top = GpuMask{1} << (std::bit_width(pool) - 1);
                chosen |= top;
                pool ^= top;
            }
        }
        return chosen;
    }

    /// GPUs that the application's own jobs hold when the step begins.
    void find_own() {
        std::fill(mine_.begin(), mine_.end(), GpuMask{0});
        const Seconds from = begin_of(step_);
        for (const Running& job : snapshot_.running) {
            if (job.app == index_ && job.end > from) {
                add(job.shares);
            }
        }
        for (const Placement& place : own_) {
            if (snapshot_.jobs[static_cast<std::size_t>(place.job)].app == index_ &&
                place.start <= from && place.end > from) {
                add(place.shares);
            }
        }
    }

    void add(const std::vector<Share>& shares) {
        for (const Share& share : shares) {
            mine_[static_cast<std::size_t>(share.node)] |= share.gpus;
        }
    }

    [[nodiscard]] int held() const {
        int count = 0;
        for (const GpuMask gpus : now_) {
            count += std::popcount(gpus);
        }
        return count;
    }

    /// From the set before this step to the set in it.
    void advance() {
        find_own();
        const std::vector<GpuMask> before = now_;
        const bool bounded = step_ > 0 || app_.held.has_value();
        for (const int node : nodes_) {
            GpuMask& gpus = now_[static_cast<std::size_t>(node)];
            if (gpus != 0 || mine_[static_cast<std::size_t>(node)] != 0) {
                gpus = (gpus & available(node, step_)) | mine_[static_cast<std::size_t>(node)];
            }
        }
        const int wanted = (*curve_)[static_cast<std::size_t>(step_)];
        int count = held();
        for (auto node = nodes_.begin(); node != nodes_.end() && count > wanted; ++node) {
            count -= drop(*node, count - wanted);
        }
        std::int64_t budget = bounded ? app_.max_swap : kUnlimited;
        for (std::size_t node = 0; bounded && node < now_.size(); ++node) {
            budget -= std::popcount(before[node] ^ now_[node]);
        }
        while (count < wanted && budget > 0 && grow_one(count)) {
            ++count;
            --budget;
        }
    }

    /// Gives up to `most` GPUs of the node back, the lowest first, never its own jobs'.
    int drop(int node, int most) {
        GpuMask& gpus = now_[static_cast<std::size_t>(node)];
        GpuMask spare = gpus & ~mine_[static_cast<std::size_t>(node)];
        int dropped = 0;
        for (; spare != 0 && dropped < most; ++dropped) {
            const GpuMask bit = spare & (~spare + 1);
            gpus ^= bit;
            spare ^= bit;
        }
        return dropped;
    }

    /// Takes one GPU more, for rank `rank`: one that is free for as long as the rank is needed,
    /// else one that is free in this step.
    bool grow_one(int rank) {
        int last = step_;
        while (last + 1 < static_cast<int>(curve_->size()) &&
               (*curve_)[static_cast<std::size_t>(last + 1)] > rank) {
            ++last;
        }
        return take_highest(last) || (last > step_ && take_highest(step_));
    }

    bool take_highest(int last) {
        for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
            GpuMask& gpus = now_[static_cast<std::size_t>(*node)];
            if (const GpuMask more = available(*node, last) & ~gpus; more != 0) {
                gpus |= GpuMask{1} << (std::bit_width(more) - 1);
                return true;
            }
        }
        return false;
    }

    const Snapshot& snapshot_;
    const App& app_;
    int index_;
    const std::vector<Placement>& own_;
    const Timeline& timeline_;
    Closures closures_;
    int node_class_;
    std::vector<int> nodes_;
    std::vector<GpuMask> now_;  ///< by node: held in the step
    std::vector<GpuMask> mine_; ///< by node: GPUs of the application's own jobs in the step
    const std::vector<int>* curve_ = nullptr;
    int step_ = 0;
    Hold kept_;
};

/// Takes a hold from the profile, each stretch of steps with the same GPUs of a node at once.
void take_hold(const Snapshot& snapshot, const App& app, const Hold& hold, Timeline& timeline) {
    struct Stretch {
        GpuMask gpus = 0;
        int since = 0;
    };
    std::map<int, Stretch> open;
    const auto close = [&](int node, const Stretch& stretch, int step) {
        const Seconds from = std::max(snapshot.now, stretch.since * snapshot.step);
        const Seconds until = step * snapshot.step;
        const int count = std::popcount(stretch.gpus);
        timeline.take(
            {node, stretch.gpus, count * app.per_gpu.cpus, count * app.per_gpu.memory_mib}, from,
            until);
    };
    for (int step = 0; step <= static_cast<int>(hold.steps.size()); ++step) {
        std::map<int, GpuMask> now;
        if (step < static_cast<int>(hold.steps.size())) {
            now.insert(hold.steps[static_cast<std::size_t>(step)].begin(),
                       hold.steps[static_cast<std::size_t>(step)].end());
        }
        for (auto entry = open.begin(); entry != open.end();) {
            const auto same = now.find(entry->first);
            if (same != now.end() && same->second == entry->second.gpus) {
                now.erase(same);
                ++entry;
            } else {
                close(entry->first, entry->second, step);
                entry = open.erase(entry);
            }
        }
        for (const auto& [node, gpus] : now) {
            open[node] = {gpus, step};
        }
    }
}

} // namespace

std::vector<Hold> plan_holds(const Snapshot& snapshot, Realtime mode,
                             const std::vector<Placement>& own, Profile& profile) {
    std::vector<int> order(snapshot.apps.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return snapshot.apps[static_cast<std::size_t>(a)].priority >
               snapshot.apps[static_cast<std::size_t>(b)].priority;
    });
    std::vector<Hold> holds(snapshot.apps.size());
    for (const int index : order) {
        const App& app = snapshot.apps[static_cast<std::size_t>(index)];
        Hold& hold = holds[static_cast<std::size_t>(index)];
        Holder holder(snapshot, index, own, profile);
        hold = holder.plan(hold_curve(app, mode));
        take_hold(snapshot, app, holder.kept(), profile.timeline());
    }
    return holds;
}

} // namespace foresight
