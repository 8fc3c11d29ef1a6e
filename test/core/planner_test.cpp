// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.hpp"
#include "planner.hpp"
#include "profile.hpp"
#include "validate.hpp"
#include "value.hpp"

#include <algorithm>
#include <thread>

using namespace foresight;

namespace {

Plan plan_with(const Snapshot& snapshot, const char* policy, std::uint64_t budget = 0) {
    return make_plan(snapshot, {*find_policy(policy), budget, nullptr});
}

const Placement* place_of(const Snapshot& snapshot, const Plan& plan, const std::string& id) {
    const auto found =
        std::find_if(plan.placements.begin(), plan.placements.end(), [&](const Placement& place) {
            return snapshot.jobs[static_cast<std::size_t>(place.job)].id == id;
        });
    return found == plan.placements.end() ? nullptr : &*found;
}

void check_all_policies(const test::Kinds& kinds, int rounds) {
    test::Draw draw(test_seed());
    for (int round = 0; round < rounds; ++round) {
        const Snapshot snapshot = test::random_snapshot(draw, kinds);
        CHECK_STR(check(snapshot).c_str(), "");
        for (const std::string& name : policy_names()) {
            const Plan plan = plan_with(snapshot, name.c_str(), draw.chance(20) ? 500 : 0);
            for (const std::string& problem : validate(snapshot, plan)) {
                FAIL("round %d, %s: %s", round, name.c_str(), problem.c_str());
            }
            CHECK_INT(plan.waits.size(), plan.placements.size());
        }
    }
}

void plans_are_legal_on_the_grid() {
    for (const Block block : {Block::any, Block::contiguous, Block::aligned}) {
        for (const Fit fit : {Fit::within_horizon, Fit::may_overrun}) {
            check_all_policies({.block = block, .fit = fit}, 150);
        }
    }
}

void plans_are_legal_with_every_limit() {
    check_all_policies({.limits_of_nodes = true, .limits_of_jobs = true, .fit = Fit::may_overrun},
                       400);
    check_all_policies({.limits_of_nodes = true, .limits_of_jobs = true}, 300);
}

void plans_are_legal_on_many_nodes() {
    test::Kinds many{.limits_of_nodes = true, .limits_of_jobs = true};
    many.least_nodes = 24; // with an index of gaps
    many.most_nodes = 40;
    many.most_jobs = 150;
    check_all_policies(many, 8);
    many.limits_of_nodes = false;
    many.block = Block::contiguous;
    many.fit = Fit::may_overrun;
    check_all_policies(many, 8);
}

/// FIFO on a grid by trying every second and every block, lowest first.
void fifo_matches_a_slow_reference() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 300; ++round) {
        const Snapshot snapshot =
            test::random_snapshot(draw, {.apps = false, .block = Block::contiguous});
        const Plan plan = plan_with(snapshot, "fifo");
        Profile slow(snapshot);
        for (const Job& job : snapshot.jobs) {
            const Option& option = job.options[0];
            const int gpus = option.request.gpus();
            if (gpus > snapshot.nodes[0].gpus) {
                break; // the reference knows one node a job
            }
            const Placement* got = place_of(snapshot, plan, job.id);
            const Share* found = nullptr;
            Share share;
            Seconds start = std::max<Seconds>(0, job.submit);
            for (; found == nullptr && start + option.duration <= snapshot.horizon(); ++start) {
                for (int node = 0;
                     found == nullptr && node < static_cast<int>(snapshot.nodes.size()); ++node) {
                    const GpuMask free =
                        slow.timeline().window(node, start, start + option.duration).gpus;
                    for (int gpu = 0; found == nullptr && gpu + gpus <= snapshot.nodes[0].gpus;
                         ++gpu) {
                        share = {node, lowest_gpus(gpus) << gpu, 0, 0};
                        found = (free & share.gpus) == share.gpus ? &share : nullptr;
                    }
                }
            }
            CHECK((got != nullptr) == (found != nullptr));
            if (got != nullptr && found != nullptr) {
                CHECK_INT(got->start, start - 1);
                CHECK(got->shares[0] == share);
                slow.timeline().take(share, got->start, got->end);
            }
        }
    }
}

void the_same_snapshot_gives_the_same_plan() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 100; ++round) {
        const Snapshot snapshot =
            test::random_snapshot(draw, {.limits_of_nodes = true, .limits_of_jobs = true});
        const Plan one = plan_with(snapshot, "foresight", 2000);
        const Plan two = plan_with(snapshot, "foresight", 2000);
        REQUIRE(one.placements.size() == two.placements.size());
        for (std::size_t i = 0; i < one.placements.size(); ++i) {
            CHECK(one.placements[i].job == two.placements[i].job &&
                  one.placements[i].start == two.placements[i].start &&
                  one.placements[i].shares == two.placements[i].shares);
        }
    }
}

void search_never_loses_value() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 200; ++round) {
        const Snapshot snapshot = test::random_snapshot(draw, {.block = Block::contiguous});
        const double fast = plan_with(snapshot, "foresight").metrics.objective;
        const double full = plan_with(snapshot, "foresight", 20000).metrics.objective;
        const double priority = plan_with(snapshot, "conservative").metrics.objective;
        CHECK(full >= fast - 1e-9);
        CHECK(fast >= priority - 1e-9);
    }
}

void a_tier_is_above_all_value() {
    Snapshot snapshot = test::grid(1, 4, 10);
    snapshot.jobs = {test::job("rich", 4, 50, 100), test::job("tier", 4, 60, 1)};
    snapshot.jobs[1].options[0].tier = 1;
    for (const char* policy : {"foresight", "conservative", "easy", "rank"}) {
        const Plan plan = plan_with(snapshot, policy, 5000);
        REQUIRE(place_of(snapshot, plan, "tier") != nullptr);
        CHECK_INT(place_of(snapshot, plan, "tier")->start, 0);
    }
}

void a_job_on_top_goes_first() {
    Snapshot snapshot = test::grid(1, 4, 10);
    snapshot.jobs = {test::job("rich", 4, 50, 100), test::job("top", 4, 50, 1)};
    snapshot.jobs[1].on_top = true;
    const Plan plan = plan_with(snapshot, "foresight", 5000);
    CHECK_INT(place_of(snapshot, plan, "top")->start, 0);
}

void easy_holds_one_job_and_fills_around_it() {
    Snapshot snapshot = test::grid(1, 4, 20);
    snapshot.running.push_back({"r", "", 1, -1, 0, 100, {{0, 0b0111, 0, 0}}, {}});
    snapshot.jobs = {test::job("wide", 4, 50, 9), test::job("wide2", 4, 50, 8),
                     test::job("long", 1, 101, 1), test::job("short", 1, 100, 1)};
    const Plan plan = plan_with(snapshot, "easy");
    CHECK_INT(place_of(snapshot, plan, "wide")->start, 100);
    CHECK_INT(place_of(snapshot, plan, "short")->start, 0);
    CHECK(place_of(snapshot, plan, "long") == nullptr ||
          place_of(snapshot, plan, "long")->start >= 150);
}

void a_later_partition_takes_over_when_it_is_sooner() {
    Snapshot snapshot = test::grid(2, 4, 20);
    snapshot.classes = {{{0}, {}}, {{1}, {}}};
    snapshot.running.push_back({"r", "", 1, -1, 0, 100, {{0, 0b1111, 0, 0}}, {}});
    Job job = test::job("both", 2, 50);
    job.options.push_back(job.options[0]);
    job.options[0].tier = 2;
    job.options[1].node_class = 1;
    snapshot.jobs.push_back(job);
    const Plan plan = plan_with(snapshot, "rank");
    REQUIRE(place_of(snapshot, plan, "both") != nullptr);
    CHECK_INT(place_of(snapshot, plan, "both")->start, 0);
    CHECK_INT(place_of(snapshot, plan, "both")->option, 1);
}

void an_array_counts_each_task_against_its_limit() {
    Snapshot snapshot = test::grid(1, 8, 20);
    snapshot.limits = {{"%2", 2}};
    Job array = test::job("array", 1, 10);
    array.tasks = 5;
    array.limits = {{0, 1}};
    snapshot.jobs.push_back(array);
    const Plan plan = plan_with(snapshot, "rank");
    REQUIRE(plan.placements.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK_INT(plan.placements[i].task, i);
        CHECK_INT(plan.placements[i].start, 10 * static_cast<int>(i / 2));
    }
}

void a_long_array_is_planned_in_parts() {
    Snapshot snapshot = test::grid(64, 8, 10);
    Job array = test::job("array", 1, 10);
    array.tasks = 5000;
    snapshot.jobs.push_back(array);
    const Plan plan = plan_with(snapshot, "rank");
    CHECK(validate(snapshot, plan).empty());
    CHECK(plan.placements.size() >= 64 && plan.placements.size() < 5000);
    REQUIRE(plan.unplaced.size() == 1);
    CHECK(plan.unplaced[0].reasons[0].kind == ReasonKind::not_reached);
}

void a_late_job_hides_no_room_from_its_like() {
    // The first ones of the shape start at 0 and at 40; what comes free at 10 is for the third.
    Snapshot snapshot = test::grid(1, 2, 10);
    snapshot.jobs = {test::job("first", 1, 10, 9), test::job("late", 1, 10, 8),
                     test::job("third", 1, 10, 7), test::job("fourth", 1, 10, 6)};
    snapshot.jobs[1].begin = 40;
    for (const char* policy : {"conservative", "rank"}) {
        const Plan plan = plan_with(snapshot, policy);
        CHECK_INT(place_of(snapshot, plan, "third")->start, 0);
        CHECK_INT(place_of(snapshot, plan, "fourth")->start, 10);
    }
}

void a_refused_job_holds_nothing() {
    Snapshot snapshot = test::grid(1, 4, 20);
    snapshot.jobs = {test::job("refused", 4, 50, 9), test::job("other", 4, 50, 1)};
    snapshot.jobs[0].refusal = Refusal{"MaxTRESPU", 60};
    const Plan plan = plan_with(snapshot, "foresight");
    CHECK(place_of(snapshot, plan, "refused") == nullptr);
    CHECK_INT(place_of(snapshot, plan, "other")->start, 0);
    REQUIRE(plan.unplaced.size() == 1);
    CHECK(plan.unplaced[0].reasons[0].kind == ReasonKind::refused);
}

void reasons_name_what_is_in_the_way() {
    Snapshot snapshot = test::grid(1, 4, 20);
    snapshot.running.push_back({"r1", "", 1, -1, 0, 100, {{0, 0b0011, 0, 0}}, {}});
    snapshot.jobs = {test::job("first", 4, 50, 9), test::job("second", 4, 20, 8),
                     test::job("huge", 9, 10, 9)};
    const Plan plan = plan_with(snapshot, "conservative");
    REQUIRE(plan.placements.size() == 2);
    CHECK(plan.waits[0][0].kind == ReasonKind::gpus);
    CHECK_STR(plan.waits[0][0].job.c_str(), "r1");
    CHECK_INT(plan.waits[0][0].until, 100);
    CHECK(plan.unplaced[0].reasons[0].kind == ReasonKind::never_fits);

    Snapshot broken = test::grid(2, 4, 4);
    broken.nodes[1].usable = 0;
    broken.jobs = {test::job("wide", 8, 10)};
    const Plan down = plan_with(broken, "conservative");
    REQUIRE(down.unplaced.size() == 1);
    CHECK(down.unplaced[0].reasons[0].kind == ReasonKind::down);

    Snapshot kept = test::grid(1, 4, 4);
    App app;
    app.id = "chat";
    app.demand = {3, 3, 0, 0};
    kept.apps.push_back(app);
    kept.jobs = {test::job("batch", 2, 10)};
    const Plan held = plan_with(kept, "conservative");
    REQUIRE(held.waits.size() == 1);
    CHECK(held.waits[0][0].kind == ReasonKind::realtime);
    CHECK_STR(describe(held.waits[0][0], kept).c_str(), "The GPUs are kept for chat.");

    Snapshot closed = test::grid(1, 4, 20);
    closed.classes[0].closures = {{0, 30, 60}};
    closed.jobs = {test::job("long", 2, 50), test::job("short", 2, 30)};
    const Plan around = plan_with(closed, "conservative");
    CHECK_INT(place_of(closed, around, "long")->start, 60);
    CHECK_INT(place_of(closed, around, "short")->start, 0);
    CHECK(around.waits[0][0].kind == ReasonKind::closed);
}

void an_applications_job_starts_on_what_is_kept_for_it() {
    Snapshot snapshot = test::grid(1, 4, 4);
    App app;
    app.id = "chat";
    app.demand = {3, 3, 3, 3};
    snapshot.apps.push_back(app);
    snapshot.jobs = {test::job("batch", 2, 10, 99), test::job("server", 2, 30, 1)};
    snapshot.jobs[1].app = 0;
    for (const char* policy : {"rank", "foresight", "easy"}) {
        const Plan plan = plan_with(snapshot, policy);
        REQUIRE(place_of(snapshot, plan, "server") != nullptr);
        CHECK_INT(place_of(snapshot, plan, "server")->start, 0);
        CHECK(place_of(snapshot, plan, "batch") == nullptr);
        CHECK_INT(count_gpus(plan.holds[0].steps[0]), 3);
    }
}

void a_wait_grows_a_priority() {
    Snapshot snapshot = test::grid(1, 4, 10);
    snapshot.jobs = {test::job("new", 4, 50, 3), test::job("old", 4, 50, 2)};
    snapshot.jobs[1].submit = -100;
    PlanOptions options{*find_policy("conservative"), 0, nullptr};
    options.policy.age_doubles = 100;
    CHECK_INT(place_of(snapshot, make_plan(snapshot, options), "old")->start, 0);
    options.policy.age_doubles = 0;
    CHECK_INT(place_of(snapshot, make_plan(snapshot, options), "new")->start, 0);
}

void a_cancelled_plan_says_so() {
    Snapshot snapshot = test::grid(64, 8, 10);
    for (int i = 0; i < 2000; ++i) {
        snapshot.jobs.push_back(test::job(std::to_string(i), 1 + i % 8, 5 + i % 50, 1 + i % 7));
    }
    std::atomic<bool> cancel{false};
    std::thread other([&] { cancel = true; });
    const Plan plan = make_plan(snapshot, {*find_policy("foresight"), 4'000'000'000ULL, &cancel});
    other.join();
    CHECK(!plan.complete);
}

void odd_snapshots_do_no_harm() {
    Snapshot empty;
    CHECK_STR(check(empty).c_str(), "");
    CHECK_INT(plan_with(empty, "foresight", 100).placements.size(), 0);
    Snapshot long_jobs = test::grid(1, 4, 10);
    long_jobs.fit = Fit::may_overrun;
    long_jobs.jobs = {test::job("forever", 4, kNever),
                      test::job("61 years", 1, 61LL * 366 * 86400)};
    const Plan plan = plan_with(long_jobs, "foresight", 100);
    CHECK_INT(place_of(long_jobs, plan, "forever")->start, 0);
    CHECK(validate(long_jobs, plan).empty());
    Snapshot bad = test::grid(1, 4, 10);
    bad.jobs = {test::job("j", 1, -5)};
    CHECK(!check(bad).empty());
}

} // namespace

TEST_SUITE("planner", {"plans are legal on the grid", plans_are_legal_on_the_grid},
           {"plans are legal with every limit", plans_are_legal_with_every_limit},
           {"plans are legal on many nodes", plans_are_legal_on_many_nodes},
           {"fifo matches a slow reference", fifo_matches_a_slow_reference},
           {"the same snapshot gives the same plan", the_same_snapshot_gives_the_same_plan},
           {"search never loses value", search_never_loses_value},
           {"a tier is above all value", a_tier_is_above_all_value},
           {"a job on top goes first", a_job_on_top_goes_first},
           {"easy holds one job and fills around it", easy_holds_one_job_and_fills_around_it},
           {"a later partition takes over when it is sooner",
            a_later_partition_takes_over_when_it_is_sooner},
           {"an array counts each task against its limit",
            an_array_counts_each_task_against_its_limit},
           {"a long array is planned in parts", a_long_array_is_planned_in_parts},
           {"a late job hides no room from its like", a_late_job_hides_no_room_from_its_like},
           {"a refused job holds nothing", a_refused_job_holds_nothing},
           {"reasons name what is in the way", reasons_name_what_is_in_the_way},
           {"an application's job starts on what is kept for it",
            an_applications_job_starts_on_what_is_kept_for_it},
           {"a wait grows a priority", a_wait_grows_a_priority},
           {"a cancelled plan says so", a_cancelled_plan_says_so},
           {"odd snapshots do no harm", odd_snapshots_do_no_harm})
