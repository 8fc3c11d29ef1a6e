/*
 * observe_running: jobs that hold resources, with the time at which these are surely back.
 *
 * What a job holds is read from its own records (GRES by bitmap, cores, memory).  GPUs that a
 * node counts as taken and no job's record explains (shards, a record in change) are held by a
 * stand-in until the last job on the node ends, so that the plan never gives them away.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


bool look_is_running(const job_record_t *job)
{
	return (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) && job->job_resrcs &&
	       job->job_resrcs->node_bitmap;
}

int64_t look_grace(const look_t *look, const part_record_t *part)
{
	uint16_t over = slurm_conf.over_time_limit;

	if (part && part->over_time_limit != NO_VAL16)
		over = part->over_time_limit;
	if (over == INFINITE16)
		return FS_NEVER;
	return (int64_t)over * 60 + slurm_conf.kill_wait + look->view.end_grace;
}

static int64_t end_of(const look_t *look, const job_record_t *job)
{
	int64_t grace = look_grace(look, job->part_ptr);
	int64_t end;

	if (IS_JOB_SUSPENDED(job) || job->time_limit == INFINITE || grace == FS_NEVER ||
	    (job->time_limit == NO_VAL && job->part_ptr && job->part_ptr->max_time == INFINITE))
		return FS_NEVER;
	end = (int64_t)job->end_time + grace;
	/* A node that boots first gives the job its whole limit after that. */
	if (IS_JOB_CONFIGURING(job) && slurm_conf.resume_timeout != INFINITE16)
		end += slurm_conf.resume_timeout;
	return end > look->now ? end : look_soon(look, 30);
}

/* GPUs that an allocation has on its n-th node; counts without device files become the lowest
 * GPUs that no job before it holds. */
static uint64_t gpus_of(const look_t *look, fs_list_t *gres, uint32_t n, const look_node_t *node)
{
	fs_list_iterator_t *at;
	gres_state_t *state;
	uint64_t mask = 0;

	if (!gres)
		return 0;
	at = list_iterator_create(gres);
	while ((state = list_next(at))) {
		const gres_job_state_t *job = state->gres_data;
		uint64_t count = 0;

		if (state->plugin_id != look->gpu_id || n >= job->node_cnt)
			continue;
		if (job->gres_bit_alloc && job->gres_bit_alloc[n]) {
			mask |= look_mask(job->gres_bit_alloc[n]);
			continue;
		}
		if (job->gres_cnt_node_alloc)
			count = job->gres_cnt_node_alloc[n];
		for (int32_t i = 0; i < node->gpus && count; i++) {
			uint64_t bit = UINT64_C(1) << i;

			if ((node->held | mask) & bit)
				continue;
			mask |= bit;
			count--;
		}
	}
	list_iterator_destroy(at);
	return mask;
}

/* Walks over the core counts of an allocation's nodes, which are run-length coded. */
typedef struct {
	const job_resources_t *resources;
	uint32_t run;
	uint32_t in_run;
	int64_t offset;		/* of the node's first core in core_bitmap */
	uint32_t cores;		/* of the node */
} cores_t;

static void next_node_cores(cores_t *at)
{
	const job_resources_t *resources = at->resources;

	at->offset += at->cores;
	at->cores = 0;
	if (!resources->sock_core_rep_count || !resources->sockets_per_node ||
	    !resources->cores_per_socket)
		return;
	if (at->in_run >= resources->sock_core_rep_count[at->run]) {
		at->run++;
		at->in_run = 0;
	}
	at->cores = (uint32_t)resources->sockets_per_node[at->run] *
		    resources->cores_per_socket[at->run];
	at->in_run++;
}

static int64_t cpus_of(const cores_t *at, uint32_t n, const node_record_t *node)
{
	const job_resources_t *resources = at->resources;

	/* A core is one job's, whatever SelectTypeParameters count in. */
	if (resources->core_bitmap && at->cores &&
	    at->offset + at->cores <= bit_size(resources->core_bitmap)) {
		int64_t cores = bit_set_count_range(resources->core_bitmap, (int32_t)at->offset,
						    (int32_t)(at->offset + at->cores));

		return cores * (node->tpc ? node->tpc : 1);
	}
	return resources->cpus && n < resources->nhosts ? resources->cpus[n] : 0;
}

void look_visit_shares(look_t *look, const job_resources_t *resources, fs_list_t *gres,
		       look_share_visitor visit, void *context)
{
	cores_t at = {.resources = resources};
	int64_t size = bit_size(resources->node_bitmap);
	uint32_t n = 0;

	for (int64_t i = 0; i < size && n < resources->nhosts; i++) {
		look_node_t *node;
		fs_share share;
		int32_t index;

		if (!bit_test(resources->node_bitmap, i))
			continue;
		next_node_cores(&at);
		index = i < node_record_count ? look->node_index[i] : -1;
		if (index >= 0) {
			node = &look->nodes[index];
			share = (fs_share){.node = index};
			share.gpus = gpus_of(look, gres, n, node);
			share.cpus = cpus_of(&at, n, node->record);
			if (look->memory_counts && resources->memory_allocated)
				share.memory_mib = (int64_t)resources->memory_allocated[n];
			if (fs_takes_whole_nodes(resources->whole_node)) {
				share.gpus |= node->usable;
				share.cpus = node->cpus;
			}
			visit(look, index, &share, context);
		}
		n++;
	}
}

static void hold(look_t *look, int32_t index, const fs_share *share, void *context)
{
	const int64_t *end = context;

	look->nodes[index].held |= share->gpus;
	if (*end > look->nodes[index].busy_until)
		look->nodes[index].busy_until = *end;
}

void look_at_running(look_t *look)
{
	fs_list_iterator_t *at = list_iterator_create(job_list);
	job_record_t *job;

	while ((job = list_next(at))) {
		int64_t end;

		if (!look_is_running(job))
			continue;
		end = end_of(look, job);
		look_visit_shares(look, job->job_resrcs, job->gres_list_alloc, hold, &end);
	}
	list_iterator_destroy(at);
}

typedef struct {
	fs_share *shares;
	size_t count;
	size_t capacity;
} share_list_t;

static void collect(look_t *look, int32_t index, const fs_share *share, void *context)
{
	share_list_t *list = context;
	fs_share *grown = look_grow(look, list->shares, sizeof(*grown), list->count + 1,
				    &list->capacity);

	(void)index;
	if (!grown)
		return;
	list->shares = grown;
	list->shares[list->count++] = *share;
	look->nodes[share->node].held |= share->gpus;
}

static void add_running(look_t *look, job_record_t *job, share_list_t *shares)
{
	char id[LOOK_ID_SIZE];
	fs_job_tags tags;
	fs_running running = {.start = job->start_time < look->now ? job->start_time : look->now,
			      .end = end_of(look, job)};

	shares->count = 0;
	look_visit_shares(look, job->job_resrcs, job->gres_list_alloc, collect, shares);
	look_limits(look, job, job->part_ptr, true);
	look_job_id(job, id, sizeof(id));
	look_tags(job, job->part_ptr, &tags);
	running.id = id;
	running.priority = fs_settings_weight(look->settings, &tags, &running.kind);
	running.app = fs_settings_app_of(look->settings, &tags);
	running.shares = shares->shares;
	running.share_count = shares->count;
	running.limits = look->uses;
	running.limit_count = look->use_count;
	if (fs_snapshot_add_running(look->snapshot, &running) < 0)
		look->failed = true;
}

/* GPUs that the node counts as taken and no job explains. */
static void add_unexplained(look_t *look, size_t index)
{
	look_node_t *node = &look->nodes[index];
	gres_state_t *state;
	uint32_t id = look->gpu_id;
	char name[LOOK_ID_SIZE];
	fs_share share = {.node = (int32_t)index};
	fs_running running = {.id = name, .priority = 0, .app = -1,
			      .start = fs_snapshot_origin(look->snapshot),
			      .shares = &share, .share_count = 1};

	if (!node->record->gres_list)
		return;
	state = list_find_first(node->record->gres_list, gres_find_id, &id);
	if (!state || !state->gres_data)
		return;
	share.gpus = look_mask(((gres_node_state_t *)state->gres_data)->gres_bit_alloc) &
		     node->usable & ~node->held;
	if (!share.gpus)
		return;
	running.end = node->busy_until ? node->busy_until : look_soon(look, 60);
	snprintf(name, sizeof(name), "%s/other", node->record->name);
	if (fs_snapshot_add_running(look->snapshot, &running) < 0)
		look->failed = true;
}

void look_add_running(look_t *look)
{
	fs_list_iterator_t *at;
	share_list_t shares = {0};
	job_record_t *job;

	for (size_t i = 0; i < look->node_count; i++)
		look->nodes[i].held = 0;
	at = list_iterator_create(job_list);
	while ((job = list_next(at)) && !look->failed) {
		if (look_is_running(job))
			add_running(look, job, &shares);
	}
	list_iterator_destroy(at);
	for (size_t i = 0; i < look->node_count && !look->failed; i++)
		add_unexplained(look, i);
	free(shares.shares);
}
