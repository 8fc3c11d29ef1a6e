/*
 * apply and start: every check, side effect, restore and save, without a daemon.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_slurm.h"

#include "../harness.h"

#include <string.h>

static fs_record_t records[FAKE_JOBS];
static char *node_names[] = { "n0", "n1", "n2", "n3" };
static fs_decision decisions[FAKE_JOBS];
static int32_t chosen[FAKE_JOBS][2];
static size_t count;

/* What went into the refusals: a stand-in that notes the last. */
static fs_refusal_t last_refusal;
static char last_why[64], last_nodes[64];
static int refusals_noted, refusals_forgotten;

void fs_refusals_note(fs_refusals_t *refusals, const fs_refusal_t *refusal)
{
	(void)refusals;
	refusals_noted++;
	last_refusal = *refusal;
	snprintf(last_why, sizeof(last_why), "%s", refusal->why);
	snprintf(last_nodes, sizeof(last_nodes), "%s", refusal->nodes ? refusal->nodes : "");
}

void fs_refusals_forget_job(fs_refusals_t *refusals, uint32_t job_id)
{
	(void)refusals;
	(void)job_id;
	refusals_forgotten++;
}

static void new_world(void)
{
	fake_reset();
	count = 0;
	refusals_noted = refusals_forgotten = 0;
	last_refusal = (fs_refusal_t){0};
}

/* A decision to start a job on one node; two calls for a job are two tasks of it. */
static fs_record_t *decide(uint32_t job_id, int32_t node)
{
	fake_record(&records[count], job_id);
	chosen[count][0] = node;
	decisions[count] = (fs_decision){ .key = job_id, .cookie = (uint32_t)count, .now = true,
					  .nodes = chosen[count], .node_count = 1 };
	return &records[count++];
}

static fs_apply_result_t apply_with(int max_starts)
{
	fs_observation_t observation = {
		.records = records, .record_count = count, .nodes = node_names, .node_count = 4,
		.config_time = 1000, .node_record_count = FAKE_NODES,
	};
	fs_apply_options_t options = { .max_starts = max_starts };
	fs_apply_result_t result;

	fs_apply(&fake_ops, &observation, decisions, count, &options, NULL, &result);
	CHECK_INT(fake.locks, fake.unlocks);
	CHECK(!fake.saved_under_lock);
	return result;
}

static fs_apply_result_t apply_all(void)
{
	return apply_with(50);
}

/* ---- a start -------------------------------------------------------------------------- */

static void test_start(void)
{
	job_record_t *job;
	fs_apply_result_t result;

	new_world();
	job = fake_job(1);
	decide(1, 2);
	result = apply_all();
	CHECK_INT(result.started, 1);
	CHECK_STR(fake.selected_nodes, "n2");
	CHECK(job->details->exc_node_bitmap == NULL);
	CHECK_INT(fake.launches, 1);
	CHECK_INT(fake.changes, 1);
	CHECK_INT(fake.saves, 1);
	CHECK_INT(fake.federation_locks, 1);
	CHECK_INT(fake.federation_starts, 1);
	CHECK_INT(refusals_forgotten, 1);
	CHECK(job->last_sched_eval > 0);
	CHECK(job->bit_flags & BACKFILL_SCHED);
}

static void test_own_exclusion(void)
{
	job_record_t *job;

	new_world();
	job = fake_job(1);
	job->details->exc_node_bitmap = bit_alloc(FAKE_NODES);
	bit_set(job->details->exc_node_bitmap, 0);
	decide(1, 1);
	CHECK_INT(apply_all().started, 1);
	CHECK_STR(fake.selected_nodes, "n1");
	REQUIRE(job->details->exc_node_bitmap != NULL);
	CHECK_INT(bit_set_count(job->details->exc_node_bitmap), 1);
	CHECK(bit_test(job->details->exc_node_bitmap, 0));
}

static void test_array(void)
{
	job_record_t *job, *rest;

	new_world();
	job = fake_job(10);
	job->details->exc_node_bitmap = bit_alloc(FAKE_NODES);
	bit_set(job->details->exc_node_bitmap, 3);
	fake_array(job, 3);
	decide(10, 0);
	decide(10, 1);
	CHECK_INT(apply_all().started, 2);
	rest = fake_ops.find_job(10);
	REQUIRE(rest != NULL && rest != job);
	CHECK(IS_JOB_PENDING(rest));
	CHECK_INT(rest->array_recs->task_cnt, 1);
	REQUIRE(rest->details->exc_node_bitmap != NULL);
	CHECK_INT(bit_set_count(rest->details->exc_node_bitmap), 1);
	CHECK(bit_test(rest->details->exc_node_bitmap, 3));

	count = 0;
	decide(10, 2); /* the last task keeps the record */
	CHECK_INT(apply_all().started, 1);
	CHECK(IS_JOB_RUNNING(fake_ops.find_job(10)));
}

static void test_bounded_holds(void)
{
	new_world();
	for (uint32_t id = 1; id <= 7; id++) {
		fake_job(id);
		decide(id, (int32_t)id % 4);
	}
	CHECK_INT(apply_with(3).started, 7);
	CHECK_INT(fake.most_in_hold, 3);
	CHECK_INT(fake.locks, 3);
	CHECK_INT(fake.saves, 3);
}

static void test_only_now(void)
{
	new_world();
	fake_job(1);
	decide(1, 0);
	decisions[0].now = false;
	CHECK_INT(apply_all().started, 0);
	CHECK_INT(fake.selects, 0);
	CHECK_INT(fake.saves, 0);
}

/* ---- changed between plan and apply --------------------------------------------------- */

static void expect_stale(void)
{
	fs_apply_result_t result = apply_all();

	CHECK_INT(result.stale, 1);
	CHECK_INT(result.started, 0);
	CHECK_INT(fake.selects, 0);
	CHECK_INT(refusals_noted, 0);
	CHECK_INT(fake.saves, 0);
}

static job_record_t *planned_job(void)
{
	job_record_t *job;

	new_world();
	job = fake_job(1);
	decide(1, 0);
	return job;
}

static void test_changed_jobs(void)
{
	job_record_t *job = planned_job();

	job->priority = 0; /* held */
	expect_stale();
	CHECK_INT(job->priority, 0);

	planned_job()->job_state = JOB_CANCELLED;
	expect_stale();
	planned_job()->job_state = JOB_PENDING | JOB_COMPLETING;
	expect_stale();
	planned_job()->job_state = JOB_RUNNING;
	expect_stale();
	planned_job()->name = (char *)"changed";
	expect_stale();
	planned_job()->het_job_id = 1;
	expect_stale();
	planned_job()->burst_buffer = (char *)"#BB";
	expect_stale();
	planned_job()->preempt_in_progress = true;
	expect_stale();

	new_world();
	decide(1, 0); /* no such job any more */
	expect_stale();
}

static void test_changed_partitions(void)
{
	job_record_t *job = planned_job();

	fake_parts[0].state_up = PARTITION_DOWN;
	expect_stale();
	job = planned_job();
	job->part_ptr = &fake_parts[1];
	expect_stale();
	planned_job();
	records[0].partition = (char *)"gone";
	expect_stale();
	planned_job();
	chosen[0][0] = 3;
	node_names[3] = (char *)"n9"; /* no such node any more */
	expect_stale();
	node_names[3] = (char *)"n3";
}

static uint32_t seen_priority;
static void see_priority(job_record_t *job)
{
	seen_priority = job->priority;
}

static void test_partition_list(void)
{
	job_record_t *job = planned_job();

	job->part_ptr_list = list_create(NULL);
	list_append(job->part_ptr_list, &fake_parts[0]);
	list_append(job->part_ptr_list, &fake_parts[1]);
	job->priority_array = xcalloc(2, sizeof(uint32_t));
	job->priority_array[0] = 11;
	job->priority_array[1] = 22;
	records[0].partition = (char *)"two";
	fake.during_select = see_priority;
	fake.select_rc = ESLURM_NODES_BUSY;
	CHECK_INT(apply_all().refused, 1);
	CHECK_INT(seen_priority, 22);
	CHECK_INT(job->priority, 100); /* put back */
	CHECK(job->part_ptr == &fake_parts[0]);

	fake.select_rc = 0;
	CHECK_INT(apply_all().started, 1);
	CHECK(job->part_ptr == &fake_parts[1]);
	CHECK_INT(job->priority, 22);
}

static void test_dropped_plans(void)
{
	planned_job();
	fake.config_time = 1001;
	CHECK(apply_all().dropped);
	CHECK_INT(fake.selects, 0);
	planned_job();
	fake.down = true;
	CHECK(apply_all().dropped);
	CHECK_INT(fake.selects, 0);
}

/* The daemon goes down, or is configured anew, between two holds of the locks. */
static void test_down_in_between(void)
{
	fs_apply_result_t result;

	new_world();
	for (uint32_t id = 1; id <= 4; id++) {
		fake_job(id);
		decide(id, 0);
	}
	fake.down_after_lock = 2;
	result = apply_with(2);
	CHECK_INT(result.started, 2);
	CHECK(result.dropped);
	CHECK_INT(fake.saves, 1); /* what was started is saved */
}

static void test_stop(void)
{
	fs_observation_t observation = { .records = records, .record_count = 1,
					 .nodes = node_names, .node_count = 4,
					 .config_time = 1000, .node_record_count = FAKE_NODES };
	atomic_bool stop = true;
	fs_apply_options_t options = { .max_starts = 1, .stop = &stop };
	fs_apply_result_t result;

	planned_job();
	fs_apply(&fake_ops, &observation, decisions, 1, &options, NULL, &result);
	CHECK_INT(result.started, 0);
	CHECK_INT(fake.selects, 0);
}

/* ---- refusals ------------------------------------------------------------------------- */

static void expect_refusal(enum fs_refusal_kind kind, const char *why)
{
	job_record_t *job = fake_ops.find_job(1);
	fs_apply_result_t result = apply_all();

	CHECK_INT(result.refused, 1);
	CHECK_INT(result.started, 0);
	CHECK_INT(refusals_noted, 1);
	CHECK_INT(last_refusal.kind, kind);
	CHECK_INT(last_refusal.job_id, 1);
	CHECK_STR(last_refusal.partition, "one");
	CHECK(last_refusal.retry > last_refusal.when);
	CHECK_STR(last_why, why);
	CHECK_INT(job->priority, 100); /* never held for good */
	CHECK_INT(fake.launches, 0);
	CHECK_INT(fake.saves, 0);
	CHECK_INT(job->time_limit, 60);
	CHECK_INT(job->start_time, 0);
}

static void test_checks_refuse(void)
{
	planned_job();
	fake.no_licence = true;
	expect_refusal(FS_REFUSED_JOB, "Licenses");
	CHECK_INT(fake.selects, 0);
	planned_job();
	fake.dependent = true;
	expect_refusal(FS_REFUSED_JOB, "Dependency");
	planned_job();
	fake.array_full = true;
	expect_refusal(FS_REFUSED_JOB, "ArrayTaskLimit");
	planned_job();
	fake.cleaning = true;
	expect_refusal(FS_REFUSED_JOB, "Cleaning");
	planned_job();
	fake.bad_qos = true;
	expect_refusal(FS_REFUSED_JOB, "InvalidQOS");
	planned_job();
	fake.bad_assoc = true;
	expect_refusal(FS_REFUSED_JOB, "InvalidAccount");
	planned_job();
	fake.over_limit = true;
	expect_refusal(FS_REFUSED_LIMIT, "QOSGrpJobsLimit");
	planned_job();
	fake.partition_refuses = WAIT_PART_TIME_LIMIT;
	expect_refusal(FS_REFUSED_JOB, "PartitionTimeLimit");
	CHECK_INT(fake.selects, 0);
}

static void test_dependency_kills(void)
{
	planned_job();
	fake.dependency_kills = true;
	expect_stale();
	planned_job()->deadline = time(NULL) + 10;
	fake.past_deadline = true;
	expect_stale();
}

static void expect_select_error(int code, enum fs_refusal_kind kind, uint32_t reason)
{
	job_record_t *job = planned_job();

	job->state_reason = WAIT_PRIORITY;
	fake.select_rc = code;
	expect_refusal(kind, slurm_strerror(code));
	CHECK_INT(last_refusal.code, code);
	CHECK_STR(last_nodes, kind == FS_REFUSED_NODES ? "n0" : "");
	CHECK_INT(job->state_reason, reason);
	CHECK(job->details->exc_node_bitmap == NULL);
	CHECK_INT(fake.federation_unlocks, 1);
}

static void test_select_errors(void)
{
	/* What our choice of nodes brought about is no reason for users. */
	expect_select_error(ESLURM_NODES_BUSY, FS_REFUSED_NODES, WAIT_PRIORITY);
	expect_select_error(ESLURM_NODE_NOT_AVAIL, FS_REFUSED_NODES, WAIT_PRIORITY);
	expect_select_error(ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, FS_REFUSED_NODES,
			    WAIT_PRIORITY);
	expect_select_error(ESLURM_RESERVATION_BUSY, FS_REFUSED_NODES, WAIT_PRIORITY);
	expect_select_error(ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, FS_REFUSED_JOB,
			    WAIT_RESOURCES);
	expect_select_error(ESLURM_INVALID_NODE_COUNT, FS_REFUSED_JOB, WAIT_RESOURCES);
	expect_select_error(ESLURM_BURST_BUFFER_WAIT, FS_REFUSED_JOB, WAIT_RESOURCES);
}

static void over_limit_in_select(job_record_t *job)
{
	job->state_reason = WAIT_QOS_GRP_GRES;
}

static void test_limit_in_select(void)
{
	planned_job();
	fake.select_rc = ESLURM_ACCOUNTING_POLICY;
	fake.during_select = over_limit_in_select;
	CHECK_INT(apply_all().refused, 1);
	CHECK_INT(last_refusal.kind, FS_REFUSED_LIMIT);
}

static void test_one_refusal_an_array(void)
{
	new_world();
	fake_array(fake_job(10), 4);
	for (int32_t node = 0; node < 4; node++)
		decide(10, node);
	fake.select_rc = ESLURM_NODES_BUSY;
	CHECK_INT(apply_all().refused, 1);
	CHECK_INT(fake.selects, 1);
	CHECK_INT(refusals_noted, 1);
}

static void test_others_go_on(void)
{
	new_world();
	fake_job(1);
	fake_job(2)->priority = 0;
	fake_job(3);
	for (uint32_t id = 1; id <= 3; id++)
		decide(id, 0);
	CHECK_INT(apply_all().started, 2);
}

static void test_completing_node(void)
{
	planned_job();
	decisions[0].node_count = 2;
	chosen[0][1] = 2;
	fake.completing = 2;
	expect_refusal(FS_REFUSED_NODES, "completing");
	CHECK_STR(last_nodes, "n2");
	CHECK_INT(fake.selects, 0);

	/* Where Slurm selects, the others will do. */
	planned_job();
	decisions[0].node_count = 2;
	decisions[0].opaque = true;
	chosen[0][1] = 2;
	fake.completing = 2;
	CHECK_INT(apply_all().started, 1);
	CHECK_STR(fake.selected_nodes, "n0");

	planned_job();
	decisions[0].opaque = true;
	fake.completing = 0;
	expect_refusal(FS_REFUSED_NODES, "completing");
}

/* ---- what an attempt puts on, and off ------------------------------------------------- */

static char *seen_features;
static uint32_t seen_limit;
static const char *seen_resv;
static void see_dress(job_record_t *job)
{
	seen_features = job->details->features_use;
	seen_limit = job->time_limit;
	seen_resv = job->resv_name ? "set" : NULL;
}

static void test_features(void)
{
	job_record_t *job = planned_job();

	job->details->features = (char *)"need";
	job->details->prefer = (char *)"like";
	job->details->features_use = (char *)"stale";
	records[0].use_prefer = true;
	fake.during_select = see_dress;
	fake.select_rc = ESLURM_NODES_BUSY;
	CHECK_INT(apply_all().refused, 1);
	CHECK_STR(seen_features, "like");
	CHECK_STR(job->details->features_use, "need"); /* a preference never sticks */

	records[0].use_prefer = false;
	fake.select_rc = 0;
	CHECK_INT(apply_all().started, 1);
	CHECK_STR(seen_features, "need");

	planned_job();
	records[0].use_prefer = true; /* its preference was taken away meanwhile */
	expect_stale();
}

static void test_reservation(void)
{
	job_record_t *job = planned_job();

	records[0].reservation = (char *)"magnet";
	fake.during_select = see_dress;
	fake.select_rc = ESLURM_NODES_BUSY;
	CHECK_INT(apply_all().refused, 1);
	CHECK_INT(fake.entered, 1);
	CHECK(seen_resv != NULL);
	CHECK(job->resv_name == NULL);
	fake.select_rc = 0;
	CHECK_INT(apply_all().started, 1);
	CHECK_STR(job->resv_name, "magnet");

	planned_job();
	records[0].reservation = (char *)"magnet";
	fake.no_reservation = true;
	expect_stale();
	job = planned_job();
	records[0].reservation = (char *)"magnet";
	job->resv_name = xstrdup("own"); /* put into another one meanwhile */
	expect_stale();
}

static void test_deadline(void)
{
	job_record_t *job = planned_job();

	job->deadline = time(NULL) + 30 * 60 + 30;
	fake.during_select = see_dress;
	fake.select_rc = ESLURM_NODES_BUSY;
	CHECK_INT(apply_all().refused, 1);
	CHECK_INT(seen_limit, 30);
	CHECK_INT(job->time_limit, 60);
	fake.select_rc = 0;
	CHECK_INT(apply_all().started, 1);
	CHECK_INT(job->time_limit, 30);

	job = planned_job();
	job->time_limit = NO_VAL;
	fake_parts[0].default_time = 20;
	job->deadline = time(NULL) + 30 * 60 + 30;
	CHECK_INT(apply_all().started, 1);
	CHECK_INT(job->time_limit, 20);
}

TEST_SUITE("apply",
	   {"a job starts on the plan's nodes, and is saved", test_start},
	   {"its own exclusion is put back", test_own_exclusion},
	   {"several tasks of an array start, the rest is as it was", test_array},
	   {"starts in one hold of the locks are bounded", test_bounded_holds},
	   {"a start for later is not made", test_only_now},
	   {"a job that changed is left alone", test_changed_jobs},
	   {"a partition or node that changed drops the start", test_changed_partitions},
	   {"the partition's own priority is used", test_partition_list},
	   {"a new configuration drops the plan", test_dropped_plans},
	   {"the daemon goes down between two holds", test_down_in_between},
	   {"a stop breaks off", test_stop},
	   {"each check refuses", test_checks_refuse},
	   {"a check that ends the job is no refusal", test_dependency_kills},
	   {"each error of select_nodes has its meaning", test_select_errors},
	   {"a limit found in select_nodes", test_limit_in_select},
	   {"an array is refused once", test_one_refusal_an_array},
	   {"one job's trouble is not another's", test_others_go_on},
	   {"a completing node is not used", test_completing_node},
	   {"features and preferences", test_features},
	   {"a magnetic reservation is entered and left", test_reservation},
	   {"a deadline cuts the limit of a start alone", test_deadline})
