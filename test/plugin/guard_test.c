/*
 * guard: when active mode is allowed, and the line to change when it is not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../harness.h"

#include <string.h>

#include "plugin/guard.h"

static fs_site_t fine_site(void)
{
	return (fs_site_t){
		.scheduler_parameters = "sched_interval=-1,defer",
		.preempt_type = "preempt/none",
		.select_type = "select/cons_tres",
	};
}

static void test_allowed(void)
{
	fs_site_t site = fine_site();
	char line[512] = "?";

	CHECK(fs_guard_allows(&site, line, sizeof(line)));
	CHECK_STR(line, "");
	site.scheduler_parameters = " bf_window=10 , DEFER , sched_interval=-1 ";
	site.preempt_type = NULL;
	CHECK(fs_guard_allows(&site, line, sizeof(line)));
}

static void expect_parameters(const char *parameters, const char *mended)
{
	fs_site_t site = fine_site();
	char line[512], wanted[512];

	site.scheduler_parameters = parameters;
	CHECK(!fs_guard_allows(&site, line, sizeof(line)));
	snprintf(wanted, sizeof(wanted), "slurm.conf needs SchedulerParameters=%s (Slurm's own "
					 "start loop must be off)", mended);
	CHECK_STR(line, wanted);
}

static void test_parameters(void)
{
	expect_parameters(NULL, "sched_interval=-1,defer");
	expect_parameters("", "sched_interval=-1,defer");
	expect_parameters("defer", "sched_interval=-1,defer");
	expect_parameters("bf_window=1440,sched_interval=30", "bf_window=1440,sched_interval=-1,"
							      "defer");
	/* Tokens are whole: defer_batch defers only batch jobs, -10 is an interval. */
	expect_parameters("sched_interval=-1,defer_batch", "defer_batch,sched_interval=-1,defer");
	expect_parameters("sched_interval=-10,defer", "sched_interval=-1,defer");
	/* Slurm reads the first of two. */
	expect_parameters("sched_interval=60,sched_interval=-1,defer", "sched_interval=-1,defer");
	expect_parameters(",,defer,", "sched_interval=-1,defer");
}

static void expect_line(const fs_site_t *site, const char *part)
{
	char line[512];

	CHECK(!fs_guard_allows(site, line, sizeof(line)));
	if (!CHECK(strstr(line, part) != NULL))
		FAIL("the line is \"%s\"", line);
}

static void test_unsupported(void)
{
	fs_site_t site = fine_site();

	site.select_type = "select/linear";
	expect_line(&site, "SelectType=select/cons_tres (it has select/linear)");
	site.select_type = NULL;
	expect_line(&site, "SelectType=select/cons_tres");
	site = fine_site();
	site.preempt_type = "preempt/qos";
	expect_line(&site, "PreemptType=preempt/none (it has preempt/qos");
	site = fine_site();
	site.gang = true;
	expect_line(&site, "PreemptMode=OFF (gang scheduling");
	site = fine_site();
	site.preempt_on = true;
	expect_line(&site, "PreemptMode=OFF (preemption");
	site = fine_site();
	site.federated = true;
	expect_line(&site, "federation");
	site = fine_site();
	site.front_ends = true;
	expect_line(&site, "front end");
}

static void test_short_line(void)
{
	fs_site_t site = fine_site();
	char line[8], parameters[6000];

	memset(parameters, 'x', sizeof(parameters));
	parameters[sizeof(parameters) - 1] = '\0';
	site.scheduler_parameters = parameters;
	CHECK(!fs_guard_allows(&site, line, sizeof(line)));
	CHECK_INT(strlen(line), 7);
}

TEST_SUITE("guard",
	   {"a fit site is allowed", test_allowed},
	   {"SchedulerParameters are mended token by token", test_parameters},
	   {"what is not supported is refused", test_unsupported},
	   {"long parameters are cut, not overrun", test_short_line})
