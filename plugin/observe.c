/*
 * observe: one look at slurmctld's records, under its locks, into an observation (observe.h).
 *
 * The order matters: nodes, then what runs on them, then the queue (build_job_queue() writes to
 * job records and takes the association manager's locks itself), then, under these locks, all
 * that has limits and names.  What needs no record any more is done when no lock is held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *look_grow(look_t *look, void *array, size_t size, size_t needed, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity : 16;
	void *grown;

	if (needed <= *capacity)
		return array;
	while (wanted < needed)
		wanted *= 2;
	grown = realloc(array, wanted * size);
	if (!grown) {
		look->failed = true;
		return NULL;
	}
	*capacity = wanted;
	return grown;
}

int64_t look_soon(const look_t *look, int64_t seconds)
{
	return ((int64_t)look->now + seconds + 59) / 60 * 60;
}

/* How Slurm hands out CPUs and memory. */
static void read_consumables(look_t *look)
{
	uint16_t kind = slurm_conf.select_type_param;

	look->memory_counts = kind & CR_MEMORY;
	look->by_socket = kind & (CR_SOCKET | CR_BOARD);
}

static bool open_look(look_t *look)
{
	int64_t step = look->view.step > 0 ? look->view.step : 3600;
	int64_t steps = look->view.horizon / step;

	if (steps < 1)
		steps = 1;
	if (steps > INT32_MAX)
		steps = INT32_MAX;
	look->now = time(NULL);
	look->snapshot = fs_snapshot_new(look->now, step, (int32_t)steps);
	look->types = fs_table_new();
	look->class_keys = fs_table_new();
	look->limit_keys = fs_table_new();
	look->out->snapshot = look->snapshot;
	if (!look->snapshot || !look->types || !look->class_keys || !look->limit_keys)
		return false;
	look->horizon_end = fs_snapshot_origin(look->snapshot) + steps * step;
	return true;
}

static void close_look(look_t *look)
{
	for (size_t i = 0; look->options && i < look->option_count; i++)
		free(look->options[i].refused_on);
	free(look->options);
	free(look->jobs);
	free(look->uses);
	free(look->kept);
	free(look->classes);
	free(look->nodes);
	free(look->node_index);
	fs_table_free(look->types);
	fs_table_free(look->class_keys);
	fs_table_free(look->limit_keys);
	fs_key_clear(&look->key);
}

/* Everything that needs names and limits. */
static void look_with_accounting(look_t *look)
{
	assoc_mgr_lock_t locks = {
		.assoc = READ_LOCK,
		.qos = READ_LOCK,
		.tres = READ_LOCK,
		.user = READ_LOCK,
	};

	assoc_mgr_lock(&locks);
	look_add_running(look);
	if (!look->failed)
		look_prepare_jobs(look);
	assoc_mgr_unlock(&locks);
}

static void look_under_locks(look_t *look)
{
	fs_observation_t *out = look->out;

	out->taken = look->now;
	out->config_time = slurm_conf.last_update;
	out->node_record_count = node_record_count;
	out->private_jobs = slurm_conf.private_data & PRIVATE_DATA_JOBS;
	read_consumables(look);
	look_at_nodes(look);
	if (!look->failed)
		look_at_running(look);
	if (!look->failed)
		look_add_apps(look);
	if (!look->failed)
		look_at_queue(look);
	if (!look->failed)
		look_with_accounting(look);
	if (!look->failed)
		look_add_partial_reservations(look);
}

int fs_observe(const fs_settings *settings, const fs_refusals_t *refusals,
	       fs_observation_t *observation, char *problem, size_t size)
{
	/* build_job_queue() writes to job records, splits arrays and asks the federation. */
	slurmctld_lock_t locks = {
		.conf = READ_LOCK,
		.job = WRITE_LOCK,
		.node = READ_LOCK,
		.part = READ_LOCK,
		.fed = READ_LOCK,
	};
	look_t look = {.settings = settings, .refusals = refusals, .out = observation};

	*observation = (fs_observation_t){0};
	if (size)
		problem[0] = '\0';
	fs_settings_get(settings, &look.view);
	lock_slurmctld(locks);
	if (!job_list || !part_list || !node_record_table_ptr || !avail_node_bitmap ||
	    !cg_node_bitmap || !rs_node_bitmap) {
		unlock_slurmctld(locks);
		snprintf(problem, size, "slurmctld has not read its nodes and jobs yet");
		return -1;
	}
	if (!open_look(&look))
		look.failed = true;
	else
		look_under_locks(&look);
	unlock_slurmctld(locks);
	if (!look.failed)
		look_add_jobs(&look);
	close_look(&look);
	if (look.failed) {
		const char *error = observation->snapshot ?
					    fs_snapshot_error(observation->snapshot) :
					    NULL;

		snprintf(problem, size, "cannot take a snapshot of Slurm: %s",
			 error && *error ? error : "out of memory");
		fs_observation_clear(observation);
		return -1;
	}
	return 0;
}

void fs_observation_clear(fs_observation_t *observation)
{
	for (size_t i = 0; i < observation->record_count; i++) {
		free(observation->records[i].partition);
		free(observation->records[i].reservation);
	}
	free(observation->records);
	for (size_t i = 0; observation->nodes && i < observation->node_count; i++)
		free(observation->nodes[i]);
	free(observation->nodes);
	fs_snapshot_free(observation->snapshot);
	*observation = (fs_observation_t){0};
}
