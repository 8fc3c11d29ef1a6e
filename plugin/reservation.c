/*
 * reservation: see reservation.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reservation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look.h"

#define GUARD "foresight_"
#define NAME_SIZE 512
/* Guards that differ by less from what they should be stay. */
#define SAME_GUARD 30

static const slurmctld_lock_t resv_locks = {
	.conf = READ_LOCK,
	.job = WRITE_LOCK,
	.node = WRITE_LOCK,
	.part = READ_LOCK,
};

/* ---- looking -------------------------------------------------------------------------- */

static void guard_name(const char *resv, const char *node, char *name)
{
	snprintf(name, NAME_SIZE, GUARD "%s_%s", resv, node);
}

static const char *why_not(const slurmctld_resv_t *resv)
{
	if (resv->flags & (RESERVE_FLAG_REPLACE | RESERVE_FLAG_REPLACE_DOWN))
		return "it has the flag REPLACE or REPLACE_DOWN, with which Slurm refuses a list of "
		       "nodes: make it anew without";
	if (resv->flags & RESERVE_FLAG_TIME_FLOAT)
		return "its start floats (TIME_FLOAT): it never begins";
	if (resv->flags & RESERVE_REOCCURING)
		return "it comes again each day or week: only one that stands for good can be lent "
		       "from";
	if (fs_reservation_is_partial(resv))
		return "it has parts of nodes: only whole nodes can be lent";
	if (resv->flags & RESERVE_FLAG_ANY_NODES || !resv->node_bitmap)
		return "it has no nodes of its own";
	return NULL;
}

static void look_at_jobs(const slurmctld_resv_t *resv, int index, int64_t grace,
			 fs_lending_node *is)
{
	fs_list_iterator_t *at = list_iterator_create(job_list);
	job_record_t *job;

	while ((job = list_next(at))) {
		int64_t end;

		if (!look_is_running(job) && !IS_JOB_COMPLETING(job))
			continue;
		if (!job->node_bitmap || !bit_test(job->node_bitmap, index))
			continue;
		if (job->resv_id == resv->resv_id) {
			is->used = true;
			continue;
		}
		end = job->time_limit == INFINITE || IS_JOB_SUSPENDED(job) ?
			      FS_NEVER :
			      (int64_t)job->end_time + grace;
		/* It is there, whatever its limit says. */
		if (end <= time(NULL))
			end = time(NULL) + 1;
		if (end > is->busy_until)
			is->busy_until = end;
	}
	list_iterator_destroy(at);
}

static int add_node(const char *name, const slurmctld_resv_t *resv, int index, int64_t grace,
		    fs_resv_view_t *view)
{
	const node_record_t *record = node_record_table_ptr[index];
	fs_resv_node_t *node = &view->nodes[view->count];
	const slurmctld_resv_t *guard;
	char of_guard[NAME_SIZE];

	node->name = strdup(record->name);
	if (!node->name)
		return -1;
	guard_name(name, record->name, of_guard);
	guard = find_resv_name(of_guard);
	node->is.gpus = look_node_gpus(gres_build_id("gpu"), record);
	node->is.held = bit_test(resv->node_bitmap, index);
	node->is.healthy = bit_test(avail_node_bitmap, index) && !IS_NODE_DOWN(record) &&
			   !IS_NODE_DRAIN(record) && !IS_NODE_FAIL(record);
	view->unsettled = view->unsettled || IS_NODE_UNKNOWN(record);
	look_at_jobs(resv, index, grace, &node->is);
	if (guard) {
		node->guard = guard->start_time;
		node->is.due = guard->start_time + grace;
	}
	view->count++;
	return 0;
}

static int look_at(const char *name, const char *peak, int64_t grace, fs_resv_view_t *view)
{
	const slurmctld_resv_t *resv = find_resv_name((char *)name);
	bitstr_t *nodes = NULL;
	const char *refused;
	int good = 0;

	if (!resv)
		return 0;
	view->found = true;
	view->begun = resv->start_time <= time(NULL);
	refused = why_not(resv);
	if (refused) {
		snprintf(view->refused, sizeof(view->refused), "%s", refused);
		return 0;
	}
	view->node_list = bitmap2node_name(resv->node_bitmap);
	view->nodes = calloc((size_t)node_record_count + 1, sizeof(*view->nodes));
	/* Nodes that the cluster has no more are left out. */
	if (peak)
		(void)node_name2bitmap((char *)peak, true, &nodes);
	if (!nodes)
		nodes = bit_copy(resv->node_bitmap);
	else
		bit_or(nodes, resv->node_bitmap);
	for (int i = 0; view->nodes && i < node_record_count && !good; i++) {
		if (node_record_table_ptr[i] && bit_test(nodes, i))
			good = add_node(name, resv, i, grace, view);
	}
	FREE_NULL_BITMAP(nodes);
	return view->nodes && view->node_list ? good : -1;
}

int fs_resv_look(const char *name, const char *peak, int64_t grace, fs_resv_view_t *view)
{
	int result;

	*view = (fs_resv_view_t){0};
	lock_slurmctld(resv_locks);
	result = job_list && resv_list ? look_at(name, peak, grace, view) : 0;
	unlock_slurmctld(resv_locks);
	return result;
}

void fs_resv_clear(fs_resv_view_t *view)
{
	for (size_t i = 0; i < view->count; i++)
		free(view->nodes[i].name);
	free(view->nodes);
	xfree(view->node_list);
	*view = (fs_resv_view_t){0};
}

/* ---- acting, under the locks ---------------------------------------------------------- */

static void delete_guard(const char *resv, const char *node)
{
	char name[NAME_SIZE];
	reservation_name_msg_t message = {.name = name};

	guard_name(resv, node, name);
	if (find_resv_name(name))
		(void)delete_resv(&message);
}

static void clear_message(resv_desc_msg_t *message)
{
	xfree(message->name);
	xfree(message->node_list);
	xfree(message->users);
	xfree(message->accounts);
	xfree(message->groups);
	xfree(message->partition);
}

static int create_guard(const slurmctld_resv_t *resv, const char *node, int64_t start)
{
	resv_desc_msg_t message;
	char name[NAME_SIZE];
	int code;

	guard_name(resv->name, node, name);
	slurm_init_resv_desc_msg(&message);
	message.name = xstrdup(name);
	message.node_list = xstrdup(node);
	message.users = resv->groups ? NULL : xstrdup(resv->users);
	message.accounts = xstrdup(resv->accounts);
	message.groups = xstrdup(resv->groups);
	message.partition = xstrdup(resv->partition);
	message.start_time = start;
	message.end_time = resv->end_time;
	code = fs_create_reservation(&message);
	clear_message(&message);
	return code;
}

static int set_nodes(const char *resv, bitstr_t *nodes)
{
	resv_desc_msg_t message;
	int code;

	slurm_init_resv_desc_msg(&message);
	message.name = xstrdup(resv);
	message.node_list = bitmap2node_name(nodes);
	code = fs_update_reservation(&message);
	clear_message(&message);
	return code;
}

static int tell(char *problem, size_t size, const char *resv, const char *what, int code)
{
	snprintf(problem, size, "reservation %s: %s: %s", resv, what, slurm_strerror(code));
	return -1;
}

/* The guards of nodes that are taken back, again. */
static void put_guards_back(const slurmctld_resv_t *resv, const fs_resv_view_t *view,
			    const int64_t *due)
{
	time_t soon = time(NULL) + 1;

	for (size_t i = 0; i < view->count; i++) {
		const fs_resv_node_t *node = &view->nodes[i];

		if (!due[i] && !node->is.held && node->guard)
			(void)create_guard(resv, node->name,
					   node->guard > soon ? node->guard : soon);
	}
}

static int resize(slurmctld_resv_t *resv, const fs_resv_view_t *view, const int64_t *due,
		  char *problem, size_t size)
{
	bitstr_t *nodes = bit_copy(resv->node_bitmap);
	int code = 0;

	for (size_t i = 0; i < view->count; i++) {
		const fs_resv_node_t *node = &view->nodes[i];
		const node_record_t *record = find_node_record(node->name);

		if (!record || (due[i] == 0) == node->is.held)
			continue;
		if (due[i]) {
			bit_clear(nodes, fs_node_index(record));
		} else {
			delete_guard(resv->name, node->name);
			bit_set(nodes, fs_node_index(record));
		}
	}
	if (!bit_equal(nodes, resv->node_bitmap))
		code = set_nodes(resv->name, nodes);
	FREE_NULL_BITMAP(nodes);
	if (!code)
		return 0;
	put_guards_back(resv, view, due);
	return tell(problem, size, resv->name, "Slurm does not change its nodes", code);
}

/* A node without a guard is not lent. */
static int guard_lent(slurmctld_resv_t *resv, const fs_resv_view_t *view, const int64_t *due,
		      int64_t grace, char *problem, size_t size)
{
	int result = 0;

	for (size_t i = 0; i < view->count; i++) {
		const fs_resv_node_t *node = &view->nodes[i];
		int64_t start = due[i] - grace;
		int code;

		if (!due[i] || (node->guard && llabs(node->guard - start) < SAME_GUARD))
			continue;
		/* One that stands already is moved by none but a later one. */
		if (node->guard && node->guard <= time(NULL) && start <= time(NULL))
			continue;
		if (start <= time(NULL))
			start = time(NULL) + 1;
		delete_guard(resv->name, node->name);
		code = create_guard(resv, node->name, start);
		if (!code)
			continue;
		result = tell(problem, size, resv->name, "no guard can be made for a lent node",
			      code);
		if (node->guard) {
			(void)create_guard(resv, node->name, node->guard);
		} else if (node->is.held) {
			const node_record_t *record = find_node_record(node->name);
			bitstr_t *nodes = bit_copy(resv->node_bitmap);

			if (record)
				bit_set(nodes, fs_node_index(record));
			(void)set_nodes(resv->name, nodes);
			FREE_NULL_BITMAP(nodes);
		}
	}
	return result;
}

/* Whether nothing that the decision rests on has changed. */
static bool is_as_seen(const slurmctld_resv_t *resv, const fs_resv_view_t *view,
		       const int64_t *due, int64_t grace)
{
	char *now = bitmap2node_name(resv->node_bitmap);
	bool same = now && !xstrcmp(now, view->node_list);

	xfree(now);
	for (size_t i = 0; same && i < view->count; i++) {
		const fs_resv_node_t *node = &view->nodes[i];
		const node_record_t *record = find_node_record(node->name);
		fs_lending_node is = {0};

		if (!record)
			return false;
		look_at_jobs(resv, fs_node_index(record), grace, &is);
		same = !(due[i] && node->is.held && is.used);
	}
	return same;
}

int fs_resv_arrange(const char *name, const fs_resv_view_t *view, const int64_t *due,
		    int64_t grace, char *problem, size_t size)
{
	slurmctld_resv_t *resv;
	int result = 0;

	*problem = '\0';
	lock_slurmctld(resv_locks);
	resv = resv_list ? find_resv_name((char *)name) : NULL;
	if (resv && !why_not(resv) && is_as_seen(resv, view, due, grace)) {
		result = resize(resv, view, due, problem, size);
		if (!result)
			result = guard_lent(resv, view, due, grace, problem, size);
	}
	unlock_slurmctld(resv_locks);
	return result;
}

void fs_resv_drop_guards(const char *name)
{
	lock_slurmctld(resv_locks);
	/* By node: a guard's name alone does not tell which reservation's it is. */
	for (int i = 0; resv_list && i < node_record_count; i++) {
		if (node_record_table_ptr[i] && node_record_table_ptr[i]->name)
			delete_guard(name, node_record_table_ptr[i]->name);
	}
	unlock_slurmctld(resv_locks);
}
