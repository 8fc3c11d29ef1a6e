/*
 * apply: the starts of a plan, made.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "apply.h"

#include <stdlib.h>
#include <time.h>

#include "start.h"

/* The longest that the locks are held, and the pause for those who wait for them. */
#define HOLD_NS 50000000L
#define PAUSE_NS 2000000L

typedef struct {
	const struct fs_slurm_ops *ops;
	const fs_observation_t *observation;
	const fs_apply_options_t *options;
	fs_refusals_t *refusals;
	fs_apply_result_t *result;
	uint32_t *refused;	/* job ids: the other tasks of such an array need not be tried */
	size_t refused_count;
} apply_t;

static bool stopped(const apply_t *apply)
{
	return apply->options->stop && atomic_load(apply->options->stop);
}

/* The plan was made for this configuration and these nodes, and jobs may start. */
static bool still_holds(const apply_t *apply)
{
	const fs_observation_t *observation = apply->observation;

	return apply->ops->may_start() &&
	       apply->ops->config_time() == observation->config_time &&
	       apply->ops->node_count() == observation->node_record_count;
}

static bool was_refused(const apply_t *apply, uint32_t job_id)
{
	for (size_t i = 0; i < apply->refused_count; i++)
		if (apply->refused[i] == job_id)
			return true;
	return false;
}

static void note_refusal(apply_t *apply, const fs_record_t *record,
			 const fs_start_outcome_t *outcome)
{
	time_t now = time(NULL);
	fs_refusal_t refusal = {
		.job_id = record->job_id,
		.partition = record->partition,
		.kind = outcome->kind,
		.code = outcome->code,
		.why = outcome->why,
		.nodes = outcome->nodes,
		.when = now,
		.retry = now + outcome->wait,
	};

	fs_refusals_note(apply->refusals, &refusal);
	apply->refused[apply->refused_count++] = record->job_id;
}

/* The names of a decision's nodes; NULL when there are none, or without memory. */
static const char **names_of(const fs_observation_t *observation, const fs_decision *decision)
{
	const char **names;

	if (!decision->node_count)
		return NULL;
	names = calloc(decision->node_count, sizeof(*names));
	for (size_t i = 0; names && i < decision->node_count; i++)
		names[i] = observation->nodes[decision->nodes[i]];
	return names;
}

static void make_one(apply_t *apply, const fs_decision *decision)
{
	const fs_record_t *record = &apply->observation->records[decision->cookie];
	const char **names = names_of(apply->observation, decision);
	fs_start_outcome_t outcome = {0};
	fs_start_t start = {
		.record = record,
		.nodes = names,
		.node_count = names ? decision->node_count : 0,
		.opaque = decision->opaque,
	};

	switch (fs_start_job(apply->ops, &start, &outcome)) {
	case FS_STARTED:
		apply->result->started++;
		fs_refusals_forget_job(apply->refusals, record->job_id);
		break;
	case FS_START_REFUSED:
		apply->result->refused++;
		note_refusal(apply, record, &outcome);
		break;
	case FS_START_STALE:
		apply->result->stale++;
		break;
	}
	fs_start_outcome_clear(&outcome);
	free(names);
}

static bool is_for_us(const apply_t *apply, const fs_decision *decision)
{
	return decision->now && decision->cookie < apply->observation->record_count &&
	       !was_refused(apply, apply->observation->records[decision->cookie].job_id);
}

static int64_t elapsed_ns(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - since->tv_sec) * 1000000000 + now.tv_nsec - since->tv_nsec;
}

/* One hold of the locks: returns the index of the first decision not looked at. */
static size_t make_batch(apply_t *apply, const fs_decision *decisions, size_t from, size_t count)
{
	size_t started = apply->result->started, i = from;
	struct timespec since;
	int tries = 0;

	apply->ops->lock();
	clock_gettime(CLOCK_MONOTONIC, &since);
	if (!still_holds(apply)) {
		apply->result->dropped = true;
		i = count;
	}
	for (; i < count && tries < apply->options->max_starts; i++) {
		if (stopped(apply) || (tries && elapsed_ns(&since) > HOLD_NS))
			break;
		if (!is_for_us(apply, &decisions[i]))
			continue;
		make_one(apply, &decisions[i]);
		tries++;
	}
	apply->ops->unlock();
	if (apply->result->started > started)
		apply->ops->save();
	return i;
}

void fs_apply(const struct fs_slurm_ops *ops, const fs_observation_t *observation,
	      const fs_decision *decisions, size_t count, const fs_apply_options_t *options,
	      fs_refusals_t *refusals, fs_apply_result_t *result)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	apply_t apply = {
		.ops = ops,
		.observation = observation,
		.options = options,
		.refusals = refusals,
		.result = result,
		.refused = calloc(count ? count : 1, sizeof(uint32_t)),
	};

	*result = (fs_apply_result_t){0};
	for (size_t next = 0; apply.refused && next < count && !stopped(&apply);) {
		next = make_batch(&apply, decisions, next, count);
		if (next < count)
			nanosleep(&pause, NULL);
	}
	free(apply.refused);
}
