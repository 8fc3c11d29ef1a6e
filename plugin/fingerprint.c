/*
 * fingerprint: what must not have changed in a job between plan and start.
 *
 * Only what a user or an administrator sets.  Left out is what the plugin's own acts and Slurm's
 * housekeeping move: the priority's value, start times, reasons, sizes that Slurm rewrites for
 * the partition at hand, an array's pending tasks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm_compat.h"

#include "observe.h"
#include "table.h"

static uint64_t hash_resources(uint64_t hash, const job_record_t *job)
{
	hash = fs_hash_string(hash, job->tres_per_job);
	hash = fs_hash_string(hash, job->tres_per_node);
	hash = fs_hash_string(hash, job->tres_per_socket);
	hash = fs_hash_string(hash, job->tres_per_task);
	hash = fs_hash_string(hash, job->cpus_per_tres);
	hash = fs_hash_string(hash, job->mem_per_tres);
	hash = fs_hash_string(hash, fs_job_licenses(job));
	hash = fs_hash_string(hash, job->network);
	hash = fs_hash_string(hash, job->burst_buffer);
	return fs_hash_number(hash, job->req_switch);
}

static uint64_t hash_sizes(uint64_t hash, const fs_job_details_t *details)
{
	hash = fs_hash_number(hash, details->orig_min_cpus);
	hash = fs_hash_number(hash, details->orig_max_cpus);
	hash = fs_hash_number(hash, details->orig_pn_min_cpus);
	hash = fs_hash_number(hash, details->orig_pn_min_memory);
	hash = fs_hash_number(hash, details->orig_cpus_per_task);
	hash = fs_hash_number(hash, details->pn_min_tmp_disk);
	hash = fs_hash_number(hash, details->min_nodes);
	hash = fs_hash_number(hash, details->max_nodes);
	hash = fs_hash_number(hash, details->ntasks_per_node);
	hash = fs_hash_number(hash, details->num_tasks);
	hash = fs_hash_number(hash, details->overcommit);
	return fs_hash_number(hash, details->contiguous);
}

static uint64_t hash_details(uint64_t hash, const fs_job_details_t *details)
{
	hash = hash_sizes(hash, details);
	hash = fs_hash_string(hash, details->req_nodes);
	hash = fs_hash_string(hash, details->exc_nodes);
	hash = fs_hash_string(hash, details->features);
	hash = fs_hash_string(hash, details->prefer);
	return fs_hash_string(hash, details->dependency);
}

uint64_t fs_record_fingerprint(const void *job_record, const void *part_record)
{
	const job_record_t *job = job_record;
	const part_record_t *part = part_record;
	const fs_job_details_t *details = job->details;
	uint64_t hash = fs_hash_number(FS_HASH_START, job->job_id);

	hash = fs_hash_string(hash, part ? part->name : NULL);
	hash = fs_hash_string(hash, job->partition);
	/* Held or not, and whether its time has come; the values move by themselves. */
	hash = fs_hash_number(hash, job->priority == 0);
	hash = fs_hash_number(hash, details && details->begin_time > time(NULL) ?
					    (uint64_t)details->begin_time :
					    0);
	hash = fs_hash_number(hash, job->time_limit);
	hash = fs_hash_number(hash, job->time_min);
	hash = fs_hash_number(hash, (uint64_t)job->deadline);
	hash = fs_hash_number(hash, job->qos_id);
	hash = fs_hash_number(hash, job->assoc_id);
	hash = fs_hash_number(hash, job->user_id);
	hash = fs_hash_string(hash, job->account);
	/* A magnetic reservation's name stands there only while the job is tried in it. */
	hash = fs_hash_string(hash, job->bit_flags & JOB_MAGNETIC ? NULL : job->resv_name);
	hash = hash_resources(hash, job);
	return details ? hash_details(hash, details) : hash;
}
