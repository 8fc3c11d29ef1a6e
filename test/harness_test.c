/*
 * The harness itself, from C: its checks hold and its helpers work.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "harness.h"

#include <string.h>
#include <unistd.h>

static void test_checks(void)
{
	CHECK(1);
	CHECK_INT(2 + 2, 4);
	CHECK_NEAR(0.1 + 0.2, 0.3, 1e-12);
	CHECK_STR("a", "a");
	REQUIRE(true);
}

static void test_paths(void)
{
	CHECK_INT(access(test_source("core/foresight.h"), R_OK), 0);
	CHECK_INT(access(test_directory(), W_OK), 0);
	CHECK_STR(test_directory(), test_directory());
}

static void test_seeds(void)
{
	CHECK(test_seed() == test_seed());
}

TEST_SUITE("harness",
	   {"checks that hold", test_checks},
	   {"paths of the source tree and of a case", test_paths},
	   {"a seed stays for the run", test_seeds})
