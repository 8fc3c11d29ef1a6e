/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The C interface of core/io, for the plugin: foresight.conf, demand curves, publishing.
 *
 * The rules of foresight.h hold.  Everything here may read or write files: never call it under
 * one of the resource manager's locks, fs_settings_weight(), fs_settings_app_of() and
 * fs_settings_demand() aside, which only read memory.
 */
#ifndef FORESIGHT_IO_H
#define FORESIGHT_IO_H

#include "../foresight.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fs_settings fs_settings;

enum fs_mode { FS_MODE_SHADOW, FS_MODE_ACTIVE };

/* The values of foresight.conf that the plugin acts on; durations in seconds. */
typedef struct {
	enum fs_mode mode;
	int64_t horizon;
	int64_t step;
	int64_t interval;	/* a full look at least so often */
	int64_t budget_ms;	/* time that a plan's search may take */
	int64_t overrun_ms;	/* a plan that takes longer has failed */
	int32_t max_failures;	/* failed cycles in a row before backfill takes over */
	int32_t max_starts;	/* starts in one hold of the locks */
	int64_t end_grace;	/* added to a job's limit beside OverTimeLimit and KillWait */
	int64_t age_doubles;
	double move_gain;	/* a share: MoveGain=5 is 0.05 */
	bool weighted;		/* Weight= lines stand: order by value, not by rank */
	const char *publish_dir;
} fs_settings_view;

/* Where the settings in force came from. */
enum fs_settings_origin { FS_FROM_FILE, FS_FROM_LAST_GOOD, FS_FROM_DEFAULTS };

/* Reads `path` (a missing file is the defaults: shadow).  When it is bad, falls back to the last
 * good copy under `state_dir`, and without one to the defaults; `problem` then has one line with
 * file, line and key ("" when there was none).  A good file becomes the last good copy (written
 * whole, fsynced, renamed).  NULL only without memory. */
fs_settings *fs_settings_load(const char *path, const char *state_dir, char *problem,
			      size_t size, enum fs_settings_origin *origin);
void fs_settings_free(fs_settings *settings);
/* Begins to fetch, on a thread of its own that fs_settings_free() joins.  `old` (NULL for none),
 * the settings that these replace, gives what was fetched and learnt and only waits to be freed.
 * 0, or -1 with one line in `problem`: nothing is fetched then. */
int fs_settings_start(fs_settings *settings, fs_settings *old, char *problem, size_t size);
void fs_settings_get(const fs_settings *settings, fs_settings_view *view);

/* What Slurm says of a job, for the lines that match on it; NULL where there is none. */
typedef struct {
	const char *partition;
	const char *account;
	const char *qos;
	const char *user;
	const char *name;
	const char *comment;
} fs_job_tags;

/* Weight of a GPU of this job for a second, and its kind (e.g. "training"), from the first
 * Weight= line that matches; 1.0 and "" without one. */
double fs_settings_weight(const fs_settings *settings, const fs_job_tags *tags,
			  const char **kind);

/* Real-time applications, in the file's order. */
typedef struct {
	const char *name;
	double priority;
	int64_t max_swap;
	const char *reservation; /* whose whole nodes it holds; NULL: GPUs of a pool */
	const char *partition;	/* where it may hold GPUs, NULL: everywhere */
	fs_amount per_gpu;	/* cpus and memory_mib -1: a node's share of a GPU */
	bool wait_on_failure;	/* OnFailure=wait */
} fs_app_settings;

int32_t fs_settings_app_count(const fs_settings *settings);
void fs_settings_app(const fs_settings *settings, int32_t app, fs_app_settings *view);
/* The application that a job belongs to, -1 for none. */
int32_t fs_settings_app_of(const fs_settings *settings, const fs_job_tags *tags);
/* GPUs wanted in each of `steps` steps of `step` seconds from `origin`: the largest of the step.
 * -1 when nothing is known of the demand: then it is the static peak. */
int fs_settings_demand(const fs_settings *settings, int32_t app, int64_t origin, int64_t step,
		       int32_t steps, int32_t *demand);
/* Reads demand files again that changed on disk, takes what was fetched, and forecasts; true when
 * a curve changed.  What is bad keeps the curve in force and puts one line into `problem`. */
bool fs_settings_refresh(fs_settings *settings, char *problem, size_t size);

/* The GPUs that each application's jobs hold, by a snapshot. */
void fs_settings_sample(fs_settings *settings, const fs_snapshot *snapshot);

/* ---- intent ----------------------------------------------------------------------------- */

/* What administrators gave the reservations that are lent from, on disk (intent.hpp).  One that
 * cannot be read is as if it were empty, with one line in `problem`; NULL only without memory. */
typedef struct fs_intents fs_intents;
fs_intents *fs_intents_load(const char *state_dir, char *problem, size_t size);
void fs_intents_free(fs_intents *intents);
size_t fs_intents_count(const fs_intents *intents);
/* Strings live until the next change. */
const char *fs_intents_name(const fs_intents *intents, size_t index);
/* NULL: none is known. */
const char *fs_intents_nodes(const fs_intents *intents, const char *name);
/* To the disk; `nodes` NULL forgets it.  0, or -1 with one line in `problem`. */
int fs_intents_set(fs_intents *intents, const char *name, const char *nodes, char *problem,
		   size_t size);

/* ---- publishing ----------------------------------------------------------------------- */

/* Counters since the plugin's start, for the metrics file. */
typedef struct {
	const char *mode;	/* "active", "shadow", "backfill" (failed over) */
	uint64_t cycles;	/* plans made */
	uint64_t idle_looks;	/* looks that found nothing changed */
	uint64_t failures;	/* plans that failed or overran */
	uint64_t handovers;	/* times that backfill took over */
	uint64_t starts;
	uint64_t refusals;
	uint64_t settings_errors;
	double observe_seconds;	/* of the last cycle */
	double plan_seconds;
	double apply_seconds;
} fs_counters;

/* Writes plan.jsonl and metrics.prom into `dir` (made when missing, mode 0755), each whole, then
 * renamed.  `private_jobs`: plan.jsonl is for its owner alone (mode 0600).  0, or -1 with one
 * line in `problem`. */
int fs_publish(const char *dir, const fs_snapshot *snapshot, const fs_plan *plan,
	       const fs_counters *counters, bool private_jobs, char *problem, size_t size);

#ifdef __cplusplus
}
#endif
#endif
