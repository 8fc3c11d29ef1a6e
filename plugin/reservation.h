/*
 * reservation: a reservation of whole nodes as an application's, its nodes and their guards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A node that is lent leaves the reservation, and gets a guard: a reservation of its own, for the
 * same people, from the time when it is due back.  Slurm itself then starts no job there that
 * would run past it, whoever schedules.  To take a node back the guard goes and the reservation
 * grows, under one hold of the locks.
 *
 * Nothing here keeps a pointer into Slurm.
 */
#ifndef FORESIGHT_RESERVATION_H
#define FORESIGHT_RESERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/foresight.h"

/* A node of the reservation as the administrator made it. */
typedef struct {
	char *name;		/* owned */
	fs_lending_node is;
	int64_t guard;		/* start of its guard, 0: none */
} fs_resv_node_t;

typedef struct {
	bool found;
	bool begun;		/* it stands now */
	bool unsettled;		/* a node has not been heard of since the daemon began */
	char refused[256];	/* why it cannot be lent from, "" when it can */
	char *node_list;	/* that it has now, as Slurm writes it; owned */
	fs_resv_node_t *nodes;	/* of the peak; owned */
	size_t count;
} fs_resv_view_t;

/* What it looks like; `peak` is the node list that it was made with, NULL: what it has now.
 * `grace` is what jobs may run beyond their limits: guards stand so much before a node is due.
 * Takes the locks.  -1 without memory. */
int fs_resv_look(const char *name, const char *peak, int64_t grace, fs_resv_view_t *view);
void fs_resv_clear(fs_resv_view_t *view);

/* Makes it so: node i is held where due[i] is 0, else lent until then.  Nothing is done when the
 * reservation or a node is not as `view` says any more.  Takes the locks.  0, or -1 with one line
 * in `problem`: whatever was lent or held before then still is. */
int fs_resv_arrange(const char *name, const fs_resv_view_t *view, const int64_t *due,
		    int64_t grace, char *problem, size_t size);

/* Removes every guard of the reservation's nodes.  Takes the locks. */
void fs_resv_drop_guards(const char *name);

#endif
