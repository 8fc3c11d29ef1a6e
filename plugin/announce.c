/*
 * announce: what a plan says of waiting jobs, written into Slurm's job records.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "announce.h"

#include <stdlib.h>
#include <string.h>

#define JOBS_A_HOLD 1000

/* ---- one decision for each job -------------------------------------------------------- */

/* A job may have several decisions, one for each task of an array: the first start counts. */
typedef struct {
	const fs_decision *decision;
	size_t order;
} entry_t;

static int compare_entries(const void *x, const void *y)
{
	const entry_t *a = x, *b = y;
	const fs_decision *c = a->decision, *d = b->decision;
	bool no_place = !c->node_count, other_no_place = !d->node_count;

	if (c->key != d->key)
		return c->key < d->key ? -1 : 1;
	if (no_place != other_no_place)
		return no_place ? 1 : -1;
	if (c->start != d->start)
		return c->start < d->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The first of each job's decisions, sorted by job id; starts for now are apply's to tell. */
static entry_t *first_of_each(const fs_decision *decisions, size_t count, size_t *kept)
{
	entry_t *entries = calloc(count ? count : 1, sizeof(*entries));
	size_t used = 0;

	*kept = 0;
	if (!entries)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (!decisions[i].now)
			entries[used++] = (entry_t){ .decision = &decisions[i], .order = i };
	qsort(entries, used, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < used; i++)
		if (!i || entries[i].decision->key != entries[i - 1].decision->key)
			entries[(*kept)++] = entries[i];
	return entries;
}

/* ---- one record ----------------------------------------------------------------------- */

/* Reasons that say no more than "not yet": ours may stand instead. */
static bool is_replaceable(uint32_t reason)
{
	return reason == WAIT_NO_REASON || reason == WAIT_PRIORITY || reason == WAIT_RESOURCES ||
	       reason == WAIT_NODE_NOT_AVAIL;
}

static bool write_reason(job_record_t *job, const fs_decision *decision)
{
	bool behind = decision->kind && !strcmp(decision->kind, "behind");
	uint32_t reason = behind ? WAIT_PRIORITY : WAIT_RESOURCES;
	const char *text = decision->reason && *decision->reason ? decision->reason : NULL;

	if (!is_replaceable(job->state_reason))
		return false;
	if (job->state_reason == reason && !xstrcmp(job->state_desc, text))
		return false;
	job->state_reason = reason;
	xfree(job->state_desc);
	job->state_desc = xstrdup(text);
	return true;
}

/* A hostlist of the planned nodes; NULL where the resource manager will choose among many. */
static char *planned_nodes(const fs_observation_t *observation, const fs_decision *decision)
{
	fs_hostlist_t *hosts;
	char *text;

	if (!decision->node_count || decision->opaque)
		return NULL;
	hosts = hostlist_create(NULL);
	for (size_t i = 0; i < decision->node_count; i++)
		hostlist_push_host(hosts, observation->nodes[decision->nodes[i]]);
	text = hostlist_ranged_string_xmalloc(hosts);
	hostlist_destroy(hosts);
	return text;
}

static bool write_start(job_record_t *job, const fs_observation_t *observation,
			const fs_decision *decision)
{
	time_t start = decision->node_count ? (time_t)decision->start : 0;
	char *nodes = planned_nodes(observation, decision);
	bool changed = job->start_time != start || xstrcmp(job->sched_nodes, nodes);

	if (changed) {
		job->start_time = start;
		xfree(job->sched_nodes);
		job->sched_nodes = nodes;
	} else {
		xfree(nodes);
	}
	return changed;
}

static bool is_waiting(const job_record_t *job)
{
	return job && job->details && IS_JOB_PENDING(job) && !IS_JOB_COMPLETING(job);
}

static bool announce_one(const struct fs_slurm_ops *ops, const fs_observation_t *observation,
			 const fs_decision *decision)
{
	job_record_t *job = ops->find_job(decision->key);
	bool changed;

	if (!is_waiting(job) || job->priority == 0)
		return false;
	changed = write_start(job, observation, decision);
	return write_reason(job, decision) || changed;
}

size_t fs_announce(const struct fs_slurm_ops *ops, const fs_observation_t *observation,
		   const fs_decision *decisions, size_t count)
{
	size_t kept, changed = 0;
	entry_t *entries = first_of_each(decisions, count, &kept);

	for (size_t from = 0; from < kept; from += JOBS_A_HOLD) {
		size_t until = from + JOBS_A_HOLD < kept ? from + JOBS_A_HOLD : kept;
		size_t before = changed;

		ops->lock();
		for (size_t i = from; i < until; i++)
			changed += announce_one(ops, observation, entries[i].decision);
		if (changed > before)
			ops->jobs_changed();
		ops->unlock();
	}
	free(entries);
	return changed;
}

/* ---- the end of active mode ----------------------------------------------------------- */

void fs_announce_withdraw(const struct fs_slurm_ops *ops, const uint32_t *job_ids, size_t count)
{
	for (size_t from = 0; from < count; from += JOBS_A_HOLD) {
		size_t until = from + JOBS_A_HOLD < count ? from + JOBS_A_HOLD : count;

		ops->lock();
		for (size_t i = from; i < until; i++) {
			job_record_t *job = ops->find_job(job_ids[i]);

			if (!is_waiting(job))
				continue;
			job->start_time = 0;
			xfree(job->sched_nodes);
			if (is_replaceable(job->state_reason))
				xfree(job->state_desc);
		}
		ops->jobs_changed();
		ops->unlock();
	}
}
