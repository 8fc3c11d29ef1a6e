/*
 * slurm_ops: what a start asks of slurmctld, as a table of functions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * apply and announce call slurmctld through this table alone, so that refusals, changed jobs and
 * a daemon that goes down between two starts are tested without one.  Records are Slurm's own;
 * libslurmfull (bitmaps, lists, strings) is called directly.
 *
 * Everything but lock() and save() is called under the locks that lock() takes: configuration
 * and partitions read, jobs and nodes written, federation read.
 */
#ifndef FORESIGHT_SLURM_OPS_H
#define FORESIGHT_SLURM_OPS_H

#include "../core/foresight.h"
#include "guard.h"
#include "pulse.h"
#include "slurm_compat.h"

struct fs_slurm_ops {
	/* The daemon. */
	void (*lock)(void);
	void (*unlock)(void);
	void (*save)(void);	/* jobs and nodes to disk; takes its own locks */
	bool (*may_start)(void); /* not going down, scheduling on, no job completing that counts */
	time_t (*config_time)(void);
	int (*node_count)(void);

	/* Its records; NULL, or a negative number, when there is none. */
	job_record_t *(*find_job)(uint32_t job_id);
	part_record_t *(*find_part)(const char *name);
	slurmctld_resv_t *(*find_resv)(const char *name);
	int (*find_node)(const char *name);
	bool (*node_in_transit)(int node); /* a job there completes, or it is resuming */
	uint64_t (*fingerprint)(const void *job, const void *part);

	/* What Slurm's own schedulers ask before a start.  They may set the job's reason. */
	bool (*clean)(job_record_t *job);	/* no earlier run of it is still ending */
	bool (*array_may_start)(job_record_t *job);
	bool (*independent)(job_record_t *job);	/* dependencies, begin time, reservation */
	bool (*qos_valid)(job_record_t *job);
	bool (*assoc_valid)(job_record_t *job);
	bool (*deadline_ok)(job_record_t *job);	/* cancels it when the deadline can't be met */
	bool (*limits_allow)(job_record_t *job); /* association, QOS, user */
	bool (*licences_free)(job_record_t *job);
	uint32_t (*partition_refuses)(job_record_t *job); /* a WAIT_ reason, or WAIT_NO_REASON */

	/* What a start does. */
	void (*enter_reservation)(job_record_t *job, slurmctld_resv_t *resv);
	void (*leave_reservation)(job_record_t *job); /* a magnetic one, unless it runs now */
	int (*federation_lock)(job_record_t *job);
	void (*federation_unlock)(job_record_t *job);
	void (*federation_started)(job_record_t *job);
	int (*select)(job_record_t *job);	/* select_nodes(): allocates */
	void (*launch)(job_record_t *job);
	void (*jobs_changed)(void);		/* last_job_update */
};

/* slurmctld's own. */
extern const struct fs_slurm_ops fs_slurm_ops;

/* What guard wants to know.  Takes the configuration lock; the strings are copies, freed by
 * fs_site_clear(). */
typedef struct {
	fs_site_t site;
	char *strings[3];
	int max_rpc_count;	/* SchedulerParameters' max_rpc_cnt, 0: none */
	bool private_jobs;	/* PrivateData=jobs */
	char *state_dir;	/* StateSaveLocation */
} fs_slurm_site_t;

void fs_slurm_site_look(fs_slurm_site_t *site);
void fs_slurm_site_clear(fs_slurm_site_t *site);

/* More RPCs in progress than SchedulerParameters' max_rpc_cnt: let the users go first. */
bool fs_slurm_many_rpcs(int max_rpc_count);

/* When Slurm last changed what a plan depends on.  No lock. */
fs_pulse_times_t fs_slurm_times(void);

/* The earliest begin time after `now` of a pending job, FS_NEVER when there is none.  Takes the
 * locks. */
int64_t fs_slurm_next_begin(time_t now);

/* A plan was made: sdiag's backfill figures.  Takes the locks. */
void fs_slurm_count_cycle(time_t now, uint32_t microseconds, uint32_t queued, uint32_t looked_at,
			  uint32_t placed);
/* The daemon is going down, or may not schedule (a backup controller, a drained federation). */
bool fs_slurm_is_idle(void);

#endif
