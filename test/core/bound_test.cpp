// SPDX-License-Identifier: GPL-2.0-or-later
#include "bound.hpp"
#include "curve.hpp"
#include "instance.hpp"
#include "planner.hpp"
#include "value.hpp"

#include <algorithm>
#include <cmath>

using namespace foresight;

namespace {

/// The best objective of a tiny snapshot with block any, by trying every start of every job and
/// every curve of the application.
class Slow {
public:
    explicit Slow(const Snapshot& snapshot)
        : snapshot_(snapshot), weights_(snapshot),
          used_(static_cast<std::size_t>(snapshot.horizon()), 0) {
        for (const Node& node : snapshot.nodes) {
            gpus_ += node.gpus;
        }
        for (const Running& job : snapshot.running) {
            occupy(0, job.end, count_gpus(job.shares));
            fixed_ += reward(weights_, job.priority, count_gpus(job.shares), 0, job.end);
            late_ += job.end > snapshot.horizon() ? count_gpus(job.shares) : 0;
        }
        room_ = gpus_;
        for (const App& app : snapshot.apps) {
            room_ -= *std::max_element(app.demand.begin(), app.demand.end());
        }
    }

    double best() {
        best_ = -1e300;
        job(0, 0, fixed_, 0);
        return best_;
    }

private:
    void occupy(Seconds from, Seconds until, int gpus) {
        for (Seconds at = from; at < std::min(until, snapshot_.horizon()); ++at) {
            used_[static_cast<std::size_t>(at)] += gpus;
        }
    }

    void job(std::size_t index, int task, double value, int late) {
        if (index == snapshot_.jobs.size()) {
            best_ = std::max(best_, value - shortfall());
            return;
        }
        const Job& job_ = snapshot_.jobs[index];
        if (task == job_.tasks) {
            job(index + 1, 0, value, late);
            return;
        }
        job(index, task + 1, value, late);
        for (const Option& option : job_.options) {
            const int gpus = option.request.gpus();
            for (Seconds start = std::max(snapshot_.now, job_.submit); start < snapshot_.horizon();
                 ++start) {
                const Seconds end = start + option.duration;
                const bool over = end > snapshot_.horizon();
                if (over && (snapshot_.fit == Fit::within_horizon || late_ + late + gpus > room_)) {
                    break;
                }
                occupy(start, end, gpus);
                if (*std::max_element(used_.begin(), used_.end()) <= gpus_) {
                    job(index, task + 1, value + reward(weights_, job_.priority, gpus, start, end),
                        late + (over ? gpus : 0));
                }
                occupy(start, end, -gpus);
            }
        }
    }

    /// The least penalty with what the jobs leave.
    double shortfall() const {
        if (snapshot_.apps.empty()) {
            return 0;
        }
        const App& app = snapshot_.apps[0];
        std::vector<double> cost(static_cast<std::size_t>(gpus_) + 1, 0.0);
        const int before = app.held ? count_gpus(*app.held) : -1;
        for (int step = 0; step < snapshot_.steps; ++step) {
            int most = gpus_;
            for (Seconds at = std::max(snapshot_.now, step * snapshot_.step);
                 at < (step + 1) * snapshot_.step; ++at) {
                most = std::min(most, gpus_ - used_[static_cast<std::size_t>(at)]);
            }
            std::vector<double> next(cost.size(), 1e300);
            for (int held = 0; held <= most; ++held) {
                for (int last = 0; last <= gpus_; ++last) {
                    const bool first = step == 0;
                    if (first && before >= 0 && last != before) {
                        continue;
                    }
                    if ((!first || before >= 0) && std::abs(held - last) > app.max_swap) {
                        continue;
                    }
                    auto& entry = next[static_cast<std::size_t>(held)];
                    entry = std::min(entry, cost[static_cast<std::size_t>(last)]);
                }
            }
            for (int held = 0; held <= gpus_; ++held) {
                next[static_cast<std::size_t>(held)] +=
                    app.priority * snapshot_.value.shortfall_weight *
                    std::max(0, app.demand[static_cast<std::size_t>(step)] - held);
            }
            cost = next;
        }
        return *std::min_element(cost.begin(), cost.end());
    }

    const Snapshot& snapshot_;
    Weights weights_;
    std::vector<int> used_; ///< by second
    int gpus_ = 0;
    double fixed_ = 0;
    int late_ = 0;
    int room_ = 0;
    double best_ = 0;
};

Snapshot tiny(test::Draw& draw) {
    Snapshot snapshot = test::grid(1, draw.number(1, 4), draw.number(1, 4), draw.number(1, 3));
    const int gpus = snapshot.nodes[0].gpus;
    const int horizon = static_cast<int>(snapshot.horizon());
    snapshot.block = Block::any;
    snapshot.now = draw.chance(30) ? draw.number(0, static_cast<int>(snapshot.step) - 1) : 0;
    snapshot.fit = draw.chance(40) ? Fit::may_overrun : Fit::within_horizon;
    snapshot.value.decay_end = draw.number(0, 3) * 0.5;
    snapshot.value.shortfall_weight = draw.number(0, 8);
    int free = gpus;
    if (draw.chance(40)) {
        const int taken = draw.number(1, gpus);
        snapshot.running.push_back({"r",
                                    "",
                                    1.5,
                                    -1,
                                    0,
                                    draw.number(1, horizon + 2),
                                    {{0, lowest_gpus(taken), 0, 0}},
                                    {}});
        free -= taken;
    }
    const int jobs = draw.number(0, 3);
    for (int i = 0; i < jobs; ++i) {
        Job job = test::job("j" + std::to_string(i), draw.number(1, gpus), draw.number(1, horizon),
                            draw.number(0, 4));
        job.submit = draw.chance(40) ? draw.number(0, horizon) : 0;
        job.tasks = draw.chance(20) ? 2 : 1;
        if (draw.chance(20)) {
            job.options.push_back(job.options[0]);
            job.options[1].duration = draw.number(1, horizon);
            job.options[1].request.chunks = draw.number(1, gpus);
        }
        snapshot.jobs.push_back(std::move(job));
    }
    if (draw.chance(60)) {
        App app{"a", static_cast<double>(draw.number(0, 2)), {}, kUnlimited, {}, -1, {}};
        for (int step = 0; step < snapshot.steps; ++step) {
            app.demand.push_back(draw.number(0, gpus + 1));
        }
        if (draw.chance(60)) {
            app.max_swap = draw.number(0, 2);
        }
        if (free > 0 && draw.chance(40)) {
            // From the top: what runs is at the bottom.
            app.held = GpuSet{{0, lowest_gpus(gpus) & ~lowest_gpus(gpus - draw.number(1, free))}};
        }
        snapshot.apps.push_back(std::move(app));
    }
    return snapshot;
}

/// Some of the snapshots have no legal plan at all: held GPUs that may not be let go.
void never_below_the_best_plan() {
    test::Draw draw(test_seed());
    int near = 0;
    int solved = 0;
    for (int round = 0; round < 1500; ++round) {
        const Snapshot snapshot = tiny(draw);
        REQUIRE(check(snapshot).empty());
        const double best = Slow(snapshot).best();
        for (const int rounds : {0, 3, 60}) {
            Bound bound(snapshot);
            bound.tighten(rounds, std::max(best, -1e6));
            if (bound.value() < best - 1e-9) {
                FAIL("round %d: after %d rounds %.17g is below %.17g", round, rounds, bound.value(),
                     best);
            }
            if (rounds == 60 && best > 0) {
                ++solved;
                near += bound.value() <= best * 1.1;
            }
        }
    }
    CHECK(solved > 300);
    CHECK(near * 2 > solved); // a bound that says nothing would pass the rest
}

/// The best objective of a tiny line of equal nodes, by trying every start of every job in every
/// place (blocks contiguous, what runs and what is broken, no application).  One bit a GPU: bit
/// i × size + g is GPU g of node i.
class SlowLine {
public:
    explicit SlowLine(const Snapshot& snapshot)
        : snapshot_(snapshot), weights_(snapshot), size_(snapshot.nodes[0].gpus) {
        GpuMask broken = 0;
        for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
            broken |= on(static_cast<int>(i), lowest_gpus(size_) & ~snapshot.nodes[i].usable);
        }
        used_.assign(static_cast<std::size_t>(snapshot.horizon()), broken);
        for (const Running& job : snapshot.running) {
            fixed_ += reward(weights_, job.priority, count_gpus(job.shares), 0, job.end);
            for (const Share& share : job.shares) {
                for (Seconds at = 0; at < std::min(job.end, snapshot.horizon()); ++at) {
                    used_[static_cast<std::size_t>(at)] |= on(share.node, share.gpus);
                }
            }
        }
    }

    double best() {
        job(0, fixed_);
        return best_;
    }

private:
    [[nodiscard]] GpuMask on(int node, GpuMask gpus) const { return gpus << (node * size_); }

    void job(std::size_t index, double value) {
        best_ = std::max(best_, value);
        if (index == snapshot_.jobs.size()) {
            return;
        }
        job(index + 1, value);
        const Job& next = snapshot_.jobs[index];
        const int gpus = next.options[0].request.gpus();
        for (const GpuMask place : places(gpus)) {
            for (Seconds start = std::max(snapshot_.now, next.submit);
                 start + next.options[0].duration <= snapshot_.horizon(); ++start) {
                const Seconds end = start + next.options[0].duration;
                if (is_free(place, start, end)) {
                    flip(place, start, end);
                    job(index + 1, value + reward(weights_, next.priority, gpus, start, end));
                    flip(place, start, end);
                }
            }
        }
    }

    [[nodiscard]] std::vector<GpuMask> places(int gpus) const {
        std::vector<GpuMask> places;
        const int nodes = static_cast<int>(snapshot_.nodes.size());
        for (int first = 0; first + gpus <= nodes * size_; ++first) {
            // More than a node has from GPU 0 on, less inside one node.
            if (gpus > size_ ? first % size_ == 0 : first % size_ + gpus <= size_) {
                places.push_back(lowest_gpus(gpus) << first);
            }
        }
        return places;
    }

    [[nodiscard]] bool is_free(GpuMask place, Seconds from, Seconds until) const {
        return std::none_of(used_.begin() + from, used_.begin() + until,
                            [&](GpuMask used) { return (used & place) != 0; });
    }

    void flip(GpuMask place, Seconds from, Seconds until) {
        for (Seconds at = from; at < until; ++at) {
            used_[static_cast<std::size_t>(at)] ^= place;
        }
    }

    const Snapshot& snapshot_;
    Weights weights_;
    int size_ = 0;
    std::vector<GpuMask> used_; ///< by second
    double fixed_ = 0;
    double best_ = 0;
};

/// Wide jobs on a line of which some nodes are busy, or broken.
Snapshot tiny_line(test::Draw& draw) {
    const int nodes = draw.number(2, 5);
    const int gpus = draw.number(1, 3);
    Snapshot snapshot = test::grid(nodes, gpus, draw.number(1, 3), draw.number(2, 4));
    const int horizon = static_cast<int>(snapshot.horizon());
    snapshot.block = Block::contiguous;
    snapshot.now = draw.chance(30) ? draw.number(0, static_cast<int>(snapshot.step) - 1) : 0;
    snapshot.value.decay_end = draw.number(0, 2) * 0.5;
    for (int node = 0; node < nodes; ++node) {
        if (draw.chance(15)) {
            snapshot.nodes[static_cast<std::size_t>(node)].usable = lowest_gpus(gpus - 1);
        } else if (draw.chance(40)) {
            snapshot.running.push_back({"r" + std::to_string(node),
                                        "",
                                        1.5,
                                        -1,
                                        0,
                                        draw.number(1, horizon + 2),
                                        {{node, lowest_gpus(draw.number(1, gpus)), 0, 0}},
                                        {}});
        }
    }
    const int jobs = draw.number(1, 3);
    for (int i = 0; i < jobs; ++i) {
        snapshot.jobs.push_back(test::job("j" + std::to_string(i), draw.number(1, nodes * gpus),
                                          draw.number(1, horizon), draw.number(1, 4)));
        snapshot.jobs.back().submit = draw.chance(30) ? draw.number(0, horizon - 1) : 0;
    }
    return snapshot;
}

void never_below_the_best_line() {
    test::Draw draw(test_seed());
    int apart = 0;
    int near = 0;
    const int instances = 1500;
    for (int round = 0; round < instances; ++round) {
        const Snapshot snapshot = tiny_line(draw);
        REQUIRE(check(snapshot).empty());
        const double best = SlowLine(snapshot).best();
        Bound bound(snapshot);
        bound.tighten(60, best);
        Bound without(snapshot, Bound::Neighbours::ignored);
        without.tighten(60, best);
        // Steps end at what they aim at: only one that aims below can get there by mistake.
        Bound low(snapshot);
        low.tighten(200, best / 2 - 1);
        if (std::min(bound.value(), low.value()) < best - 1e-9) {
            FAIL("round %d: %.17g or %.17g is below %.17g", round, bound.value(), low.value(),
                 best);
        }
        near += bound.value() <= best * 1.1;
        apart += bound.value() < 0.9 * without.value();
    }
    CHECK(near * 2 > instances); // a bound that says nothing would pass the rest
    CHECK(apart * 20 > instances);
}

/// Every other node is busy: GPUs enough for the wide jobs, but no two neighbours.
void wide_jobs_need_neighbours() {
    const int nodes = 16;
    Snapshot snapshot = test::grid(nodes, 8, 10);
    snapshot.block = Block::contiguous;
    for (int node = 0; node < nodes; node += 2) {
        snapshot.running.push_back(
            {"r" + std::to_string(node), "", 1, -1, 0, 50, {{node, 1, 0, 0}}, {}});
    }
    for (int i = 0; i < 4; ++i) {
        snapshot.jobs.push_back(test::job("w" + std::to_string(i), 16, 60));
    }
    snapshot.jobs.push_back(test::job("narrow", 7, 100));
    // Five steps of what runs, ten of the narrow job; no wide job could end in time.
    const double best = 8 * 5 + 7 * 10;
    Bound bound(snapshot);
    bound.tighten(200, best);
    CHECK(bound.value() >= best);
    CHECK(bound.value() < best + 4 * 16 * 3);
    Bound without(snapshot, Bound::Neighbours::ignored);
    without.tighten(200, best);
    CHECK(without.value() >= best + 4 * 16 * 6);
    // A GPU that a node no longer has does not keep the node from being whole.
    for (Running& job : snapshot.running) {
        job.shares[0].gpus = GpuMask{1} << 20;
    }
    Bound shrunk(snapshot);
    shrunk.tighten(200, best);
    CHECK(shrunk.value() >= 7 * 10 + 4 * 16 * 6);
}

/// Plans with every rule of the model, by all policies.
void never_below_a_plan() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 400; ++round) {
        test::Kinds kinds{.limits_of_nodes = round % 2 == 0, .limits_of_jobs = round % 3 == 0};
        kinds.fit = round % 5 == 0 ? Fit::may_overrun : Fit::within_horizon;
        kinds.block = round % 7 < 3   ? Block::contiguous
                      : round % 7 < 5 ? Block::aligned
                                      : Block::any;
        const Snapshot snapshot = test::random_snapshot(draw, kinds);
        for (const char* policy : {"foresight", "fifo", "easy"}) {
            const Plan plan = make_plan(snapshot, {*find_policy(policy), 500, nullptr});
            REQUIRE(plan.bound.has_value());
            if (*plan.bound < plan.metrics.objective) {
                FAIL("round %d, %s: %.17g is below %.17g", round, policy, *plan.bound,
                     plan.metrics.objective);
            }
            // make_plan() aims at its own plan, and stops there: aimed lower, nothing holds it.
            Bound low(snapshot);
            low.tighten(60, plan.metrics.objective - std::abs(plan.metrics.objective) / 2 - 1);
            if (low.value() < plan.metrics.objective) {
                FAIL("round %d, %s, aimed low: %.17g is below %.17g", round, policy, low.value(),
                     plan.metrics.objective);
            }
        }
    }
}

void nothing_left_by_demand_leaves_room_to_fall_short() {
    // The application wants every GPU, and it pays to let two jobs have them all the same.
    Snapshot snapshot = test::grid(1, 4, 3);
    snapshot.value.shortfall_weight = 1;
    App app;
    app.id = "service";
    app.demand = {4, 4, 4};
    snapshot.apps = {app};
    snapshot.jobs = {test::job("a", 2, 30, 9), test::job("b", 2, 30, 9)};
    const double best = 2 * 2 * 3 * 9.0 - 4 * 3;
    Bound bound(snapshot);
    bound.tighten(300, 0);
    CHECK(bound.value() >= best);
    CHECK(bound.value() <= best * 1.01);
}

void a_second_wide_job_costs_all_that_it_lacks() {
    // Two GPUs of the six that are left are missing for both at a time, at 7 each: one runs.
    Snapshot snapshot = test::grid(1, 8, 3);
    snapshot.value.shortfall_weight = 7;
    App app;
    app.id = "service";
    app.demand = {2, 2, 2};
    snapshot.apps = {app};
    snapshot.jobs = {test::job("a", 4, 30, 2), test::job("b", 4, 30, 2)};
    Bound bound(snapshot);
    bound.tighten(300, 24);
    CHECK(bound.value() >= 24);
    CHECK(bound.value() <= 24 * 1.01);
}

void more_rounds_never_loosen() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 100; ++round) {
        const Snapshot snapshot = test::random_snapshot(draw, {});
        Bound bound(snapshot);
        for (int i = 0; i < 5; ++i) {
            const double before = bound.value();
            bound.tighten(10, 0);
            CHECK(bound.value() <= before + 1e-6 * (1 + std::abs(before))); // rounding
        }
    }
}

/// The cheapest curve under a cap against trying every one.
void curves_are_the_cheapest() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 2000; ++round) {
        const int steps = draw.number(1, 6);
        const int most = 5;
        std::vector<double> demand;
        std::vector<double> prices;
        std::vector<double> relief;
        // Thirds, whose sums are not exact: slopes that cancel leave a little.
        for (int i = 0; i < steps; ++i) {
            demand.push_back(draw.number(0, most));
            prices.push_back(draw.number(0, 9) / 3.0);
            relief.push_back(draw.chance(50) ? 0.0 : draw.number(0, 12) / 3.0);
        }
        const double penalty = draw.number(0, 12) / 3.0;
        const int up = draw.number(0, 3);
        const int down = draw.number(0, 3);
        const int before = draw.chance(50) ? draw.number(0, most) : -1;
        Curve curve(demand, penalty);
        curve.cap(up, down);
        if (before >= 0) {
            curve.start_at(before);
        }
        const int high = most + 3 * steps;
        std::vector<double> cost(static_cast<std::size_t>(high) + 1, 0.0);
        for (int i = 0; i < steps; ++i) {
            std::vector<double> next(cost.size(), 1e300);
            for (int held = 0; held <= high; ++held) {
                for (int last = 0; last <= high; ++last) {
                    const bool free = i == 0 && before < 0;
                    const bool legal = (i > 0 || before < 0 || last == before) &&
                                       (free || (held <= last + up && held >= last - down));
                    auto& entry = next[static_cast<std::size_t>(held)];
                    entry = legal ? std::min(entry, cost[static_cast<std::size_t>(last)]) : entry;
                }
                next[static_cast<std::size_t>(held)] +=
                    prices[static_cast<std::size_t>(i)] * held +
                    std::max(0.0, penalty - relief[static_cast<std::size_t>(i)]) *
                        std::max(0.0, demand[static_cast<std::size_t>(i)] - held);
            }
            cost = next;
        }
        const double best = *std::min_element(cost.begin(), cost.end());
        const double found = curve.cheapest(prices, relief);
        if (std::abs(found - best) > 1e-9) {
            FAIL("round %d: %g instead of %g", round, found, best);
        }
        for (const double held : curve.held()) {
            CHECK(held <= std::max(most, before)); // more never pays, and rounding makes it cost
        }
    }
}

/// Two jobs that exclude each other: what is worth more goes first, and a refused one has no start.
void mean_starts_tell_who_goes_first() {
    Snapshot snapshot = test::grid(1, 4, 4);
    snapshot.value.decay_end = 0.5;
    snapshot.jobs = {test::job("a", 4, 20, 1), test::job("b", 4, 20, 4), test::job("c", 4, 20, 4)};
    snapshot.jobs[2].refusal = Refusal{"no", 100};
    Bound bound(snapshot);
    bound.tighten(200, 0);
    const std::vector<double> starts = bound.mean_starts();
    REQUIRE(starts.size() == 3);
    CHECK(starts[1] < starts[0]);
    CHECK(starts[0] <= static_cast<double>(snapshot.horizon()));
    CHECK(starts[2] >= static_cast<double>(kNever));
}

void odd_snapshots_have_a_bound() {
    Snapshot empty = test::grid(1, 1, 1);
    empty.nodes.clear();
    empty.classes = {{}};
    CHECK_NEAR(Bound(empty).value(), 0, 1e-9);
    Snapshot endless = test::grid(1, 2, 3);
    endless.fit = Fit::may_overrun;
    endless.running.push_back({"r", "", 1, -1, 0, kNever, {{0, 1, 0, 0}}, {}});
    endless.jobs = {test::job("never", 1, kNever), test::job("wide", 1000, 10)};
    endless.apps = {{"a", 1, {9, 9, 9}, 0, GpuSet{{0, 2}}, -1, {}}};
    Bound bound(endless);
    bound.tighten(100, 0);
    CHECK(std::isfinite(bound.value()));
    Snapshot fine = test::grid(1, 2, 100'000, 1); // more steps than prices
    fine.jobs = {test::job("a", 2, 60'000), test::job("b", 1, 60'000)};
    Bound many(fine);
    many.tighten(20, 120'000);
    CHECK(many.value() >= 120'000);
    CHECK(many.value() < 181'000);
}

} // namespace

TEST_SUITE("bound", {"never below the best plan", never_below_the_best_plan},
           {"never below the best line", never_below_the_best_line},
           {"wide jobs need neighbours", wide_jobs_need_neighbours},
           {"never below a plan", never_below_a_plan},
           {"nothing left by demand leaves room to fall short",
            nothing_left_by_demand_leaves_room_to_fall_short},
           {"a second wide job costs all that it lacks", a_second_wide_job_costs_all_that_it_lacks},
           {"more rounds never loosen", more_rounds_never_loosen},
           {"curves are the cheapest", curves_are_the_cheapest},
           {"mean starts tell who goes first", mean_starts_tell_who_goes_first},
           {"odd snapshots have a bound", odd_snapshots_have_a_bound})
