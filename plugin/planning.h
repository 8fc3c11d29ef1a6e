/*
 * planning: one plan at a time, in a thread of its own, with an end to its patience.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A plan that overruns is cancelled, and the agent is free again at once when the daemon goes
 * down.  The budget in milliseconds is turned into the planner's work units at the rate measured
 * on the plans before, so that the planner itself needs no clock.
 *
 * For tests only: the environment variable FORESIGHT_TEST_FAIL, read when the plugin is loaded,
 * makes the first plans fail: "error:3" (three plans fail at once), "overrun:2" (two plans hang
 * until they are cancelled).  The problem that is reported then names the variable.
 */
#ifndef FORESIGHT_PLANNING_H
#define FORESIGHT_PLANNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/foresight.h"

typedef struct fs_planning fs_planning_t;

typedef struct {
	const char *policy;
	int64_t age_doubles;
	double move_gain;
	int64_t budget_ms;	/* 0: `fast` */
	int64_t overrun_ms;	/* cancelled after so long */
} fs_planning_options_t;

fs_planning_t *fs_planning_new(const char *test_fail);
void fs_planning_free(fs_planning_t *planning);

/* Keeps to what the last plan announced, and remembers this one.
 * NULL when it failed, overran or was stopped, with one line in `problem`.  `seconds` is what it
 * took.  The snapshot stays the caller's. */
fs_plan *fs_planning_run(fs_planning_t *planning, fs_snapshot *snapshot,
			 const fs_planning_options_t *options, double *seconds, char *problem,
			 size_t size);

/* The next plan knows nothing of the last: another policy orders the queue. */
void fs_planning_forget(fs_planning_t *planning);

/* From another thread: the plan under way, and every later one, ends at once. */
void fs_planning_stop(fs_planning_t *planning);

#endif
