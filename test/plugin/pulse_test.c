/*
 * pulse: when to look again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../harness.h"

#include "core/foresight.h"
#include "plugin/pulse.h"

static fs_pulse_t looked_at(fs_pulse_times_t times, time_t now)
{
	fs_pulse_t pulse = { .edge = FS_NEVER };

	fs_pulse_look(&pulse, &times, now);
	fs_pulse_looked(&pulse, 0, 5, 30);
	return pulse;
}

static void test_quiet(void)
{
	fs_pulse_times_t times = { .jobs = 90, .nodes = 80, .parts = 70, .resvs = 60 };
	fs_pulse_t pulse = looked_at(times, 100);

	CHECK(!fs_pulse_is_due(&pulse, &times, 101, 1000));
	CHECK(!fs_pulse_is_due(&pulse, &times, 129, 29999));
	CHECK(fs_pulse_is_due(&pulse, &times, 130, 30000));
}

static void test_change(void)
{
	fs_pulse_times_t times = { .jobs = 90 };
	fs_pulse_t pulse = looked_at(times, 100);

	times.jobs = 103;
	CHECK(!fs_pulse_is_due(&pulse, &times, 103, 100)); /* not on the heels of the last */
	CHECK(fs_pulse_is_due(&pulse, &times, 103, 250));
	times.jobs = 90;
	times.submits = 1;
	CHECK(fs_pulse_is_due(&pulse, &times, 103, 250));
	times.submits = 0;
	times.ends = 1;
	CHECK(fs_pulse_is_due(&pulse, &times, 103, 250));
}

/* A change in the second of the look, after it, moves no time stamp that already has it. */
static void test_same_second(void)
{
	fs_pulse_times_t times = { .jobs = 100 };
	fs_pulse_t pulse = looked_at(times, 100);

	CHECK(!fs_pulse_is_due(&pulse, &times, 100, 600));
	CHECK(fs_pulse_is_due(&pulse, &times, 101, 900));
	pulse = looked_at(times, 101);
	CHECK(!fs_pulse_is_due(&pulse, &times, 102, 1500));
}

static void test_edge_and_again(void)
{
	fs_pulse_times_t times = { .jobs = 90 };
	fs_pulse_t pulse = looked_at(times, 100);

	pulse.edge = 105;
	CHECK(!fs_pulse_is_due(&pulse, &times, 104, 4000));
	CHECK(fs_pulse_is_due(&pulse, &times, 105, 5000));
	pulse.edge = FS_NEVER;
	pulse.again = true;
	CHECK(!fs_pulse_is_due(&pulse, &times, 101, 100));
	CHECK(fs_pulse_is_due(&pulse, &times, 101, 250));
}

static void test_gap(void)
{
	fs_pulse_times_t times = { .jobs = 90 };
	fs_pulse_t pulse = looked_at(times, 100);

	pulse.again = true;
	fs_pulse_looked(&pulse, 1000, 50, 30); /* a big cluster: half a second's rest */
	CHECK(!fs_pulse_is_due(&pulse, &times, 101, 1400));
	CHECK(fs_pulse_is_due(&pulse, &times, 101, 1500));
	fs_pulse_looked(&pulse, 2000, 900, 30); /* but a change is seen within a second */
	CHECK(fs_pulse_is_due(&pulse, &times, 102, 2700));
}

TEST_SUITE("pulse",
	   {"a quiet cluster is looked at each interval", test_quiet},
	   {"a change is looked at", test_change},
	   {"a look in a change's own second is made again", test_same_second},
	   {"known times and refusals are looked at", test_edge_and_again},
	   {"slow looks are spaced", test_gap})
