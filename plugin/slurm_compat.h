/*
 * slurm_compat: Slurm's internal headers, and all that differs between its versions.
 *
 * The only file with version conditionals.  What is here was taken from the trees of 22.05,
 * 24.11 and 26.05; layouts change between point releases, so the plugin is always compiled
 * against the tree of the daemon that loads it, and layout.c proves it at run time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FORESIGHT_SLURM_COMPAT_H
#define FORESIGHT_SLURM_COMPAT_H

#include "config.h" /* Slurm's, or the few macros of it that its headers look at */

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "slurm/slurm_version.h"
#include "slurm/slurmdb.h"

#define FS_SLURM_AT_LEAST(major, minor)                                                         \
	(SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

#include "src/common/assoc_mgr.h"
#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/uid.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/acct_policy.h"
#include "src/slurmctld/fed_mgr.h"
#include "src/slurmctld/job_scheduler.h"
#include "src/slurmctld/licenses.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/node_scheduler.h"
#include "src/slurmctld/reservation.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

#if FS_SLURM_AT_LEAST(23, 2)
#include "src/interfaces/gres.h"
#include "src/interfaces/select.h"
#else
#include "src/common/gres.h"
#include "src/common/select.h"
#endif

#if FS_SLURM_AT_LEAST(24, 5)
#include "src/slurmctld/proc_req.h" /* srun_allocate */
#else
#include "src/slurmctld/srun_comm.h"
#endif

/* List, later list_t *, and their like, by the struct that they are everywhere. */
typedef struct xlist fs_list_t;
typedef struct listIterator fs_list_iterator_t;
typedef struct hostlist fs_hostlist_t;

#if FS_SLURM_AT_LEAST(23, 11)
typedef job_details_t fs_job_details_t;
#else
typedef struct job_details fs_job_details_t;
#endif

/* ---- names that changed ---------------------------------------------------------------- */

#ifndef CTL_CONF_ASRU
#define CTL_CONF_ASRU CONF_FLAG_ASRU
#endif
#ifndef CR_MEMORY
#define CR_MEMORY SELECT_MEMORY
#define CR_SOCKET SELECT_SOCKET
#define CR_BOARD SELECT_BOARD
#define CR_ONE_TASK_PER_CORE SELECT_ONE_TASK_PER_CORE
#endif
#ifndef RESERVE_REOCCURING
#define RESERVE_REOCCURING RESERVE_REOCCURRING
#endif

/* ---- what a queue record and a job have in some versions only -------------------------- */

/* The QOS of a queue record; before 24.11 a job has one QOS, its own. */
static inline slurmdb_qos_rec_t *fs_queue_record_qos(const job_queue_rec_t *record)
{
#if FS_SLURM_AT_LEAST(24, 11)
	return record->qos_ptr ? record->qos_ptr : record->job_ptr->qos_ptr;
#else
	return record->job_ptr->qos_ptr;
#endif
}

/* The licences that a user asked for, as text; NULL when none. */
static inline const char *fs_job_licenses(const job_record_t *job)
{
	return job->licenses;
}

/* A reservation that takes parts of nodes: no whole node, but cores (and, from 24.11 on, GPUs). */
static inline bool fs_reservation_is_partial(const slurmctld_resv_t *reservation)
{
	return !(reservation->ctld_flags & RESV_CTLD_FULL_NODE);
}

/* They free and take strings of the message: give them copies. */
static inline int fs_create_reservation(resv_desc_msg_t *message)
{
#if FS_SLURM_AT_LEAST(24, 11)
	char *err = NULL;
	int code = create_resv(message, &err);

	xfree(err);
	return code;
#else
	return create_resv(message);
#endif
}

static inline int fs_update_reservation(resv_desc_msg_t *message)
{
#if FS_SLURM_AT_LEAST(24, 11)
	char *err = NULL;
	int code = update_resv(message, &err);

	xfree(err);
	return code;
#else
	return update_resv(message);
#endif
}

/* GPUs that a partial reservation holds, as a job's allocation; NULL where there is no such. */
static inline fs_list_t *fs_reservation_gres(const slurmctld_resv_t *reservation)
{
#if FS_SLURM_AT_LEAST(24, 11)
	return reservation->gres_list_alloc;
#else
	(void)reservation;
	return NULL;
#endif
}

/* details->whole_node and its like: an enumeration first, flags later. */
static inline bool fs_takes_whole_nodes(uint8_t whole_node)
{
#if WHOLE_NODE_MCS == 0x04
	return whole_node & WHOLE_NODE_REQUIRED;
#else
	return whole_node == WHOLE_NODE_REQUIRED;
#endif
}

/* --exclusive=user or =mcs: nodes shared with some jobs only. */
static inline bool fs_chooses_neighbours(uint8_t whole_node)
{
#if WHOLE_NODE_MCS == 0x04
	return whole_node & (WHOLE_NODE_USER | WHOLE_NODE_MCS);
#else
	return whole_node == WHOLE_NODE_USER || whole_node == WHOLE_NODE_MCS;
#endif
}

/* --exclusive=topo, from 24.11 on. */
static inline bool fs_job_takes_topology(const job_record_t *job)
{
#ifdef WHOLE_TOPO
	return job->details->whole_node & WHOLE_TOPO;
#else
	(void)job;
	return false;
#endif
}

/* ---- starting jobs ----------------------------------------------------------------------- */

static inline int fs_node_index(const node_record_t *node)
{
	return (int)node->index;
}

/* Steps of an earlier run are still being cleaned up (on a Cray; gone from Slurm since). */
static inline bool fs_job_is_cleaning(const job_record_t *job)
{
#if FS_SLURM_AT_LEAST(23, 11)
	(void)job;
	return false;
#else
	uint16_t cleaning = 0;

	select_g_select_jobinfo_get(job->select_jobinfo, SELECT_JOBDATA_CLEANING, &cleaning);
	return cleaning != 0;
#endif
}

/* A job's priority in each of its partitions, in their order; NULL: the same in all. */
static inline const uint32_t *fs_job_priorities(const job_record_t *job)
{
#if FS_SLURM_AT_LEAST(24, 5)
	return job->prio_mult ? job->prio_mult->priority_array : NULL;
#else
	return job->priority_array;
#endif
}

/* "Licenses", "QOSMaxGRESPerUser": a reason as squeue shows it. */
static inline const char *fs_reason_name(uint32_t reason)
{
#if FS_SLURM_AT_LEAST(23, 11)
	return job_state_reason_string(reason);
#else
	return job_reason_string(reason);
#endif
}

/* Allocates, on any nodes that the job does not exclude. */
static inline int fs_select_nodes(job_record_t *job)
{
#if FS_SLURM_AT_LEAST(24, 11)
	job_node_select_t selection = { .job_ptr = job };

	return select_nodes(&selection, false, false, SLURMDB_JOB_FLAG_BACKFILL);
#else
	return select_nodes(job, false, NULL, NULL, false, SLURMDB_JOB_FLAG_BACKFILL);
#endif
}

#endif
