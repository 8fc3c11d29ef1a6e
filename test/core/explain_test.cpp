// SPDX-License-Identifier: GPL-2.0-or-later
#include "explain.hpp"

#include "instance.hpp"
#include "planner.hpp"

#include <algorithm>
#include <cstring>

using namespace foresight;

namespace {

Plan plan_with(const Snapshot& snapshot, const char* policy = "conservative") {
    return make_plan(snapshot, {*find_policy(policy), 0, nullptr});
}

/// All that holds the job back; none where it starts at once.
std::vector<Reason> reasons_of(const Snapshot& snapshot, const Plan& plan, const std::string& id) {
    for (std::size_t i = 0; i < plan.placements.size(); ++i) {
        if (snapshot.jobs[static_cast<std::size_t>(plan.placements[i].job)].id == id) {
            return plan.waits[i];
        }
    }
    for (const Unplaced& unplaced : plan.unplaced) {
        if (snapshot.jobs[static_cast<std::size_t>(unplaced.job)].id == id) {
            return unplaced.reasons;
        }
    }
    return {};
}

void check_reason(const std::vector<Reason>& reasons, std::size_t index, ReasonKind kind,
                  Seconds until, const char* job = "", int app = -1, int limit = -1) {
    REQUIRE(index < reasons.size());
    CHECK_STR(name_of(reasons[index].kind), name_of(kind));
    CHECK_INT(reasons[index].until, until);
    CHECK_STR(reasons[index].job.c_str(), job);
    CHECK_INT(reasons[index].app, app);
    CHECK_INT(reasons[index].limit, limit);
}

Running running(const char* id, Seconds end, Share share) {
    return {id, "", 1, -1, 0, end, {share}, {}};
}

/// What runs until 100, what is held until 150, who comes first until 190: one after the other.
void a_chain_of_causes() {
    Snapshot snapshot = test::grid(1, 4, 40);
    snapshot.running.push_back(running("r1", 60, {0, 0b0001, 0, 0}));
    snapshot.running.push_back(running("r2", 100, {0, 0b0111, 0, 0}));
    App app;
    app.id = "chat";
    app.demand.assign(40, 0);
    std::fill(app.demand.begin(), app.demand.begin() + 15, 1);
    snapshot.apps.push_back(app);
    snapshot.jobs = {test::job("first", 4, 40, 9), test::job("second", 4, 20, 8)};
    const Plan plan = plan_with(snapshot);
    const auto first = reasons_of(snapshot, plan, "first");
    CHECK_INT(first.size(), 2);
    check_reason(first, 0, ReasonKind::gpus, 100, "r2");
    check_reason(first, 1, ReasonKind::realtime, 150, "", 0);
    const auto second = reasons_of(snapshot, plan, "second");
    CHECK_INT(second.size(), 3);
    check_reason(second, 0, ReasonKind::gpus, 100, "r2");
    check_reason(second, 1, ReasonKind::realtime, 150, "", 0);
    check_reason(second, 2, ReasonKind::behind, 190, "first");
}

void cpus_memory_and_blocks() {
    Snapshot snapshot = test::grid(1, 4, 40);
    snapshot.nodes[0].cpus = 8;
    snapshot.nodes[0].memory_mib = 100;
    snapshot.running.push_back(running("hog", 70, {0, 0b0100, 6, 90}));
    Job cpus = test::job("cpus", 1, 20);
    cpus.options[0].request.chunk.cpus = 4;
    Job memory = test::job("memory", 1, 20);
    memory.options[0].request.chunk.memory_mib = 50;
    snapshot.jobs = {cpus, memory, test::job("block", 3, 20)};
    const Plan plan = plan_with(snapshot);
    check_reason(reasons_of(snapshot, plan, "cpus"), 0, ReasonKind::cpus, 70, "hog");
    check_reason(reasons_of(snapshot, plan, "memory"), 0, ReasonKind::memory, 70, "hog");
    check_reason(reasons_of(snapshot, plan, "block"), 0, ReasonKind::block, 70, "hog");
    CHECK_STR(resource_of(ReasonKind::memory), "memory");
    CHECK(resource_of(ReasonKind::begin) == nullptr);
}

void limits_closures_and_begin_times() {
    Snapshot snapshot = test::grid(2, 4, 40);
    snapshot.limits = {{"GrpTRES of a", 4}};
    snapshot.running.push_back(running("user", 50, {0, 0b1111, 0, 0}));
    snapshot.running[0].limits = {{0, 4}};
    snapshot.classes.push_back({{1}, {{1, 30, 90}}});
    Job limited = test::job("limited", 2, 20);
    limited.limits = {{0, 2}};
    Job closed = test::job("closed", 2, 40);
    closed.options[0].node_class = 1;
    Job later = test::job("later", 1, 10);
    later.begin = 25;
    Job refused = test::job("refused", 1, 10);
    refused.refusal = Refusal{"no", 33};
    snapshot.jobs = {
        limited, closed, later, refused, test::job("never", 9, 10), test::job("long", 1, 500)};
    const Plan plan = plan_with(snapshot);
    check_reason(reasons_of(snapshot, plan, "limited"), 0, ReasonKind::limit, 50, "user", -1, 0);
    check_reason(reasons_of(snapshot, plan, "closed"), 0, ReasonKind::closed, 90);
    check_reason(reasons_of(snapshot, plan, "later"), 0, ReasonKind::begin, 25);
    check_reason(reasons_of(snapshot, plan, "refused"), 0, ReasonKind::refused, 33);
    check_reason(reasons_of(snapshot, plan, "never"), 0, ReasonKind::never_fits, kNever);
    check_reason(reasons_of(snapshot, plan, "long"), 0, ReasonKind::beyond_horizon, 400);
}

/// Without a place: what is in the way first, and that nothing comes before the horizon's end.
void an_unplaced_job_tells_all() {
    Snapshot snapshot = test::grid(1, 4, 10);
    snapshot.running.push_back(running("r", 40, {0, 0b1111, 0, 0}));
    snapshot.jobs = {test::job("first", 4, 50, 9), test::job("second", 4, 50, 8)};
    const Plan plan = plan_with(snapshot);
    const auto reasons = reasons_of(snapshot, plan, "second");
    CHECK_INT(reasons.size(), 3);
    check_reason(reasons, 0, ReasonKind::gpus, 40, "r");
    check_reason(reasons, 1, ReasonKind::behind, kNever, "first");
    check_reason(reasons, 2, ReasonKind::beyond_horizon, 100);
}

/// Of two applications the one that is in the way at that time is named.
void the_application_in_the_way_is_named() {
    Snapshot snapshot = test::grid(1, 8, 10);
    for (const int level : {1, 6}) {
        App app;
        app.id = "app" + std::to_string(level);
        app.demand.assign(10, level);
        snapshot.apps.push_back(app);
    }
    snapshot.apps[1].demand.assign(10, 0);
    std::fill_n(snapshot.apps[1].demand.begin(), 4, 6);
    snapshot.jobs = {test::job("job", 4, 20)};
    const Plan plan = plan_with(snapshot);
    check_reason(reasons_of(snapshot, plan, "job"), 0, ReasonKind::realtime, 40, "", 1);
}

/// No wait ends after the job's start, and every job that waits has a reason.
void reasons_end_by_the_start() {
    test::Draw draw(test_seed());
    test::Kinds kinds{.limits_of_nodes = true, .limits_of_jobs = true, .fit = Fit::may_overrun};
    for (int round = 0; round < 300; ++round) {
        const Snapshot snapshot = test::random_snapshot(draw, kinds);
        const Plan plan = plan_with(snapshot, round % 2 == 0 ? "foresight" : "easy");
        for (std::size_t i = 0; i < plan.placements.size(); ++i) {
            const Seconds start = plan.placements[i].start;
            for (const Reason& reason : plan.waits[i]) {
                CHECK(reason.until <= start || reason.kind == ReasonKind::limit);
            }
            CHECK(plan.waits[i].size() <= 8);
        }
        for (const Unplaced& unplaced : plan.unplaced) {
            CHECK(!unplaced.reasons.empty());
        }
    }
}

} // namespace

TEST_SUITE("explain", {"a chain of causes", a_chain_of_causes},
           {"CPUs, memory and blocks", cpus_memory_and_blocks},
           {"limits, closures and begin times", limits_closures_and_begin_times},
           {"an unplaced job tells all", an_unplaced_job_tells_all},
           {"the application in the way is named", the_application_in_the_way_is_named},
           {"reasons end by the start", reasons_end_by_the_start})
