/*
 * start: one job on the nodes that the plan chose for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "start.h"

#include <stdio.h>

/* Waits before a refused job is tried again; the refusals' memory doubles them each time. */
enum {
	WAIT_MOMENT = 2,	/* a node that completes a job */
	WAIT_SHORT = 10,	/* a licence, a fed lock */
	WAIT_LONG = 60,		/* what only an administrator changes, and tells nobody */
};

/* What an attempt changes on a job before Slurm has the last word. */
typedef struct {
	part_record_t *part;
	slurmctld_resv_t *resv;
	uint32_t resv_id;
	uint32_t priority;
	uint32_t time_limit;
	time_t start_time;
	uint32_t state_reason;
	char *state_desc;	/* owned */
	uint16_t time_limit_set;
} saved_t;

/* ---- is it still what was planned? ---------------------------------------------------- */

static bool is_startable(const job_record_t *job)
{
	return job && job->details && IS_JOB_PENDING(job) && !IS_JOB_COMPLETING(job) &&
	       !IS_JOB_REVOKED(job) && job->priority != 0 && !job->het_job_id &&
	       !job->burst_buffer && !job->preempt_in_progress;
}

/* The job's priority in a partition as it is now; 0 when it may not run there. */
static uint32_t priority_in(const job_record_t *job, const part_record_t *part)
{
	fs_list_iterator_t *parts;
	part_record_t *other;
	const uint32_t *priorities = fs_job_priorities(job);
	uint32_t priority = 0;
	int place = 0;

	if (!job->part_ptr_list)
		return job->part_ptr == part ? job->priority : 0;
	parts = list_iterator_create(job->part_ptr_list);
	while ((other = list_next(parts))) {
		if (other == part) {
			priority = priorities ? priorities[place] : job->priority;
			break;
		}
		place++;
	}
	list_iterator_destroy(parts);
	return priority;
}

static bool takes_jobs(const part_record_t *part)
{
	return part && (part->state_up & PARTITION_SCHED) && part->node_bitmap;
}

/* The reservation of a record is there, and is still the job's way to run. */
static bool reservation_fits(const struct fs_slurm_ops *ops, const job_record_t *job,
			     const fs_record_t *record, slurmctld_resv_t **resv)
{
	*resv = NULL;
	if (!record->reservation)
		return !job->resv_list;
	if (!job->resv_list && job->resv_name)	/* its own: nothing to enter */
		return !xstrcmp(job->resv_name, record->reservation);
	*resv = ops->find_resv(record->reservation);
	return *resv != NULL;
}

static bool features_fit(const job_record_t *job, const fs_record_t *record)
{
	return !record->use_prefer || job->details->prefer;
}

/* The plan's nodes as a bitmap, NULL when one of them is gone. */
static bitstr_t *bitmap_of(const struct fs_slurm_ops *ops, const fs_start_t *start)
{
	bitstr_t *bitmap = bit_alloc(ops->node_count());

	for (size_t i = 0; i < start->node_count; i++) {
		int node = ops->find_node(start->nodes[i]);

		if (node < 0 || node >= bit_size(bitmap)) {
			FREE_NULL_BITMAP(bitmap);
			return NULL;
		}
		bit_set(bitmap, node);
	}
	if (!start->node_count)
		FREE_NULL_BITMAP(bitmap);
	return bitmap;
}

/* ---- the attempt's clothes ------------------------------------------------------------ */

static void save_job(const job_record_t *job, saved_t *saved)
{
	*saved = (saved_t){
		.part = job->part_ptr,
		.resv = job->resv_ptr,
		.resv_id = job->resv_id,
		.priority = job->priority,
		.time_limit = job->time_limit,
		.start_time = job->start_time,
		.state_reason = job->state_reason,
		.state_desc = xstrdup(job->state_desc),
		.time_limit_set = job->limit_set.time,
	};
}

/* features_use and feature_list_use are scratch: both NULL would drop counts and [a|b], and a
 * stale preference would become a demand. */
static void set_features(job_record_t *job, bool prefer)
{
	__typeof__(*job->details) *details = job->details;

	details->features_use = prefer ? details->prefer : details->features;
	details->feature_list_use = prefer ? details->prefer_list : details->feature_list;
}

static void dress_job(const struct fs_slurm_ops *ops, job_record_t *job, const fs_record_t *record,
		      part_record_t *part, slurmctld_resv_t *resv)
{
	job->priority = priority_in(job, part);
	job->part_ptr = part;
	job->bit_flags |= BACKFILL_SCHED;
	job->last_sched_eval = time(NULL);
	set_features(job, record->use_prefer);
	if (resv)
		ops->enter_reservation(job, resv);
}

/* Puts back what an attempt changed on a job that stays pending.  Its reason is Slurm's to set,
 * unless only our choice of nodes brought it about: then users would read BadConstraints or
 * ReqNodeNotAvail for nothing. */
static void undress_job(job_record_t *job, saved_t *saved, bool keep_reason)
{
	job->part_ptr = saved->part;
	job->priority = saved->priority;
	job->time_limit = saved->time_limit;
	job->limit_set.time = saved->time_limit_set;
	job->start_time = saved->start_time;
	if (job->resv_list) {
		job->resv_ptr = saved->resv;
		job->resv_id = saved->resv_id;
	}
	if (job->details)
		set_features(job, false);
	if (!keep_reason) {
		xfree(job->state_desc);
		job->state_desc = saved->state_desc;
		saved->state_desc = NULL;
		job->state_reason = saved->state_reason;
	}
}

/* ---- refusals ------------------------------------------------------------------------- */

static enum fs_start_result refuse(fs_start_outcome_t *outcome, enum fs_refusal_kind kind,
				   int code, const char *why, int wait)
{
	outcome->kind = kind;
	outcome->code = code;
	outcome->wait = wait;
	snprintf(outcome->why, sizeof(outcome->why), "%s", why);
	return FS_START_REFUSED;
}

void fs_start_outcome_clear(fs_start_outcome_t *outcome)
{
	xfree(outcome->nodes);
	*outcome = (fs_start_outcome_t){0};
}

/* What an error of select_nodes() means for the next plan. */
static const struct {
	int code;
	enum fs_refusal_kind kind;
	int wait;
	bool of_nodes;	/* our choice of nodes may be the cause: its reason is not the user's */
} meanings[] = {
	{ ESLURM_ACCOUNTING_POLICY, FS_REFUSED_LIMIT, WAIT_SHORT, false },
	{ ESLURM_NODES_BUSY, FS_REFUSED_NODES, WAIT_SHORT, true },
	{ ESLURM_NODE_NOT_AVAIL, FS_REFUSED_NODES, WAIT_LONG, true },
	{ ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, FS_REFUSED_NODES, WAIT_LONG, true },
	{ ESLURM_RESERVATION_BUSY, FS_REFUSED_NODES, WAIT_SHORT, true },
	{ ESLURM_RESERVATION_NOT_USABLE, FS_REFUSED_JOB, WAIT_SHORT, false },
	{ ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, FS_REFUSED_JOB, WAIT_LONG, false },
	{ ESLURM_INVALID_NODE_COUNT, FS_REFUSED_JOB, WAIT_LONG, false },
	{ ESLURM_FED_JOB_LOCK, FS_REFUSED_JOB, WAIT_SHORT, false },
	{ ESLURM_BURST_BUFFER_WAIT, FS_REFUSED_JOB, WAIT_SHORT, false },
	{ 0, FS_REFUSED_JOB, WAIT_LONG, false },	/* any other */
};

static enum fs_start_result refuse_error(fs_start_outcome_t *outcome, const job_record_t *job,
					 int code, bitstr_t *allowed, bool *of_nodes)
{
	size_t i = 0;
	const char *why;

	while (meanings[i].code && meanings[i].code != code)
		i++;
	*of_nodes = meanings[i].of_nodes;
	if (meanings[i].kind == FS_REFUSED_NODES)
		outcome->nodes = bitmap2node_name(allowed);
	/* A limit's name says more than "Job violates accounting policy". */
	why = meanings[i].kind == FS_REFUSED_LIMIT && job->state_reason != WAIT_NO_REASON
		      ? fs_reason_name(job->state_reason)
		      : slurm_strerror(code);
	return refuse(outcome, meanings[i].kind, code, why, meanings[i].wait);
}

/* ---- the checks ----------------------------------------------------------------------- */

/* Nodes with a job completing are refused whole by Slurm, though GPUs are free.  An opaque
 * choice loses them; a plan's own nodes are all needed. */
static bool avoid_transit(const struct fs_slurm_ops *ops, bitstr_t *allowed, bool opaque,
			  fs_start_outcome_t *outcome)
{
	bitstr_t *transit = NULL;

	for (bitoff_t node = bit_ffs(allowed); node >= 0 && node < bit_size(allowed); node++) {
		if (!bit_test(allowed, node) || !ops->node_in_transit((int)node))
			continue;
		if (!transit)
			transit = bit_alloc(bit_size(allowed));
		bit_set(transit, node);
	}
	if (!transit)
		return true;
	if (opaque)
		bit_and_not(allowed, transit);
	if (!opaque || bit_ffs(allowed) < 0) {
		refuse(outcome, FS_REFUSED_NODES, ESLURM_NODES_BUSY, "completing", WAIT_MOMENT);
		outcome->nodes = bitmap2node_name(transit);
	}
	FREE_NULL_BITMAP(transit);
	return !outcome->nodes;
}

/* With a deadline the job runs until then at the longest. */
static void cut_to_deadline(job_record_t *job)
{
	const part_record_t *part = job->part_ptr;
	uint32_t limit = job->time_limit;
	time_t left;

	if (!job->deadline || job->deadline == (time_t)NO_VAL)
		return;
	if (limit == NO_VAL || limit == INFINITE) {
		limit = part->default_time;
		if (limit == NO_VAL || limit == INFINITE)
			limit = part->max_time;
	}
	left = (job->deadline - time(NULL)) / 60;
	if (left > 0 && (limit == NO_VAL || limit == INFINITE || left < (time_t)limit))
		job->time_limit = (uint32_t)left;
	else if (limit != NO_VAL)
		job->time_limit = limit;
}

/* Everything that Slurm's schedulers ask.  job_limits_check() comes last, because it rewrites
 * memory and CPUs for the partition. */
static enum fs_start_result check_job(const struct fs_slurm_ops *ops, job_record_t *job,
				      fs_start_outcome_t *outcome)
{
	const struct {
		bool (*passes)(job_record_t *job);
		enum fs_refusal_kind kind;
		int code;
		const char *why;
		int wait;
	} checks[] = {
		{ ops->clean, FS_REFUSED_JOB, ESLURM_JOB_PENDING, "Cleaning", WAIT_MOMENT },
		{ ops->array_may_start, FS_REFUSED_JOB, ESLURM_JOB_PENDING, "ArrayTaskLimit",
		  WAIT_SHORT },
		{ ops->independent, FS_REFUSED_JOB, ESLURM_DEPENDENCY, "Dependency", WAIT_SHORT },
		{ ops->qos_valid, FS_REFUSED_JOB, ESLURM_INVALID_QOS, "InvalidQOS", WAIT_LONG },
		{ ops->assoc_valid, FS_REFUSED_JOB, ESLURM_INVALID_ACCOUNT, "InvalidAccount",
		  WAIT_LONG },
		{ ops->limits_allow, FS_REFUSED_LIMIT, ESLURM_ACCOUNTING_POLICY, "AssocLimit",
		  WAIT_SHORT },
		{ ops->licences_free, FS_REFUSED_JOB, ESLURM_INVALID_LICENSES, "Licenses",
		  WAIT_SHORT },
	};
	uint32_t reason;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (checks[i].passes(job))
			continue;
		/* The check may have ended the job (a dependency that can't be met any more). */
		if (!IS_JOB_PENDING(job))
			return FS_START_STALE;
		return refuse(outcome, checks[i].kind, checks[i].code,
			      job->state_reason == WAIT_NO_REASON ||
					      job->state_reason == WAIT_RESOURCES ||
					      job->state_reason == WAIT_PRIORITY
				      ? checks[i].why
				      : fs_reason_name(job->state_reason),
			      checks[i].wait);
	}
	if (job->deadline && job->deadline != (time_t)NO_VAL) {
		if (!ops->deadline_ok(job))
			return FS_START_STALE;
		cut_to_deadline(job);
	}
	reason = ops->partition_refuses(job);
	if (reason != WAIT_NO_REASON)
		return refuse(outcome, FS_REFUSED_JOB, ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE,
			      fs_reason_name(reason), WAIT_LONG);
	return FS_STARTED;
}

/* ---- the start ------------------------------------------------------------------------ */

/* select_nodes() with every other node excluded.  An array's task is split off on the way: the
 * record passed in becomes the task, and a new one, with a copy of the exclusion, stays behind. */
static int select_on(const struct fs_slurm_ops *ops, job_record_t *job, const bitstr_t *allowed)
{
	bitstr_t *original = job->details->exc_node_bitmap;
	bitstr_t *others = bit_copy((bitstr_t *)allowed);
	bool array = job->array_recs != NULL;
	int rc;

	bit_not(others);
	if (original)
		bit_or(others, original);
	job->details->exc_node_bitmap = others;

	rc = ops->select(job);

	if (array) {
		job_record_t *base = ops->find_job(job->array_job_id);

		if (base && base != job && base->array_recs && base->details) {
			FREE_NULL_BITMAP(base->details->exc_node_bitmap);
			if (original)
				base->details->exc_node_bitmap = bit_copy(original);
		}
	}
	if (job->details) {
		FREE_NULL_BITMAP(job->details->exc_node_bitmap);
		job->details->exc_node_bitmap = original;
	} else {
		FREE_NULL_BITMAP(original);
	}
	return rc;
}

static enum fs_start_result start_on(const struct fs_slurm_ops *ops, job_record_t *job,
				     bitstr_t *allowed, fs_start_outcome_t *outcome,
				     bool *keep_reason)
{
	bool of_nodes = false;
	int rc;

	if (ops->federation_lock(job)) {
		rc = ESLURM_FED_JOB_LOCK;
	} else {
		rc = select_on(ops, job, allowed);
		if (rc == SLURM_SUCCESS)
			ops->federation_started(job);
		else
			ops->federation_unlock(job);
	}
	if (rc == SLURM_SUCCESS) {
		ops->jobs_changed();
		info("foresight: started %pJ in %s on %s", job,
		     job->part_ptr ? job->part_ptr->name : "?", job->nodes);
		ops->launch(job);
		return FS_STARTED;
	}
	refuse_error(outcome, job, rc, allowed, &of_nodes);
	*keep_reason = !of_nodes;
	debug("foresight: %pJ did not start: %s", job, slurm_strerror(rc));
	return FS_START_REFUSED;
}

enum fs_start_result fs_start_job(const struct fs_slurm_ops *ops, const fs_start_t *start,
				  fs_start_outcome_t *outcome)
{
	const fs_record_t *record = start->record;
	job_record_t *job = ops->find_job(record->job_id);
	part_record_t *part = ops->find_part(record->partition);
	slurmctld_resv_t *resv;
	enum fs_start_result result;
	bitstr_t *allowed;
	saved_t saved;
	bool keep_reason = true;

	*outcome = (fs_start_outcome_t){0};
	if (!is_startable(job) || !takes_jobs(part) || !priority_in(job, part) ||
	    !features_fit(job, record) || !reservation_fits(ops, job, record, &resv) ||
	    ops->fingerprint(job, part) != record->fingerprint)
		return FS_START_STALE;
	allowed = bitmap_of(ops, start);
	if (!allowed)
		return FS_START_STALE;

	save_job(job, &saved);
	dress_job(ops, job, record, part, resv);
	result = check_job(ops, job, outcome);
	if (result == FS_STARTED && !avoid_transit(ops, allowed, start->opaque, outcome))
		result = FS_START_REFUSED;
	if (result == FS_STARTED)
		result = start_on(ops, job, allowed, outcome, &keep_reason);
	if (IS_JOB_PENDING(job))
		undress_job(job, &saved, keep_reason);
	ops->leave_reservation(job);
	xfree(saved.state_desc);
	FREE_NULL_BITMAP(allowed);
	return result;
}
