// SPDX-License-Identifier: GPL-2.0-or-later
#include "strip.hpp"

#include "decode.hpp"
#include "instance.hpp"
#include "planner.hpp"
#include "realtime.hpp"
#include "strip_search.hpp"
#include "validate.hpp"

#include <algorithm>

using namespace foresight;

namespace {

const Policy& policy() {
    static const Policy value = *find_policy("foresight");
    return value;
}

std::vector<Hold> first_holds(const Snapshot& snapshot) {
    Decoder decoder(snapshot, policy(), nullptr);
    decoder.prepare();
    return decoder.holds();
}

/// As a plan, whose reasons do not matter here.
Plan as_plan(const Snapshot& snapshot, StripPlan found) {
    Plan plan;
    plan.placements = std::move(found.placements);
    plan.holds = std::move(found.holds);
    plan.waits.resize(plan.placements.size());
    for (int job = 0; job < static_cast<int>(snapshot.jobs.size()); ++job) {
        if (std::none_of(plan.placements.begin(), plan.placements.end(),
                         [&](const Placement& place) { return place.job == job; })) {
            plan.unplaced.push_back({job, {{.kind = ReasonKind::beyond_horizon}}});
        }
    }
    return plan;
}

/// Random snapshots as scenarios have them, the first one that suits a strip.
Snapshot random_strip(test::Draw& draw, test::Kinds kinds) {
    while (true) {
        Snapshot snapshot = test::random_snapshot(draw, kinds);
        if (Strip::suits(snapshot)) {
            return snapshot;
        }
    }
}

void decodes_as_the_decoder_does_where_nothing_is_held() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 600; ++round) {
        test::Kinds kinds{.apps = false, .most_jobs = 14};
        kinds.block = draw.chance(50) ? Block::contiguous : Block::aligned;
        kinds.fit = draw.chance(50) ? Fit::within_horizon : Fit::may_overrun;
        const Snapshot snapshot = random_strip(draw, kinds);
        std::vector<Entry> order = queue_of(snapshot, policy());
        Decoder decoder(snapshot, policy(), nullptr);
        decoder.prepare();
        const Decoded slow = decoder.decode(order);
        const StripPlan fast = decode_strip(snapshot, policy(), decoder.holds(), order);
        REQUIRE(slow.placements.size() == fast.placements.size());
        for (std::size_t i = 0; i < slow.placements.size(); ++i) {
            CHECK_INT(slow.placements[i].job, fast.placements[i].job);
            CHECK_INT(slow.placements[i].start, fast.placements[i].start);
            CHECK(slow.placements[i].shares == fast.placements[i].shares);
        }
    }
}

void plans_are_legal_whatever_bites() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 1500; ++round) {
        test::Kinds kinds{.most_jobs = 12};
        kinds.block = static_cast<Block>(draw.number(0, 2));
        kinds.fit = draw.chance(50) ? Fit::within_horizon : Fit::may_overrun;
        const Snapshot snapshot = random_strip(draw, kinds);
        const std::uint64_t budget = draw.chance(50) ? 0 : 300;
        const StripPlan found =
            search_strip(snapshot, policy(), first_holds(snapshot), budget, nullptr);
        for (const std::string& problem : validate(snapshot, as_plan(snapshot, found))) {
            FAIL("round %d: %s", round, problem.c_str());
        }
        // As many GPUs are held as before: giving way costs an application nothing.
        const std::vector<Hold> before = first_holds(snapshot);
        for (std::size_t app = 0; app < before.size(); ++app) {
            for (std::size_t step = 0; step < before[app].steps.size(); ++step) {
                const int least =
                    std::min(count_gpus(before[app].steps[step]), snapshot.apps[app].demand[step]);
                CHECK(count_gpus(found.holds[app].steps[step]) >= least);
            }
        }
    }
}

void an_order_found_decodes_to_the_same_plan() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 200; ++round) {
        const Snapshot snapshot = random_strip(draw, {.block = Block::contiguous, .most_jobs = 12});
        const std::vector<Hold> holds = first_holds(snapshot);
        const StripPlan found = search_strip(snapshot, policy(), holds, 500, nullptr);
        const StripPlan again = decode_strip(snapshot, policy(), holds, found.order);
        REQUIRE(found.placements.size() == again.placements.size());
        for (std::size_t i = 0; i < found.placements.size(); ++i) {
            CHECK_INT(found.placements[i].job, again.placements[i].job);
            CHECK_INT(found.placements[i].start, again.placements[i].start);
            CHECK(found.placements[i].shares == again.placements[i].shares);
        }
        for (std::size_t app = 0; app < holds.size(); ++app) {
            CHECK(found.holds[app].steps == again.holds[app].steps);
        }
    }
}

/// One application that begins on the low GPUs, and a job that needs all but one.
Snapshot held_in_the_way(std::int64_t max_swap) {
    Snapshot snapshot = test::grid(2, 4, 4);
    App app;
    app.id = "service";
    app.demand = {1, 1, 1, 1};
    app.max_swap = max_swap;
    app.held = GpuSet{{0, 1}};
    snapshot.apps = {app};
    snapshot.jobs = {test::job("wide", 4, 20, 2), test::job("wide too", 4, 20)};
    return snapshot;
}

void held_gpus_give_way_within_the_swap_cap() {
    // Two swaps: from one node to the other, when the first job there is over.
    Snapshot snapshot = held_in_the_way(2);
    Plan plan = make_plan(snapshot, {policy(), 2000, nullptr});
    CHECK(validate(snapshot, plan).empty());
    CHECK_INT(plan.metrics.jobs_placed, 2);
    // With one swap it can only take the new GPU a step before it leaves the old one.
    snapshot = held_in_the_way(1);
    plan = make_plan(snapshot, {policy(), 2000, nullptr});
    CHECK(validate(snapshot, plan).empty());
    CHECK_NEAR(plan.metrics.shortfall_gpu_steps, 0.0, 1e-9);
    // With none it stays.
    snapshot = held_in_the_way(0);
    plan = make_plan(snapshot, {policy(), 2000, nullptr});
    CHECK(validate(snapshot, plan).empty());
    CHECK(plan.holds[0].steps[3] == *snapshot.apps[0].held);
}

void more_budget_is_never_worse() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 60; ++round) {
        const Snapshot snapshot = random_strip(draw, {.block = Block::contiguous, .most_jobs = 12});
        const double fast = make_plan(snapshot, {policy(), 0, nullptr}).metrics.objective;
        const double full = make_plan(snapshot, {policy(), 2000, nullptr}).metrics.objective;
        CHECK(full >= fast - 1e-9 * std::max(1.0, fast));
    }
}

void what_does_not_suit_is_left_to_the_decoder() {
    Snapshot snapshot = test::grid(2, 4, 4);
    snapshot.jobs = {test::job("a", 2, 20)};
    CHECK(Strip::suits(snapshot));
    Snapshot other = snapshot;
    other.jobs[0].options[0].request.chunk.cpus = 1;
    CHECK(!Strip::suits(other));
    other = snapshot;
    other.jobs[0].tasks = 2;
    CHECK(!Strip::suits(other));
    other = snapshot;
    other.classes[0].closures.push_back({0, 0, 10});
    CHECK(!Strip::suits(other));
    other = snapshot;
    other.nodes.resize(17, other.nodes[0]);
    CHECK(!Strip::suits(other));
    other = snapshot;
    other.jobs[0].options[0].duration = kLongest;
    CHECK(!Strip::suits(other));
}

} // namespace

TEST_SUITE("strip",
           {"decodes as the decoder does where nothing is held",
            decodes_as_the_decoder_does_where_nothing_is_held},
           {"plans are legal, whatever bites", plans_are_legal_whatever_bites},
           {"an order found decodes to the same plan", an_order_found_decodes_to_the_same_plan},
           {"held GPUs give way within the swap cap", held_gpus_give_way_within_the_swap_cap},
           {"more budget is never worse", more_budget_is_never_worse},
           {"what does not suit is left to the decoder", what_does_not_suit_is_left_to_the_decoder})
