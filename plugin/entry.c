/*
 * entry: the symbols of Slurm's scheduler plugin interface, and nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The same object serves two names.  As sched/foresight it lies in Slurm's own plugin directory.
 * As the drop-in (FORESIGHT_DROP_IN) it is a sched_backfill.so in a directory that PluginDir
 * names first: when Slurm is upgraded and the versions no longer match, Slurm takes its own
 * backfill from the next directory, and the cluster goes on.
 */
#include "slurm_compat.h"

#include "agent.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern const char plugin_name[];
EXPORTED extern const char plugin_type[];
EXPORTED extern const uint32_t plugin_version;
EXPORTED extern int init(void);
EXPORTED extern void fini(void);
EXPORTED extern int sched_p_reconfig(void);

const char plugin_name[] = "Foresight scheduler plugin";
#ifdef FORESIGHT_DROP_IN
const char plugin_type[] = "sched/backfill";
#else
const char plugin_type[] = "sched/foresight";
#endif
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int init(void)
{
	return fs_agent_start() ? SLURM_ERROR : SLURM_SUCCESS;
}

void fini(void)
{
	fs_agent_stop();
}

int sched_p_reconfig(void)
{
	fs_agent_reconfigure();
	return SLURM_SUCCESS;
}
