// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The validator itself: a legal plan, spoilt in each way that it must notice.
 */
#include "instance.hpp"
#include "planner.hpp"
#include "validate.hpp"

#include <algorithm>

using namespace foresight;

namespace {

struct Case {
    Snapshot snapshot = test::grid(3, 4, 6);
    Plan plan;

    Case() {
        snapshot.block = Block::contiguous;
        App app;
        app.id = "chat";
        app.demand = {1, 1, 2, 2, 1, 1};
        app.max_swap = 1;
        snapshot.apps.push_back(app);
        snapshot.jobs = {test::job("one", 2, 20), test::job("two", 8, 30),
                         test::job("late", 2, 20)};
        snapshot.jobs[2].submit = 10;
        snapshot.limits = {{"limit", 1}};
        snapshot.jobs[2].limits = {{0, 1}};
        plan = make_plan(snapshot, {*find_policy("conservative"), 0, nullptr});
    }

    Placement& place(int job) {
        return *std::find_if(plan.placements.begin(), plan.placements.end(),
                             [&](const Placement& place) { return place.job == job; });
    }

    bool complains(const char* about) const {
        const std::vector<std::string> problems = validate(snapshot, plan);
        return std::any_of(problems.begin(), problems.end(), [&](const std::string& problem) {
            return problem.find(about) != std::string::npos;
        });
    }
};

void a_legal_plan_passes() {
    const Case made;
    CHECK_INT(made.plan.placements.size(), 3);
    CHECK(validate(made.snapshot, made.plan).empty());
}

void each_spoilt_place_is_noticed() {
    Case made;
    made.place(2).start = 0;
    CHECK(made.complains("starts before it may"));
    CHECK(made.complains("does not run for its duration"));
    Case twice;
    twice.place(0).shares = twice.place(1).shares;
    CHECK(twice.complains("that is taken"));
    CHECK(twice.complains("wrong number of GPUs"));
    Case shape;
    shape.place(0).shares[0].gpus = 0b0101;
    CHECK(shape.complains("not consecutive"));
    Case lost;
    lost.plan.placements.erase(lost.plan.placements.begin());
    CHECK(lost.complains("neither placed nor explained"));
    Case late;
    late.place(0).start += 50;
    late.place(0).end += 50;
    CHECK(late.complains("ends after the horizon"));
    Case apart;
    apart.place(1).shares[0].gpus = 0b1110;
    CHECK(apart.complains("not whole"));
    Case closed;
    closed.snapshot.classes[0].closures = {{closed.place(0).shares[0].node, 0, 5}};
    CHECK(closed.complains("closure"));
    Case limited;
    limited.snapshot.limits[0].max = 0;
    CHECK(limited.complains("limit: is exceeded"));
    Case elsewhere;
    elsewhere.snapshot.classes[0].nodes = {2};
    CHECK(elsewhere.complains("not of its class"));
}

void a_spoilt_hold_is_noticed() {
    Case made;
    made.plan.holds[0].steps[1] = made.plan.holds[0].steps[0];
    made.plan.holds[0].steps[1][0].first = 0;
    CHECK(made.complains("swaps too many"));
    Case missing;
    missing.plan.holds[0].steps.pop_back();
    CHECK(missing.complains("hold for each step"));
}

void cpus_and_memory_are_counted() {
    Case made;
    for (Node& node : made.snapshot.nodes) {
        node.cpus = 1;
    }
    made.place(0).shares[0].cpus = 2;
    CHECK(made.complains("more CPUs"));
}

} // namespace

TEST_SUITE("validate", {"a legal plan passes", a_legal_plan_passes},
           {"each spoilt place is noticed", each_spoilt_place_is_noticed},
           {"a spoilt hold is noticed", a_spoilt_hold_is_noticed},
           {"CPUs and memory are counted", cpus_and_memory_are_counted})
