/*
 * request: what a job asks of Slurm, as numbers, to the model's chunks.
 *
 * Knows nothing of Slurm's records (observe_request.c reads them into an fs_ask_t), so it is
 * tested without a daemon.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FORESIGHT_REQUEST_H
#define FORESIGHT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "../core/foresight.h"

/* 0 is "not asked for", except where it says otherwise. */
typedef struct {
	/* GPUs, of one type or any; several types are added up and make the job opaque */
	uint64_t gpus_per_job;
	uint64_t gpus_per_node;
	uint64_t gpus_per_task;
	uint64_t gpus_per_socket;
	uint64_t sockets_per_node;
	uint64_t cpus_per_gpu;
	uint64_t memory_per_gpu;	/* MiB */
	uint64_t tasks_per_gpu;
	int32_t gpu_type;		/* the snapshot's, -1: any */
	/* tasks, CPUs, nodes */
	uint64_t tasks;
	uint64_t cpus_per_task;
	uint64_t tasks_per_node;
	uint64_t cpus;			/* in all, at least */
	uint64_t cpus_per_node;		/* on each node, at least */
	uint64_t nodes_min;
	uint64_t nodes_max;
	bool overcommit;		/* a CPU a node is enough for all its tasks */
	bool shares_cpus;		/* in a partition that oversubscribes them */
	bool whole_nodes;
	bool task_takes_core;		/* --hint=nomultithread and its like */
	/* memory */
	bool memory_counts;		/* memory is a consumable resource */
	uint64_t memory;		/* MiB a node or CPU; 0 with memory_counts: all of a node */
	bool memory_per_cpu;
	/* the nodes that it may use */
	uint64_t threads_per_core;	/* the least of them; CPUs are handed out by whole cores */
	uint64_t node_cpus;		/* the most that one of them has, 0: unknown */
	uint64_t node_memory;		/* MiB, the least that one of them has, 0: unknown */
	/* beyond what chunks can say */
	bool odd;
} fs_ask_t;

/* Fills the request.  False when it is only an estimate: the job is opaque. */
bool fs_request_from(const fs_ask_t *ask, fs_request *request);

#endif
