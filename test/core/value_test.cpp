// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.hpp"
#include "value.hpp"

#include "fragmentation.hpp"

#include <algorithm>

using namespace foresight;

namespace {

/// Step by step, as the published benchmark counts.
double slow_weight(const Snapshot& snapshot, Seconds from, Seconds until) {
    double total = 0;
    for (int step = 0; step < snapshot.steps; ++step) {
        const Seconds overlap =
            std::min(until, (step + 1) * snapshot.step) - std::max(from, step * snapshot.step);
        if (overlap > 0) {
            const double weight =
                1.0 - (1.0 - snapshot.value.decay_end) * step / std::max(1, snapshot.steps - 1);
            total += weight * static_cast<double>(overlap) / static_cast<double>(snapshot.step);
        }
    }
    return total;
}

void weights_match_a_slow_reference() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 5000; ++round) {
        Snapshot snapshot;
        snapshot.step = draw.number(1, 3600);
        snapshot.steps = draw.number(1, 50);
        snapshot.value.decay_end = draw.number(0, 12) / 10.0;
        const int horizon = static_cast<int>(snapshot.horizon());
        const Seconds from = draw.number(-50, horizon + 50);
        const Seconds until = from + draw.number(0, horizon);
        CHECK_NEAR(Weights(snapshot).between(from, until), slow_weight(snapshot, from, until),
                   1e-9 * horizon + 1e-9);
    }
}

void changes_count_both_ways() {
    CHECK_INT(count_changes({}, {{1, 0b11}}), 2);
    CHECK_INT(count_changes({{0, 0b11}, {2, 1}}, {{0, 0b10}, {1, 1}}), 3);
    CHECK_INT(count_changes({{5, 0b111}}, {{5, 0b111}}), 0);
}

void metrics_of_a_known_plan() {
    Snapshot snapshot = test::grid(1, 4, 4);
    snapshot.value = {0.5, 8};
    App app;
    app.priority = 5;
    app.demand = {1, 2, 1, 0};
    snapshot.apps.push_back(app);
    snapshot.jobs = {test::job("a", 2, 20, 3)};
    Plan plan;
    plan.placements.push_back({0, 0, 0, 0, 20, {{0, 0b11, 0, 0}}});
    plan.holds.push_back({{{{0, 0b1000}}, {{0, 0b1000}}, {{0, 0b1000}}, {{0, 0b1000}}}});
    const Metrics metrics = measure(snapshot, plan);
    CHECK_NEAR(metrics.utilisation, (4.0 + 3.0) / 16.0, 1e-12);
    CHECK_NEAR(metrics.value, 3 * 2 * (1.0 + (1.0 - 0.5 / 3)), 1e-12);
    CHECK_NEAR(metrics.objective, metrics.value - 8 * 5 * 1, 1e-12);
    CHECK_NEAR(metrics.shortfall_gpu_steps, 1, 0);
    CHECK_NEAR(metrics.swaps, 0, 0);
    CHECK_INT(metrics.jobs_completed, 1);
}

void waits_of_a_known_plan() {
    Snapshot snapshot = test::grid(1, 4, 10);
    snapshot.now = 4;
    snapshot.jobs = {test::job("a", 2, 20), test::job("b", 2, 5), test::job("served", 2, 5)};
    snapshot.jobs[0].submit = -36;
    snapshot.jobs[1].submit = 4;
    snapshot.jobs[2].app = 0;
    Plan plan;
    plan.placements.push_back({0, 0, 0, 4, 24, {{0, 0b11, 0, 0}}});
    plan.placements.push_back({1, 0, 0, 24, 29, {{0, 0b11, 0, 0}}});
    plan.placements.push_back({2, 0, 0, 90, 95, {{0, 0b11, 0, 0}}});
    const Metrics metrics = measure(snapshot, plan);
    CHECK_NEAR(metrics.wait_mean_s, 30, 1e-12);
    CHECK_NEAR(metrics.wait_max_s, 40, 1e-12);
    // (40 + 20) ÷ 20, and of the short one (20 + 10) ÷ 10.
    CHECK_NEAR(metrics.bounded_slowdown_mean, 3, 1e-12);
    CHECK_NEAR(metrics.bounded_slowdown_max, 3, 1e-12);
}

void fragmentation_counts_what_waiting_jobs_cannot_use() {
    // Two nodes of 4: on one two free GPUs apart, on the other two neighbours, not aligned.
    Snapshot snapshot = test::grid(2, 4, 10);
    snapshot.running.push_back({"r", "", 1, -1, 0, 50, {{0, 0b0101, 0, 0}, {1, 0b1001, 0, 0}}, {}});
    snapshot.jobs = {test::job("two", 2, 20), test::job("one", 1, 20)};
    Plan plan;
    plan.unplaced = {{0, {{}}}, {1, {{}}}};
    snapshot.block = Block::contiguous;
    CHECK_NEAR(fragmentation(snapshot, plan), (0.5 + 0) / 2, 1e-12);
    snapshot.block = Block::aligned;
    CHECK_NEAR(fragmentation(snapshot, plan), (1.0 + 0) / 2, 1e-12);
    snapshot.block = Block::any; // chunks of one GPU go anywhere
    CHECK_NEAR(fragmentation(snapshot, plan), 0, 1e-12);
    snapshot.jobs[0].options[0].request.chunk.gpus = 3;
    snapshot.jobs[0].options[0].request.chunks = 1;
    CHECK_NEAR(fragmentation(snapshot, plan), (1.0 + 0) / 2, 1e-12);
    // A whole node is shut out by one GPU on each: what starts now counts as well.
    snapshot.running.clear();
    snapshot.jobs = {test::job("node", 4, 20), test::job("small", 1, 20)};
    snapshot.jobs[0].options[0].request.nodes_max = 1;
    plan.unplaced = {{0, {{}}}};
    CHECK_NEAR(fragmentation(snapshot, plan), 0, 1e-12);
    plan.placements.push_back({1, 0, 0, 0, 20, {{0, 1, 0, 0}}});
    CHECK_NEAR(fragmentation(snapshot, plan), 3.0 / 7, 1e-12);
    plan.placements[0].start = 10;
    plan.unplaced.clear();
    CHECK_NEAR(fragmentation(snapshot, plan), 0, 1e-12);
}

} // namespace

TEST_SUITE("value", {"weights match a slow reference", weights_match_a_slow_reference},
           {"changes count both ways", changes_count_both_ways},
           {"metrics of a known plan", metrics_of_a_known_plan},
           {"waits of a known plan", waits_of_a_known_plan},
           {"fragmentation counts what waiting jobs cannot use",
            fragmentation_counts_what_waiting_jobs_cannot_use})
