/*
 * apply: the starts of a plan, made.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Decisions in plan order, each looked up again by id; a bounded number in one hold of the
 * locks; jobs and nodes saved after each hold that started something; what Slurm refuses goes
 * into the refusals, for the next snapshot.
 */
#ifndef FORESIGHT_APPLY_H
#define FORESIGHT_APPLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "observe.h"
#include "refusals.h"
#include "slurm_ops.h"

typedef struct {
	int max_starts;			/* attempts in one hold of the locks, at least 1 */
	const atomic_bool *stop;	/* set from another thread: break off; may be NULL */
} fs_apply_options_t;

typedef struct {
	size_t started;
	size_t refused;
	size_t stale;	/* decisions whose job had changed, or whose plan was dropped */
	bool dropped;	/* Slurm was configured anew, or may not start jobs now */
} fs_apply_result_t;

/* Makes those of `decisions` that are for now.  Takes and releases the locks itself. */
void fs_apply(const struct fs_slurm_ops *ops, const fs_observation_t *observation,
	      const fs_decision *decisions, size_t count, const fs_apply_options_t *options,
	      fs_refusals_t *refusals, fs_apply_result_t *result);

#endif
