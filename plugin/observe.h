/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * observe: slurmctld's records to a snapshot, a value without a pointer into Slurm.
 */
#ifndef FORESIGHT_OBSERVE_H
#define FORESIGHT_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "../core/foresight.h"
#include "../core/io/foresight_io.h"
#include "refusals.h"

/* One record of Slurm's job queue: a job in a partition, maybe in a magnetic reservation, maybe
 * with its preferred features.  An option's cookie in the snapshot is an index into these. */
typedef struct {
	uint32_t job_id;	/* an array's: the record that holds its pending tasks */
	char *partition;
	char *reservation;	/* magnetic reservation, or NULL */
	bool use_prefer;
	uint32_t priority;	/* in this partition */
	uint32_t qos_id;	/* as the queue record has it, where Slurm has it */
	uint64_t fingerprint;	/* of what a change between plan and apply must not touch */
} fs_record_t;

typedef struct {
	fs_snapshot *snapshot;	/* owned */
	fs_record_t *records;	/* by cookie */
	size_t record_count;
	char **nodes;		/* by the snapshot's node index */
	size_t node_count;
	time_t taken;
	time_t config_time;	/* slurm_conf.last_update then: apply drops a plan when it moved */
	int node_record_count;
	size_t unsupported;	/* pending jobs that active mode leaves alone (het, burst buffer) */
	bool private_jobs;	/* PrivateData=jobs */
	bool truncated;		/* Slurm gave up building its queue half-way (build_queue_timeout) */
} fs_observation_t;

/* Takes the locks, looks, releases them: milliseconds.  0, or -1 with one line in `problem`. */
int fs_observe(const fs_settings *settings, const fs_refusals_t *refusals,
	       fs_observation_t *observation, char *problem, size_t size);
void fs_observation_clear(fs_observation_t *observation);

/* The fingerprint of a record as above: `job` is a job_record_t and `part` a part_record_t of
 * Slurm, under its locks.  Apply makes it again and drops a start when it differs.  It leaves out
 * what the plugin's own acts and Slurm's housekeeping move: priority, start time, reason, times
 * of evaluation, and an array's pending tasks (starting one must not spoil the next). */
uint64_t fs_record_fingerprint(const void *job, const void *part);

/* Proves that this plugin was built for the records of the daemon it is in: for some jobs,
 * find_job_record(job->job_id) == job.  1: proven, 0: no job yet to prove it on, -1: wrong. */
int fs_layout_test(void);

#endif
