/*
 * announce: starts, nodes and reasons in job records, written on change only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_slurm.h"

#include "../harness.h"

#include "plugin/announce.h"

static char *node_names[] = { "n0", "n1", "n2", "n3" };
static const int32_t two_nodes[] = { 1, 2 };
static const fs_observation_t observation = { .nodes = node_names, .node_count = 4 };

static fs_decision later(uint32_t job_id, int64_t start)
{
	return (fs_decision){ .key = job_id, .start = start, .nodes = two_nodes, .node_count = 2,
			      .reason = "2 nodes until 12:00", .kind = "gpus" };
}

static void test_start_and_reason(void)
{
	fs_decision decision = later(1, 5000);
	job_record_t *job;

	fake_reset();
	job = fake_job(1);
	CHECK_INT(fs_announce(&fake_ops, &observation, &decision, 1), 1);
	CHECK_INT(job->start_time, 5000);
	CHECK_STR(job->sched_nodes, "n[1-2]");
	CHECK_INT(job->state_reason, WAIT_RESOURCES);
	CHECK_STR(job->state_desc, "2 nodes until 12:00");
	CHECK_INT(fake.changes, 1);

	CHECK_INT(fs_announce(&fake_ops, &observation, &decision, 1), 0);
	CHECK_INT(fake.changes, 1); /* nothing new: nothing touched */

	decision.kind = "behind";
	CHECK_INT(fs_announce(&fake_ops, &observation, &decision, 1), 1);
	CHECK_INT(job->state_reason, WAIT_PRIORITY);
}

static void test_no_place(void)
{
	fs_decision decision = { .key = 1, .reason = "", .kind = "beyond-horizon" };
	job_record_t *job;

	fake_reset();
	job = fake_job(1);
	job->start_time = 5000;
	job->sched_nodes = xstrdup("n1");
	CHECK_INT(fs_announce(&fake_ops, &observation, &decision, 1), 1);
	CHECK_INT(job->start_time, 0);
	CHECK(job->sched_nodes == NULL);
	CHECK_INT(job->state_reason, WAIT_RESOURCES);
	CHECK(job->state_desc == NULL);
}

static void test_slurms_own_reasons(void)
{
	static const uint32_t reasons[] = { WAIT_DEPENDENCY, WAIT_TIME, WAIT_ARRAY_TASK_LIMIT,
					    WAIT_LICENSES, WAIT_HELD_USER, WAIT_QOS_GRP_GRES,
					    WAIT_ASSOC_MAX_JOBS, WAIT_RESERVATION, FAIL_QOS };
	fs_decision decision = later(1, 5000);

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		job_record_t *job;

		fake_reset();
		job = fake_job(1);
		job->state_reason = reasons[i];
		job->state_desc = xstrdup("Slurm's");
		fs_announce(&fake_ops, &observation, &decision, 1);
		CHECK_INT(job->state_reason, reasons[i]);
		CHECK_STR(job->state_desc, "Slurm's");
		CHECK_INT(job->start_time, 5000);
	}
}

static void test_array(void)
{
	fs_decision decisions[] = { { .key = 1, .reason = "x", .kind = "gpus" }, later(1, 7000),
				    later(1, 6000), later(2, 9000) };
	job_record_t *job;

	fake_reset();
	job = fake_job(1);
	CHECK_INT(fs_announce(&fake_ops, &observation, decisions, 4), 1);
	CHECK_INT(job->start_time, 6000); /* its first task; job 2 is gone */
}

static void test_left_alone(void)
{
	fs_decision decision = later(1, 5000);
	job_record_t *job;

	fake_reset();
	job = fake_job(1);
	job->priority = 0;
	CHECK_INT(fs_announce(&fake_ops, &observation, &decision, 1), 0);
	job->priority = 1;
	job->job_state = JOB_RUNNING;
	job->start_time = 77;
	CHECK_INT(fs_announce(&fake_ops, &observation, &decision, 1), 0);
	CHECK_INT(job->start_time, 77);
	job->job_state = JOB_PENDING;
	decision.now = true; /* apply's to tell */
	CHECK_INT(fs_announce(&fake_ops, &observation, &decision, 1), 0);
	decision.now = false;
	decision.opaque = true; /* Slurm will choose among them */
	fs_announce(&fake_ops, &observation, &decision, 1);
	CHECK(job->sched_nodes == NULL);
}

static void test_withdraw(void)
{
	fs_decision decision = later(1, 5000);
	uint32_t ids[] = { 1, 2, 3 };
	job_record_t *job, *other;

	fake_reset();
	job = fake_job(1);
	other = fake_job(2);
	other->state_reason = WAIT_DEPENDENCY;
	other->state_desc = xstrdup("Slurm's");
	fs_announce(&fake_ops, &observation, &decision, 1);
	fs_announce_withdraw(&fake_ops, ids, 3);
	CHECK_INT(job->start_time, 0);
	CHECK(job->sched_nodes == NULL);
	CHECK(job->state_desc == NULL);
	CHECK_STR(other->state_desc, "Slurm's");
}

TEST_SUITE("announce",
	   {"a planned start, its nodes and reason, on change", test_start_and_reason},
	   {"no place blanks the start", test_no_place},
	   {"Slurm's own reasons stay", test_slurms_own_reasons},
	   {"an array's first task counts", test_array},
	   {"held, running and starting jobs are left alone", test_left_alone},
	   {"the end of active mode takes it back", test_withdraw})
