/*
 * pulse: when to look at Slurm's records again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "pulse.h"

#define LEAST_GAP_MS 200
#define MOST_GAP_MS 700

void fs_pulse_look(fs_pulse_t *pulse, const fs_pulse_times_t *times, time_t now)
{
	pulse->seen = *times;
	pulse->looked = now;
	pulse->again = false;
}

void fs_pulse_looked(fs_pulse_t *pulse, int64_t now_ms, int64_t took_ms, int64_t interval_s)
{
	int64_t gap = took_ms * 10;

	if (gap < LEAST_GAP_MS)
		gap = LEAST_GAP_MS;
	if (gap > MOST_GAP_MS)
		gap = MOST_GAP_MS;
	pulse->earliest_ms = now_ms + gap;
	pulse->full_ms = now_ms + interval_s * 1000;
}

static bool moved(const fs_pulse_times_t *a, const fs_pulse_times_t *b)
{
	return a->jobs != b->jobs || a->nodes != b->nodes || a->parts != b->parts ||
	       a->resvs != b->resvs || a->config != b->config ||
	       a->submits != b->submits || a->ends != b->ends;
}

static bool any_since(const fs_pulse_times_t *times, time_t second)
{
	return times->jobs >= second || times->nodes >= second || times->parts >= second ||
	       times->resvs >= second || times->config >= second;
}

bool fs_pulse_is_due(const fs_pulse_t *pulse, const fs_pulse_times_t *times, time_t now,
		     int64_t now_ms)
{
	if (now_ms < pulse->earliest_ms)
		return false;
	return pulse->again || moved(&pulse->seen, times) ||
	       (now > pulse->looked && any_since(times, pulse->looked)) || now >= pulse->edge ||
	       now_ms >= pulse->full_ms;
}
