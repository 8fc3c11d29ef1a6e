/*
 * request: what a job asks of Slurm, as numbers, to the model's chunks (request.h).
 *
 * One function for each way of asking: GPUs by node, by task, by job, and none.  The first three
 * are what sbatch calls --gres or --gpus-per-node, --gpus-per-task, and --gpus.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request.h"

/* More than any cluster has, and small enough to multiply two of them in 64 bits. */
#define MOST UINT64_C(0x7fffffff)
/* The most GPUs of a job that the core takes. */
#define MOST_GPUS UINT64_C(1000000)

static uint64_t bounded(uint64_t value)
{
	return value < MOST ? value : MOST;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t rounded_up_quotient(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static int32_t as_count(uint64_t value)
{
	return (int32_t)bounded(value);
}

static int64_t as_memory(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t result;

	return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

/* An ask without zeros, absurd numbers, and what no node can tell apart. */
typedef struct {
	fs_ask_t ask;
	uint64_t threads;	/* the grain in which CPUs are handed out */
	uint64_t task_cpus;
	uint64_t tasks;
	uint64_t cpus;		/* in all */
	uint64_t nodes;		/* at least */
	bool exact;
} sizes_t;

static sizes_t sizes_of(const fs_ask_t *given)
{
	sizes_t sizes = {.ask = *given, .exact = !given->odd};
	fs_ask_t *ask = &sizes.ask;

	ask->gpus_per_job = bounded(ask->gpus_per_job);
	ask->gpus_per_node = bounded(ask->gpus_per_node);
	ask->gpus_per_task = bounded(ask->gpus_per_task);
	ask->cpus_per_node = bounded(ask->cpus_per_node);
	if (ask->gpus_per_socket) {
		/* Sockets are not in the model. */
		ask->gpus_per_node = larger(ask->gpus_per_node,
					    bounded(ask->gpus_per_socket) *
						    larger(bounded(ask->sockets_per_node), 1));
		ask->gpus_per_node = bounded(ask->gpus_per_node);
		sizes.exact = false;
	}
	sizes.threads = larger(bounded(ask->threads_per_core), 1);
	sizes.task_cpus = larger(bounded(ask->cpus_per_task), 1);
	if (ask->task_takes_core && sizes.threads > 1)
		sizes.task_cpus = bounded(rounded_up_quotient(sizes.task_cpus, sizes.threads) *
					  sizes.threads);
	sizes.nodes = larger(bounded(ask->nodes_min), 1);
	sizes.tasks = larger(bounded(ask->tasks), 1);
	if (ask->tasks_per_node)
		ask->tasks_per_node = bounded(ask->tasks_per_node);
	sizes.cpus = bounded(larger(bounded(ask->cpus), sizes.tasks * sizes.task_cpus));
	if (ask->overcommit)
		sizes.cpus = sizes.nodes;
	return sizes;
}

/* CPUs as they are handed out when they stand alone on a node: by whole cores. */
static int64_t whole_cores(const sizes_t *sizes, uint64_t cpus)
{
	if (sizes->ask.shares_cpus)
		return 0;
	return as_count(bounded(rounded_up_quotient(cpus, sizes->threads)) * sizes->threads);
}

/* CPUs of one of several chunks on a node: Slurm rounds their sum, so leave them as they are. */
static int64_t part_of_cores(const sizes_t *sizes, uint64_t cpus)
{
	return sizes->ask.shares_cpus ? 0 : as_count(cpus);
}

/* A chunk a node: n nodes, each with what `chunk` says. */
static void chunk_a_node(fs_request *request, uint64_t nodes)
{
	request->chunks = as_count(nodes);
	request->chunks_per_node_max = 1;
	request->nodes_min = as_count(nodes);
	request->nodes_max = as_count(nodes);
}

/* Tasks that a node gets when `nodes` share them. */
static uint64_t tasks_on_a_node(const sizes_t *sizes, uint64_t nodes)
{
	return sizes->ask.tasks_per_node ? sizes->ask.tasks_per_node :
					   rounded_up_quotient(sizes->tasks, nodes);
}

static void by_node(sizes_t *sizes, fs_request *request)
{
	const fs_ask_t *ask = &sizes->ask;
	uint64_t nodes = sizes->nodes;
	uint64_t cpus;

	if (ask->gpus_per_job && ask->gpus_per_node)
		nodes = larger(nodes, rounded_up_quotient(ask->gpus_per_job, ask->gpus_per_node));
	if (ask->tasks_per_node)
		nodes = larger(nodes, rounded_up_quotient(sizes->tasks, ask->tasks_per_node));
	if (ask->node_cpus && !ask->shares_cpus && sizes->cpus > product(nodes, ask->node_cpus)) {
		/* Slurm takes more nodes, each with as many GPUs, until the CPUs suffice. */
		nodes = bounded(rounded_up_quotient(sizes->cpus, ask->node_cpus));
		sizes->exact = sizes->exact && ask->whole_nodes;
	}
	cpus = larger(rounded_up_quotient(sizes->cpus, nodes), ask->cpus_per_node);
	if (!ask->overcommit)
		cpus = larger(cpus, bounded(tasks_on_a_node(sizes, nodes) * sizes->task_cpus));
	cpus = larger(cpus, product(ask->gpus_per_node, bounded(ask->cpus_per_gpu)));
	chunk_a_node(request, nodes);
	request->chunk.gpus = as_count(ask->gpus_per_node);
	request->chunk.cpus = whole_cores(sizes, cpus);
}

static void by_task(sizes_t *sizes, fs_request *request)
{
	const fs_ask_t *ask = &sizes->ask;
	uint64_t tasks = larger(sizes->tasks, sizes->nodes);
	uint64_t cpus = larger(sizes->task_cpus,
			       product(ask->gpus_per_task, bounded(ask->cpus_per_gpu)));

	request->chunk.gpus = as_count(ask->gpus_per_task);
	request->chunk.cpus = tasks == 1 ? whole_cores(sizes, larger(cpus, sizes->cpus)) :
					   part_of_cores(sizes, cpus);
	request->chunks = as_count(tasks);
	request->chunks_per_node_max = as_count(ask->tasks_per_node);
	request->nodes_min = as_count(sizes->nodes);
}

static void by_job(sizes_t *sizes, fs_request *request)
{
	const fs_ask_t *ask = &sizes->ask;
	uint64_t gpus = ask->gpus_per_job;
	uint64_t cpus_per_gpu = bounded(ask->cpus_per_gpu);

	if (ask->tasks_per_gpu)
		cpus_per_gpu = larger(cpus_per_gpu, product(bounded(ask->tasks_per_gpu),
							    sizes->task_cpus));
	request->chunk.gpus = 1;
	request->chunks = as_count(gpus);
	request->nodes_min = as_count(sizes->nodes);
	if (cpus_per_gpu) {
		request->chunk.cpus = part_of_cores(sizes, cpus_per_gpu);
	} else if (sizes->cpus <= sizes->nodes || gpus == 0) {
		/* Nothing but a CPU on each node. */
		request->per_node.cpus = whole_cores(sizes, larger(ask->cpus_per_node, 1));
	} else if (ask->nodes_max == 1 || gpus == 1) {
		request->per_node.cpus =
			whole_cores(sizes, larger(sizes->cpus, ask->cpus_per_node));
	} else {
		/* Slurm spreads tasks as it likes; shares of the GPUs come near. */
		request->chunk.cpus =
			part_of_cores(sizes, rounded_up_quotient(sizes->cpus, gpus));
	}
	if (ask->tasks_per_node)
		sizes->exact = false;
}

static void by_cpus(sizes_t *sizes, fs_request *request)
{
	const fs_ask_t *ask = &sizes->ask;
	uint64_t tasks = larger(sizes->tasks, sizes->nodes);
	uint64_t cpus = larger(sizes->task_cpus, rounded_up_quotient(sizes->cpus, tasks));

	if (ask->overcommit || ask->tasks_per_node || ask->whole_nodes) {
		by_node(sizes, request);
		return;
	}
	request->nodes_min = as_count(sizes->nodes);
	request->chunks = as_count(tasks);
	if (tasks == sizes->nodes || tasks == 1) {
		chunk_a_node(request, tasks);
		cpus = larger(cpus, ask->cpus_per_node);
		request->chunk.cpus = whole_cores(sizes, cpus);
	} else {
		request->chunk.cpus = part_of_cores(sizes, cpus);
	}
	/* All zero would be no request at all. */
	if (!ask->shares_cpus && !request->chunk.cpus)
		request->chunk.cpus = 1;
}

static void set_memory(const sizes_t *sizes, fs_request *request)
{
	const fs_ask_t *ask = &sizes->ask;

	if (!ask->memory_counts)
		return;
	if (ask->memory_per_gpu) {
		request->chunk.memory_mib =
			as_memory(product((uint64_t)request->chunk.gpus, ask->memory_per_gpu));
	} else if (ask->memory_per_cpu) {
		request->chunk.memory_mib =
			as_memory(product((uint64_t)request->chunk.cpus, ask->memory));
		request->per_node.memory_mib =
			as_memory(product((uint64_t)request->per_node.cpus, ask->memory));
	} else {
		request->per_node.memory_mib =
			as_memory(ask->memory ? ask->memory : ask->node_memory);
	}
}

static void limit_nodes(fs_request *request, uint64_t most)
{
	if (most && (!request->nodes_max || most < (uint64_t)request->nodes_max))
		request->nodes_max = as_count(most);
}

/* A job for more GPUs than there will ever be stays one that never fits. */
static void bound_gpus(fs_request *request)
{
	uint64_t gpus = (uint64_t)request->chunk.gpus;

	if (gpus > MOST_GPUS)
		request->chunk.gpus = (int32_t)MOST_GPUS;
	if (gpus && (uint64_t)request->chunks > 1000 * MOST_GPUS / gpus)
		request->chunks = as_count(larger(1000 * MOST_GPUS / gpus, 1));
}

bool fs_request_from(const fs_ask_t *ask, fs_request *request)
{
	sizes_t sizes = sizes_of(ask);

	*request = (fs_request){.gpu_type = ask->gpu_type, .nodes_min = 1, .chunks = 1};
	if (sizes.ask.gpus_per_node)
		by_node(&sizes, request);
	else if (sizes.ask.gpus_per_task)
		by_task(&sizes, request);
	else if (sizes.ask.gpus_per_job)
		by_job(&sizes, request);
	else
		by_cpus(&sizes, request);
	bound_gpus(request);
	limit_nodes(request, ask->nodes_max);
	if (ask->tasks) /* no more nodes than tasks */
		limit_nodes(request, larger(ask->tasks, sizes.nodes));
	if (request->nodes_max && request->nodes_max < request->nodes_min) {
		request->nodes_max = request->nodes_min;
		sizes.exact = false; /* Slurm will not start it; let it say why */
	}
	request->whole_nodes = ask->whole_nodes;
	set_memory(&sizes, request);
	return sizes.exact;
}
