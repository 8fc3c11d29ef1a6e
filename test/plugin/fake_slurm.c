/*
 * fake_slurm: slurmctld as a table of functions, for apply and announce.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_slurm fake;
part_record_t fake_parts[2];

static job_record_t *jobs[FAKE_JOBS];
static job_record_t *started_tasks[FAKE_JOBS]; /* split off: no longer found by their old id */
static int started_count;
static node_record_t nodes[FAKE_NODES];
static node_record_t *node_table[FAKE_NODES];

/* ---- the world ------------------------------------------------------------------------ */

static void free_job(job_record_t *job)
{
	if (!job)
		return;
	if (job->details) {
		FREE_NULL_BITMAP(job->details->exc_node_bitmap);
		xfree(job->details);
	}
	xfree(job->array_recs);
	xfree(job->state_desc);
	xfree(job->sched_nodes);
	FREE_NULL_LIST(job->part_ptr_list);
	xfree(job->priority_array);
	xfree(job->resv_name);
	xfree(job);
}

void fake_reset(void)
{
	static char names[FAKE_NODES][16];

	for (int i = 0; i < FAKE_JOBS; i++) {
		free_job(jobs[i]);
		jobs[i] = NULL;
	}
	while (started_count)
		free_job(started_tasks[--started_count]);
	fake = (struct fake_slurm){ .completing = -1, .config_time = 1000 };
	for (int i = 0; i < FAKE_NODES; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		nodes[i].name = names[i];
		nodes[i].index = (uint32_t)i;
		node_table[i] = &nodes[i];
	}
	node_record_table_ptr = node_table;
	node_record_count = FAKE_NODES;
	for (int i = 0; i < 2; i++) {
		FREE_NULL_BITMAP(fake_parts[i].node_bitmap);
		fake_parts[i] = (part_record_t){0};
		fake_parts[i].name = i ? (char *)"two" : (char *)"one";
		fake_parts[i].state_up = PARTITION_UP;
		fake_parts[i].max_time = INFINITE;
		fake_parts[i].default_time = NO_VAL;
		fake_parts[i].node_bitmap = bit_alloc(FAKE_NODES);
		bit_set_all(fake_parts[i].node_bitmap);
	}
}

static void keep(job_record_t *job)
{
	for (int i = 0; i < FAKE_JOBS; i++) {
		if (!jobs[i]) {
			jobs[i] = job;
			return;
		}
	}
	abort();
}

job_record_t *fake_job(uint32_t job_id)
{
	job_record_t *job = xmalloc(sizeof(*job));

	job->magic = JOB_MAGIC;
	job->details = xmalloc(sizeof(*job->details));
	job->job_id = job_id;
	job->array_task_id = NO_VAL;
	job->job_state = JOB_PENDING;
	job->priority = 100;
	job->time_limit = 60;
	job->batch_flag = 1;
	job->part_ptr = &fake_parts[0];
	keep(job);
	return job;
}

void fake_array(job_record_t *job, uint32_t tasks)
{
	job->array_job_id = job->job_id;
	job->array_recs = xmalloc(sizeof(*job->array_recs));
	job->array_recs->task_cnt = tasks;
}

void fake_record(fs_record_t *record, uint32_t job_id)
{
	*record = (fs_record_t){ .job_id = job_id, .partition = (char *)"one", .priority = 100,
				 .fingerprint = job_id };
}

/* ---- the daemon ----------------------------------------------------------------------- */

static void fake_lock(void)
{
	fake.locks++;
	fake.locked = true;
	fake.selects_in_hold = 0;
	if (fake.down_after_lock && fake.locks >= fake.down_after_lock)
		fake.down = true;
}

static void fake_unlock(void)
{
	fake.unlocks++;
	fake.locked = false;
}

static void fake_save(void)
{
	fake.saves++;
	fake.saved_under_lock = fake.saved_under_lock || fake.locked;
}

static bool fake_may_start(void) { return !fake.down; }
static time_t fake_config_time(void) { return fake.config_time; }
static int fake_node_count(void) { return FAKE_NODES; }

static job_record_t *find_fake_job(uint32_t job_id)
{
	for (int i = 0; i < FAKE_JOBS; i++)
		if (jobs[i] && jobs[i]->job_id == job_id)
			return jobs[i];
	return NULL;
}

static part_record_t *find_fake_part(const char *name)
{
	for (int i = 0; i < 2; i++)
		if (!strcmp(fake_parts[i].name, name))
			return &fake_parts[i];
	return NULL;
}

static slurmctld_resv_t *find_fake_resv(const char *name)
{
	static slurmctld_resv_t resv;

	resv.name = (char *)name;
	resv.resv_id = 7;
	return fake.no_reservation ? NULL : &resv;
}

static int find_fake_node(const char *name)
{
	for (int i = 0; i < FAKE_NODES; i++)
		if (!strcmp(nodes[i].name, name))
			return i;
	return -1;
}

static bool fake_in_transit(int node) { return node == fake.completing; }

/* A job's name stands for all that a user may change. */
static uint64_t fake_fingerprint(const void *job, const void *part)
{
	const job_record_t *record = job;

	(void)part;
	return (record->array_job_id ? record->array_job_id : record->job_id) +
	       (record->name ? 1000 : 0);
}

static bool fake_clean(job_record_t *job) { (void)job; return !fake.cleaning; }
static bool fake_array_test(job_record_t *job) { (void)job; return !fake.array_full; }
static bool fake_qos(job_record_t *job) { (void)job; return !fake.bad_qos; }
static bool fake_assoc(job_record_t *job) { (void)job; return !fake.bad_assoc; }
static bool fake_deadline(job_record_t *job) { (void)job; return !fake.past_deadline; }
static uint32_t fake_partition(job_record_t *job) { (void)job; return fake.partition_refuses; }

static bool fake_independent(job_record_t *job)
{
	if (fake.dependency_kills)
		job->job_state = JOB_CANCELLED;
	if (fake.dependent)
		job->state_reason = WAIT_DEPENDENCY;
	return !fake.dependent && !fake.dependency_kills;
}

static bool fake_limits(job_record_t *job)
{
	if (fake.over_limit)
		job->state_reason = WAIT_QOS_GRP_JOB;
	return !fake.over_limit;
}

static bool fake_licences(job_record_t *job)
{
	if (fake.no_licence)
		job->state_reason = WAIT_LICENSES;
	return !fake.no_licence;
}

static void fake_enter(job_record_t *job, slurmctld_resv_t *resv)
{
	fake.entered++;
	job->resv_ptr = resv;
	job->resv_name = xstrdup(resv->name);
	job->bit_flags |= JOB_MAGNETIC;
}

static void fake_leave(job_record_t *job)
{
	fake.left++;
	if (!(job->bit_flags & JOB_MAGNETIC) || IS_JOB_RUNNING(job))
		return;
	xfree(job->resv_name);
	job->resv_ptr = NULL;
	job->bit_flags &= ~JOB_MAGNETIC;
}

static int fake_fed_lock(job_record_t *job) { (void)job; fake.federation_locks++; return 0; }
static void fake_fed_unlock(job_record_t *job) { (void)job; fake.federation_unlocks++; }
static void fake_fed_started(job_record_t *job) { (void)job; fake.federation_starts++; }

static void note_nodes(const job_record_t *job)
{
	fake.selected_nodes[0] = '\0';
	for (int i = 0; i < FAKE_NODES; i++) {
		size_t used = strlen(fake.selected_nodes);

		if (bit_test(job->details->exc_node_bitmap, i))
			continue;
		snprintf(fake.selected_nodes + used, sizeof(fake.selected_nodes) - used, "%s%s",
			 used ? "," : "", nodes[i].name);
	}
}

/* As job_array_split(): the record passed in becomes the task, a new one stays behind. */
static void split(job_record_t *job)
{
	static uint32_t next_id = 9000;
	job_record_t *rest = xmalloc(sizeof(*rest));

	if (job->array_recs->task_cnt-- == 1) {
		xfree(rest);
		return;
	}
	*rest = *job;
	rest->details = xmalloc(sizeof(*rest->details));
	*rest->details = *job->details;
	rest->details->exc_node_bitmap = bit_copy(job->details->exc_node_bitmap);
	rest->state_desc = rest->sched_nodes = rest->resv_name = NULL;
	rest->part_ptr_list = NULL;
	rest->priority_array = NULL;
	for (int i = 0; i < FAKE_JOBS; i++)
		if (jobs[i] == job)
			jobs[i] = rest;
	started_tasks[started_count++] = job;
	job->array_recs = NULL;
	job->array_task_id = next_id - 9000;
	job->job_id = next_id++;
}

static int fake_select(job_record_t *job)
{
	fake.selects++;
	if (++fake.selects_in_hold > fake.most_in_hold)
		fake.most_in_hold = fake.selects_in_hold;
	note_nodes(job);
	if (fake.during_select)
		fake.during_select(job);
	if (fake.select_rc) {
		job->state_reason = fake.select_rc == ESLURM_NODE_NOT_AVAIL ? WAIT_NODE_NOT_AVAIL
									    : WAIT_RESOURCES;
		job->start_time = 12345;
		return fake.select_rc;
	}
	if (job->array_recs)
		split(job);
	job->job_state = JOB_RUNNING;
	return SLURM_SUCCESS;
}

static void fake_launch(job_record_t *job) { (void)job; fake.launches++; }
static void fake_changed(void) { fake.changes++; }

const struct fs_slurm_ops fake_ops = {
	.lock = fake_lock,
	.unlock = fake_unlock,
	.save = fake_save,
	.may_start = fake_may_start,
	.config_time = fake_config_time,
	.node_count = fake_node_count,
	.find_job = find_fake_job,
	.find_part = find_fake_part,
	.find_resv = find_fake_resv,
	.find_node = find_fake_node,
	.node_in_transit = fake_in_transit,
	.fingerprint = fake_fingerprint,
	.clean = fake_clean,
	.array_may_start = fake_array_test,
	.independent = fake_independent,
	.qos_valid = fake_qos,
	.assoc_valid = fake_assoc,
	.deadline_ok = fake_deadline,
	.limits_allow = fake_limits,
	.licences_free = fake_licences,
	.partition_refuses = fake_partition,
	.enter_reservation = fake_enter,
	.leave_reservation = fake_leave,
	.federation_lock = fake_fed_lock,
	.federation_unlock = fake_fed_unlock,
	.federation_started = fake_fed_started,
	.select = fake_select,
	.launch = fake_launch,
	.jobs_changed = fake_changed,
};
