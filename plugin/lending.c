/*
 * lending: see lending.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reservation.h"
#include "slurm_compat.h"

#define LINE_SIZE 1024
/* A loan that is shorter, beside what jobs may overrun, is not worth two changes. */
#define LEAST_LOAN 60

/* A reservation that is lent from, or was. */
typedef struct {
	char *name;
	char *last_set;		/* its node list as this plugin left it; NULL: not since it began */
	char said[LINE_SIZE];	/* what was logged last, so that it is logged once */
	int32_t missing;	/* GPUs, as logged last */
} entry_t;

struct fs_lending {
	fs_intents *intents;
	entry_t *entries;
	size_t count;
};

fs_lending_t *fs_lending_new(const char *state_dir)
{
	fs_lending_t *lending = calloc(1, sizeof(*lending));
	char problem[LINE_SIZE];

	if (!lending)
		return NULL;
	lending->intents = fs_intents_load(state_dir, problem, sizeof(problem));
	if (!lending->intents) {
		free(lending);
		return NULL;
	}
	if (*problem)
		error("foresight: %s; nodes that are lent are known by their guards alone", problem);
	return lending;
}

void fs_lending_free(fs_lending_t *lending)
{
	if (!lending)
		return;
	for (size_t i = 0; i < lending->count; i++) {
		free(lending->entries[i].name);
		free(lending->entries[i].last_set);
	}
	free(lending->entries);
	fs_intents_free(lending->intents);
	free(lending);
}

static entry_t *find_entry(fs_lending_t *lending, const char *name)
{
	entry_t *grown;

	for (size_t i = 0; i < lending->count; i++) {
		if (!strcmp(lending->entries[i].name, name))
			return &lending->entries[i];
	}
	grown = realloc(lending->entries, (lending->count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	lending->entries = grown;
	grown[lending->count] = (entry_t){.name = strdup(name)};
	return grown[lending->count].name ? &grown[lending->count++] : NULL;
}

/* An error is logged when it is another than the last. */
static void say(entry_t *entry, const char *what)
{
	if (*what && strcmp(entry->said, what))
		error("foresight: %s", what);
	snprintf(entry->said, sizeof(entry->said), "%s", what);
}

static void say_missing(entry_t *entry, int32_t missing)
{
	if (missing > entry->missing)
		info("foresight: reservation %s: %d GPUs that its application wants now are not "
		     "free yet", entry->name, missing);
	else if (!missing && entry->missing)
		info("foresight: reservation %s: its application has all GPUs that it wants",
		     entry->name);
	entry->missing = missing;
}

/* What jobs may run beyond their limits. */
static int64_t overrun_grace(const fs_settings_view *view)
{
	int64_t over = slurm_conf.over_time_limit == INFINITE16 ? 0 : slurm_conf.over_time_limit;

	return over * 60 + slurm_conf.kill_wait + view->end_grace;
}

/* Somebody else made the reservation what it is now: that is its size from now on. */
static void follow_hand(fs_lending_t *lending, entry_t *entry, const char *node_list)
{
	char problem[LINE_SIZE];

	info("foresight: reservation %s was changed by hand: %s is what it is made of now",
	     entry->name, node_list);
	fs_resv_drop_guards(entry->name);
	free(entry->last_set);
	entry->last_set = NULL;
	if (fs_intents_nodes(lending->intents, entry->name) &&
	    fs_intents_set(lending->intents, entry->name, node_list, problem, sizeof(problem)))
		say(entry, problem);
}

static void follow_deletion(fs_lending_t *lending, entry_t *entry)
{
	char problem[LINE_SIZE];

	if (!fs_intents_nodes(lending->intents, entry->name))
		return;
	info("foresight: reservation %s is gone: nothing is kept for its return", entry->name);
	fs_resv_drop_guards(entry->name);
	free(entry->last_set);
	entry->last_set = NULL;
	if (fs_intents_set(lending->intents, entry->name, NULL, problem, sizeof(problem)))
		say(entry, problem);
}

/* By which GPUs are wanted when; all of them where nothing may be lent. */
static int32_t decide(const fs_settings *settings, int32_t app, bool lends,
		      const fs_resv_view_t *view, int64_t grace, int64_t *due)
{
	fs_settings_view conf;
	int64_t now = time(NULL);
	fs_lending_node *nodes = calloc(view->count + 1, sizeof(*nodes));
	fs_lending_terms terms = {.now = now, .least_loan = grace + LEAST_LOAN,
				  .max_swap = FS_UNLIMITED};
	int32_t *curve;
	int32_t steps;
	int32_t all = 0;
	int32_t missing = -1;

	fs_settings_get(settings, &conf);
	steps = (int32_t)(conf.horizon / conf.step);
	curve = calloc((size_t)steps + 1, sizeof(*curve));
	terms.step = conf.step;
	terms.from = now - now % conf.step;
	for (int32_t step = 0; curve && step < steps; step++)
		curve[step] = INT32_MAX;
	if (curve && lends) {
		fs_app_settings of_app;

		fs_settings_app(settings, app, &of_app);
		terms.max_swap = of_app.max_swap;
		(void)fs_settings_demand(settings, app, terms.from, terms.step, steps, curve);
	}
	for (size_t i = 0; nodes && i < view->count; i++) {
		nodes[i] = view->nodes[i].is;
		all += nodes[i].gpus;
	}
	/* More than the reservation ever had is nobody's to give. */
	for (int32_t step = 0; curve && step < steps; step++)
		curve[step] = curve[step] < all ? curve[step] : all;
	if (nodes && curve)
		missing = fs_lend(nodes, view->count, curve, steps, &terms, due);
	free(nodes);
	free(curve);
	return lends || missing < 0 ? missing : 0;
}

/* Whether the decision asks for anything to be done. */
static bool changes(const fs_resv_view_t *view, const int64_t *due, int64_t grace)
{
	for (size_t i = 0; i < view->count; i++) {
		const fs_resv_node_t *node = &view->nodes[i];

		if ((due[i] == 0) != node->is.held)
			return true;
		if (due[i] && (!node->guard || llabs(node->guard + grace - due[i]) >= 60))
			return true;
	}
	return false;
}

static bool gives_up(const fs_resv_view_t *view, const int64_t *due)
{
	for (size_t i = 0; i < view->count; i++) {
		if (due[i] && view->nodes[i].is.held)
			return true;
	}
	return false;
}

static void act(fs_lending_t *lending, entry_t *entry, const fs_resv_view_t *view,
		const int64_t *due, int64_t grace)
{
	char problem[LINE_SIZE] = "";
	fs_resv_view_t after;

	if (gives_up(view, due) && !fs_intents_nodes(lending->intents, entry->name) &&
	    fs_intents_set(lending->intents, entry->name, view->node_list, problem,
			   sizeof(problem))) {
		say(entry, problem);
		return;
	}
	(void)fs_resv_arrange(entry->name, view, due, grace, problem, sizeof(problem));
	say(entry, problem);
	if (fs_resv_look(entry->name, NULL, grace, &after) || !after.node_list) {
		fs_resv_clear(&after);
		return;
	}
	if (strcmp(after.node_list, view->node_list))
		info("foresight: reservation %s: %s instead of %s", entry->name, after.node_list,
		     view->node_list);
	free(entry->last_set);
	entry->last_set = strdup(after.node_list);
	fs_resv_clear(&after);
}

/* All nodes are back, and none is to be lent again. */
static void forget(fs_lending_t *lending, entry_t *entry, const fs_resv_view_t *view)
{
	char problem[LINE_SIZE];

	for (size_t i = 0; i < view->count; i++) {
		if (!view->nodes[i].is.held)
			return;
	}
	info("foresight: reservation %s has all its nodes again", entry->name);
	if (fs_intents_set(lending->intents, entry->name, NULL, problem, sizeof(problem)))
		say(entry, problem);
}

static void look(fs_lending_t *lending, entry_t *entry, const fs_settings *settings, int32_t app,
		 bool lends)
{
	fs_settings_view conf;
	fs_resv_view_t view;
	const char *peak = fs_intents_nodes(lending->intents, entry->name);
	int64_t grace;
	int64_t *due = NULL;

	fs_settings_get(settings, &conf);
	grace = overrun_grace(&conf);
	if (fs_resv_look(entry->name, peak, grace, &view)) {
		say(entry, "no memory to look at a reservation");
	} else if (!view.found) {
		follow_deletion(lending, entry);
		if (lends && !peak)
			say(entry, "a reservation that foresight.conf names does not exist");
	} else if (*view.refused) {
		char line[LINE_SIZE];

		snprintf(line, sizeof(line), "reservation %s is not lent from: %s", entry->name,
			 view.refused);
		say(entry, line);
	} else if (entry->last_set && strcmp(entry->last_set, view.node_list)) {
		follow_hand(lending, entry, view.node_list);
	} else if (view.begun && !view.unsettled && (due = calloc(view.count + 1, sizeof(*due)))) {
		int32_t missing = decide(settings, app, lends, &view, grace, due);

		if (missing >= 0) {
			say_missing(entry, missing);
			if (changes(&view, due, grace))
				act(lending, entry, &view, due, grace);
			else if (!lends && peak)
				forget(lending, entry, &view);
		}
	}
	free(due);
	fs_resv_clear(&view);
}

void fs_lending_run(fs_lending_t *lending, const fs_settings *settings, bool active)
{
	int32_t apps = fs_settings_app_count(settings);

	for (int32_t app = 0; app < apps; app++) {
		fs_app_settings of_app;
		entry_t *entry;

		fs_settings_app(settings, app, &of_app);
		if (!of_app.reservation)
			continue;
		/* In shadow mode only what was lent before has to come back. */
		if (!active && !fs_intents_nodes(lending->intents, of_app.reservation))
			continue;
		entry = find_entry(lending, of_app.reservation);
		if (entry)
			look(lending, entry, settings, app, active);
	}
	for (size_t i = fs_intents_count(lending->intents); i-- > 0;) {
		const char *name = fs_intents_name(lending->intents, i);
		bool named = false;
		entry_t *entry;

		for (int32_t app = 0; app < apps && !named; app++) {
			fs_app_settings of_app;

			fs_settings_app(settings, app, &of_app);
			named = of_app.reservation && !strcmp(of_app.reservation, name);
		}
		entry = named ? NULL : find_entry(lending, name);
		if (entry)
			look(lending, entry, settings, -1, false);
	}
}
