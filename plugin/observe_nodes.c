/*
 * observe_nodes: Slurm's node table to the snapshot's nodes, GPU by GPU.
 *
 * The order is Slurm's own (its node rank: topology or name), so neighbours are near.  A node
 * that jobs cannot use now is closed (look_node_t.closed_until); one that nobody knows when it
 * comes back has no usable GPU either, so that no application keeps GPUs there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <stdlib.h>
#include <string.h>

#define MASK_BITS 64

uint64_t look_mask(bitstr_t *bits)
{
	uint64_t mask = 0;
	int64_t size;

	if (!bits)
		return 0;
	size = bit_size(bits);
	for (int64_t i = 0; i < size && i < MASK_BITS; i++) {
		if (bit_test(bits, i))
			mask |= UINT64_C(1) << i;
	}
	return mask;
}

static uint64_t lowest(int32_t count)
{
	return count >= MASK_BITS ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

int32_t look_type(look_t *look, const char *name)
{
	bool added;
	int32_t type = fs_table_put(look->types, name, strlen(name), look->type_count, &added);

	if (added && fs_snapshot_add_type(look->snapshot, name) != look->type_count++)
		look->failed = true;
	if (type < 0)
		look->failed = true;
	return type;
}

static gres_node_state_t *gpu_state(uint32_t gpu_id, const node_record_t *node)
{
	gres_state_t *state;
	uint32_t id = gpu_id;

	if (!node->gres_list)
		return NULL;
	state = list_find_first(node->gres_list, gres_find_id, &id);
	return state ? state->gres_data : NULL;
}

/* GPUs of a node: the bitmap's size where slurmd reported device files, else the count (nodes of
 * a cloud that have not been up yet). */
static int32_t count_gpus(const gres_node_state_t *state)
{
	int64_t count;

	if (!state)
		return 0;
	if (state->gres_bit_alloc)
		count = bit_size(state->gres_bit_alloc);
	else if (state->gres_cnt_avail != NO_VAL64)
		count = (int64_t)(state->gres_cnt_avail < MASK_BITS ? state->gres_cnt_avail :
								      MASK_BITS);
	else
		count = 0;
	return count < MASK_BITS ? (int32_t)count : MASK_BITS;
}

int32_t look_node_gpus(uint32_t gpu_id, const node_record_t *node)
{
	return count_gpus(gpu_state(gpu_id, node));
}

/* One mask for each type that the node has; the array ends with the highest of them. */
static size_t masks_by_type(look_t *look, const gres_node_state_t *state, int32_t gpus,
			    uint64_t **masks)
{
	uint64_t *found = NULL;
	size_t count = 0;
	size_t capacity = 0;
	int32_t next = 0;
	bool by_topology;

	*masks = NULL;
	if (!state)
		return 0;
	by_topology = state->topo_cnt && state->topo_gres_bitmap && state->topo_type_name;
	for (uint16_t i = 0; i < (by_topology ? state->topo_cnt : state->type_cnt); i++) {
		const char *name = by_topology ? state->topo_type_name[i] : state->type_name[i];
		uint64_t mask;
		int32_t type;

		if (!name)
			continue;
		if (by_topology) {
			mask = look_mask(state->topo_gres_bitmap[i]);
		} else {
			/* Counts only: Slurm hands them out in order of the types. */
			int32_t share = (int32_t)(state->type_cnt_avail[i] < MASK_BITS ?
							  state->type_cnt_avail[i] :
							  MASK_BITS);

			mask = lowest(next + share < gpus ? next + share : gpus) & ~lowest(next);
			next = next + share < gpus ? next + share : gpus;
		}
		type = look_type(look, name);
		if (type < 0)
			break;
		if ((size_t)type >= count) {
			uint64_t *grown = look_grow(look, found, sizeof(*found), (size_t)type + 1,
						    &capacity);

			if (!grown)
				break;
			found = grown;
			while (count <= (size_t)type)
				found[count++] = 0;
		}
		found[type] |= mask & lowest(gpus);
	}
	*masks = found;
	return count;
}

/* 0: open; else until when no job can start there, FS_NEVER for nobody knows. */
static int64_t closed_until(const look_t *look, const node_record_t *node, int index)
{
	if (IS_NODE_REBOOT_ISSUED(node) || IS_NODE_REBOOT_REQUESTED(node) ||
	    bit_test(rs_node_bitmap, index)) {
		int64_t back = (int64_t)node->boot_req_time + node->resume_timeout;

		return node->boot_req_time && back > look->now ? back : look_soon(look, 60);
	}
	if (IS_NODE_POWERING_DOWN(node)) {
		int64_t back = (int64_t)node->power_save_req_time + node->suspend_timeout;

		return back > look->now ? back : look_soon(look, 60);
	}
	if (IS_NODE_DOWN(node) || IS_NODE_DRAIN(node) || IS_NODE_FAIL(node) ||
	    IS_NODE_FUTURE(node) || IS_NODE_NO_RESPOND(node) || IS_NODE_INVALID_REG(node))
		return FS_NEVER;
	/* Slurm refuses a node with a completing job whole, though its GPUs are free. */
	if (bit_test(cg_node_bitmap, index) || IS_NODE_COMPLETING(node))
		return look_soon(look, 5);
	if (!bit_test(avail_node_bitmap, index))
		return FS_NEVER;
	return 0;
}

static int64_t schedulable_cpus(const node_record_t *node)
{
	/* cpus_efctv leaves out cores kept for the system; 0 until the node was set up. */
	return node->cpus_efctv ? node->cpus_efctv : node->cpus;
}

static void add_node(look_t *look, node_record_t *record, int index)
{
	gres_node_state_t *state = gpu_state(look->gpu_id, record);
	look_node_t *node = &look->nodes[look->node_count];
	uint64_t *masks = NULL;
	fs_node added;
	size_t types;

	*node = (look_node_t){.record = record, .slurm_index = index};
	node->gpus = count_gpus(state);
	node->cpus = schedulable_cpus(record);
	node->memory_mib = FS_UNLIMITED;
	if (look->memory_counts)
		node->memory_mib = record->real_memory > record->mem_spec_limit ?
					   (int64_t)(record->real_memory - record->mem_spec_limit) :
					   0;
	node->closed_until = closed_until(look, record, index);
	node->usable = node->closed_until == FS_NEVER ? 0 : lowest(node->gpus);
	types = masks_by_type(look, state, node->gpus, &masks);
	added = (fs_node){.name = record->name,
			  .gpus = node->gpus,
			  .cpus = node->cpus,
			  .memory_mib = node->memory_mib,
			  .usable = node->usable,
			  .gpus_of_type = masks,
			  .types = types};
	if (fs_snapshot_add_node(look->snapshot, &added) != (int32_t)look->node_count)
		look->failed = true;
	free(masks);
	look->node_index[index] = (int32_t)look->node_count++;
	if (record->owner != NO_VAL)
		look->owned_nodes = true;
}

void look_at_nodes(look_t *look)
{
	fs_observation_t *out = look->out;
	size_t count = node_record_count > 0 ? (size_t)node_record_count : 0;

	look->gpu_id = gres_build_id("gpu");
	look->nodes = calloc(count + 1, sizeof(*look->nodes));
	look->node_index = calloc(count + 1, sizeof(*look->node_index));
	out->nodes = calloc(count + 1, sizeof(*out->nodes));
	if (!look->nodes || !look->node_index || !out->nodes) {
		look->failed = true;
		return;
	}
	for (size_t i = 0; i < count && !look->failed; i++) {
		node_record_t *record = node_record_table_ptr[i];

		look->node_index[i] = -1;
		if (!record || !record->name || IS_NODE_FUTURE(record))
			continue;
		out->nodes[look->node_count] = strdup(record->name);
		if (!out->nodes[look->node_count])
			look->failed = true;
		add_node(look, record, (int)i);
		out->node_count = look->node_count;
	}
}
