/*
 * stock: Slurm's own backfill, compiled in from the site's tree, cycle by cycle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * In shadow mode it does all the scheduling; in active mode it takes the cycles while the planner
 * fails.  It has a thread of its own, because a pass may take a minute, and yields the locks
 * within.  Everything that an administrator sets for sched/backfill (bf_interval and the rest,
 * CompleteWait, max_rpc_cnt) is read and honoured by Slurm's own code.
 */
#ifndef FORESIGHT_STOCK_H
#define FORESIGHT_STOCK_H

/* Makes the thread; it rests until switched on.  Takes slurmctld's locks.  0, or an errno. */
int fs_stock_start(void);
/* Breaks off a pass at its next look at the flag, joins the thread, frees what it held. */
void fs_stock_stop(void);

/* On: the first pass comes at once.
 * Off: returns when no pass is under way any more, and clears the PLANNED marks of nodes. */
void fs_stock_switch_on(void);
void fs_stock_switch_off(void);

/* slurm.conf changed; read again before the next pass, and a pass under way ends early. */
void fs_stock_reconfigure(void);

#endif
