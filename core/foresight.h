/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The C interface of the core, for the plugin.
 *
 * Handles are opaque and owned by the caller; strings passed in are copied, strings handed out
 * live as long as their handle.  Times are seconds since the epoch (time_t in 64 bits),
 * FS_NEVER for "no end"; durations are seconds; memory is MiB; a count that does not limit is
 * FS_UNLIMITED.  No C++ exception leaves a function: one that can fail returns a negative number
 * or NULL, and the handle's fs_*_error() has one line that says why.
 *
 * A snapshot is filled under the resource manager's locks, so adding is cheap: it copies and
 * checks nothing that fs_plan_make() can check later, without the lock.
 */
#ifndef FORESIGHT_H
#define FORESIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FS_NEVER INT64_MAX
#define FS_UNLIMITED INT64_MAX

typedef struct fs_snapshot fs_snapshot;
typedef struct fs_plan fs_plan;

/* ---- snapshot ------------------------------------------------------------------------- */

typedef struct {
	int32_t gpus;
	int64_t cpus;
	int64_t memory_mib;
} fs_amount;

typedef struct {
	const char *name;
	int32_t gpus;		/* at most 64 */
	int64_t cpus;
	int64_t memory_mib;
	uint64_t usable;	/* bit i: GPU i exists and is healthy; 0 for a node that is down */
	const uint64_t *gpus_of_type; /* one mask for each type, NULL when untyped */
	size_t types;
} fs_node;

/* See Request in model.hpp for what chunks express. */
typedef struct {
	fs_amount chunk;
	int32_t chunks;
	int32_t chunks_per_node_max;	/* 0: no limit */
	int32_t nodes_min;		/* at least 1 */
	int32_t nodes_max;		/* 0: no limit */
	fs_amount per_node;
	bool whole_nodes;
	int32_t gpu_type;		/* -1: any */
} fs_request;

typedef struct {
	int32_t node_class;
	fs_request request;
	int64_t duration;	/* limit and all grace, FS_NEVER for none */
	int32_t tier;		/* partition's PriorityTier */
	int64_t rank;		/* the resource manager's own order, lowest first */
	const int32_t *refused_on; /* nodes, ascending */
	size_t refusals;
	uint32_t cookie;	/* comes back with a decision */
} fs_option;

typedef struct {
	int32_t limit;
	int64_t amount;
} fs_limit_use;

typedef struct {
	const char *id;
	const char *kind;	/* NULL: none */
	uint32_t key;		/* comes back with a decision */
	int64_t submit;
	int64_t begin;		/* 0: none */
	double priority;
	int32_t tasks;		/* at least 1 */
	bool on_top;
	bool opaque;
	int32_t app;		/* -1: none */
	const fs_option *options;
	size_t option_count;
	const fs_limit_use *limits;
	size_t limit_count;
	const char *refused;	/* why the resource manager would not start it, NULL: it did not say no */
	int64_t retry;		/* with refused: it gets no place until then */
} fs_job;

typedef struct {
	int32_t node;
	uint64_t gpus;
	int64_t cpus;
	int64_t memory_mib;
} fs_share;

typedef struct {
	const char *id;
	const char *kind;
	double priority;
	int32_t app;
	int64_t start;
	int64_t end;		/* when its resources are surely back, FS_NEVER without a limit */
	const fs_share *shares;
	size_t share_count;
	const fs_limit_use *limits;
	size_t limit_count;
} fs_running;

typedef struct {
	const char *id;
	double priority;
	const int32_t *demand;	/* fs_snapshot_steps() entries */
	int64_t max_swap;	/* FS_UNLIMITED: none */
	int32_t node_class;	/* -1: everywhere */
	fs_amount per_gpu;	/* CPUs and memory kept with each GPU */
} fs_app;

/* An empty snapshot at time `now`; step 0 starts at the last multiple of `step` seconds. */
fs_snapshot *fs_snapshot_new(int64_t now, int64_t step, int32_t steps);
void fs_snapshot_free(fs_snapshot *snapshot);

/* Each adds one and returns its index from 0, or a negative number without memory. */
int32_t fs_snapshot_add_type(fs_snapshot *snapshot, const char *name);
int32_t fs_snapshot_add_node(fs_snapshot *snapshot, const fs_node *node);
int32_t fs_snapshot_add_class(fs_snapshot *snapshot, const int32_t *nodes, size_t count);
int32_t fs_snapshot_add_limit(fs_snapshot *snapshot, const char *name, int64_t max);
int32_t fs_snapshot_add_running(fs_snapshot *snapshot, const fs_running *running);
int32_t fs_snapshot_add_job(fs_snapshot *snapshot, const fs_job *job);
int32_t fs_snapshot_add_app(fs_snapshot *snapshot, const fs_app *app);
/* Closes a node of a class in [from, until).  0, or a negative number. */
int fs_snapshot_close(fs_snapshot *snapshot, int32_t node_class, int32_t node, int64_t from,
		      int64_t until);

int64_t fs_snapshot_origin(const fs_snapshot *snapshot); /* start of step 0 */
int32_t fs_snapshot_steps(const fs_snapshot *snapshot);
/* A hash of everything but the time of day: equal when nothing changed. */
uint64_t fs_snapshot_fingerprint(const fs_snapshot *snapshot);
/* The next time after now at which something known happens without an event: a begin time, a
 * closure's edge, a refusal's retry, the end of a step of a demand that changes; FS_NEVER. */
int64_t fs_snapshot_next_edge(const fs_snapshot *snapshot);
const char *fs_snapshot_error(const fs_snapshot *snapshot);

/* ---- plan ----------------------------------------------------------------------------- */

typedef struct {
	const char *policy;	/* NULL: "rank" */
	uint64_t budget;	/* work units that the search may spend (planner.hpp) */
	int64_t age_doubles;	/* seconds after which a wait doubles a priority, 0: never */
	double move_gain;	/* what an announced start costs that moves back: a share of the
				 * job's worth (memory.hpp) */
} fs_plan_options;

/* What was announced, for the next plan; its size is that of the last plan.  One memory serves
 * snapshots of one cluster in order of time; it outlives them. */
typedef struct fs_memory fs_memory;
fs_memory *fs_memory_new(void);
void fs_memory_free(fs_memory *memory);
/* The plan was announced: the next one keeps to it.  0, or -1 without memory (nothing is kept). */
int fs_memory_keep(fs_memory *memory, const fs_plan *plan);
void fs_memory_clear(fs_memory *memory);
/* Announcements of the last plan that was kept. */
size_t fs_memory_count(const fs_memory *memory);

/* Plans; takes no lock and may run long.  `memory` is read alone, NULL for none.  `cancel` is set
 * with fs_cancel() from another thread.
 * NULL when it fails or was cancelled: fs_snapshot_error() says why. */
typedef struct fs_cancel_flag fs_cancel_flag;
fs_cancel_flag *fs_cancel_new(void);
void fs_cancel(fs_cancel_flag *flag);
void fs_cancel_reset(fs_cancel_flag *flag);
void fs_cancel_free(fs_cancel_flag *flag);

fs_plan *fs_plan_make(fs_snapshot *snapshot, const fs_plan_options *options,
		      const fs_memory *memory, const fs_cancel_flag *cancel);
void fs_plan_free(fs_plan *plan);

typedef struct {
	uint32_t key;		/* the job's */
	uint32_t cookie;	/* the option's */
	int32_t job;		/* the job's index in the snapshot */
	int32_t task;		/* 0 … tasks-1 */
	bool now;		/* starts at once */
	bool opaque;		/* `nodes` are those that it may use; the resource manager selects */
	int64_t start;
	int64_t end;
	const int32_t *nodes;	/* indices in the snapshot, ascending */
	const fs_share *shares;	/* one for each node */
	size_t node_count;
	const char *reason;	/* why not earlier, a few words for a queue listing; "" when now */
	const char *detail;	/* the same in full, sentences */
	const char *kind;	/* name_of() the heaviest reason ("gpus", "behind", …); "" when now */
} fs_decision;

/* Decisions in plan order: first every placement, then every job without one (start 0, no
 * nodes).  Returned strings and arrays live as long as the plan. */
size_t fs_plan_count(const fs_plan *plan);
void fs_plan_get(const fs_plan *plan, size_t index, fs_decision *decision);

typedef struct {
	double utilisation;	/* of the horizon, 0 … 1 */
	double value;
	double objective;
	double shortfall_gpu_steps;
	int32_t placed;
	int32_t unplaced;
	int32_t starts_now;
	uint64_t work;		/* work units spent */
	uint64_t budget;	/* work units granted to the search */
} fs_plan_stats;

void fs_plan_get_stats(const fs_plan *plan, fs_plan_stats *stats);
/* GPUs that application `app` holds in step `step` (its running jobs' GPUs among them). */
int32_t fs_plan_held(const fs_plan *plan, int32_t app, int32_t step);
/* The earliest planned start after now, FS_NEVER when there is none. */
int64_t fs_plan_next_start(const fs_plan *plan);

/* ---- lending -------------------------------------------------------------------------- */

/* A node of the reservation that an administrator gave an application; see lending.hpp. */
typedef struct {
	int32_t gpus;
	bool held;		/* in the reservation now */
	bool used;		/* runs the application's jobs */
	bool healthy;
	int64_t busy_until;	/* end of its other jobs, 0: none */
	int64_t due;		/* of a node that is lent */
} fs_lending_node;

typedef struct {
	int64_t now;
	int64_t from;		/* start of the curve's first step */
	int64_t step;
	int64_t least_loan;
	int64_t max_swap;	/* GPUs, FS_UNLIMITED: any number */
} fs_lending_terms;

/* Which nodes to hold now (due 0), and until when to lend the others, by a curve of GPUs.
 * Returns the GPUs wanted now that no node is there for, or a negative number without memory;
 * `due` is then as it was. */
int32_t fs_lend(const fs_lending_node *nodes, size_t count, const int32_t *curve, int32_t steps,
		const fs_lending_terms *terms, int64_t *due);

#ifdef __cplusplus
}
#endif
#endif
