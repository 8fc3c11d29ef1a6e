/*
 * fake_slurm: slurmctld as a table of functions, for apply and announce.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Four nodes n0 … n3, two partitions, a handful of job records of Slurm's own type, and a struct
 * of what the daemon is to say and of what it was asked.
 */
#ifndef FORESIGHT_TEST_FAKE_SLURM_H
#define FORESIGHT_TEST_FAKE_SLURM_H

#include <stdbool.h>

#include "plugin/apply.h"
#include "plugin/slurm_ops.h"

enum { FAKE_NODES = 4, FAKE_JOBS = 16 };

struct fake_slurm {
	/* What it is to say. */
	bool down;		/* may_start() is false */
	int down_after_lock;	/* ... from this hold of the locks on, 0: never */
	time_t config_time;
	bool cleaning, array_full, dependent, bad_qos, bad_assoc, past_deadline, over_limit;
	bool no_licence;
	bool dependency_kills;	/* the dependency can't be met: the job ends */
	uint32_t partition_refuses;
	int completing;		/* node, -1: none */
	bool no_reservation;
	int select_rc;
	void (*during_select)(job_record_t *job);

	/* What it was asked. */
	int locks, unlocks, saves, selects, launches, changes;
	int selects_in_hold, most_in_hold;
	bool locked, saved_under_lock;
	int entered, left;
	int federation_locks, federation_unlocks, federation_starts;
	char selected_nodes[64];	/* "n1,n3": not excluded at the last select */
};

extern struct fake_slurm fake;
extern const struct fs_slurm_ops fake_ops;
extern part_record_t fake_parts[2];	/* "one", "two" */

/* A new world; frees the old one. */
void fake_reset(void);
/* A pending batch job in partition "one". */
job_record_t *fake_job(uint32_t job_id);
/* Makes a job an array of so many pending tasks; select_nodes() then splits one off. */
void fake_array(job_record_t *job, uint32_t tasks);

/* An observation of records and nodes, and decisions "now" on one node each. */
void fake_record(fs_record_t *record, uint32_t job_id);

#endif
