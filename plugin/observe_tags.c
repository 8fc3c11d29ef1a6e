/*
 * observe_tags: what the lines of foresight.conf match on, the ids that people use, and the
 * real-time applications.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void look_tags(const job_record_t *job, const part_record_t *part, fs_job_tags *tags)
{
	*tags = (fs_job_tags){.partition = part ? part->name : NULL,
			      .account = job->account,
			      .qos = job->qos_ptr ? job->qos_ptr->name : NULL,
			      .user = job->user_name,
			      .name = job->name,
			      .comment = job->comment};
	if (!tags->user && job->assoc_ptr)
		tags->user = job->assoc_ptr->user;
	/* Slurm's own cache of names: asks the system once for each user. */
	if (!tags->user)
		tags->user = uid_to_string_cached(job->user_id);
}

void look_job_id(const job_record_t *job, char *id, size_t size)
{
	if (job->array_task_id != NO_VAL && job->array_job_id)
		snprintf(id, size, "%u_%u", job->array_job_id, job->array_task_id);
	else
		snprintf(id, size, "%u", job->job_id);
}

/* What goes with a GPU when a node is shared out evenly: the least over the nodes that have any. */
static void even_share(const look_t *look, const part_record_t *part, fs_amount *amount)
{
	int64_t cpus = INT64_MAX;
	int64_t memory = INT64_MAX;

	for (size_t i = 0; i < look->node_count; i++) {
		const look_node_t *node = &look->nodes[i];

		if (!node->gpus || (part && part->node_bitmap &&
				    !bit_test(part->node_bitmap, node->slurm_index)))
			continue;
		if (node->cpus / node->gpus < cpus)
			cpus = node->cpus / node->gpus;
		if (node->memory_mib != FS_UNLIMITED && node->memory_mib / node->gpus < memory)
			memory = node->memory_mib / node->gpus;
	}
	if (amount->cpus < 0)
		amount->cpus = cpus == INT64_MAX ? 0 : cpus;
	if (amount->memory_mib < 0)
		amount->memory_mib = memory == INT64_MAX ? 0 : memory;
}

static void add_app(look_t *look, int32_t number, int32_t *demand)
{
	fs_app_settings app;
	part_record_t *part = NULL;
	const look_class_t *class;
	fs_app added;

	fs_settings_app(look->settings, number, &app);
	if (app.partition)
		part = find_part_record((char *)app.partition);
	class = look_class(look, NULL, part, NULL, false);
	if (!class)
		return;
	/* Its nodes are a reservation's, which closes them by itself. */
	if (app.reservation)
		memset(demand, 0, (size_t)fs_snapshot_steps(look->snapshot) * sizeof(*demand));
	else
		fs_settings_demand(look->settings, number, fs_snapshot_origin(look->snapshot),
			   look->view.step, fs_snapshot_steps(look->snapshot), demand);
	even_share(look, part, &app.per_gpu);
	added = (fs_app){.id = app.name,
			 .priority = app.priority,
			 .demand = demand,
			 .max_swap = app.max_swap,
			 .node_class = class->index,
			 .per_gpu = app.per_gpu};
	added.per_gpu.gpus = 0;
	if (!look->memory_counts)
		added.per_gpu.memory_mib = 0;
	if (fs_snapshot_add_app(look->snapshot, &added) != number)
		look->failed = true;
}

void look_add_apps(look_t *look)
{
	int32_t count = fs_settings_app_count(look->settings);
	int32_t *demand;

	if (count <= 0)
		return;
	demand = calloc((size_t)fs_snapshot_steps(look->snapshot) + 1, sizeof(*demand));
	if (!demand)
		look->failed = true;
	for (int32_t i = 0; i < count && !look->failed; i++)
		add_app(look, i, demand);
	free(demand);
}
