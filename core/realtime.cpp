// SPDX-License-Identifier: GPL-2.0-or-later
#include "realtime.hpp"

#include "tournament.hpp"
#include "value.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

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

/// A GPU that an application with a swap cap holds at the start and may not lose before a step:
/// applications that are planned earlier leave it alone until then.
struct Claim {
    int app = 0;
    int node = 0;
    GpuMask gpu = 0;
    int until = 0; ///< step
};

/// What each application with a cap keeps of its first GPUs while it follows its curve down,
/// giving up from the low end of the line.
std::vector<Claim> claims_of(const Snapshot& snapshot, Realtime mode) {
    std::vector<Claim> claims;
    for (std::size_t a = 0; a < snapshot.apps.size(); ++a) {
        const App& app = snapshot.apps[a];
        if (!app.held || app.max_swap >= kUnlimited) {
            continue;
        }
        const std::vector<int> curve = hold_curve(app, mode);
        int left = count_gpus(*app.held); // the rank, from the high end, of the GPU looked at
        std::size_t step = 0;
        for (const auto& [node, gpus] : *app.held) {
            for (GpuMask rest = gpus; rest != 0; rest &= rest - 1, --left) {
                while (step < curve.size() && curve[step] >= left) {
                    ++step;
                }
                claims.push_back(
                    {static_cast<int>(a), node, rest & (~rest + 1), static_cast<int>(step)});
            }
        }
    }
    return claims;
}

/// Plans the holds of one application, step by step.  Cost: O(steps × nodes), and O(log nodes) for
/// each GPU that it gains: a tournament over the nodes knows until when a further one is free.
class Holder {
public:
    Holder(const Snapshot& snapshot, int index, const std::vector<Placement>& own,
           const std::vector<Claim>& claims, const Profile& profile)
        : snapshot_(snapshot), app_(snapshot.apps[static_cast<std::size_t>(index)]), index_(index),
          own_(own), claims_(claims), timeline_(profile.timeline()), closures_(snapshot),
          node_class_(app_.node_class), now_(snapshot.nodes.size(), 0),
          mine_(snapshot.nodes.size(), 0), claimed_(snapshot.nodes.size(), 0),
          free_until_(snapshot.nodes.size()), look_again_(snapshot.nodes.size(), 0) {
        if (node_class_ >= 0) {
            nodes_ = snapshot.classes[static_cast<std::size_t>(node_class_)].nodes;
        } else {
            nodes_.resize(snapshot.nodes.size());
            std::iota(nodes_.begin(), nodes_.end(), 0);
        }
        closed_.resize(snapshot.nodes.size());
        if (node_class_ >= 0) {
            for (const Closure& closure :
                 snapshot.classes[static_cast<std::size_t>(node_class_)].closures) {
                closed_[static_cast<std::size_t>(closure.node)].push_back(closure);
            }
        }
        if (app_.held) {
            for (const auto& [node, gpus] : *app_.held) {
                now_[static_cast<std::size_t>(node)] = gpus;
            }
        }
    }

    Hold plan(const std::vector<int>& curve) {
        curve_ = &curve;
        losses_.assign(curve.size() + 1, 0);
        count_first_losses();
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
        Window free = timeline_.window(node, from, until);
        free.gpus &= ~claimed_[static_cast<std::size_t>(node)];
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

    /// GPUs that others may not lose yet.
    void find_claimed() {
        for (const Claim& claim : claims_) {
            const auto node = static_cast<std::size_t>(claim.node);
            if (claim.app != index_ && claim.until > step_) {
                claimed_[node] |= claim.gpu;
            } else if ((claimed_[node] & claim.gpu) != 0) {
                claimed_[node] ^= claim.gpu;
                look_again_[node] = 0;
            }
        }
    }

    /// Until when, at most, a GPU of the node that it does not hold is free from this step on.
    void find_free_until(int node) {
        const auto index = static_cast<std::size_t>(node);
        const std::vector<Segment>& segments = timeline_.segments(node);
        std::size_t i = timeline_.at(node, begin_of(step_));
        GpuMask more = segments[i].free.gpus & ~now_[index] & ~claimed_[index];
        look_again_[index] = i + 1 < segments.size() ? segments[i + 1].from : kNever;
        if (more == 0) {
            free_until_.set(index, -1);
            return;
        }
        while (++i < segments.size() && (more &= segments[i].free.gpus) != 0) {
        }
        free_until_.set(index, i < segments.size() ? segments[i].from : kNever);
    }

    void find_free_until() {
        const Seconds from = begin_of(step_);
        for (const int node : nodes_) {
            if (look_again_[static_cast<std::size_t>(node)] <= from) {
                find_free_until(node);
            }
        }
    }

    /// Calls visit(GPU, step) for each GPU of the node's mask: the first step from this one on in
    /// which it cannot be held, the horizon's length for none.  (That CPUs or memory run out is
    /// not foreseen.)
    template <typename Visit> void each_loss(int node, GpuMask gpus, Visit visit) const {
        const int steps = static_cast<int>(curve_->size());
        const Seconds now = begin_of(step_);
        int closed = steps;
        for (const Closure& closure : closed_[static_cast<std::size_t>(node)]) {
            const Seconds from = std::max(closure.from, now);
            if (closure.until > from) {
                closed = static_cast<int>(std::min<Seconds>(from / snapshot_.step, closed));
            }
        }
        const auto visit_all = [&](GpuMask lost, int step) {
            for (; lost != 0; lost &= lost - 1) {
                visit(lost & (~lost + 1), step);
            }
        };
        const std::vector<Segment>& segments = timeline_.segments(node);
        for (std::size_t i = timeline_.at(node, now); gpus != 0 && i < segments.size(); ++i) {
            if (const GpuMask lost = gpus & ~segments[i].free.gpus; lost != 0) {
                const Seconds step = std::max(segments[i].from, now) / snapshot_.step;
                visit_all(lost, static_cast<int>(std::min<Seconds>(step, closed)));
                gpus ^= lost;
            }
        }
        visit_all(gpus, closed);
    }

    [[nodiscard]] int lost_at(int node, GpuMask gpu) const {
        int lost = 0;
        each_loss(node, gpu, [&](GpuMask, int step) { lost = step; });
        return lost;
    }

    void count_first_losses() {
        step_ = 0;
        for (const int node : nodes_) {
            each_loss(node, now_[static_cast<std::size_t>(node)],
                      [&](GpuMask, int lost) { ++losses_[static_cast<std::size_t>(lost)]; });
        }
    }

    /// May this GPU be taken, as far as the swaps of the step go in which it is lost again?
    [[nodiscard]] bool can_be_lost(int lost) const {
        return lost == static_cast<int>(curve_->size()) ||
               losses_[static_cast<std::size_t>(lost)] < app_.max_swap;
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
        find_claimed();
        const std::vector<GpuMask> before = now_;
        const bool bounded = step_ > 0 || app_.held.has_value();
        for (const int node : nodes_) {
            GpuMask& gpus = now_[static_cast<std::size_t>(node)];
            if (gpus != 0 || mine_[static_cast<std::size_t>(node)] != 0) {
                const GpuMask was = gpus;
                gpus = (gpus & available(node, step_)) | mine_[static_cast<std::size_t>(node)];
                if (gpus != was) {
                    look_again_[static_cast<std::size_t>(node)] = 0;
                }
            }
        }
        const int wanted = (*curve_)[static_cast<std::size_t>(step_)];
        int count = held();
        count -= drop(count - wanted);
        std::int64_t budget = bounded ? app_.max_swap : kUnlimited;
        for (std::size_t node = 0; bounded && node < now_.size(); ++node) {
            budget -= std::popcount(before[node] ^ now_[node]);
        }
        if (count < wanted && budget > 0) {
            find_free_until();
        }
        while (count < wanted && budget > 0 && grow_one(count)) {
            ++count;
            --budget;
        }
    }

    /// Gives `most` GPUs back, never its own jobs': first what is lost soonest anyway, then from
    /// the low end of the line.
    int drop(int most) {
        if (most <= 0) {
            return 0;
        }
        struct Spare {
            int lost;
            int node;
            GpuMask gpu;
        };
        std::vector<Spare> spares;
        for (const int node : nodes_) {
            const GpuMask rest =
                now_[static_cast<std::size_t>(node)] & ~mine_[static_cast<std::size_t>(node)];
            if (rest != 0) {
                each_loss(node, rest, [&](GpuMask gpu, int lost) {
                    spares.push_back({lost, node, gpu});
                });
            }
        }
        if (spares.size() > static_cast<std::size_t>(most)) {
            std::nth_element(spares.begin(), spares.begin() + most, spares.end(),
                             [](const Spare& a, const Spare& b) {
                                 return std::tie(a.lost, a.node, a.gpu) <
                                        std::tie(b.lost, b.node, b.gpu);
                             });
            spares.resize(static_cast<std::size_t>(most));
        }
        for (const Spare& spare : spares) {
            now_[static_cast<std::size_t>(spare.node)] ^= spare.gpu;
            look_again_[static_cast<std::size_t>(spare.node)] = 0;
            --losses_[static_cast<std::size_t>(spare.lost)];
        }
        return static_cast<int>(spares.size());
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
        const Seconds until = end_of(last);
        std::size_t end = now_.size();
        for (auto at = free_until_.last_with(until, end); at >= 0;
             at = free_until_.last_with(until, end)) {
            end = static_cast<std::size_t>(at);
            const int node = static_cast<int>(at);
            GpuMask& gpus = now_[end];
            for (GpuMask more = available(node, last) & ~gpus; more != 0;) {
                const GpuMask top = GpuMask{1} << (std::bit_width(more) - 1);
                const int lost = lost_at(node, top);
                if (can_be_lost(lost)) {
                    gpus |= top;
                    ++losses_[static_cast<std::size_t>(lost)];
                    find_free_until(node);
                    return true;
                }
                more ^= top;
            }
        }
        return false;
    }

    const Snapshot& snapshot_;
    const App& app_;
    int index_;
    const std::vector<Placement>& own_;
    const std::vector<Claim>& claims_;
    const Timeline& timeline_;
    Closures closures_;
    int node_class_;
    std::vector<int> nodes_;
    std::vector<GpuMask> now_;     ///< by node: held in the step
    std::vector<GpuMask> mine_;    ///< by node: GPUs of the application's own jobs in the step
    std::vector<GpuMask> claimed_; ///< by node: GPUs that others keep in the step
    Tournament free_until_;        ///< by node: until when a GPU more could be held; -1: no longer
    std::vector<Seconds> look_again_;          ///< by node: when free_until_ may be another one
    std::vector<std::vector<Closure>> closed_; ///< by node: its closures in the class
    std::vector<int> losses_; ///< by step: GPUs held now that cannot be held from it on
    const std::vector<int>* curve_ = nullptr;
    int step_ = 0;
    Hold kept_;
};

/// Takes a hold from the profile, each stretch of steps with the same GPUs of a node at once.
void take_hold(const Snapshot& snapshot, const App& app, const Hold& hold, Timeline& timeline) {
    std::vector<int> since(snapshot.nodes.size(), 0);
    const auto close = [&](int node, GpuMask gpus, int step) {
        int& begin = since[static_cast<std::size_t>(node)];
        const int count = std::popcount(gpus);
        timeline.take({node, gpus, count * app.per_gpu.cpus, count * app.per_gpu.memory_mib},
                      std::max(snapshot.now, begin * snapshot.step), step * snapshot.step);
        begin = step;
    };
    const GpuSet nothing;
    const auto steps = static_cast<int>(hold.steps.size());
    for (int step = 0; step <= steps; ++step) {
        const GpuSet& was = step > 0 ? hold.steps[static_cast<std::size_t>(step - 1)] : nothing;
        const GpuSet& is = step < steps ? hold.steps[static_cast<std::size_t>(step)] : nothing;
        auto a = was.begin();
        for (auto b = is.begin(); a != was.end() || b != is.end();) {
            if (b == is.end() || (a != was.end() && a->first < b->first)) {
                close(a->first, a->second, step);
                ++a;
            } else if (a == was.end() || b->first < a->first) {
                since[static_cast<std::size_t>((b++)->first)] = step;
            } else {
                if (a->second != b->second) {
                    close(a->first, a->second, step);
                }
                ++a;
                ++b;
            }
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
    const std::vector<Claim> claims = claims_of(snapshot, mode);
    std::vector<Hold> holds(snapshot.apps.size());
    for (const int index : order) {
        const App& app = snapshot.apps[static_cast<std::size_t>(index)];
        Hold& hold = holds[static_cast<std::size_t>(index)];
        Holder holder(snapshot, index, own, claims, profile);
        hold = holder.plan(hold_curve(app, mode));
        take_hold(snapshot, app, holder.kept(), profile.timeline());
    }
    return holds;
}

} // namespace foresight
