/*
 * agent: the thread that schedules, and its cycle: observe, plan, apply, publish.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FORESIGHT_AGENT_H
#define FORESIGHT_AGENT_H

/* Makes the thread, and nothing more: this is called with slurmctld's locks held, before jobs
 * are loaded, also in configuration tests and in a backup controller.  0, or an errno. */
int fs_agent_start(void);

/* Cancels the plan under way, joins the thread and forgets everything.  Holds no lock. */
void fs_agent_stop(void);

/* slurm.conf was read again.  Called with slurmctld's locks held: sets a flag. */
void fs_agent_reconfigure(void);

#endif
