/*
 * planning: overruns, faults and stops.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../harness.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugin/planning.h"

static fs_snapshot *small_snapshot_at(int64_t now)
{
	fs_snapshot *snapshot = fs_snapshot_new(now, 3600, 24);
	fs_node node = { .name = "n1", .gpus = 8, .cpus = 64, .memory_mib = 1000, .usable = 255 };
	int32_t index = fs_snapshot_add_node(snapshot, &node);
	fs_option option = {
		.node_class = fs_snapshot_add_class(snapshot, &index, 1),
		.request = { .chunk = { .gpus = 1 }, .chunks = 4, .nodes_min = 1, .gpu_type = -1 },
		.duration = 3600,
	};
	fs_job job = { .id = "1", .key = 1, .submit = 999990, .priority = 1, .tasks = 1,
		       .app = -1, .options = &option, .option_count = 1 };

	fs_snapshot_add_job(snapshot, &job);
	return snapshot;
}

static fs_snapshot *small_snapshot(void)
{
	return small_snapshot_at(1000000);
}

static const fs_planning_options_t options = {
	.policy = "rank", .budget_ms = 1, .overrun_ms = 30000,
};

static double seconds;
static char problem[256];

static fs_plan *run(fs_planning_t *planning, const fs_planning_options_t *how)
{
	fs_snapshot *snapshot = small_snapshot();
	fs_plan *plan = fs_planning_run(planning, snapshot, how, &seconds, problem,
					sizeof(problem));

	fs_snapshot_free(snapshot);
	return plan;
}

static void test_plan(void)
{
	fs_planning_t *planning = fs_planning_new(NULL);
	fs_snapshot *snapshot = small_snapshot();
	fs_plan *plan = fs_planning_run(planning, snapshot, &options, &seconds, problem,
					sizeof(problem));
	fs_decision decision;

	REQUIRE(plan != NULL);
	REQUIRE(fs_plan_count(plan) == 1);
	fs_plan_get(plan, 0, &decision);
	CHECK(decision.now);
	CHECK_INT(decision.key, 1);
	CHECK_INT(decision.node_count, 1);
	fs_plan_free(plan);
	fs_snapshot_free(snapshot);
	fs_planning_free(planning);
}

/* The start of the second job of two that need the node in turn, `first` and another one. */
static int64_t second_start(fs_planning_t *planning, int64_t now, const char *third)
{
	fs_planning_options_t how = { .policy = "foresight", .overrun_ms = 30000,
				      .move_gain = 0.05 };
	fs_snapshot *snapshot = small_snapshot_at(now);
	int64_t start = -1;
	fs_plan *plan;

	for (uint32_t key = 2; key <= (third ? 3u : 2u); key++) {
		fs_option option = {
			.request = { .chunk = { .gpus = 1 }, .chunks = 8, .nodes_min = 1,
				     .gpu_type = -1 },
			.duration = 3600,
		};
		fs_job job = { .id = key == 2 ? "2" : third, .key = key, .submit = 999990,
			       .priority = key == 2 ? 1 : 1.2, .tasks = 1, .app = -1,
			       .options = &option, .option_count = 1 };

		fs_snapshot_add_job(snapshot, &job);
	}
	plan = fs_planning_run(planning, snapshot, &how, &seconds, problem, sizeof(problem));
	for (size_t i = 0; plan && i < fs_plan_count(plan); i++) {
		fs_decision decision;

		fs_plan_get(plan, i, &decision);
		if (decision.key == 2)
			start = decision.start;
	}
	fs_plan_free(plan);
	fs_snapshot_free(snapshot);
	return start;
}

/* A job more does not move an announced start, until the settings are read again. */
static void test_memory(void)
{
	fs_planning_t *planning = fs_planning_new(NULL);
	int64_t announced = second_start(planning, 1000000, NULL);

	CHECK(announced >= 1000000);
	CHECK_INT(second_start(planning, 1000000, "3"), announced);
	fs_planning_forget(planning);
	CHECK(second_start(planning, 1000000, "3") > announced);
	fs_planning_free(planning);
}

static void test_error_fault(void)
{
	fs_planning_t *planning = fs_planning_new("error:2");
	fs_plan *plan;

	CHECK(run(planning, &options) == NULL);
	CHECK(strstr(problem, "FORESIGHT_TEST_FAIL") != NULL);
	CHECK(run(planning, &options) == NULL);
	plan = run(planning, &options);
	CHECK(plan != NULL);
	fs_plan_free(plan);
	fs_planning_free(planning);
}

static void test_overrun_fault(void)
{
	fs_planning_t *planning = fs_planning_new("overrun:1");
	fs_planning_options_t hasty = options;
	fs_plan *plan;

	hasty.overrun_ms = 50;
	CHECK(run(planning, &hasty) == NULL);
	CHECK_STR(problem, "the plan took longer than 50 ms");
	CHECK(seconds >= 0.05 && seconds < 10);
	plan = run(planning, &options);
	CHECK(plan != NULL); /* the cancellation does not stick */
	fs_plan_free(plan);
	fs_planning_free(planning);
}

static void *stop_soon(void *planning)
{
	usleep(50000);
	fs_planning_stop(planning);
	return NULL;
}

static void test_stop(void)
{
	fs_planning_t *planning = fs_planning_new("overrun:1");
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, stop_soon, planning));
	CHECK(run(planning, &options) == NULL);
	CHECK(seconds < 1);
	pthread_join(thread, NULL);
	fs_planning_free(planning);
}

TEST_SUITE("planning",
	   {"a plan is made", test_plan},
	   {"an announced start stays", test_memory},
	   {"FORESIGHT_TEST_FAIL=error:N fails N plans", test_error_fault},
	   {"a plan that overruns is cancelled", test_overrun_fault},
	   {"a stop ends a plan within a second", test_stop})
