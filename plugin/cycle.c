/*
 * cycle: observe, plan, apply, publish; and who does it, in which mode.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cycle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/io/foresight_io.h"
#include "announce.h"
#include "apply.h"
#include "failover.h"
#include "guard.h"
#include "lending.h"
#include "observe.h"
#include "refusals.h"
#include "slurm_ops.h"
#include "stock.h"

#define LINE_SIZE 2560

/* Who schedules. */
enum role {
	ROLE_NONE,	/* nobody: no job yet to prove the layout of Slurm's records on, or wrong */
	ROLE_SHADOW,	/* backfill; plans are published only */
	ROLE_ACTIVE,	/* the plan */
	ROLE_BACKFILL,	/* backfill, until the planner works again */
	ROLE_WAIT,	/* nobody, until the planner works again: an application asked for it */
};

static const char *const role_names[] = { "none", "shadow", "active", "backfill",
					  "wait" };

/* What was observed and planned last: published again when it is looked at and found the same. */
typedef struct {
	fs_observation_t observation;
	fs_plan *plan;
	fs_decision *decisions;
	size_t count;
	uint64_t fingerprint;
	bool unfinished;	/* starts that were not made, through no fault of the job */
	bool refused;		/* starts that Slurm refused: the next snapshot has them */
} result_t;

struct fs_cycle {
	fs_planning_t *planning;
	const atomic_bool *stop;

	char *conf_path;
	char *state_dir;	/* StateSaveLocation: the last good settings lie there */
	fs_settings *settings;
	fs_settings_view view;
	int max_rpc_count;

	enum role role;
	int layout;		/* fs_layout_test() */
	char refused[LINE_SIZE]; /* why active mode is refused, "" when it is not */
	size_t unsupported;	/* jobs, as logged last */

	fs_failover_t failover;
	fs_refusals_t *refusals;
	fs_lending_t *lending;
	fs_counters counters;
	result_t last;
	double published;	/* when, monotonic seconds */
};

/* ---- settings ------------------------------------------------------------------------- */

static void load_settings(fs_cycle_t *cycle)
{
	static const char *const origins[] = { "", " (the last good ones)", " (defaults)" };
	char problem[LINE_SIZE] = "";
	enum fs_settings_origin origin = FS_FROM_DEFAULTS;
	fs_settings *fresh = fs_settings_load(cycle->conf_path, cycle->state_dir, problem,
					      sizeof(problem), &origin);

	if (*problem) {
		cycle->counters.settings_errors++;
		error("foresight: %s; the settings in force stay", problem);
		/* A running cluster keeps what it has, whatever the copy on disk says. */
		if (fresh && cycle->settings) {
			fs_settings_free(fresh);
			return;
		}
	}
	if (!fresh) {
		error("foresight: no memory for the settings");
		return;
	}
	if (fs_settings_start(fresh, cycle->settings, problem, sizeof(problem)))
		error("foresight: no demand can be fetched: %s", problem);
	fs_settings_free(cycle->settings);
	cycle->settings = fresh;
	fs_settings_get(fresh, &cycle->view);
	/* Other weights, another order: what was announced by the old ones binds nobody. */
	fs_planning_forget(cycle->planning);
	fs_failover_set_max(&cycle->failover, cycle->view.max_failures);
	info("foresight: Mode=%s from %s%s",
	     cycle->view.mode == FS_MODE_ACTIVE ? "active" : "shadow", cycle->conf_path,
	     origins[origin]);
}

static void refresh_demand(fs_cycle_t *cycle)
{
	char problem[LINE_SIZE] = "";

	/* The fingerprint has the present demand alone: a curve that changed ahead shows here. */
	if (fs_settings_refresh(cycle->settings, problem, sizeof(problem)))
		cycle->last.unfinished = true;
	if (*problem) {
		cycle->counters.settings_errors++;
		error("foresight: %s", problem);
	}
}

/* ---- life ----------------------------------------------------------------------------- */

static void clear_result(result_t *result)
{
	fs_plan_free(result->plan);
	free(result->decisions);
	fs_observation_clear(&result->observation);
	*result = (result_t){0};
}

static bool find_paths(fs_cycle_t *cycle)
{
	fs_slurm_site_t site;

	fs_slurm_site_look(&site);
	cycle->max_rpc_count = site.max_rpc_count;
	cycle->conf_path = get_extra_conf_path("foresight.conf");
	cycle->state_dir = xstrdup(site.state_dir);
	fs_slurm_site_clear(&site);
	return cycle->conf_path && cycle->state_dir;
}

fs_cycle_t *fs_cycle_new(fs_planning_t *planning, const atomic_bool *stop)
{
	fs_cycle_t *cycle = calloc(1, sizeof(*cycle));

	if (!cycle)
		return NULL;
	cycle->planning = planning;
	cycle->stop = stop;
	cycle->refusals = fs_refusals_new();
	fs_failover_init(&cycle->failover, 1);
	if (cycle->refusals && find_paths(cycle))
		load_settings(cycle);
	if (cycle->state_dir)
		cycle->lending = fs_lending_new(cycle->state_dir);
	if (!cycle->settings || !cycle->lending || fs_stock_start()) {
		fs_cycle_free(cycle);
		return NULL;
	}
	return cycle;
}

/* What was announced in active mode is taken back when it ends. */
static void withdraw(fs_cycle_t *cycle)
{
	const fs_observation_t *observation = &cycle->last.observation;
	uint32_t *ids = calloc(observation->record_count + 1, sizeof(*ids));

	for (size_t i = 0; ids && i < observation->record_count; i++)
		ids[i] = observation->records[i].job_id;
	if (ids)
		fs_announce_withdraw(&fs_slurm_ops, ids, observation->record_count);
	free(ids);
}

void fs_cycle_free(fs_cycle_t *cycle)
{
	if (!cycle)
		return;
	fs_stock_stop();
	/* The next slurmctld may come without this plugin, and its state file has the reasons. */
	if (cycle->role == ROLE_ACTIVE)
		withdraw(cycle);
	clear_result(&cycle->last);
	fs_refusals_free(cycle->refusals);
	fs_lending_free(cycle->lending);
	fs_settings_free(cycle->settings);
	xfree(cycle->conf_path);
	xfree(cycle->state_dir);
	free(cycle);
}

void fs_cycle_reload(fs_cycle_t *cycle)
{
	load_settings(cycle);
	fs_stock_reconfigure();
}

bool fs_cycle_may_look(const fs_cycle_t *cycle)
{
	return !fs_slurm_many_rpcs(cycle->max_rpc_count);
}

int64_t fs_cycle_interval(const fs_cycle_t *cycle)
{
	return cycle->view.interval;
}

/* ---- who schedules -------------------------------------------------------------------- */

/* Is active mode allowed?  Says what to change, once for each change of what there is to say. */
static bool guard_allows(fs_cycle_t *cycle)
{
	char line[LINE_SIZE];
	fs_slurm_site_t site;
	bool allowed;

	fs_slurm_site_look(&site);
	cycle->max_rpc_count = site.max_rpc_count;
	allowed = fs_guard_allows(&site.site, line, sizeof(line));
	fs_slurm_site_clear(&site);
	if (cycle->view.mode != FS_MODE_ACTIVE)
		line[0] = '\0';
	if (*line && strcmp(line, cycle->refused))
		error("foresight: Mode=active is not possible, staying in shadow mode: %s", line);
	snprintf(cycle->refused, sizeof(cycle->refused), "%s", line);
	return allowed;
}

/* Once proven it stays proven: the records of a running daemon do not change their layout. */
static bool layout_is_proven(fs_cycle_t *cycle)
{
	if (cycle->layout == 0) {
		cycle->layout = fs_layout_test();
		if (cycle->layout < 0)
			error("foresight: built for another Slurm: slurmctld's job records are "
			      "not where they should be.  Nothing will be scheduled by this "
			      "plugin, nor by the backfill compiled into it: build it again "
			      "from the source tree of this very slurmctld");
	}
	return cycle->layout > 0;
}

/* Backfill knows nothing of the GPUs that are kept free: OnFailure=wait keeps it from them. */
static bool must_wait_on_failure(const fs_cycle_t *cycle)
{
	int32_t count = fs_settings_app_count(cycle->settings);

	for (int32_t app = 0; app < count; app++) {
		fs_app_settings settings;

		fs_settings_app(cycle->settings, app, &settings);
		if (settings.wait_on_failure)
			return true;
	}
	return false;
}

static enum role wanted_role(fs_cycle_t *cycle)
{
	bool allowed = guard_allows(cycle);

	if (!layout_is_proven(cycle))
		return ROLE_NONE;
	if (cycle->view.mode != FS_MODE_ACTIVE || !allowed)
		return ROLE_SHADOW;
	if (!cycle->failover.handed_over)
		return ROLE_ACTIVE;
	return must_wait_on_failure(cycle) ? ROLE_WAIT : ROLE_BACKFILL;
}

static void take_role(fs_cycle_t *cycle, enum role role)
{
	enum role before = cycle->role;

	if (role == before)
		return;
	cycle->role = role;
	cycle->last.unfinished = true;	/* whatever the plan was, another acts on it now */
	if (role == ROLE_SHADOW || role == ROLE_BACKFILL)
		fs_stock_switch_on();
	else
		fs_stock_switch_off();
	if (before == ROLE_ACTIVE)
		withdraw(cycle);
	info("foresight: scheduling: %s",
	     role == ROLE_ACTIVE ? "active, the plan starts jobs"
	     : role == ROLE_SHADOW ? "shadow, Slurm's backfill starts jobs"
	     : role == ROLE_BACKFILL ? "Slurm's backfill, until planning works again"
	     : role == ROLE_WAIT     ? "nobody, until planning works again (OnFailure=wait)"
				     : "off");
}

/* ---- the steps of a cycle ------------------------------------------------------------- */

/* What may have been in a refused job's way is gone: ask again. */
static void forget_refusals(fs_cycle_t *cycle, const fs_pulse_times_t *before,
			    const fs_pulse_times_t *now)
{
	static const enum fs_refusal_kind kinds[] = { FS_REFUSED_LIMIT, FS_REFUSED_NODES,
						      FS_REFUSED_JOB };
	bool ended = before->ends != now->ends;
	bool arranged = before->parts != now->parts || before->resvs != now->resvs ||
			before->config != now->config;

	for (size_t i = 0; (ended || arranged) && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fs_refusals_forget_kind(cycle->refusals, kinds[i]);
	fs_refusals_expire(cycle->refusals, time(NULL));
}

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool observe(fs_cycle_t *cycle, result_t *fresh, char *problem, size_t size)
{
	double start = now_seconds();
	bool good = !fs_observe(cycle->settings, cycle->refusals, &fresh->observation, problem,
				size);

	cycle->counters.observe_seconds = now_seconds() - start;
	if (good) {
		fs_settings_sample(cycle->settings, fresh->observation.snapshot);
		fresh->fingerprint = fs_snapshot_fingerprint(fresh->observation.snapshot);
	}
	return good;
}

static bool plan(fs_cycle_t *cycle, result_t *fresh, char *problem, size_t size)
{
	fs_planning_options_t options = {
		.policy = cycle->view.weighted ? "foresight" : "rank",
		.age_doubles = cycle->view.age_doubles,
		.move_gain = cycle->view.move_gain,
		.budget_ms = fs_failover_full(&cycle->failover) ? cycle->view.budget_ms : 0,
		.overrun_ms = cycle->view.overrun_ms,
	};

	fresh->plan = fs_planning_run(cycle->planning, fresh->observation.snapshot, &options,
				      &cycle->counters.plan_seconds, problem, size);
	if (!fresh->plan)
		return false;
	fresh->count = fs_plan_count(fresh->plan);
	fresh->decisions = calloc(fresh->count + 1, sizeof(*fresh->decisions));
	if (!fresh->decisions) {
		snprintf(problem, size, "no memory for %zu decisions", fresh->count);
		return false;
	}
	for (size_t i = 0; i < fresh->count; i++)
		fs_plan_get(fresh->plan, i, &fresh->decisions[i]);
	cycle->counters.cycles++;
	return true;
}

static void count_cycle(const fs_cycle_t *cycle, const result_t *fresh)
{
	const fs_counters *counters = &cycle->counters;
	double seconds = counters->observe_seconds + counters->plan_seconds +
			 counters->apply_seconds;
	fs_plan_stats stats;

	fs_plan_get_stats(fresh->plan, &stats);
	fs_slurm_count_cycle(fresh->observation.taken, (uint32_t)(seconds * 1e6),
			     (uint32_t)fresh->observation.record_count, (uint32_t)fresh->count,
			     (uint32_t)stats.placed);
}

static void apply(fs_cycle_t *cycle, result_t *fresh)
{
	fs_apply_options_t options = {
		.max_starts = cycle->view.max_starts,
		.stop = cycle->stop,
	};
	fs_apply_result_t result;
	double start = now_seconds();

	fs_apply(&fs_slurm_ops, &fresh->observation, fresh->decisions, fresh->count, &options,
		 cycle->refusals, &result);
	if (!atomic_load(cycle->stop))
		fs_announce(&fs_slurm_ops, &fresh->observation, fresh->decisions, fresh->count);
	cycle->counters.apply_seconds = now_seconds() - start;
	cycle->counters.starts += result.started;
	cycle->counters.refusals += result.refused;
	fresh->unfinished = result.stale || result.dropped;
	fresh->refused = result.refused != 0;
	count_cycle(cycle, fresh);
	if (result.started || result.refused || result.stale || result.dropped)
		debug("foresight: %zu started, %zu refused, %zu changed meanwhile%s",
		      result.started, result.refused, result.stale,
		      result.dropped ? "; the plan was dropped" : "");
}

static void publish(fs_cycle_t *cycle)
{
	const result_t *last = &cycle->last;
	char problem[LINE_SIZE] = "";

	cycle->published = now_seconds();
	cycle->counters.mode = role_names[cycle->role];
	if (fs_publish(cycle->view.publish_dir, last->observation.snapshot, last->plan, &cycle->counters,
		       last->observation.private_jobs, problem, sizeof(problem)))
		error("foresight: %s", problem);
}

/* ---- what comes of a cycle ------------------------------------------------------------ */

static void report(fs_cycle_t *cycle, bool good, const char *problem)
{
	bool first = cycle->failover.failures == 0;

	if (!good) {
		cycle->counters.failures++;
		if (first && cycle->failover.max_failures > 1)
			error("foresight: a plan failed: %s; trying again without a search",
			      problem);
		else
			debug("foresight: a plan failed: %s", problem);
	}
	switch (fs_failover_report(&cycle->failover, good, time(NULL), cycle->view.interval)) {
	case FS_FAILOVER_HANDED_OVER:
		if (cycle->role != ROLE_ACTIVE) {
			error("foresight: %d plans in a row failed: %s",
			      cycle->failover.max_failures, problem);
			break;
		}
		cycle->counters.handovers++;
		error("foresight: %d plans in a row failed (%s): %s until planning works again",
		      cycle->failover.max_failures, problem,
		      must_wait_on_failure(cycle) ? "no job is started"
						  : "Slurm's backfill takes over");
		break;
	case FS_FAILOVER_RECOVERED:
		info("foresight: planning works again");
		break;
	case FS_FAILOVER_NONE:
		break;
	}
}

/* A failed cycle keeps what runs and what was published; the next try comes soon. */
static void fail(fs_cycle_t *cycle, fs_pulse_t *pulse, const char *problem)
{
	if (atomic_load(cycle->stop))
		return;
	report(cycle, false, problem);
	take_role(cycle, wanted_role(cycle));
	cycle->last.unfinished = true;
	pulse->edge = cycle->failover.handed_over ? cycle->failover.retry : time(NULL) + 1;
	publish(cycle);
}

static void say_unsupported(fs_cycle_t *cycle)
{
	size_t count = cycle->last.observation.unsupported;

	if (cycle->role == ROLE_ACTIVE && count && !cycle->unsupported)
		info("foresight: %zu pending jobs are heterogeneous or have burst buffers, which "
		     "active mode does not start yet; shadow mode does", count);
	cycle->unsupported = count;
}

/* When something known happens.  Slurm keeps jobs whose begin time is ahead out of its queue, so
 * that no snapshot has them. */
static int64_t next_edge(const result_t *result, time_t now)
{
	int64_t edge = fs_snapshot_next_edge(result->observation.snapshot);
	int64_t start = fs_plan_next_start(result->plan);
	int64_t begin = fs_slurm_next_begin(now);

	if (start < edge)
		edge = start;
	if (begin < edge)
		edge = begin;
	if (result->unfinished)
		edge = now;
	return edge > now ? edge : now + 1;
}

/* Nothing changed, and no known time came: the last plan stands. */
static bool is_same(const fs_cycle_t *cycle, const result_t *fresh, const fs_pulse_t *pulse)
{
	const result_t *last = &cycle->last;

	return last->plan && last->fingerprint == fresh->fingerprint && !last->unfinished &&
	       time(NULL) < pulse->edge;
}

static void rest(fs_cycle_t *cycle)
{
	cycle->counters.idle_looks++;
	/* So that the files' age tells a dead plugin from a quiet cluster. */
	if (now_seconds() - cycle->published >= (double)cycle->view.interval)
		publish(cycle);
}

/* observe → plan → apply → publish */
static void cycle_once(fs_cycle_t *cycle, fs_pulse_t *pulse)
{
	char problem[LINE_SIZE] = "";
	result_t fresh = {0};

	if (!observe(cycle, &fresh, problem, sizeof(problem)))
		goto failed;
	if (is_same(cycle, &fresh, pulse)) {
		clear_result(&fresh);
		pulse->edge = next_edge(&cycle->last, time(NULL));
		rest(cycle);
		return;
	}
	if (!plan(cycle, &fresh, problem, sizeof(problem)))
		goto failed;
	report(cycle, true, "");
	take_role(cycle, wanted_role(cycle));
	if (cycle->role == ROLE_ACTIVE)
		apply(cycle, &fresh);
	pulse->edge = next_edge(&fresh, time(NULL));
	pulse->again = fresh.refused;
	clear_result(&cycle->last);
	cycle->last = fresh;
	say_unsupported(cycle);
	publish(cycle);
	return;
failed:
	clear_result(&fresh);
	fail(cycle, pulse, problem);
}

void fs_cycle_run(fs_cycle_t *cycle, fs_pulse_t *pulse)
{
	fs_pulse_times_t before = pulse->seen, now = fs_slurm_times();

	fs_pulse_look(pulse, &now, time(NULL));
	take_role(cycle, wanted_role(cycle));
	if (cycle->role == ROLE_NONE)
		return;
	if (!fs_failover_try_plan(&cycle->failover, time(NULL)))
		return;
	forget_refusals(cycle, &before, &now);
	refresh_demand(cycle);
	/* Before the look: the plan then knows what is lent, and until when. */
	fs_lending_run(cycle->lending, cycle->settings, cycle->role == ROLE_ACTIVE);
	cycle_once(cycle, pulse);
}
