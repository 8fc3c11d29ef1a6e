/*
 * cycle: observe, plan, apply, publish; and who does it, in which mode.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Belongs to the agent's thread; nothing here is called by another one.
 */
#ifndef FORESIGHT_CYCLE_H
#define FORESIGHT_CYCLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "planning.h"
#include "pulse.h"

typedef struct fs_cycle fs_cycle_t;

/* Reads the settings, makes backfill's thread.  NULL when something could not be made.  The
 * planning and the flag stay the caller's. */
fs_cycle_t *fs_cycle_new(fs_planning_t *planning, const atomic_bool *stop);
void fs_cycle_free(fs_cycle_t *cycle);

/* foresight.conf is read again, and slurm.conf by backfill. */
void fs_cycle_reload(fs_cycle_t *cycle);

/* May it look now?  Not while more RPCs are in progress than max_rpc_cnt allows. */
bool fs_cycle_may_look(const fs_cycle_t *cycle);

/* Seconds after which a look is made whatever happens (Interval=). */
int64_t fs_cycle_interval(const fs_cycle_t *cycle);

/* One look at the cluster, and what follows from it.  `pulse` learns when to look again. */
void fs_cycle_run(fs_cycle_t *cycle, fs_pulse_t *pulse);

#endif
