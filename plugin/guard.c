/*
 * guard: may this plugin start jobs on this cluster?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define INTERVAL_KEY "sched_interval="
#define INTERVAL_OFF "sched_interval=-1"
#define DEFER "defer"

/* The next token of a comma-separated list: its start, and its length without blanks around. */
static const char *next_token(const char **rest, size_t *length)
{
	const char *start = *rest;
	size_t all;

	if (!start || !*start)
		return NULL;
	all = strcspn(start, ",");
	*rest = start + all + (start[all] == ',');
	while (all && (*start == ' ' || *start == '\t')) {
		start++;
		all--;
	}
	while (all && (start[all - 1] == ' ' || start[all - 1] == '\t'))
		all--;
	*length = all;
	return start;
}

static bool is_token(const char *start, size_t length, const char *token)
{
	return length == strlen(token) && !strncasecmp(start, token, length);
}

bool fs_guard_has_token(const char *list, const char *token)
{
	const char *start;
	size_t length;

	while ((start = next_token(&list, &length)))
		if (is_token(start, length, token))
			return true;
	return false;
}

/* Slurm reads the first sched_interval= that it finds, so a second one does not count. */
static bool start_loop_is_off(const char *list)
{
	const char *start;
	size_t length, key = strlen(INTERVAL_KEY);

	while ((start = next_token(&list, &length)))
		if (length >= key && !strncasecmp(start, INTERVAL_KEY, key))
			return is_token(start, length, INTERVAL_OFF);
	return false;
}

static void append(char *line, size_t size, const char *text, size_t length)
{
	size_t used = strlen(line);

	snprintf(line + used, size - used, "%s%.*s", used ? "," : "", (int)length, text);
}

/* SchedulerParameters as it ought to be: what is there, less other intervals, and the two. */
static void mended_parameters(const char *list, char *line, size_t size)
{
	const char *start;
	size_t length, key = strlen(INTERVAL_KEY);

	line[0] = '\0';
	while ((start = next_token(&list, &length))) {
		if (!length || is_token(start, length, DEFER) ||
		    (length >= key && !strncasecmp(start, INTERVAL_KEY, key)))
			continue;
		append(line, size, start, length);
	}
	append(line, size, INTERVAL_OFF, strlen(INTERVAL_OFF));
	append(line, size, DEFER, strlen(DEFER));
}

static bool allows_parameters(const fs_site_t *site, char *line, size_t size)
{
	const char *parameters = site->scheduler_parameters;
	char mended[2048];

	if (start_loop_is_off(parameters) && fs_guard_has_token(parameters, DEFER))
		return true;
	mended_parameters(parameters, mended, sizeof(mended));
	snprintf(line, size, "slurm.conf needs SchedulerParameters=%s (Slurm's own start loop must "
			     "be off)", mended);
	return false;
}

static bool is_set(const char *value, const char *none)
{
	return value && *value && strcasecmp(value, none);
}

bool fs_guard_allows(const fs_site_t *site, char *line, size_t size)
{
	const char *select = site->select_type ? site->select_type : "";

	line[0] = '\0';
	if (strcasecmp(select, "select/cons_tres"))
		snprintf(line, size, "slurm.conf needs SelectType=select/cons_tres (it has %s)",
			 *select ? select : "none");
	else if (is_set(site->preempt_type, "preempt/none"))
		snprintf(line, size, "slurm.conf needs PreemptType=preempt/none (it has %s; a start "
				     "must never preempt)", site->preempt_type);
	else if (site->gang || site->preempt_on)
		snprintf(line, size, "slurm.conf needs PreemptMode=OFF (%s is not supported)",
			 site->gang ? "gang scheduling" : "preemption");
	else if (site->federated)
		snprintf(line, size, "this cluster is in a federation, which is not supported: "
				     "sacctmgr modify federation NAME set clusters-=THIS_CLUSTER");
	else if (site->front_ends)
		snprintf(line, size, "this Slurm was built for front end nodes, which are not "
				     "supported: keep Mode=shadow in foresight.conf");
	else
		return allows_parameters(site, line, size);
	return false;
}
