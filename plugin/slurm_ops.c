/*
 * slurm_ops: what a start asks of slurmctld, as a table of functions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm_ops.h"

#include <stdlib.h>

#include "observe.h"

static const slurmctld_lock_t start_locks = {
	.conf = READ_LOCK,
	.job = WRITE_LOCK,
	.node = WRITE_LOCK,
	.part = READ_LOCK,
	.fed = READ_LOCK,
};

static void lock(void)
{
	lock_slurmctld(start_locks);
}

static void unlock(void)
{
	unlock_slurmctld(start_locks);
}

/* Nothing else writes a plugin's starts to disk for up to five minutes, and a slurmctld that is
 * killed in between would abort the running jobs when it comes back. */
static void save(void)
{
	schedule_job_save();
	schedule_node_save();
}

static bool may_start(void)
{
	return !slurmctld_config.shutdown_time && !slurmctld_config.scheduling_disabled &&
	       job_list && fed_mgr_sibs_synced() && !job_is_completing(NULL);
}

static time_t config_time(void)
{
	return slurm_conf.last_update;
}

static int node_count(void)
{
	return node_record_count;
}

/* ---- records -------------------------------------------------------------------------- */

static part_record_t *find_part(const char *name)
{
	return find_part_record((char *)name);
}

static slurmctld_resv_t *find_resv(const char *name)
{
	return find_resv_name((char *)name);
}

static int find_node(const char *name)
{
	const node_record_t *node = find_node_record((char *)name);

	return node ? fs_node_index(node) : -1;
}

static bool node_in_transit(int node)
{
	return (cg_node_bitmap && bit_test(cg_node_bitmap, node)) ||
	       (rs_node_bitmap && bit_test(rs_node_bitmap, node));
}

/* ---- tests ---------------------------------------------------------------------------- */

static bool clean(job_record_t *job)
{
	return !fs_job_is_cleaning(job) && !job->details->prolog_running &&
	       (!job->step_list || !list_count(job->step_list));
}

static bool qos_valid(job_record_t *job)
{
	assoc_mgr_lock_t locks = { .assoc = READ_LOCK, .qos = READ_LOCK };
	const slurmdb_assoc_rec_t *assoc = job->assoc_ptr;
	bool valid = true;

	if (!job->qos_id)
		return true;
	assoc_mgr_lock(&locks);
	if (assoc && (accounting_enforce & ACCOUNTING_ENFORCE_QOS) && !job->limit_set.qos)
		valid = (int)job->qos_id < (int)g_qos_count && assoc->usage &&
			assoc->usage->valid_qos &&
			bit_test(assoc->usage->valid_qos, (bitoff_t)job->qos_id);
	assoc_mgr_unlock(&locks);

	if (!valid) {
		job_fail_qos(job, __func__, false);
		last_job_update = time(NULL);
	} else if (job->state_reason == FAIL_QOS) {
		xfree(job->state_desc);
		job->state_reason = WAIT_NO_REASON;
		last_job_update = time(NULL);
	}
	return valid;
}

static bool assoc_valid(job_record_t *job)
{
	if (!assoc_mgr_validate_assoc_id(acct_db_conn, job->assoc_id, accounting_enforce))
		return true;
	xfree(job->state_desc);
	job->state_reason = FAIL_ACCOUNT;
	last_job_update = time(NULL);
	return false;
}

static bool deadline_is_ok(job_record_t *job)
{
	return deadline_ok(job, (char *)"foresight");
}

static bool limits_allow(job_record_t *job)
{
	return acct_policy_job_runnable_pre_select(job, false);
}

static bool licences_free(job_record_t *job)
{
	if (license_job_test(job, time(NULL), true) == SLURM_SUCCESS)
		return true;
	xfree(job->state_desc);
	job->state_reason = WAIT_LICENSES;
	last_job_update = time(NULL);
	return false;
}

static uint32_t partition_refuses(job_record_t *job)
{
	int reason = job_limits_check(&job, false);

	if (reason == WAIT_NO_REASON)
		return WAIT_NO_REASON;
	if (job->state_reason != (uint32_t)reason) {
		xfree(job->state_desc);
		job->state_reason = (uint32_t)reason;
		last_job_update = time(NULL);
	}
	return (uint32_t)reason;
}

/* ---- acts ----------------------------------------------------------------------------- */

static void enter_reservation(job_record_t *job, slurmctld_resv_t *resv)
{
	job_queue_rec_t record = { .job_ptr = job, .resv_ptr = resv };

	if (job->resv_list)
		job_queue_rec_resv_list(&record);
	else
		job_queue_rec_magnetic_resv(&record);
}

static void federation_unlock(job_record_t *job)
{
	fed_mgr_job_unlock(job);
}

static void federation_started(job_record_t *job)
{
	fed_mgr_job_start(job, job->start_time);
}

static int start_on_nodes(job_record_t *job)
{
	return fs_select_nodes(job);
}

static void launch(job_record_t *job)
{
	if (job->batch_flag == 0)
		srun_allocate(job);
	else if (!IS_JOB_CONFIGURING(job))
		launch_job(job);
	slurmctld_diag_stats.backfilled_jobs++;
	slurmctld_diag_stats.last_backfilled_jobs++;
}

static void jobs_changed(void)
{
	last_job_update = time(NULL);
}

const struct fs_slurm_ops fs_slurm_ops = {
	.lock = lock,
	.unlock = unlock,
	.save = save,
	.may_start = may_start,
	.config_time = config_time,
	.node_count = node_count,
	.find_job = find_job_record,
	.find_part = find_part,
	.find_resv = find_resv,
	.find_node = find_node,
	.node_in_transit = node_in_transit,
	.fingerprint = fs_record_fingerprint,
	.clean = clean,
	.array_may_start = job_array_start_test,
	.independent = job_independent,
	.qos_valid = qos_valid,
	.assoc_valid = assoc_valid,
	.deadline_ok = deadline_is_ok,
	.limits_allow = limits_allow,
	.licences_free = licences_free,
	.partition_refuses = partition_refuses,
	.enter_reservation = enter_reservation,
	.leave_reservation = job_resv_clear_magnetic_flag,
	.federation_lock = fed_mgr_job_lock,
	.federation_unlock = federation_unlock,
	.federation_started = federation_started,
	.select = start_on_nodes,
	.launch = launch,
	.jobs_changed = jobs_changed,
};

/* ---- the site ------------------------------------------------------------------------- */

/* max_rpc_cnt= or max_rpc_count=, read as Slurm's own schedulers read it. */
static int max_rpc_count(const char *parameters)
{
	const char *found;
	int count = 0;

	if ((found = xstrcasestr(parameters, "max_rpc_cnt=")))
		count = atoi(found + 12);
	else if ((found = xstrcasestr(parameters, "max_rpc_count=")))
		count = atoi(found + 14);
	return count > 0 ? count : 0;
}

void fs_slurm_site_look(fs_slurm_site_t *site)
{
	static const slurmctld_lock_t config_lock = { .conf = READ_LOCK, .fed = READ_LOCK };

	*site = (fs_slurm_site_t){0};
	lock_slurmctld(config_lock);
	site->strings[0] = xstrdup(slurm_conf.sched_params);
	site->strings[1] = xstrdup(slurm_conf.preempt_type);
	site->strings[2] = xstrdup(slurm_conf.select_type);
	site->state_dir = xstrdup(slurm_conf.state_save_location);
	site->site = (fs_site_t){
		.scheduler_parameters = site->strings[0],
		.preempt_type = site->strings[1],
		.select_type = site->strings[2],
		.preempt_on = (slurm_conf.preempt_mode & ~PREEMPT_MODE_GANG) != PREEMPT_MODE_OFF,
		.gang = (slurm_conf.preempt_mode & PREEMPT_MODE_GANG) != 0,
		.federated = fed_mgr_fed_rec != NULL,
#ifdef HAVE_FRONT_END
		.front_ends = true,
#endif
	};
	site->private_jobs = (slurm_conf.private_data & PRIVATE_DATA_JOBS) != 0;
	site->max_rpc_count = max_rpc_count(slurm_conf.sched_params);
	unlock_slurmctld(config_lock);
}

void fs_slurm_site_clear(fs_slurm_site_t *site)
{
	for (size_t i = 0; i < sizeof(site->strings) / sizeof(site->strings[0]); i++)
		xfree(site->strings[i]);
	xfree(site->state_dir);
	*site = (fs_slurm_site_t){0};
}

bool fs_slurm_many_rpcs(int max)
{
	bool many;

	if (max <= 0)
		return false;
	slurm_mutex_lock(&slurmctld_config.thread_count_lock);
	many = slurmctld_config.server_thread_count >= max;
	slurm_mutex_unlock(&slurmctld_config.thread_count_lock);
	return many;
}

/* Read without a lock, as Slurm's own backfill does: a stale value is seen at the next poll. */
fs_pulse_times_t fs_slurm_times(void)
{
	return (fs_pulse_times_t){
		.jobs = __atomic_load_n(&last_job_update, __ATOMIC_RELAXED),
		.nodes = __atomic_load_n(&last_node_update, __ATOMIC_RELAXED),
		.parts = __atomic_load_n(&last_part_update, __ATOMIC_RELAXED),
		.resvs = __atomic_load_n(&last_resv_update, __ATOMIC_RELAXED),
		.config = __atomic_load_n(&slurm_conf.last_update, __ATOMIC_RELAXED),
		.submits = __atomic_load_n(&slurmctld_diag_stats.jobs_submitted, __ATOMIC_RELAXED),
		.ends = (uint64_t)__atomic_load_n(&slurmctld_diag_stats.jobs_completed,
						  __ATOMIC_RELAXED) +
			__atomic_load_n(&slurmctld_diag_stats.jobs_canceled, __ATOMIC_RELAXED) +
			__atomic_load_n(&slurmctld_diag_stats.jobs_failed, __ATOMIC_RELAXED),
	};
}

int64_t fs_slurm_next_begin(time_t now)
{
	static const slurmctld_lock_t job_lock = { .job = READ_LOCK };
	fs_list_iterator_t *jobs;
	job_record_t *job;
	int64_t next = FS_NEVER;

	lock_slurmctld(job_lock);
	jobs = list_iterator_create(job_list);
	while ((job = list_next(jobs)))
		if (IS_JOB_PENDING(job) && job->details && job->details->begin_time > now &&
		    job->details->begin_time < next)
			next = job->details->begin_time;
	list_iterator_destroy(jobs);
	unlock_slurmctld(job_lock);
	return next;
}

void fs_slurm_count_cycle(time_t now, uint32_t microseconds, uint32_t queued, uint32_t looked_at,
			  uint32_t placed)
{
	diag_stats_t *stats = &slurmctld_diag_stats;

	lock();
	stats->bf_when_last_cycle = now;
	stats->bf_cycle_counter++;
	stats->bf_cycle_last = microseconds;
	stats->bf_cycle_sum += microseconds;
	if (stats->bf_cycle_max < microseconds)
		stats->bf_cycle_max = microseconds;
	stats->bf_queue_len = queued;
	stats->bf_queue_len_sum += queued;
	stats->bf_last_depth = looked_at;
	stats->bf_depth_sum += looked_at;
	stats->bf_last_depth_try = placed;
	stats->bf_depth_try_sum += placed;
	stats->bf_table_size = placed;
	stats->bf_table_size_sum += placed;
	unlock();
}

bool fs_slurm_is_idle(void)
{
	return slurmctld_config.shutdown_time || slurmctld_config.scheduling_disabled;
}
