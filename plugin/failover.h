/*
 * failover: who does the next cycle, the planner or Slurm's own backfill.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A plan that fails or overruns is tried again with `fast` (no search).  After max_failures in a
 * row backfill takes the cycles; the planner keeps being tried, ever more rarely up to a bound, and
 * its first good plan takes them back.  No clock, no Slurm, no thread: a value and three functions.
 */
#ifndef FORESIGHT_FAILOVER_H
#define FORESIGHT_FAILOVER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
	int32_t max_failures;	/* failed plans in a row before backfill takes over; at least 1 */
	int32_t failures;	/* in a row, so far */
	bool handed_over;	/* backfill has the cycles */
	int64_t retry;		/* handed over: when the planner is tried next */
	int64_t pause;		/* handed over: from that try to the one after */
} fs_failover_t;

enum fs_failover_event {
	FS_FAILOVER_NONE,
	FS_FAILOVER_HANDED_OVER,	/* just now: log it once */
	FS_FAILOVER_RECOVERED,		/* just now: log it once */
};

void fs_failover_init(fs_failover_t *failover, int32_t max_failures);

/* A new max_failures, from a reload: keeps the count. */
void fs_failover_set_max(fs_failover_t *failover, int32_t max_failures);

/* May a plan be tried at `now`?  Always, unless backfill has the cycles: then at `retry`. */
bool fs_failover_try_plan(const fs_failover_t *failover, int64_t now);

/* The plan to try next may use its search; false: `fast`, with a budget of 0. */
bool fs_failover_full(const fs_failover_t *failover);

/* What came of a plan.  While backfill has the cycles, the next try is FS_FIRST_PAUSE seconds
 * away, and twice as long after each further failure, up to `longest`. */
#define FS_FIRST_PAUSE 2
enum fs_failover_event fs_failover_report(fs_failover_t *failover, bool good, int64_t now,
					  int64_t longest);

#endif
