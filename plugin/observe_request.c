/*
 * observe_request: a job's record, as it stands in a partition, to an fs_ask_t (request.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <string.h>

/* 0 for "not given", however Slurm says it in 16, 32 or 64 bits. */
static uint64_t given16(uint16_t value)
{
	return value == NO_VAL16 || value == INFINITE16 ? 0 : value;
}

static uint64_t given32(uint32_t value)
{
	return value == NO_VAL || value == INFINITE ? 0 : value;
}

static uint64_t given64(uint64_t value)
{
	return value == NO_VAL64 || value == INFINITE64 ? 0 : value;
}

/* DefCpuPerGPU and DefMemPerGPU: the partition's, else the cluster's. */
static uint64_t job_default(fs_list_t *defaults, uint16_t type)
{
	fs_list_iterator_t *at;
	job_defaults_t *entry;
	uint64_t value = 0;

	if (!defaults)
		return 0;
	at = list_iterator_create(defaults);
	while ((entry = list_next(at))) {
		if (entry->type == type)
			value = given64(entry->value);
	}
	list_iterator_destroy(at);
	return value;
}

static uint64_t default_per_gpu(const part_record_t *part, uint16_t type)
{
	uint64_t value = job_default(part->job_defaults_list, type);

	return value ? value : job_default(slurm_conf.job_defaults_list, type);
}

static void add_gpus(look_t *look, const gres_job_state_t *gpus, fs_ask_t *ask, int *kinds)
{
	ask->gpus_per_job += given64(gpus->gres_per_job);
	ask->gpus_per_node += given64(gpus->gres_per_node);
	ask->gpus_per_task += given64(gpus->gres_per_task);
	ask->gpus_per_socket += given64(gpus->gres_per_socket);
	ask->cpus_per_gpu = given16(gpus->cpus_per_gres);
	ask->memory_per_gpu = given64(gpus->mem_per_gres);
	ask->tasks_per_gpu = given16(gpus->ntasks_per_gres);
	if (++*kinds > 1) {
		ask->gpu_type = -1;
		ask->odd = true;
	} else if (gpus->type_name) {
		ask->gpu_type = look_type(look, gpus->type_name);
	}
}

static void ask_gres(look_t *look, const job_record_t *job, fs_ask_t *ask)
{
	fs_list_iterator_t *at;
	gres_state_t *state;
	int kinds = 0;

	if (!job->gres_list_req)
		return;
	at = list_iterator_create(job->gres_list_req);
	while ((state = list_next(at))) {
		if (state->plugin_id == look->gpu_id)
			add_gpus(look, state->gres_data, ask, &kinds);
		else
			ask->odd = true; /* shards and other GRES: Slurm knows where they are */
	}
	list_iterator_destroy(at);
}

/* Each of these binds a job in a way that counts of GPUs, CPUs and nodes do not show. */
static bool is_odd(const look_t *look, const job_record_t *job, const part_record_t *part)
{
	const fs_job_details_t *details = job->details;

	return details->contiguous == 1 || job->req_switch ||
	       (details->core_spec != NO_VAL16 && slurm_conf.conf_flags & CTL_CONF_ASRU) ||
	       fs_chooses_neighbours(details->whole_node) || fs_job_takes_topology(job) ||
	       job->bit_flags & GRES_ENFORCE_BIND || look->by_socket ||
	       given32(part->max_cpus_per_node);
}

/* A partition whose jobs may share CPUs (never GPUs) with others. */
static bool shares_cpus(const job_record_t *job, const part_record_t *part)
{
	uint16_t jobs = (uint16_t)(part->max_share & ~SHARED_FORCE);

	if (jobs <= 1)
		return false;
	return part->max_share & SHARED_FORCE || job->details->share_res == 1;
}

static void ask_memory(const look_t *look, const job_record_t *job, const part_record_t *part,
		       fs_ask_t *ask)
{
	uint64_t memory = job->details->pn_min_memory;

	ask->memory_counts = look->memory_counts;
	ask->memory_per_cpu = memory & MEM_PER_CPU;
	ask->memory = memory & ~MEM_PER_CPU;
	if (!(job->bit_flags & JOB_MEM_SET) && !ask->memory_per_gpu &&
	    (ask->gpus_per_job || ask->gpus_per_node || ask->gpus_per_task || ask->gpus_per_socket))
		ask->memory_per_gpu = default_per_gpu(part, JOB_DEF_MEM_PER_GPU);
}

static void ask_tasks(const look_t *look, const job_record_t *job, const part_record_t *part,
		      fs_ask_t *ask)
{
	const fs_job_details_t *details = job->details;
	const multi_core_data_t *mc = details->mc_ptr;

	ask->tasks = given32(details->num_tasks);
	ask->cpus_per_task = given16(details->cpus_per_task);
	ask->tasks_per_node = given16(details->ntasks_per_node);
	ask->cpus = given32(details->min_cpus);
	ask->cpus_per_node = given32(details->pn_min_cpus);
	ask->nodes_min = details->min_nodes > part->min_nodes ? details->min_nodes :
								part->min_nodes;
	ask->nodes_max = given32(details->max_nodes);
	if (given32(part->max_nodes) && (!ask->nodes_max || part->max_nodes < ask->nodes_max))
		ask->nodes_max = part->max_nodes;
	ask->overcommit = details->overcommit;
	ask->task_takes_core = slurm_conf.select_type_param & CR_ONE_TASK_PER_CORE ||
			       (mc && (mc->threads_per_core == 1 || mc->ntasks_per_core == 1));
	ask->shares_cpus = shares_cpus(job, part);
	ask->whole_nodes = fs_takes_whole_nodes(details->whole_node) || part->max_share == 0 ||
			   (details->core_spec != NO_VAL16 &&
			    slurm_conf.conf_flags & CTL_CONF_ASRU);
	if (is_odd(look, job, part) || ask->shares_cpus)
		ask->odd = true;
}

void look_ask(look_t *look, const job_record_t *job, const part_record_t *part,
	      const look_class_t *class, fs_ask_t *ask)
{
	*ask = (fs_ask_t){.gpu_type = -1,
			  .threads_per_core = class->threads_per_core,
			  .node_cpus = class->node_cpus,
			  .node_memory = class->node_memory,
			  .odd = class->odd};
	ask_gres(look, job, ask);
	if (!ask->cpus_per_gpu)
		ask->cpus_per_gpu = default_per_gpu(part, JOB_DEF_CPU_PER_GPU);
	if (job->details->mc_ptr)
		ask->sockets_per_node = given16(job->details->mc_ptr->sockets_per_node);
	ask_tasks(look, job, part, ask);
	ask_memory(look, job, part, ask);
	if (class->shares_reservation) {
		ask->shares_cpus = true;
		ask->odd = true;
	}
}
