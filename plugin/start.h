/*
 * start: one job on the nodes that the plan chose for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * select_nodes() checks almost nothing, so everything that Slurm's own schedulers ask before a
 * start is asked here again, at the last moment, and everything that was changed on a job for
 * the attempt is put back when it does not start.
 */
#ifndef FORESIGHT_START_H
#define FORESIGHT_START_H

#include <stdbool.h>
#include <stddef.h>

#include "observe.h"
#include "refusals.h"
#include "slurm_ops.h"

typedef struct {
	const fs_record_t *record;
	const char *const *nodes;	/* names; opaque: those that the job may use */
	size_t node_count;
	bool opaque;
} fs_start_t;

enum fs_start_result {
	FS_STARTED,
	FS_START_REFUSED,	/* Slurm said no: the outcome says why */
	FS_START_STALE,		/* the job, its partition or a node is not as it was planned */
};

typedef struct {
	enum fs_refusal_kind kind;
	int code;		/* Slurm's error code */
	char why[64];		/* a few words, for reports */
	char *nodes;		/* FS_REFUSED_NODES: a hostlist, to be xfree()d */
	int wait;		/* seconds until it may be tried again */
} fs_start_outcome_t;

/* Under the locks of ops->lock().  `outcome` is filled in when refused, and must be cleared. */
enum fs_start_result fs_start_job(const struct fs_slurm_ops *ops, const fs_start_t *start,
				  fs_start_outcome_t *outcome);
void fs_start_outcome_clear(fs_start_outcome_t *outcome);

#endif
