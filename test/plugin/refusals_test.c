/*
 * What the plugin remembers of refused starts: how long, which weighs more, and when it forgets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../plugin/refusals.h"

#define NOW 1000000

static void note(fs_refusals_t *refusals, uint32_t job, enum fs_refusal_kind kind,
		 const char *nodes, time_t when, time_t wait)
{
	const fs_refusal_t refusal = {
		.job_id = job,
		.partition = "main",
		.kind = kind,
		.code = 2015,
		.why = "a limit",
		.nodes = nodes,
		.when = when,
		.retry = when + wait,
	};

	fs_refusals_note(refusals, &refusal);
}

static time_t retry_of(const fs_refusals_t *refusals, uint32_t job, time_t now)
{
	const fs_refusal_t *found = fs_refusals_find(refusals, job, "main", now);

	return found ? found->retry : 0;
}

static void test_in_force(void)
{
	fs_refusals_t *refusals = fs_refusals_new();
	const fs_refusal_t *found;

	note(refusals, 7, FS_REFUSED_LIMIT, NULL, NOW, 10);
	found = fs_refusals_find(refusals, 7, "main", NOW + 9);
	REQUIRE(found != NULL);
	CHECK_STR(found->why, "a limit");
	CHECK_INT(found->code, 2015);
	CHECK(fs_refusals_find(refusals, 7, "main", NOW + 10) == NULL);
	CHECK(fs_refusals_find(refusals, 7, "other", NOW) == NULL);
	CHECK(fs_refusals_find(refusals, 8, "main", NOW) == NULL);
	fs_refusals_free(refusals);
}

static void test_backoff(void)
{
	fs_refusals_t *refusals = fs_refusals_new();
	time_t now = NOW;
	time_t wait = 10;

	for (int i = 0; i < 12; i++) {
		note(refusals, 7, FS_REFUSED_JOB, NULL, now, 10);
		CHECK_INT(retry_of(refusals, 7, now), now + wait);
		now += wait;
		wait = 2 * wait < 900 ? 2 * wait : 900;
		fs_refusals_expire(refusals, now);
	}
	/* Long over: it starts anew. */
	now += 10000;
	fs_refusals_expire(refusals, now);
	note(refusals, 7, FS_REFUSED_JOB, NULL, now, 10);
	CHECK_INT(retry_of(refusals, 7, now), now + 10);
	/* A caller that wants longer than the bound gets it. */
	note(refusals, 8, FS_REFUSED_JOB, NULL, now, 5000);
	CHECK_INT(retry_of(refusals, 8, now), now + 5000);
	fs_refusals_free(refusals);
}

static void test_nodes_join(void)
{
	fs_refusals_t *refusals = fs_refusals_new();
	const fs_refusal_t *found;

	note(refusals, 7, FS_REFUSED_NODES, "n[1-2]", NOW, 10);
	note(refusals, 7, FS_REFUSED_NODES, "n5", NOW + 1, 10);
	found = fs_refusals_find(refusals, 7, "main", NOW + 5);
	REQUIRE(found != NULL);
	CHECK_STR(found->nodes, "n[1-2],n5");
	CHECK_INT(found->retry, NOW + 11);
	/* The same nodes again: twice as long. */
	note(refusals, 7, FS_REFUSED_NODES, "n5", NOW + 11, 10);
	found = fs_refusals_find(refusals, 7, "main", NOW + 12);
	REQUIRE(found != NULL);
	CHECK_STR(found->nodes, "n[1-2],n5");
	CHECK_INT(found->retry, NOW + 31);
	/* Once over, only the last is remembered. */
	fs_refusals_expire(refusals, NOW + 40);
	note(refusals, 7, FS_REFUSED_NODES, "n9", NOW + 40, 10);
	found = fs_refusals_find(refusals, 7, "main", NOW + 41);
	REQUIRE(found != NULL);
	CHECK_STR(found->nodes, "n5,n9");
	fs_refusals_free(refusals);
}

static void test_many_hostlists(void)
{
	fs_refusals_t *refusals = fs_refusals_new();
	const fs_refusal_t *found;

	for (int i = 0; i < 100; i++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", i);
		note(refusals, 7, FS_REFUSED_NODES, node, NOW, 10);
	}
	found = fs_refusals_find(refusals, 7, "main", NOW);
	REQUIRE(found != NULL);
	CHECK_STR(found->nodes, "n84,n85,n86,n87,n88,n89,n90,n91,n92,n93,n94,n95,n96,n97,n98,n99");
	fs_refusals_free(refusals);
}

static void test_weight(void)
{
	fs_refusals_t *refusals = fs_refusals_new();

	note(refusals, 7, FS_REFUSED_NODES, "n1", NOW, 100);
	note(refusals, 7, FS_REFUSED_JOB, NULL, NOW, 50);
	note(refusals, 7, FS_REFUSED_LIMIT, NULL, NOW, 20);
	CHECK_INT(fs_refusals_find(refusals, 7, "main", NOW)->kind, FS_REFUSED_LIMIT);
	CHECK_INT(fs_refusals_find(refusals, 7, "main", NOW + 20)->kind, FS_REFUSED_JOB);
	CHECK_INT(fs_refusals_find(refusals, 7, "main", NOW + 50)->kind, FS_REFUSED_NODES);
	fs_refusals_forget_kind(refusals, FS_REFUSED_LIMIT);
	CHECK_INT(fs_refusals_find(refusals, 7, "main", NOW)->kind, FS_REFUSED_JOB);
	fs_refusals_free(refusals);
}

static void test_forget_job(void)
{
	fs_refusals_t *refusals = fs_refusals_new();

	for (uint32_t job = 200; job > 100; job--)
		note(refusals, job, FS_REFUSED_JOB, NULL, NOW, 10);
	note(refusals, 150, FS_REFUSED_LIMIT, NULL, NOW, 10);
	fs_refusals_forget_job(refusals, 150);
	for (uint32_t job = 101; job <= 200; job++)
		CHECK_INT(fs_refusals_find(refusals, job, "main", NOW) != NULL, job != 150);
	fs_refusals_free(refusals);
	fs_refusals_free(NULL);
}

TEST_SUITE("refusals",
	   {"a refusal is in force until its retry", test_in_force},
	   {"the wait doubles, up to a bound, and is forgotten in the end", test_backoff},
	   {"refused nodes are joined", test_nodes_join},
	   {"many refused nodes stay bounded", test_many_hostlists},
	   {"no place at all weighs more than no place on some nodes", test_weight},
	   {"a job is forgotten, others are not", test_forget_job})
