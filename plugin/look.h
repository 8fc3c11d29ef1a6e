/*
 * look: what the files of observe share while one look at Slurm's records lasts.
 *
 * A look is made under Slurm's locks and holds pointers into Slurm; nothing of it outlives
 * fs_observe() but the observation that it fills.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FORESIGHT_LOOK_H
#define FORESIGHT_LOOK_H

#include "slurm_compat.h"

#include "observe.h"
#include "request.h"
#include "table.h"

/* A node as the look sees it; by the snapshot's index. */
typedef struct {
	node_record_t *record;
	int slurm_index;	/* in node_record_table_ptr */
	int32_t gpus;
	uint64_t usable;
	uint64_t held;		/* GPUs of running jobs, as their records say */
	int64_t cpus;
	int64_t memory_mib;	/* FS_UNLIMITED when memory is not consumable */
	int64_t closed_until;	/* 0: open; FS_NEVER: down */
	int64_t busy_until;	/* latest end of a job on it, 0 without one */
} look_node_t;

/* A node class as the look needs it beside the snapshot's. */
typedef struct {
	int32_t index;			/* in the snapshot */
	uint64_t threads_per_core;	/* least */
	uint64_t node_cpus;		/* most */
	uint64_t node_memory;		/* least */
	bool odd;			/* nodes that the model cannot choose among by itself */
	const char *unusable;		/* why none of its nodes can be had, NULL: some can */
	bool shares_reservation;	/* of parts of nodes, which a stand-in job holds */
} look_class_t;

/* A record of Slurm's queue, as an option to be. */
typedef struct {
	part_record_t *part;
	slurmctld_resv_t *resv;	/* that it runs in, or NULL */
	fs_option option;
	bool opaque;
	int64_t refused_until;	/* 0: not refused */
	const char *refused;
	int32_t *refused_on;	/* owned */
	size_t next;		/* of the same job + 1, 0: last */
} look_option_t;

#define LOOK_ID_SIZE 48

/* A pending job: the records of the queue that are its own. */
typedef struct {
	job_record_t *job;	/* not to be used once the locks are gone */
	uint32_t number;
	size_t first;		/* its options, + 1 */
	size_t last;
	int64_t arrival;
	bool on_top;
	char id[LOOK_ID_SIZE];
	fs_job added;
	size_t kept;		/* its limits, in look_t.kept */
} look_job_t;

typedef struct {
	const fs_settings *settings;
	fs_settings_view view;
	const fs_refusals_t *refusals;
	fs_observation_t *out;
	fs_snapshot *snapshot;
	time_t now;
	int64_t horizon_end;

	look_node_t *nodes;
	size_t node_count;
	int32_t *node_index;	/* by Slurm's index: the snapshot's, -1 for none */
	uint32_t gpu_id;	/* Slurm's id of the plugin gres/gpu */
	bool memory_counts;
	bool by_socket;
	bool owned_nodes;	/* a node is kept for one user */
	fs_table_t *types;	/* GPU type's name → snapshot's index */
	int32_t type_count;

	fs_table_t *class_keys;
	look_class_t *classes;
	size_t class_count;
	size_t class_capacity;

	fs_table_t *limit_keys;	/* → snapshot's index */
	int32_t limit_count;
	fs_limit_use *uses;	/* of one job at a time */
	size_t use_count;
	size_t use_capacity;
	fs_limit_use *kept;	/* of all pending jobs */
	size_t kept_count;
	size_t kept_capacity;

	look_option_t *options;
	size_t option_count;
	size_t option_capacity;
	look_job_t *jobs;
	size_t job_count;
	size_t job_capacity;

	fs_key_t key;		/* scratch */
	bool failed;		/* no memory: the observation is not to be used */
} look_t;

/* Since when something holds that held before anybody looked: a time that does not move with each
 * look, so that a snapshot in which nothing changed has the same fingerprint. */
#define LOOK_ALWAYS 0

/* observe_nodes.c */
void look_at_nodes(look_t *look);
int32_t look_type(look_t *look, const char *name);
/* How many GPUs a node has; gpu_id is Slurm's of the plugin gres/gpu. */
int32_t look_node_gpus(uint32_t gpu_id, const node_record_t *node);
/* GPUs of Slurm's bitmap as a mask; those above 63 are left out. */
uint64_t look_mask(bitstr_t *bits);

/* observe_running.c: first what they hold (look_at_running), then, with limits and tags, into the
 * snapshot (look_add_running), under the association manager's locks. */
void look_at_running(look_t *look);
void look_add_running(look_t *look);
bool look_is_running(const job_record_t *job);
typedef void (*look_share_visitor)(look_t *look, int32_t node, const fs_share *share,
				   void *context);
/* Every share of an allocation on nodes that the snapshot has, in the order of the nodes. */
void look_visit_shares(look_t *look, const job_resources_t *resources, fs_list_t *gres,
		       look_share_visitor visit, void *context);
/* Seconds until a job's resources are surely back, beyond its limit; FS_NEVER: it may overrun. */
int64_t look_grace(const look_t *look, const part_record_t *part);

/* observe_classes.c: the class of a job in a partition and maybe a reservation; job NULL: every
 * node of the partition (part NULL: of the cluster).  NULL without memory. */
const look_class_t *look_class(look_t *look, job_record_t *job, part_record_t *part,
			       slurmctld_resv_t *resv, bool prefer);

/* observe_reservations.c */
typedef struct {
	int64_t from;
	int64_t until;
} look_window_t;
/* When a reservation stands, from now to the horizon's end, in order; at most `most`. */
size_t look_windows(const look_t *look, const slurmctld_resv_t *resv, look_window_t *windows,
		    size_t most);
/* Closes a class's nodes for the reservations that a job of the class may not use.  `grace` is
 * what its durations have beyond the limit that Slurm compares. */
void look_close_reserved(look_t *look, int32_t class_index, bitstr_t *nodes,
			 const job_record_t *job, const slurmctld_resv_t *resv, int64_t grace);
/* Closes them before the reservation that the class is for begins. */
void look_close_outside(look_t *look, int32_t class_index, bitstr_t *nodes,
			const slurmctld_resv_t *resv);
/* Stand-in jobs for present reservations of parts of nodes. */
void look_add_partial_reservations(look_t *look);

/* observe_request.c */
void look_ask(look_t *look, const job_record_t *job, const part_record_t *part,
	      const look_class_t *class, fs_ask_t *ask);

/* observe_limits.c: fills look->uses; under the association manager's locks.  The result is a
 * reason why the job can never start under its limits, or NULL. */
const char *look_limits(look_t *look, job_record_t *job, part_record_t *part, bool running);

/* observe_queue.c */
void look_at_queue(look_t *look);
void look_prepare_jobs(look_t *look);
void look_add_jobs(look_t *look); /* without any lock */

/* observe_tags.c: what foresight.conf's lines match on, an id for people, applications. */
void look_tags(const job_record_t *job, const part_record_t *part, fs_job_tags *tags);
void look_job_id(const job_record_t *job, char *id, size_t size);
void look_add_apps(look_t *look);

/* Grows an array of `size`-byte elements; NULL without memory (the old one stays). */
void *look_grow(look_t *look, void *array, size_t size, size_t needed, size_t *capacity);
/* The next whole minute at least `seconds` from now: an edge that does not move with each look. */
int64_t look_soon(const look_t *look, int64_t seconds);

#endif
