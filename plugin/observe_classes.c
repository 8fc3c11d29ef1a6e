/*
 * observe_classes: which nodes a kind of job may use, and when not.
 *
 * Jobs that ask alike share a class: the key is everything that decides about nodes (partition,
 * constraint, node lists, reservation, sizes that filter nodes).  So ten thousand alike jobs cost
 * one evaluation by Slurm's own filter, and nodes that come and go change one class.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <stdlib.h>
#include <string.h>

static bool exclusive_user(const job_record_t *job, const part_record_t *part)
{
	return part->flags & PART_FLAG_EXCLUSIVE_USER ||
	       fs_chooses_neighbours(job->details->whole_node);
}

static void key_of_sizes(fs_key_t *key, const fs_job_details_t *details)
{
	const multi_core_data_t *mc = details->mc_ptr;

	fs_key_number(key, details->pn_min_cpus);
	fs_key_number(key, details->pn_min_memory);
	fs_key_number(key, details->pn_min_tmp_disk);
	fs_key_number(key, mc ? mc->sockets_per_node : NO_VAL16);
	fs_key_number(key, mc ? mc->cores_per_socket : NO_VAL16);
	fs_key_number(key, mc ? mc->threads_per_core : NO_VAL16);
	fs_key_number(key, fs_takes_whole_nodes(details->whole_node));
}

static void make_key(look_t *look, const job_record_t *job, const part_record_t *part,
		     const slurmctld_resv_t *resv, bool prefer)
{
	fs_key_t *key = &look->key;
	const fs_job_details_t *details = job ? job->details : NULL;

	fs_key_reset(key);
	fs_key_string(key, part ? part->name : NULL);
	if (!job)
		return;
	fs_key_string(key, resv ? resv->name : NULL);
	fs_key_string(key, prefer ? details->prefer : details->features);
	fs_key_string(key, details->req_nodes);
	fs_key_string(key, details->exc_nodes);
	/* How much of --nodelist a job needs depends on how many nodes it takes. */
	fs_key_number(key, details->req_nodes ? details->min_nodes : 0);
	fs_key_number(key, details->req_nodes ? details->max_nodes : 0);
	key_of_sizes(key, details);
	fs_key_number(key, look->owned_nodes || exclusive_user(job, part) ? job->user_id : NO_VAL);
	fs_key_number(key, exclusive_user(job, part));
	/* --signal=R: may run into a reservation that others delay. */
	fs_key_number(key, job->warn_flags & KILL_JOB_RESV ? job->warn_time : NO_VAL);
	fs_key_number(key, job->license_list && resv ? 1 : 0);
}

/* A feature expression that chooses among sets of nodes, or counts them. */
static bool is_odd_constraint(const char *features)
{
	return features && strpbrk(features, "[]*");
}

/* Slurm's filter looks at features_use; leave it as it was. */
static void filter(job_record_t *job, bitstr_t *nodes, bool prefer)
{
	fs_job_details_t *details = job->details;
	char *features_use = details->features_use;
	fs_list_t *feature_list_use = details->feature_list_use;

	details->features_use = prefer ? details->prefer : details->features;
	details->feature_list_use = prefer ? details->prefer_list : details->feature_list;
	if (job_req_node_filter(job, nodes, true))
		bit_clear_all(nodes);
	details->features_use = features_use;
	details->feature_list_use = feature_list_use;
}

static void drop_unknown(const look_t *look, bitstr_t *nodes)
{
	for (int i = 0; i < node_record_count; i++) {
		if (look->node_index[i] < 0)
			bit_clear(nodes, i);
	}
}

/* --nodelist: a job that takes no other nodes is bound to these; for one that takes more the
 * model has no words. */
static void require_nodes(const job_record_t *job, bitstr_t *nodes, look_class_t *class)
{
	fs_job_details_t *details = job->details;
	uint32_t required;

	if (!details->req_node_bitmap)
		return;
	required = (uint32_t)bit_set_count(details->req_node_bitmap);
	if (!bit_super_set(details->req_node_bitmap, nodes)) {
		bit_clear_all(nodes);
		return;
	}
	if (details->min_nodes <= required)
		bit_and(nodes, details->req_node_bitmap);
	else
		class->odd = true;
}

/* The nodes of the class, as a bitmap to be freed. */
static bitstr_t *class_nodes(look_t *look, job_record_t *job, part_record_t *part,
			     slurmctld_resv_t *resv, bool prefer, look_class_t *class)
{
	bitstr_t *nodes;

	if (part && part->node_bitmap) {
		nodes = bit_copy(part->node_bitmap);
	} else {
		nodes = bit_alloc(node_record_count);
		if (!part)
			bit_set_all(nodes);
	}
	drop_unknown(look, nodes);
	if (!job)
		return nodes;
	if (job->details->exc_node_bitmap)
		bit_and_not(nodes, job->details->exc_node_bitmap);
	if (resv && !(resv->flags & (RESERVE_FLAG_FLEX | RESERVE_FLAG_ANY_NODES))) {
		if (resv->node_bitmap)
			bit_and(nodes, resv->node_bitmap);
		else
			bit_clear_all(nodes);
	}
	if (is_odd_constraint(prefer ? job->details->prefer : job->details->features))
		class->odd = true;
	filter(job, nodes, prefer);
	require_nodes(job, nodes, class);
	return nodes;
}

static void measure(const look_t *look, const look_node_t *node, look_class_t *class)
{
	uint64_t threads = node->record->tpc ? node->record->tpc : 1;

	if (!class->threads_per_core || threads < class->threads_per_core)
		class->threads_per_core = threads;
	if ((uint64_t)node->cpus > class->node_cpus)
		class->node_cpus = (uint64_t)node->cpus;
	if (look->memory_counts && node->memory_mib > 0 &&
	    (!class->node_memory || (uint64_t)node->memory_mib < class->node_memory))
		class->node_memory = (uint64_t)node->memory_mib;
}

static void close_node(look_t *look, int32_t class_index, int32_t node, int64_t until)
{
	if (fs_snapshot_close(look->snapshot, class_index, node, LOOK_ALWAYS, until) < 0)
		look->failed = true;
}

/* A node kept for one user is closed to others until its jobs end; so is, to a job that wants no
 * other user's jobs beside it, a node that has any. */
static int64_t foreign_until(const look_node_t *node, const job_record_t *job, bool wants_alone)
{
	const node_record_t *record = node->record;

	if (record->owner != NO_VAL)
		return record->owner == job->user_id ? 0 : node->busy_until;
	return wants_alone ? node->busy_until : 0;
}

static void close_nodes(look_t *look, bitstr_t *nodes, int32_t class_index,
			const job_record_t *job, const part_record_t *part)
{
	bool alone = job && exclusive_user(job, part);

	for (size_t i = 0; i < look->node_count; i++) {
		const look_node_t *node = &look->nodes[i];
		int64_t until = node->closed_until;

		if (!bit_test(nodes, node->slurm_index))
			continue;
		if (job && (alone || look->owned_nodes)) {
			int64_t foreign = foreign_until(node, job, alone);

			until = foreign > until ? foreign : until;
		}
		if (until > look->now)
			close_node(look, class_index, (int32_t)i, until);
	}
}

static void fill_class(look_t *look, look_class_t *class, job_record_t *job, part_record_t *part,
		       slurmctld_resv_t *resv, bool prefer)
{
	bitstr_t *nodes = class_nodes(look, job, part, resv, prefer, class);
	int32_t *members = calloc(look->node_count + 1, sizeof(*members));
	int64_t grace = look_grace(look, part);
	size_t count = 0;
	size_t up = 0;

	if (!members) {
		look->failed = true;
		bit_free(nodes);
		return;
	}
	for (size_t i = 0; i < look->node_count; i++) {
		if (!bit_test(nodes, look->nodes[i].slurm_index))
			continue;
		members[count++] = (int32_t)i;
		up += look->nodes[i].closed_until != FS_NEVER;
		measure(look, &look->nodes[i], class);
	}
	if (!count)
		class->unusable = "no node meets its constraints";
	else if (!up)
		class->unusable = "its nodes are down or drained";
	class->index = fs_snapshot_add_class(look->snapshot, members, count);
	free(members);
	if (class->index < 0)
		look->failed = true;
	else
		close_nodes(look, nodes, class->index, job, part);
	if (grace == FS_NEVER)
		grace = 0;
	if (!look->failed && resv)
		look_close_outside(look, class->index, nodes, resv);
	if (!look->failed)
		look_close_reserved(look, class->index, nodes, job, resv, grace);
	if (job && exclusive_user(job, part))
		class->odd = true;
	class->shares_reservation = resv && fs_reservation_is_partial(resv);
	bit_free(nodes);
}

const look_class_t *look_class(look_t *look, job_record_t *job, part_record_t *part,
			       slurmctld_resv_t *resv, bool prefer)
{
	look_class_t *grown;
	bool added;
	int32_t at;

	make_key(look, job, part, resv, prefer);
	if (look->key.failed) {
		look->failed = true;
		return NULL;
	}
	at = fs_table_put(look->class_keys, look->key.bytes, look->key.size,
			  (int32_t)look->class_count, &added);
	if (at < 0) {
		look->failed = true;
		return NULL;
	}
	if (!added)
		return &look->classes[at];
	grown = look_grow(look, look->classes, sizeof(*grown), look->class_count + 1,
			  &look->class_capacity);
	if (!grown)
		return NULL;
	look->classes = grown;
	grown[look->class_count] = (look_class_t){0};
	fill_class(look, &grown[look->class_count], job, part, resv, prefer);
	look->class_count++;
	return look->failed ? NULL : &look->classes[at];
}
