// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.hpp"
#include "planner.hpp"
#include "strip.hpp"
#include "validate.hpp"

#include <algorithm>

using namespace foresight;

namespace {

Plan plan_of(const Snapshot& snapshot, bool may_fall_short, std::uint64_t budget = 0) {
    PlanOptions options{*find_policy("foresight"), budget, nullptr};
    options.policy.may_fall_short = may_fall_short;
    return make_plan(snapshot, options);
}

/// Eight GPUs, of which the service wants so many all day, and a job that takes them all for a
/// step.
Snapshot whole_node_beside(int demand) {
    Snapshot snapshot = test::grid(1, 8, 12);
    App app;
    app.id = "service";
    app.demand.assign(12, demand);
    snapshot.apps = {app};
    snapshot.jobs = {test::job("wide", 8, 10, 40)};
    return snapshot;
}

void demand_is_missed_where_that_gains() {
    const Snapshot snapshot = whole_node_beside(3);
    const Plan plan = plan_of(snapshot, true);
    CHECK_INT(plan.metrics.jobs_placed, 1);
    CHECK_INT(static_cast<int>(plan.metrics.shortfall_gpu_steps), 3);
    CHECK(plan.metrics.objective > 8 * 40 - 3 * 8 - 1e-6);
    CHECK(validate(snapshot, plan).empty());
}

void not_where_it_loses() {
    Snapshot snapshot = whole_node_beside(3);
    snapshot.jobs[0].priority = 2.9; // 23.2 against 24
    const Plan plan = plan_of(snapshot, true);
    CHECK_INT(plan.metrics.jobs_placed, 0);
    CHECK_INT(static_cast<int>(plan.metrics.shortfall_gpu_steps), 0);
}

void not_where_the_policy_forbids() {
    const Plan plan = plan_of(whole_node_beside(3), false, 1000);
    CHECK_INT(plan.metrics.jobs_placed, 0);
    CHECK_INT(static_cast<int>(plan.metrics.shortfall_gpu_steps), 0);
}

void curves_come_down_and_up_within_the_cap() {
    Snapshot snapshot = whole_node_beside(3);
    snapshot.apps[0].max_swap = 1;
    const Plan plan = plan_of(snapshot, true);
    CHECK_INT(plan.metrics.jobs_placed, 1);
    CHECK(validate(snapshot, plan).empty());
    // At the start three, two and one; later it would be two and one more.
    CHECK_INT(static_cast<int>(plan.metrics.shortfall_gpu_steps), 3 + 2 + 1);
}

void the_cheapest_application_misses() {
    Snapshot snapshot = whole_node_beside(2);
    snapshot.apps.push_back(snapshot.apps[0]);
    snapshot.apps[0].priority = 3;
    snapshot.apps[1].id = "other";
    snapshot.jobs[0] = test::job("wide", 5, 10, 40);
    const Plan plan = plan_of(snapshot, true);
    CHECK_INT(plan.metrics.jobs_placed, 1);
    CHECK_INT(static_cast<int>(plan.metrics.shortfall_gpu_steps), 1);
    CHECK(plan.metrics.objective > 5 * 40 - 8 - 1e-6);
}

void only_one_job_of_two_pays() {
    // The second wide job would cost six GPU-steps, the first none.
    Snapshot snapshot = test::grid(1, 8, 3);
    App app;
    app.id = "service";
    app.demand = {2, 2, 2};
    snapshot.apps = {app};
    snapshot.value.shortfall_weight = 7;
    snapshot.jobs = {test::job("a", 4, 30, 2), test::job("b", 4, 30, 2)};
    CHECK_INT(plan_of(snapshot, true).metrics.jobs_placed, 1);
    snapshot.value.shortfall_weight = 3;
    CHECK_INT(plan_of(snapshot, true).metrics.jobs_placed, 2);
}

void never_worth_less_and_always_legal() {
    test::Draw draw(test_seed());
    int gained = 0;
    for (int round = 0; round < 400; ++round) {
        test::Kinds kinds{.block = draw.chance(70) ? Block::contiguous : Block::any,
                          .most_jobs = 12};
        kinds.fit = draw.chance(50) ? Fit::within_horizon : Fit::may_overrun;
        Snapshot snapshot = test::random_snapshot(draw, kinds);
        if (!Strip::suits(snapshot)) {
            continue;
        }
        snapshot.value.shortfall_weight = draw.number(0, 3);
        for (const std::uint64_t budget : {std::uint64_t{0}, std::uint64_t{300}}) {
            const Plan plain = plan_of(snapshot, false);
            const Plan plan = plan_of(snapshot, true, budget);
            const double slack = 1e-9 * std::max(1.0, std::abs(plan.metrics.objective));
            CHECK(plan.metrics.objective >= plain.metrics.objective - slack);
            CHECK(validate(snapshot, plan).empty());
            CHECK(plan.bound && *plan.bound >= plan.metrics.objective - slack);
            gained += plan.metrics.objective > plain.metrics.objective + slack;
        }
    }
    CHECK(gained >= 20);
}

} // namespace

TEST_SUITE("shortfall", {"demand is missed where that gains", demand_is_missed_where_that_gains},
           {"not where it loses", not_where_it_loses},
           {"not where the policy forbids it", not_where_the_policy_forbids},
           {"curves come down and up within the cap", curves_come_down_and_up_within_the_cap},
           {"the cheapest application misses", the_cheapest_application_misses},
           {"only one job of two pays", only_one_job_of_two_pays},
           {"never worth less, always legal", never_worth_less_and_always_legal})
