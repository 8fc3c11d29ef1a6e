/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The C interface, from C: times, decisions, fingerprints, and errors that stay inside.
 */
#include "foresight.h"
#include "harness.h"

#include <stdio.h>
#include <string.h>

static const int64_t kNow = 1790000123;

static fs_snapshot *two_nodes(void)
{
	fs_snapshot *snapshot = fs_snapshot_new(kNow, 600, 144);
	const int32_t nodes[] = {0, 1};
	fs_node node = {"n0", 8, 16, FS_UNLIMITED, UINT64_MAX, NULL, 0};
	fs_snapshot_add_node(snapshot, &node);
	node.name = "n1";
	fs_snapshot_add_node(snapshot, &node);
	fs_snapshot_add_class(snapshot, nodes, 2);
	return snapshot;
}

static void add_job(fs_snapshot *snapshot, const char *id, uint32_t key, int32_t gpus,
		    int64_t duration, int64_t rank, bool opaque)
{
	fs_option option = {
		.request = {.chunk = {1, 1, 0}, .chunks = gpus, .nodes_min = 1, .gpu_type = -1},
		.duration = duration,
		.rank = rank,
		.cookie = key * 10,
	};
	fs_job job = {.id = id,
		      .key = key,
		      .submit = kNow - 100,
		      .priority = 1,
		      .tasks = 1,
		      .opaque = opaque,
		      .app = -1,
		      .options = &option,
		      .option_count = 1};
	fs_snapshot_add_job(snapshot, &job);
}

static fs_plan *plan_of(fs_snapshot *snapshot)
{
	const fs_plan_options options = {.policy = "rank"};
	return fs_plan_make(snapshot, &options, NULL, NULL);
}

static void test_decisions(void)
{
	fs_snapshot *snapshot = two_nodes();
	const fs_share share = {0, 0xff, 8, 0};
	const fs_running running = {.id = "9", .priority = 1, .app = -1, .start = kNow - 50,
				    .end = kNow + 1000, .shares = &share, .share_count = 1};
	fs_snapshot_add_running(snapshot, &running);
	add_job(snapshot, "wide", 1, 16, 3600, 1, false);
	add_job(snapshot, "short", 2, 8, 500, 2, false);
	fs_plan *plan = plan_of(snapshot);
	fs_decision decision;

	CHECK_INT(fs_plan_count(plan), 2);
	fs_plan_get(plan, 0, &decision);
	CHECK_INT(decision.key, 1);
	CHECK_INT(decision.cookie, 10);
	CHECK(!decision.now);
	CHECK_INT(decision.start, kNow + 1000);
	CHECK_INT(decision.end, kNow + 4600);
	CHECK_INT(decision.node_count, 2);
	CHECK_STR(decision.kind, "gpus");
	CHECK(strlen(decision.reason) > 0 && strlen(decision.detail) > 0);
	fs_plan_get(plan, 1, &decision);
	CHECK(decision.now);
	CHECK_INT(decision.start, kNow);
	CHECK_INT(decision.nodes[0], 1);
	CHECK_STR(decision.reason, "");
	CHECK_INT(fs_plan_next_start(plan), kNow + 1000);

	fs_plan_stats stats;
	fs_plan_get_stats(plan, &stats);
	CHECK_INT(stats.placed, 2);
	CHECK_INT(stats.starts_now, 1);
	fs_plan_free(plan);
	fs_snapshot_free(snapshot);
}

/* Where both nodes are busy until `end`, when does a job start that needs one? */
static int64_t start_after(int64_t end)
{
	fs_snapshot *snapshot = two_nodes();
	const fs_share shares[] = {{0, 0xff, 8, 0}, {1, 0xff, 8, 0}};
	const fs_running running = {.id = "9", .priority = 1, .app = -1, .start = kNow - 50,
				    .end = end, .shares = shares, .share_count = 2};
	fs_decision decision;

	fs_snapshot_add_running(snapshot, &running);
	add_job(snapshot, "next", 1, 8, 600, 1, false);
	fs_plan *plan = plan_of(snapshot);
	fs_plan_get(plan, 0, &decision);
	fs_plan_free(plan);
	fs_snapshot_free(snapshot);
	return decision.start;
}

/* An end soon is taken as it is; only a job past its end gets another minute. */
static void test_ends_soon(void)
{
	CHECK_INT(start_after(kNow + 1), kNow + 1);
	CHECK_INT(start_after(kNow + 59), kNow + 59);
	CHECK_INT(start_after(kNow), kNow + 60);
	CHECK_INT(start_after(kNow - 500), kNow + 60);
}

/* Where everything fits into the horizon, what is worth more still comes first. */
static void test_worth_comes_first(void)
{
	fs_snapshot *snapshot = two_nodes();
	const fs_plan_options options = {.policy = "foresight", .budget = 300000};
	fs_decision decision;

	for (uint32_t key = 1; key <= 12; key++) {
		char id[16];
		snprintf(id, sizeof(id), "j%u", (unsigned)key);
		fs_option option = {
			.request = {.chunk = {1, 1, 0}, .chunks = key % 5 == 0 ? 16 : 8,
				    .nodes_min = 1, .gpu_type = -1},
			.duration = 1200 + 60 * key,
			.rank = key,
		};
		fs_job job = {.id = id, .key = key, .submit = kNow - 100,
			      .priority = key == 11 ? 8 : 1, .tasks = 1, .app = -1,
			      .options = &option, .option_count = 1};
		fs_snapshot_add_job(snapshot, &job);
	}
	fs_plan *plan = fs_plan_make(snapshot, &options, NULL, NULL);
	for (size_t i = 0; i < fs_plan_count(plan); i++) {
		fs_plan_get(plan, i, &decision);
		if (decision.key == 11)
			CHECK(decision.now);
	}
	fs_plan_free(plan);
	fs_snapshot_free(snapshot);
}

/* A cluster of two nodes at kNow + `later`, with these jobs of 8 GPUs for two hours each. */
static fs_snapshot *queue_at(int64_t later, const char *const *ids, const double *priorities,
			     size_t count)
{
	fs_snapshot *snapshot = fs_snapshot_new(kNow + later, 600, 144);
	const int32_t nodes[] = {0, 1};
	fs_node node = {"n0", 8, 16, FS_UNLIMITED, UINT64_MAX, NULL, 0};
	const fs_share shares[] = {{0, 0xff, 8, 0}, {1, 0xff, 8, 0}};
	const fs_running running = {.id = "9", .priority = 1, .app = -1, .start = kNow - 50,
				    .end = kNow + 5000, .shares = shares, .share_count = 2};
	fs_snapshot_add_node(snapshot, &node);
	node.name = "n1";
	fs_snapshot_add_node(snapshot, &node);
	fs_snapshot_add_class(snapshot, nodes, 2);
	fs_snapshot_add_running(snapshot, &running);
	for (size_t i = 0; i < count; i++) {
		fs_option option = {
			.request = {.chunk = {1, 1, 0}, .chunks = 8, .nodes_min = 1,
				    .gpu_type = -1},
			.duration = 7200,
		};
		fs_job job = {.id = ids[i], .key = (uint32_t)i, .submit = kNow, .tasks = 1,
			      .priority = priorities[i], .app = -1, .options = &option,
			      .option_count = 1};
		fs_snapshot_add_job(snapshot, &job);
	}
	return snapshot;
}

/* Plans with what `memory` knows, keeps it there, and tells each job's start. */
static void starts_of(fs_snapshot *snapshot, fs_memory *memory, int64_t *starts)
{
	const fs_plan_options options = {.policy = "foresight", .move_gain = 0.05};
	fs_plan *plan = fs_plan_make(snapshot, &options, memory, NULL);
	fs_decision decision;

	for (size_t i = 0; i < fs_plan_count(plan); i++) {
		fs_plan_get(plan, i, &decision);
		starts[decision.key] = decision.start;
	}
	CHECK_INT(fs_memory_keep(memory, plan), 0);
	CHECK_INT(fs_memory_count(memory), fs_plan_count(plan));
	fs_plan_free(plan);
	fs_snapshot_free(snapshot);
}

/* Announced times stay when the origin moves on, and a job more queues behind them. */
static void test_memory(void)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e"};
	static const double priorities[] = {1, 1, 1, 1, 1.2};
	fs_memory *memory = fs_memory_new();
	int64_t first[5], next[5];

	starts_of(queue_at(0, ids, priorities, 4), memory, first);
	starts_of(queue_at(1500, ids, priorities, 5), memory, next);
	for (int i = 0; i < 4; i++)
		CHECK_INT(next[i], first[i]);
	CHECK_INT(next[4], kNow + 5000 + 2 * 7200);
	/* Jobs that are gone are forgotten. */
	starts_of(queue_at(3000, ids + 2, priorities, 1), memory, next);
	CHECK_INT(fs_memory_count(memory), 1);
	CHECK_INT(next[0], kNow + 5000);
	fs_memory_free(memory);
}

static void test_fingerprint(void)
{
	fs_snapshot *one = two_nodes();
	fs_snapshot *two = two_nodes();
	CHECK(fs_snapshot_fingerprint(one) == fs_snapshot_fingerprint(two));
	add_job(one, "a", 1, 2, 60, 1, false);
	CHECK(fs_snapshot_fingerprint(one) != fs_snapshot_fingerprint(two));
	add_job(two, "a", 1, 2, 60, 1, false);
	CHECK(fs_snapshot_fingerprint(one) == fs_snapshot_fingerprint(two));
	fs_snapshot_free(one);
	fs_snapshot_free(two);
}

static void test_edges(void)
{
	fs_snapshot *snapshot = two_nodes();
	CHECK_INT(fs_snapshot_origin(snapshot), kNow - kNow % 600);
	CHECK(fs_snapshot_next_edge(snapshot) == FS_NEVER);
	fs_snapshot_close(snapshot, 0, 1, kNow + 5000, FS_NEVER);
	CHECK_INT(fs_snapshot_next_edge(snapshot), kNow + 5000);
	int32_t demand[144] = {0};
	for (int step = 3; step < 144; step++)
		demand[step] = 2;
	const fs_app app = {.id = "chat", .priority = 1, .demand = demand,
			    .max_swap = FS_UNLIMITED, .node_class = -1};
	fs_snapshot_add_app(snapshot, &app);
	CHECK_INT(fs_snapshot_next_edge(snapshot), fs_snapshot_origin(snapshot) + 3 * 600);
	CHECK_INT(fs_snapshot_close(snapshot, 7, 1, 0, 1), -1);
	fs_snapshot_free(snapshot);
}

static void test_opaque_keeps_off_holds(void)
{
	fs_snapshot *snapshot = two_nodes();
	int32_t demand[144];
	for (int step = 0; step < 144; step++)
		demand[step] = 1;
	const fs_app app = {.id = "chat", .priority = 1, .demand = demand,
			    .max_swap = FS_UNLIMITED, .node_class = -1};
	fs_snapshot_add_app(snapshot, &app);
	add_job(snapshot, "odd", 3, 1, 600, 1, true);
	fs_plan *plan = plan_of(snapshot);
	fs_decision decision;
	fs_plan_get(plan, 0, &decision);
	CHECK(decision.now && decision.opaque);
	/* The hold is on n1: n0 is free to choose in; n1 only where the plan itself put it. */
	CHECK_INT(decision.nodes[0], 0);
	CHECK_INT(fs_plan_held(plan, 0, 0), 1);
	CHECK_INT(fs_plan_held(plan, 5, 0), 0);
	fs_plan_free(plan);
	fs_snapshot_free(snapshot);
}

static void test_errors_stay_inside(void)
{
	fs_snapshot *snapshot = two_nodes();
	add_job(snapshot, "bad", 1, 0, 60, 1, false);
	CHECK(plan_of(snapshot) == NULL);
	CHECK(strstr(fs_snapshot_error(snapshot), "bad") != NULL);
	fs_snapshot_free(snapshot);

	snapshot = two_nodes();
	const fs_plan_options options = {.policy = "nonsense"};
	CHECK(fs_plan_make(snapshot, &options, NULL, NULL) == NULL);
	fs_cancel_flag *flag = fs_cancel_new();
	fs_cancel(flag);
	const fs_plan_options rank = {.policy = NULL};
	CHECK(fs_plan_make(snapshot, &rank, NULL, flag) == NULL);
	fs_cancel_reset(flag);
	fs_plan *plan = fs_plan_make(snapshot, &rank, NULL, flag);
	CHECK(plan != NULL);
	fs_plan_free(plan);
	fs_cancel_free(flag);
	fs_snapshot_free(snapshot);
}

static void test_wild_times(void)
{
	fs_snapshot *snapshot = two_nodes();
	const fs_share share = {0, 1, 1, 0};
	const fs_running running = {.id = "9", .priority = 1, .app = -1, .start = INT64_MIN,
				    .end = kNow - 5, .shares = &share, .share_count = 1};
	fs_snapshot_add_running(snapshot, &running);
	add_job(snapshot, "endless", 1, 16, FS_NEVER, 1, false);
	add_job(snapshot, "61y", 2, 1, INT64_C(61) * 366 * 86400, 2, false);
	fs_plan *plan = plan_of(snapshot);
	fs_decision decision;
	REQUIRE(plan != NULL);
	fs_plan_get(plan, 0, &decision);
	/* The job that should have ended holds its GPU a little longer. */
	CHECK(decision.start > kNow && decision.start <= kNow + 120);
	CHECK(decision.end == FS_NEVER);
	fs_plan_free(plan);
	fs_snapshot_free(snapshot);
}

TEST_SUITE("capi", {"decisions come in plan order with times since the epoch", test_decisions},
	   {"a job that ends soon ends then", test_ends_soon},
	   {"what is worth more comes first where all fits", test_worth_comes_first},
	   {"announced times stay", test_memory},
	   {"a fingerprint changes with the content alone", test_fingerprint},
	   {"the next edge is a closure's or a demand's", test_edges},
	   {"an opaque job keeps off what is held", test_opaque_keeps_off_holds},
	   {"errors stay inside", test_errors_stay_inside}, {"wild times are bounded", test_wild_times})
