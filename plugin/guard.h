/*
 * guard: may this plugin start jobs on this cluster?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Active mode needs Slurm's own start loop off (sched_interval=-1) and no starts at submission
 * (defer), and refuses what it does not support: preemption and gang scheduling (select_nodes()
 * preempts by itself), federations, and a SelectType whose GPUs it does not understand.  Where it
 * is refused the plugin stays in shadow mode and says which line to change, to what.
 *
 * No Slurm header: a function of a few strings, tested without a daemon.
 */
#ifndef FORESIGHT_GUARD_H
#define FORESIGHT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* What slurm.conf says, and the daemon knows; NULL where a string is not set. */
typedef struct {
	const char *scheduler_parameters;
	const char *preempt_type;
	const char *select_type;
	bool preempt_on;	/* PreemptMode other than OFF, gang scheduling aside */
	bool gang;		/* PreemptMode has GANG */
	bool federated;
	bool front_ends;	/* Slurm was built for front end nodes */
} fs_site_t;

/* True: active mode is allowed.  False: `line` says in one line what to change, exactly. */
bool fs_guard_allows(const fs_site_t *site, char *line, size_t size);

/* Is `token` one of the comma-separated tokens of `list`?  "defer" is not in "defer_batch". */
bool fs_guard_has_token(const char *list, const char *token);

#endif
