/*
 * failover: who does the next cycle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../harness.h"

#include "plugin/failover.h"

static void test_single_failure(void)
{
	fs_failover_t failover;

	fs_failover_init(&failover, 3);
	CHECK(fs_failover_full(&failover));
	CHECK_INT(fs_failover_report(&failover, false, 100, 30), FS_FAILOVER_NONE);
	CHECK(!fs_failover_full(&failover));
	CHECK(fs_failover_try_plan(&failover, 100));
	CHECK_INT(fs_failover_report(&failover, true, 101, 30), FS_FAILOVER_NONE);
	CHECK(fs_failover_full(&failover));
}

static void test_handover_and_back(void)
{
	fs_failover_t failover;

	fs_failover_init(&failover, 3);
	CHECK_INT(fs_failover_report(&failover, false, 100, 30), FS_FAILOVER_NONE);
	CHECK_INT(fs_failover_report(&failover, false, 101, 30), FS_FAILOVER_NONE);
	CHECK_INT(fs_failover_report(&failover, false, 102, 30), FS_FAILOVER_HANDED_OVER);
	CHECK(failover.handed_over);
	/* Said once; tried again after a pause, and ever more rarely, but no more than that. */
	CHECK(!fs_failover_try_plan(&failover, 103));
	CHECK(fs_failover_try_plan(&failover, 104));
	CHECK_INT(fs_failover_report(&failover, false, 104, 30), FS_FAILOVER_NONE);
	CHECK(!fs_failover_try_plan(&failover, 107));
	CHECK(fs_failover_try_plan(&failover, 108));
	for (int i = 0; i < 10; i++)
		fs_failover_report(&failover, false, 200, 30);
	CHECK(!fs_failover_try_plan(&failover, 229));
	CHECK(fs_failover_try_plan(&failover, 230));
	CHECK_INT(fs_failover_report(&failover, true, 230, 30), FS_FAILOVER_RECOVERED);
	CHECK(!failover.handed_over);
	CHECK(fs_failover_full(&failover));
	CHECK_INT(fs_failover_report(&failover, true, 163, 30), FS_FAILOVER_NONE);
}

static void test_one_strike(void)
{
	fs_failover_t failover;

	fs_failover_init(&failover, 0); /* nonsense is taken as 1 */
	CHECK_INT(fs_failover_report(&failover, false, 0, 30), FS_FAILOVER_HANDED_OVER);
}

static void test_never_wraps(void)
{
	fs_failover_t failover;

	fs_failover_init(&failover, 2);
	for (int i = 0; i < 1000; i++)
		fs_failover_report(&failover, false, i, 1);
	CHECK_INT(failover.failures, 2);
	CHECK(failover.handed_over);
}

static void test_reload(void)
{
	fs_failover_t failover;

	fs_failover_init(&failover, 5);
	fs_failover_report(&failover, false, 0, 1);
	fs_failover_set_max(&failover, 2);
	CHECK_INT(fs_failover_report(&failover, false, 1, 1), FS_FAILOVER_HANDED_OVER);
}

TEST_SUITE("failover",
	   {"one failure is tried again without a search", test_single_failure},
	   {"three failures hand over, one good plan takes back", test_handover_and_back},
	   {"a bound below one is one", test_one_strike},
	   {"a planner that stays broken does not wrap the count", test_never_wraps},
	   {"a new bound keeps the count", test_reload})
