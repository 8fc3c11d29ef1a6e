/*
 * lending: reservations of applications follow their demand; idle nodes are lent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the administrator made is written to disk before a reservation shrinks for the first time.
 * In shadow mode, and for an application that is no longer in foresight.conf, nothing is lent and
 * what is lent comes back.  A reservation that someone changes by hand is followed: its nodes are
 * then what the administrator made; one that is deleted takes its guards with it.
 */
#ifndef FORESIGHT_LENDING_H
#define FORESIGHT_LENDING_H

#include "../core/io/foresight_io.h"

typedef struct fs_lending fs_lending_t;

/* NULL without memory.  Reads what is on disk. */
fs_lending_t *fs_lending_new(const char *state_dir);
void fs_lending_free(fs_lending_t *lending);

/* One look at every reservation; `active`: nodes may be lent.  Takes the locks, writes files
 * outside of them. */
void fs_lending_run(fs_lending_t *lending, const fs_settings *settings, bool active);

#endif
