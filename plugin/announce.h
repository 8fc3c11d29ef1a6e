/*
 * announce: what a plan says of waiting jobs, written into Slurm's job records.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * In active mode alone: planned starts and nodes, as squeue --start shows them, and why a job
 * waits, where Slurm itself has nothing better to say.  A record is touched only when what it
 * says changes.
 */
#ifndef FORESIGHT_ANNOUNCE_H
#define FORESIGHT_ANNOUNCE_H

#include <stddef.h>

#include "observe.h"
#include "slurm_ops.h"

/* Takes and releases the locks itself, some thousand jobs a hold.  Returns the number of
 * records that changed. */
size_t fs_announce(const struct fs_slurm_ops *ops, const fs_observation_t *observation,
		   const fs_decision *decisions, size_t count);

/* Takes back the reasons and starts of the jobs in `job_ids`: active mode is over. */
void fs_announce_withdraw(const struct fs_slurm_ops *ops, const uint32_t *job_ids, size_t count);

#endif
