/*
 * planning: one plan at a time, in a thread of its own, with an end to its patience.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "planning.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_RATE 1000.0	/* work units a millisecond, until one is measured */
#define LEAST_MEASURED_MS 1.0	/* a shorter plan says little about the rate */

enum test_fault { NO_FAULT, FAULT_ERROR, FAULT_OVERRUN };

struct fs_planning {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	fs_cancel_flag *cancel;
	fs_memory *memory;	/* of the last plan that was handed out */
	bool stopped;
	double rate;
	enum test_fault fault;
	int faults;		/* plans that are still to fail */
};

/* What the planner's thread is given, and gives back. */
typedef struct {
	fs_planning_t *planning;
	fs_snapshot *snapshot;
	fs_plan_options options;
	fs_plan *plan;
	bool done;
	enum test_fault fault;
	bool cancelled;
} task_t;

static void read_test_fault(fs_planning_t *planning, const char *text)
{
	int count;

	if (!text)
		return;
	if (sscanf(text, "error:%d", &count) == 1)
		planning->fault = FAULT_ERROR;
	else if (sscanf(text, "overrun:%d", &count) == 1)
		planning->fault = FAULT_OVERRUN;
	else
		return;
	planning->faults = count;
}

fs_planning_t *fs_planning_new(const char *test_fail)
{
	fs_planning_t *planning = calloc(1, sizeof(*planning));
	pthread_condattr_t clock;

	if (!planning)
		return NULL;
	planning->cancel = fs_cancel_new();
	planning->memory = fs_memory_new();
	if (!planning->cancel || !planning->memory) {
		fs_cancel_free(planning->cancel);
		fs_memory_free(planning->memory);
		free(planning);
		return NULL;
	}
	pthread_mutex_init(&planning->mutex, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&planning->changed, &clock);
	pthread_condattr_destroy(&clock);
	planning->rate = FIRST_RATE;
	read_test_fault(planning, test_fail);
	return planning;
}

void fs_planning_free(fs_planning_t *planning)
{
	if (!planning)
		return;
	fs_cancel_free(planning->cancel);
	fs_memory_free(planning->memory);
	pthread_cond_destroy(&planning->changed);
	pthread_mutex_destroy(&planning->mutex);
	free(planning);
}

void fs_planning_forget(fs_planning_t *planning)
{
	fs_memory_clear(planning->memory);
}

void fs_planning_stop(fs_planning_t *planning)
{
	pthread_mutex_lock(&planning->mutex);
	planning->stopped = true;
	fs_cancel(planning->cancel);
	pthread_cond_broadcast(&planning->changed);
	pthread_mutex_unlock(&planning->mutex);
}

/* A planner that hangs, for a test. */
static void hang(task_t *task)
{
	pthread_mutex_lock(&task->planning->mutex);
	while (!task->cancelled && !task->planning->stopped)
		pthread_cond_wait(&task->planning->changed, &task->planning->mutex);
	pthread_mutex_unlock(&task->planning->mutex);
}

static void *plan_thread(void *argument)
{
	task_t *task = argument;

	if (task->fault == FAULT_OVERRUN)
		hang(task);
	else if (task->fault == NO_FAULT)
		task->plan = fs_plan_make(task->snapshot, &task->options, task->planning->memory,
					  task->planning->cancel);
	pthread_mutex_lock(&task->planning->mutex);
	task->done = true;
	pthread_cond_broadcast(&task->planning->changed);
	pthread_mutex_unlock(&task->planning->mutex);
	return NULL;
}

static struct timespec after_ms(int64_t ms)
{
	struct timespec when;

	clock_gettime(CLOCK_MONOTONIC, &when);
	when.tv_sec += ms / 1000;
	when.tv_nsec += ms % 1000 * 1000000;
	if (when.tv_nsec >= 1000000000) {
		when.tv_sec++;
		when.tv_nsec -= 1000000000;
	}
	return when;
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* Waits until the plan is done, or cancels it.  True: it overran. */
static bool wait_for(task_t *task, int64_t overrun_ms)
{
	fs_planning_t *planning = task->planning;
	struct timespec until = after_ms(overrun_ms > 0 ? overrun_ms : 1);
	bool overran = false;

	pthread_mutex_lock(&planning->mutex);
	while (!task->done && !planning->stopped && !overran)
		overran = pthread_cond_timedwait(&planning->changed, &planning->mutex, &until) ==
				  ETIMEDOUT &&
			  !task->done;
	if (!task->done) {
		task->cancelled = true;
		fs_cancel(planning->cancel);
		pthread_cond_broadcast(&planning->changed);
	}
	pthread_mutex_unlock(&planning->mutex);
	return overran;
}

/* The rate follows what was measured, slowly: one odd plan must not halve the next budget. */
static void measure(fs_planning_t *planning, const fs_plan *plan, double seconds)
{
	fs_plan_stats stats;
	double ms = seconds * 1e3;

	fs_plan_get_stats(plan, &stats);
	if (ms < LEAST_MEASURED_MS || !stats.work)
		return;
	planning->rate += ((double)stats.work / ms - planning->rate) / 4;
	if (planning->rate < 1)
		planning->rate = 1;
}

static enum test_fault next_fault(fs_planning_t *planning)
{
	if (planning->faults <= 0)
		return NO_FAULT;
	planning->faults--;
	return planning->fault;
}

static void say(const task_t *task, bool overran, const fs_planning_options_t *options,
		char *problem, size_t size)
{
	const char *error = fs_snapshot_error(task->snapshot);

	if (overran)
		snprintf(problem, size, "the plan took longer than %lld ms",
			 (long long)options->overrun_ms);
	else if (task->fault == FAULT_ERROR)
		snprintf(problem, size, "a test made the plan fail (FORESIGHT_TEST_FAIL)");
	else
		snprintf(problem, size, "%s", error && *error ? error : "no plan");
}

fs_plan *fs_planning_run(fs_planning_t *planning, fs_snapshot *snapshot,
			 const fs_planning_options_t *options, double *seconds, char *problem,
			 size_t size)
{
	task_t task = {
		.planning = planning,
		.snapshot = snapshot,
		.options = {
			.policy = options->policy,
			.budget = (uint64_t)((double)options->budget_ms * planning->rate),
			.age_doubles = options->age_doubles,
			.move_gain = options->move_gain,
		},
		.fault = next_fault(planning),
	};
	struct timespec start;
	pthread_t thread;
	bool overran;
	int rc;

	*seconds = 0;
	clock_gettime(CLOCK_MONOTONIC, &start);
	pthread_mutex_lock(&planning->mutex);
	if (!planning->stopped)
		fs_cancel_reset(planning->cancel);
	pthread_mutex_unlock(&planning->mutex);
	rc = pthread_create(&thread, NULL, plan_thread, &task);
	if (rc) {
		snprintf(problem, size, "no thread for the plan: %s", strerror(rc));
		return NULL;
	}
	overran = wait_for(&task, options->overrun_ms);
	pthread_join(thread, NULL);
	*seconds = seconds_since(&start);

	/* One that came in just as it was cancelled is late all the same. */
	if (overran && task.plan) {
		fs_plan_free(task.plan);
		task.plan = NULL;
	}
	if (task.plan) {
		measure(planning, task.plan, *seconds);
		/* Without memory for it the next plan is a free one. */
		fs_memory_keep(planning->memory, task.plan);
	} else
		say(&task, overran, options, problem, size);
	return task.plan;
}
