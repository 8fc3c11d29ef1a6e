/*
 * layout: does this plugin see the daemon's records where the daemon puts them?
 *
 * Slurm's structs change between point releases, and a magic number at their start passes on a
 * wrong layout too.  The daemon's own look-up by id is what cannot be fooled: it compares a field
 * in mid-struct.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm_compat.h"

#include "observe.h"

#define PROOFS 8

static bool is_plausible(const job_record_t *job)
{
	return job->magic == JOB_MAGIC && job->job_id && job->job_id < NO_VAL;
}

int fs_layout_test(void)
{
	slurmctld_lock_t locks = {
		.conf = READ_LOCK,
		.job = READ_LOCK,
		.node = READ_LOCK,
		.part = READ_LOCK,
	};
	fs_list_iterator_t *at;
	job_record_t *job;
	int proofs = 0;
	int result = 0;

	lock_slurmctld(locks);
	at = job_list ? list_iterator_create(job_list) : NULL;
	while (at && result >= 0 && proofs < PROOFS && (job = list_next(at))) {
		proofs++;
		result = is_plausible(job) && find_job_record(job->job_id) == job ? 1 : -1;
	}
	if (at)
		list_iterator_destroy(at);
	for (int i = 0; result >= 0 && node_record_table_ptr && i < node_record_count; i++) {
		const node_record_t *node = node_record_table_ptr[i];

		if (node && (node->magic != NODE_MAGIC || (int)node->index != i || !node->name ||
			     find_node_record(node->name) != node))
			result = -1;
	}
	unlock_slurmctld(locks);
	return result;
}
