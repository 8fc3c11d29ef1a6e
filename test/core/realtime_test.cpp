// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.hpp"
#include "realtime.hpp"
#include "value.hpp"

#include <algorithm>
#include <cstdlib>

using namespace foresight;

namespace {

/// The least curve that covers the demand under the swap cap, by trying all of them.
std::int64_t least_area(const App& app, std::size_t step, int before, bool free, int most) {
    if (step == app.demand.size()) {
        return 0;
    }
    std::int64_t best = kUnlimited;
    for (int held = app.demand[step]; held <= most; ++held) {
        if (free || std::abs(held - before) <= app.max_swap) {
            best = std::min(best, held + least_area(app, step + 1, held, false, most));
        }
    }
    return best;
}

void the_curve_is_the_least_that_covers() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 300; ++round) {
        App app;
        app.max_swap = draw.number(1, 2);
        for (int step = 0; step < 6; ++step) {
            app.demand.push_back(draw.number(0, 4));
        }
        const std::vector<int> curve = hold_curve(app, Realtime::elastic);
        std::int64_t area = 0;
        for (std::size_t step = 0; step < curve.size(); ++step) {
            CHECK(curve[step] >= app.demand[step]);
            CHECK(step == 0 || std::abs(curve[step] - curve[step - 1]) <= app.max_swap);
            area += curve[step];
        }
        CHECK_INT(area, least_area(app, 0, 0, true, 4));
    }
}

void a_cap_from_what_is_held_misses_least() {
    App app;
    app.max_swap = 1;
    app.demand = {4, 4, 4, 0, 0};
    app.held = GpuSet{{0, 0b1}};
    CHECK(hold_curve(app, Realtime::elastic) == (std::vector<int>{2, 3, 4, 3, 2}));
    CHECK(hold_curve(app, Realtime::static_peak) == (std::vector<int>{2, 3, 4, 4, 4}));
}

void a_flat_demand_swaps_nothing() {
    Snapshot snapshot = test::grid(2, 8, 10);
    App app;
    app.demand.assign(10, 5);
    app.held = GpuSet{{0, 0b11111}};
    snapshot.apps.push_back(app);
    Profile profile(snapshot);
    const std::vector<Hold> holds = plan_holds(snapshot, Realtime::elastic, {}, profile);
    for (const GpuSet& step : holds[0].steps) {
        CHECK(step == *app.held);
    }
}

void held_gpus_gather_at_the_high_end() {
    Snapshot snapshot = test::grid(2, 4, 3);
    App app;
    app.demand = {1, 5, 2};
    snapshot.apps.push_back(app);
    Profile profile(snapshot);
    const std::vector<Hold> holds = plan_holds(snapshot, Realtime::elastic, {}, profile);
    CHECK(holds[0].steps[0] == (GpuSet{{1, 0b1000}}));
    CHECK(holds[0].steps[1] == (GpuSet{{0, 0b1000}, {1, 0b1111}}));
    CHECK(holds[0].steps[2] == (GpuSet{{1, 0b1100}}));
    CHECK(profile.timeline().window(1, 10, 20).gpus == 0);
}

void own_jobs_count_as_held() {
    Snapshot snapshot = test::grid(1, 8, 3);
    App app;
    app.demand = {3, 3, 3};
    snapshot.apps.push_back(app);
    Running job;
    job.app = 0;
    job.end = 20;
    job.shares.push_back({0, 0b11, 0, 0});
    snapshot.running.push_back(job);
    Profile profile(snapshot);
    const std::vector<Hold> holds = plan_holds(snapshot, Realtime::elastic, {}, profile);
    CHECK_INT(count_gpus(holds[0].steps[0]), 3);
    CHECK_INT(count_gpus(holds[0].steps[2]), 3);
    // Two by its job, one kept beside it; all three kept when the job is over.
    CHECK(profile.timeline().window(0, 0, 10).gpus == 0b01111100);
    CHECK_INT(std::popcount(profile.timeline().window(0, 20, 30).gpus), 5);
}

void a_held_gpu_keeps_its_cpus() {
    Snapshot snapshot = test::grid(1, 4, 2);
    snapshot.nodes[0].cpus = 8;
    App app;
    app.demand = {2, 2};
    app.per_gpu = {0, 2, 0};
    snapshot.apps.push_back(app);
    Profile profile(snapshot);
    (void)plan_holds(snapshot, Realtime::elastic, {}, profile);
    CHECK_INT(profile.timeline().window(0, 0, 20).cpus, 4);
}

void a_node_without_cpus_holds_nothing() {
    Snapshot snapshot = test::grid(2, 4, 2);
    snapshot.nodes[1].cpus = 1;
    App app;
    app.demand = {2, 2};
    app.per_gpu = {0, 2, 0};
    snapshot.apps.push_back(app);
    Profile profile(snapshot);
    const std::vector<Hold> holds = plan_holds(snapshot, Realtime::elastic, {}, profile);
    CHECK(holds[0].steps[0] == (GpuSet{{0, 0b1100}}));
}

} // namespace

TEST_SUITE("realtime", {"the curve is the least that covers", the_curve_is_the_least_that_covers},
           {"a cap from what is held misses least", a_cap_from_what_is_held_misses_least},
           {"a flat demand swaps nothing", a_flat_demand_swaps_nothing},
           {"held GPUs gather at the high end", held_gpus_gather_at_the_high_end},
           {"own jobs count as held", own_jobs_count_as_held},
           {"a held GPU keeps its CPUs", a_held_gpu_keeps_its_cpus},
           {"a node without CPUs holds nothing", a_node_without_cpus_holds_nothing})
