/*
 * pulse: when to look at Slurm's records again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm notes its last changes in whole seconds, and our own acts count among them.  So a value
 * that moved is looked at once the last look is a moment old, and a look made in the very second
 * of a change is made again when that second is over: what came later in it shows in no time
 * stamp.  No clock and no Slurm of its own: times go in, an answer comes out.
 */
#ifndef FORESIGHT_PULSE_H
#define FORESIGHT_PULSE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* When Slurm last changed what a plan depends on. */
typedef struct {
	time_t jobs;
	time_t nodes;
	time_t parts;
	time_t resvs;
	time_t config;
	uint64_t submits; /* jobs submitted, and ended: only differences count */
	uint64_t ends;
} fs_pulse_times_t;

typedef struct {
	fs_pulse_times_t seen;	/* at the last look */
	time_t looked;		/* the second of it */
	int64_t earliest_ms;	/* the next look comes no sooner (monotonic) */
	int64_t full_ms;	/* and no later (monotonic) */
	int64_t edge;		/* or at this second: something known happens (FS_NEVER: nothing) */
	bool again;		/* as soon as it may */
} fs_pulse_t;

/* A look is made now: `now` is the second, taken before the records are read. */
void fs_pulse_look(fs_pulse_t *pulse, const fs_pulse_times_t *times, time_t now);

/* The look took so long; the next full one is interval_s away.  Looks take at most a tenth of
 * the time, but come within a second of a change. */
void fs_pulse_looked(fs_pulse_t *pulse, int64_t now_ms, int64_t took_ms, int64_t interval_s);

bool fs_pulse_is_due(const fs_pulse_t *pulse, const fs_pulse_times_t *times, time_t now,
		     int64_t now_ms);

#endif
