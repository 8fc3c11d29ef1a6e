// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory.hpp"

#include "decode.hpp"
#include "digest.hpp"
#include "learnt.hpp"
#include "promise.hpp"
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace foresight {

namespace {

/// Rounds of sliding forward; each goes over every kept place.
constexpr int kMostRounds = 4;
/// A start may slip by so much on the same GPUs, when a job before it is a little late.
constexpr Seconds kMostSlip = 60;
/// Work units for better places elsewhere, a node: sliding where it is costs next to nothing.
constexpr std::uint64_t kWorkPerNode = 64;

/// How a plan is kept.
struct Manner {
    bool before_holds = false; ///< applications hold what the kept jobs leave
    bool by_merit = false;     ///< new jobs of more priority go before kept ones
    /// A job that cannot stay pushes those behind it (right shift: all a little later); otherwise
    /// it alone looks for another place.
    bool push = true;
};

/// A kept place, or a way to run a new job, in the order in which they are taken.
struct Item {
    Entry entry;
    const Promise* promise = nullptr; ///< null: a new job
};

bool goes_before(const Entry& a, const Entry& b) noexcept {
    return a.tier != b.tier ? a.tier > b.tier : a.on_top && !b.on_top;
}

std::vector<Item> items_of(const Snapshot& snapshot, const Policy& policy, const Promises& promises,
                           bool by_merit) {
    std::vector<Item> items;
    std::vector<bool> kept(snapshot.jobs.size(), false);
    for (const Promise& promise : promises.all()) {
        const Job& job = snapshot.jobs[static_cast<std::size_t>(promise.job)];
        const Option& option = job.options[static_cast<std::size_t>(promise.option)];
        const bool dearer = by_merit && job.priority > promise.announced->priority;
        if (promise.pinned && !dearer) {
            kept[static_cast<std::size_t>(promise.job)] = true;
            items.push_back({{promise.job, promise.option, option.tier, job.on_top,
                              promises.priority(promise.job)},
                             &promise});
        }
    }
    for (const Entry& entry : queue_of(snapshot, policy)) {
        const Job& job = snapshot.jobs[static_cast<std::size_t>(entry.job)];
        if (!kept[static_cast<std::size_t>(entry.job)] && job.app < 0 &&
            !(job.refusal && job.refusal->retry > snapshot.now)) {
            items.push_back({entry, nullptr});
        }
    }
    std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
        if (!same_class(a.entry, b.entry)) {
            return goes_before(a.entry, b.entry);
        }
        if (by_merit) {
            return a.entry.merit > b.entry.merit;
        }
        if (a.promise == nullptr || b.promise == nullptr) {
            return a.promise != nullptr && b.promise == nullptr;
        }
        return a.promise->start < b.promise->start;
    });
    // Those at the end come after everything that is kept: an order's business.
    while (!items.empty() && items.back().promise == nullptr) {
        items.pop_back();
    }
    return items;
}

bool has_new_jobs(const std::vector<Item>& items) noexcept {
    return std::any_of(items.begin(), items.end(),
                       [](const Item& item) { return item.promise == nullptr; });
}

bool carries(const Window& free, const Share& share) noexcept {
    return (free.gpus & share.gpus) == share.gpus && free.cpus >= share.cpus &&
           free.memory_mib >= share.memory_mib;
}

/// Takes what is kept, for a Decoder.
class Keeper : public Pinner {
public:
    Keeper(const Snapshot& snapshot, const std::vector<Item>& items, bool same_nodes,
           const Manner& manner)
        : snapshot_(snapshot), items_(items), same_nodes_(same_nodes), manner_(manner),
          tasks_(snapshot.jobs.size(), 0) {}

    void before_holds(Profile& profile, Placer& placer, std::vector<Placement>& pinned) override {
        if (manner_.before_holds) {
            take_all(profile, placer, pinned);
        }
    }
    void after_holds(Profile& profile, Placer& placer, std::vector<Placement>& pinned) override {
        if (!manner_.before_holds) {
            take_all(profile, placer, pinned);
        }
        compress(profile, placer, pinned);
    }

    /// Whether a kept place could not be taken as it was.
    [[nodiscard]] bool conflicts() const noexcept { return conflicts_; }

private:
    struct Known {
        Learnt places;
        std::size_t seen = 0; ///< openings before this one are in `places`
    };
    struct Opening {
        std::size_t number;
        Seconds from;
    };
    using Shape = std::tuple<int, Request, Seconds>;

    [[nodiscard]] const Job& job_at(int index) const noexcept {
        return snapshot_.jobs[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] Seconds first_start(const Job& job) const noexcept {
        return std::max({snapshot_.now, job.submit, job.begin});
    }
    [[nodiscard]] Seconds last_start(const Option& option) const noexcept {
        return snapshot_.fit == Fit::within_horizon ? snapshot_.horizon() - option.duration
                                                    : snapshot_.horizon() - 1;
    }

    void take_all(Profile& profile, Placer& placer, std::vector<Placement>& pinned) {
        for (const Item& item : items_) {
            if (item.promise != nullptr) {
                take_kept(item, profile, placer, pinned);
            } else {
                take_new(item.entry, profile, placer, pinned);
            }
        }
    }

    void commit(const Entry& entry, Place place, Profile& profile, std::vector<Placement>& pinned) {
        const Job& job = job_at(entry.job);
        const Seconds end =
            place.start + job.options[static_cast<std::size_t>(entry.option)].duration;
        profile.take(job, place.shares, place.start, end);
        pinned.push_back({entry.job, tasks_[static_cast<std::size_t>(entry.job)]++, entry.option,
                          place.start, end, std::move(place.shares)});
    }

    /// As it was; else at the same time elsewhere; else sooner; else later.
    void take_kept(const Item& item, Profile& profile, Placer& placer,
                   std::vector<Placement>& pinned) {
        const Job& job = job_at(item.entry.job);
        const Option& option = job.options[static_cast<std::size_t>(item.entry.option)];
        const Seconds start = item.promise->start;
        if (start > last_start(option)) {
            conflicts_ = true;
            return;
        }
        const std::vector<Share>& shares = item.promise->announced->place.shares;
        if (same_nodes_ && item.promise->announced->request == option.request &&
            fits(profile, placer, job, option, shares, start)) {
            commit(item.entry, {start, shares}, profile, pinned);
            return;
        }
        if (const Seconds slipped = slip(profile, shares, start);
            same_nodes_ && slipped > start && slipped <= last_start(option) &&
            item.promise->announced->request == option.request &&
            fits(profile, placer, job, option, shares, slipped)) {
            commit(item.entry, {slipped, shares}, profile, pinned);
            return;
        }
        conflicts_ = true;
        std::optional<Place> place = placer.earliest(profile, job, option, start, start);
        if (!place) {
            place = placer.earliest(profile, job, option, first_start(job),
                                    manner_.push ? last_start(option) : start);
        }
        if (place) {
            commit(item.entry, std::move(*place), profile, pinned);
        }
    }

    /// When the shares are free that somebody has a little longer than was planned; or `start`.
    [[nodiscard]] static Seconds slip(const Profile& profile, const std::vector<Share>& shares,
                                      Seconds start) {
        Seconds slipped = start;
        for (const Share& share : shares) {
            if (share.node >= profile.timeline().nodes()) {
                return start;
            }
            const std::vector<Segment>& list = profile.timeline().segments(share.node);
            for (std::size_t i = profile.timeline().at(share.node, start);
                 i < list.size() && list[i].from <= start + kMostSlip; ++i) {
                if (!carries(list[i].free, share)) {
                    slipped = std::max(slipped, i + 1 < list.size() ? list[i + 1].from : kNever);
                }
            }
        }
        return slipped <= start + kMostSlip ? slipped : start;
    }

    void take_new(const Entry& entry, Profile& profile, Placer& placer,
                  std::vector<Placement>& pinned) {
        const Job& job = job_at(entry.job);
        const Option& option = job.options[static_cast<std::size_t>(entry.option)];
        while (tasks_[static_cast<std::size_t>(entry.job)] < std::min(job.tasks, kMostTasks)) {
            std::optional<Place> place =
                placer.earliest(profile, job, option, first_start(job), last_start(option));
            if (!place) {
                return;
            }
            commit(entry, std::move(*place), profile, pinned);
        }
    }

    [[nodiscard]] bool fits(const Profile& profile, const Placer& placer, const Job& job,
                            const Option& option, const std::vector<Share>& shares,
                            Seconds start) const {
        const Seconds end = start + option.duration;
        const std::vector<int>& nodes =
            snapshot_.classes[static_cast<std::size_t>(option.node_class)].nodes;
        if (snapshot_.fit == Fit::may_overrun && end > snapshot_.horizon() &&
            !profile.may_overrun(count_gpus(shares))) {
            return false;
        }
        const bool free = std::all_of(shares.begin(), shares.end(), [&](const Share& share) {
            return std::binary_search(nodes.begin(), nodes.end(), share.node) &&
                   !std::binary_search(option.refused_on.begin(), option.refused_on.end(),
                                       share.node) &&
                   placer.closures().clear_of(option.node_class, share.node, start, end) <= start &&
                   carries(profile.timeline().window(share.node, start, std::max(end, start + 1)),
                           share);
        });
        return free && profile.limits_allow(job, start, option.duration) == start;
    }

    /// Kept jobs slide forward into what has become free, in the plan's order, round and round
    /// until none can.
    void compress(Profile& profile, Placer& placer, std::vector<Placement>& pinned) {
        const std::uint64_t until =
            placer.work() + kWorkPerNode * (snapshot_.nodes.size() + pinned.size());
        bool moved = true;
        for (int round = 0; moved && round < kMostRounds; ++round) {
            moved = false;
            for (Placement& place : pinned) {
                const Job& job = job_at(place.job);
                const Seconds from = first_start(job);
                if (place.start <= from) {
                    continue;
                }
                const Option& option = job.options[static_cast<std::size_t>(place.option)];
                const Seconds slid = slide(profile, placer, job, option, place, from);
                std::optional<Place> other;
                if (slid > from && placer.work() < until) {
                    other = elsewhere(profile, placer, place, slid - 1);
                }
                if (slid < place.start || other) {
                    moved = true;
                    move(profile, place, slid, std::move(other));
                }
            }
        }
    }

    /// A place is given up that began at `from`.  Of the openings each shape needs the earliest
    /// since it looked last: a stack of those that no later one is before.
    void open_up(Seconds from) {
        while (!openings_.empty() && openings_.back().from >= from) {
            openings_.pop_back();
        }
        openings_.push_back({opened_++, from});
    }
    [[nodiscard]] Seconds opened_since(std::size_t number) const {
        const auto first =
            std::lower_bound(openings_.begin(), openings_.end(), number,
                             [](const Opening& o, std::size_t n) { return o.number < n; });
        return first == openings_.end() ? kNever : first->from;
    }

    void move(Profile& profile, Placement& place, Seconds slid, std::optional<Place> other) {
        const Job& job = job_at(place.job);
        const Seconds duration = job.options[static_cast<std::size_t>(place.option)].duration;
        profile.give(job, place.shares, place.start, place.end);
        open_up(place.start);
        if (other) {
            place.start = other->start;
            place.shares = std::move(other->shares);
        } else {
            place.start = slid;
        }
        place.end = place.start + duration;
        profile.take(job, place.shares, place.start, place.end);
    }

    /// The earliest start on the very same shares.
    static Seconds slide(Profile& profile, const Placer& placer, const Job& job,
                         const Option& option, const Placement& place, Seconds from) {
        Seconds start = from;
        for (const Share& share : place.shares) {
            const std::vector<Segment>& list = profile.timeline().segments(share.node);
            std::size_t i = profile.timeline().at(share.node, place.start);
            Seconds free_from = place.start;
            if (list[i].from < place.start) {
                // Something ends inside the place's first segment only if it begins with it.
                return place.start;
            }
            while (i > 0 && free_from > start && carries(list[i - 1].free, share)) {
                free_from = list[--i].from;
            }
            start = std::max(start, free_from);
        }
        if (start >= place.start) {
            return place.start;
        }
        if (!job.limits.empty()) {
            profile.give(job, place.shares, place.start, place.end);
        }
        for (bool pushed = true; pushed && start < place.start;) {
            const Seconds before = start;
            for (const Share& share : place.shares) {
                start = placer.closures().clear_of(option.node_class, share.node, start,
                                                   start + option.duration);
            }
            start = profile.limits_allow(job, start, option.duration);
            pushed = start > before;
        }
        if (!job.limits.empty()) {
            profile.take(job, place.shares, place.start, place.end);
        }
        return std::min(start, place.start);
    }

    /// The earliest place beside its own up to `latest`; jobs of one shape share what they learnt.
    [[nodiscard]] std::optional<Place> elsewhere(const Profile& profile, Placer& placer,
                                                 const Placement& place, Seconds latest) {
        const Job& job = job_at(place.job);
        const Option& option = job.options[static_cast<std::size_t>(place.option)];
        const Seconds from = first_start(job);
        if (!job.limits.empty() || !option.refused_on.empty()) {
            return placer.earliest(profile, job, option, from, latest);
        }
        Known& known = known_[{option.node_class, option.request, option.duration}];
        // What opens up, opens from the old start on: the shape has to look a duration before.
        if (const Seconds opened = opened_since(known.seen); opened < kNever) {
            known.places.forget_from(opened - option.duration + 1);
        }
        known.seen = opened_;
        return known.places.look(from, latest, [&](Seconds begin) {
            return placer.earliest(profile, job, option, begin, latest);
        });
    }

    const Snapshot& snapshot_;
    const std::vector<Item>& items_;
    bool same_nodes_;
    Manner manner_;
    std::vector<int> tasks_; ///< by job: places taken
    std::map<Shape, Known> known_;
    std::vector<Opening> openings_;
    std::size_t opened_ = 0;
    bool conflicts_ = false;
};

/// The snapshot with what its applications held by the last plan, where it does not say itself.
Snapshot with_held(const Snapshot& snapshot, const Memory& memory) {
    Snapshot made = snapshot;
    const Seconds steps = memory.shifted / std::max<Seconds>(1, snapshot.step);
    const auto last = static_cast<std::size_t>(std::max<Seconds>(0, steps - 1));
    for (App& app : made.apps) {
        const auto known = std::find(memory.apps.begin(), memory.apps.end(), app.id);
        const auto index = static_cast<std::size_t>(known - memory.apps.begin());
        if (!app.held && index < memory.holds.size() && last < memory.holds[index].steps.size()) {
            app.held = memory.holds[index].steps[last];
        }
    }
    return made;
}

/// Chooses among a free plan and kept ones.
class Contest {
public:
    Contest(const Snapshot& snapshot, const Policy& policy, const std::atomic<bool>* cancel,
            const Memory& memory)
        : snapshot_(snapshot), policy_(policy), cancel_(cancel), memory_(memory),
          promises_(snapshot, policy, memory),
          same_nodes_(memory.nodes == digest_of_nodes(snapshot)) {}

    Draft run(Draft free) {
        const std::uint64_t searched = free.work;
        if (promises_.all().empty()) {
            return free;
        }
        const std::vector<Item> items = items_of(snapshot_, policy_, promises_, false);
        if (keep(snapshot_, items, {})) {
            keep(snapshot_, items, {.push = false});
            if (!snapshot_.apps.empty()) {
                keep_beside_holds(items);
            }
        }
        const std::vector<Item> by_merit = items_of(snapshot_, policy_, promises_, true);
        if (has_new_jobs(by_merit)) {
            keep(snapshot_, by_merit, {.by_merit = true});
        }
        enter(std::move(free));
        best_.work = work_ + searched;
        return std::move(best_);
    }

private:
    /// True: a kept place was not as legal as it had been.
    bool keep(const Snapshot& snapshot, const std::vector<Item>& items, const Manner& manner) {
        Keeper keeper(snapshot, items, same_nodes_, manner);
        Decoder decoder(snapshot, policy_, cancel_);
        decoder.prepare(&keeper);
        Draft draft;
        draft.placements = decoder.decode(queue_of(snapshot, policy_)).placements;
        draft.holds = decoder.holds();
        work_ += decoder.work();
        // Holds that go around kept jobs may lose GPUs to them faster than they may swap.
        if (!manner.before_holds || swaps_in_caps(draft)) {
            enter(std::move(draft));
        }
        return keeper.conflicts();
    }

    /// Applications hold other GPUs than they were to: they keep what they had, or go around the
    /// kept jobs.
    void keep_beside_holds(const std::vector<Item>& items) {
        if (same_nodes_) {
            keep(with_held(snapshot_, memory_), items, {});
        }
        if (!has_new_jobs(items)) {
            keep(snapshot_, items, {.before_holds = true});
        }
        keep_order();
    }

    /// The last plan's order again: where held GPUs give way to jobs, its holds come with it.
    void keep_order() {
        std::vector<Entry> order = queue_of(snapshot_, policy_);
        std::vector<std::size_t> rank(snapshot_.jobs.size(), promises_.all().size());
        for (std::size_t i = promises_.all().size(); i-- > 0;) {
            rank[static_cast<std::size_t>(promises_.all()[i].job)] = i;
        }
        std::stable_sort(order.begin(), order.end(), [&](const Entry& a, const Entry& b) {
            return same_class(a, b) ? rank[static_cast<std::size_t>(a.job)] <
                                          rank[static_cast<std::size_t>(b.job)]
                                    : goes_before(a, b);
        });
        Decoder decoder(snapshot_, policy_, cancel_);
        decoder.prepare();
        Found found = decode_order(snapshot_, policy_, decoder, order);
        work_ += found.work;
        enter({std::move(found.placements), std::move(found.holds), 0});
    }

    [[nodiscard]] bool swaps_in_caps(const Draft& draft) const {
        for (std::size_t a = 0; a < draft.holds.size(); ++a) {
            const App& app = snapshot_.apps[a];
            const GpuSet* before = app.held ? &*app.held : nullptr;
            for (const GpuSet& now : draft.holds[a].steps) {
                if (before != nullptr && count_changes(*before, now) > app.max_swap) {
                    return false;
                }
                before = &now;
            }
        }
        return true;
    }

    void enter(Draft draft) {
        const double score = promises_.score(draft);
        // Demand is the older promise: what announced starts are worth never pays for a miss.
        const double missed = policy_.may_fall_short ? 0 : promises_.missed(draft);
        const double less = missed_ - missed;
        const double slack = 1e-9 * std::abs(missed_);
        if (!entered_ || less > slack ||
            (less >= -slack && score > score_ + 1e-9 * std::abs(score_))) {
            best_ = std::move(draft);
            score_ = score;
            missed_ = missed;
        }
        entered_ = true;
    }

    const Snapshot& snapshot_;
    const Policy& policy_;
    const std::atomic<bool>* cancel_;
    const Memory& memory_;
    Promises promises_;
    bool same_nodes_;
    Draft best_;
    double score_ = 0;
    double missed_ = 0;
    std::uint64_t work_ = 0;
    bool entered_ = false;
};

} // namespace

void Memory::shift(Seconds by) {
    if (by == 0) {
        return;
    }
    input = 0;
    shifted += by;
    for (Remembered& announced : places) {
        announced.place.start -= by;
        announced.place.end -= by;
    }
}

std::optional<Draft> recall(const Memory& memory, std::uint64_t input) {
    if (memory.input == 0 || memory.input != input) {
        return std::nullopt;
    }
    Draft draft;
    draft.placements.reserve(memory.places.size());
    for (const Remembered& announced : memory.places) {
        draft.placements.push_back(announced.place);
    }
    draft.holds = memory.holds;
    draft.work = memory.work;
    return draft;
}

Draft keep_announced(const Snapshot& snapshot, const Policy& policy,
                     const std::atomic<bool>* cancel, const Memory& memory, Draft free) {
    return Contest(snapshot, policy, cancel, memory).run(std::move(free));
}

Memory remember(const Snapshot& snapshot, const Policy& policy, const Draft& draft,
                std::uint64_t input, const Memory& before) {
    const std::vector<int> delays = Promises(snapshot, policy, before).delays(draft.placements);
    Memory memory;
    memory.places.reserve(draft.placements.size());
    for (std::size_t i = 0; i < draft.placements.size(); ++i) {
        const Placement& place = draft.placements[i];
        const Job& job = snapshot.jobs[static_cast<std::size_t>(place.job)];
        const Option& option = job.options[static_cast<std::size_t>(place.option)];
        memory.places.push_back({job.id,
                                 place,
                                 option.request,
                                 {place.job, place.option, option.tier, job.on_top, 0},
                                 job.priority,
                                 delays[i]});
    }
    memory.holds = draft.holds;
    for (const App& app : snapshot.apps) {
        memory.apps.push_back(app.id);
    }
    memory.nodes = digest_of_nodes(snapshot);
    memory.input = input;
    memory.work = draft.work;
    return memory;
}

} // namespace foresight
