/*
 * failover: who does the next cycle, the planner or Slurm's own backfill.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "failover.h"

void fs_failover_init(fs_failover_t *failover, int32_t max_failures)
{
	*failover = (fs_failover_t){0};
	fs_failover_set_max(failover, max_failures);
}

void fs_failover_set_max(fs_failover_t *failover, int32_t max_failures)
{
	failover->max_failures = max_failures < 1 ? 1 : max_failures;
}

bool fs_failover_try_plan(const fs_failover_t *failover, int64_t now)
{
	return !failover->handed_over || now >= failover->retry;
}

bool fs_failover_full(const fs_failover_t *failover)
{
	return failover->failures == 0;
}

enum fs_failover_event fs_failover_report(fs_failover_t *failover, bool good, int64_t now,
					  int64_t longest)
{
	if (good) {
		bool recovered = failover->handed_over;

		failover->failures = 0;
		failover->handed_over = false;
		return recovered ? FS_FAILOVER_RECOVERED : FS_FAILOVER_NONE;
	}

	/* The count stops at the bound: a planner broken for months must not wrap it. */
	if (failover->failures < failover->max_failures)
		failover->failures++;
	if (failover->failures < failover->max_failures)
		return FS_FAILOVER_NONE;
	if (failover->handed_over) {
		failover->pause *= 2;
		if (failover->pause > longest)
			failover->pause = longest;
		failover->retry = now + failover->pause;
		return FS_FAILOVER_NONE;
	}
	failover->handed_over = true;
	failover->pause = FS_FIRST_PAUSE;
	failover->retry = now + failover->pause;
	return FS_FAILOVER_HANDED_OVER;
}
