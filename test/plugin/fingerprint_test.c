/*
 * A record's fingerprint: what a user changes moves it, what Slurm and the plugin move does not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "plugin/slurm_compat.h"

#include "harness.h"

#include "plugin/observe.h"
#include "test/plugin/fake_slurm.h"

static uint64_t print_of(const job_record_t *job)
{
	return fs_record_fingerprint(job, &fake_parts[0]);
}

/* Changes a field, looks, and puts it back. */
#define MOVES(job, field, value)                                                                \
	do {                                                                                    \
		uint64_t before_ = print_of(job);                                               \
		__typeof__((job)->field) saved_ = (job)->field;                                 \
		(job)->field = (value);                                                         \
		if (print_of(job) == before_)                                                   \
			FAIL("%s does not move the fingerprint", #field);                       \
		(job)->field = saved_;                                                          \
		CHECK(print_of(job) == before_);                                                \
	} while (0)

#define STAYS(job, field, value)                                                                \
	do {                                                                                    \
		uint64_t before_ = print_of(job);                                               \
		__typeof__((job)->field) saved_ = (job)->field;                                 \
		(job)->field = (value);                                                         \
		if (print_of(job) != before_)                                                   \
			FAIL("%s moves the fingerprint", #field);                               \
		(job)->field = saved_;                                                          \
	} while (0)

static char other[] = "other";

static void test_what_users_change(void)
{
	job_record_t *job;

	fake_reset();
	job = fake_job(7);
	MOVES(job, time_limit, 77);
	MOVES(job, time_min, 5);
	MOVES(job, priority, 0);
	MOVES(job, partition, other);
	MOVES(job, account, other);
	MOVES(job, qos_id, 99);
	MOVES(job, licenses, other);
	MOVES(job, tres_per_node, other);
	MOVES(job, tres_per_job, other);
	MOVES(job, tres_per_task, other);
	MOVES(job, cpus_per_tres, other);
	MOVES(job, resv_name, other);
	MOVES(job, details->features, other);
	MOVES(job, details->prefer, other);
	MOVES(job, details->req_nodes, other);
	MOVES(job, details->exc_nodes, other);
	MOVES(job, details->dependency, other);
	MOVES(job, details->min_nodes, 12);
	MOVES(job, details->max_nodes, 12);
	MOVES(job, details->num_tasks, 12);
	MOVES(job, details->orig_min_cpus, 12);
	MOVES(job, details->orig_pn_min_memory, 12345);
	MOVES(job, details->begin_time, time(NULL) + 1000);
	CHECK(fs_record_fingerprint(job, &fake_parts[0]) !=
	      fs_record_fingerprint(job, &fake_parts[1]));
}

static void test_housekeeping(void)
{
	job_record_t *job;

	fake_reset();
	job = fake_job(7);
	STAYS(job, priority, job->priority + 5);
	STAYS(job, start_time, time(NULL));
	STAYS(job, end_time, time(NULL));
	STAYS(job, state_reason, WAIT_RESOURCES);
	STAYS(job, state_desc, other);
	STAYS(job, last_sched_eval, time(NULL));
	STAYS(job, node_cnt_wag, 3);
	/* Slurm writes these for the partition that it tries. */
	STAYS(job, details->pn_min_memory, 12345);
	STAYS(job, details->min_cpus, 12);
	STAYS(job, details->cpus_per_task, 12);
	STAYS(job, details->share_res, 1);
	/* Set to the present when a job becomes eligible. */
	STAYS(job, details->begin_time, time(NULL) - 5);
	job->bit_flags |= JOB_MAGNETIC;
	STAYS(job, resv_name, other);
	job->bit_flags &= ~JOB_MAGNETIC;
}

TEST_SUITE("fingerprint",
	   {"what users change moves it", test_what_users_change},
	   {"housekeeping does not", test_housekeeping})
