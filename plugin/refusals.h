/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refusals: what Slurm would not start lately, and why.
 *
 * A refused start repeated every second wastes the lock and leaves GPUs held for a job that
 * cannot have them.  So apply notes each refusal here and observe feeds it into the next
 * snapshot.  A refusal ends at its retry time, when the job, its partition or a node it names
 * changed, or when something ended that may have been in the way (a job of the same
 * association, QOS or user for a limit; any job on the node for a node).
 *
 * Owned by the agent's thread: no locking, no pointer into Slurm, names and ids only.
 */
#ifndef FORESIGHT_REFUSALS_H
#define FORESIGHT_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct fs_refusals fs_refusals_t;

enum fs_refusal_kind {
	FS_REFUSED_LIMIT,	/* association, QOS or user limit: the job gets no place */
	FS_REFUSED_NODES,	/* these nodes were not given: plan it elsewhere */
	FS_REFUSED_JOB,		/* licence, dependency, …: the job gets no place for now */
};

typedef struct {
	uint32_t job_id;
	const char *partition;
	enum fs_refusal_kind kind;
	int code;		/* Slurm's error code */
	const char *why;	/* a few words, for reports */
	const char *nodes;	/* FS_REFUSED_NODES: a hostlist, else NULL */
	time_t when;
	time_t retry;
} fs_refusal_t;

fs_refusals_t *fs_refusals_new(void);
void fs_refusals_free(fs_refusals_t *refusals);
/* Strings are copied. The wait doubles when the same refusal comes again (up to a bound). */
void fs_refusals_note(fs_refusals_t *refusals, const fs_refusal_t *refusal);
/* The refusal in force for a job in a partition, or NULL; several of FS_REFUSED_NODES are one,
 * their nodes together.  Valid until the next call that changes the memory. */
const fs_refusal_t *fs_refusals_find(const fs_refusals_t *refusals, uint32_t job_id,
				     const char *partition, time_t now);
void fs_refusals_forget_job(fs_refusals_t *refusals, uint32_t job_id);
/* Forgets what may have changed: all limits, all nodes, or everything that is over at `now`. */
void fs_refusals_forget_kind(fs_refusals_t *refusals, enum fs_refusal_kind kind);
void fs_refusals_expire(fs_refusals_t *refusals, time_t now);

#endif
