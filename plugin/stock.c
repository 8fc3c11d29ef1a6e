/*
 * stock: Slurm's own backfill, compiled in from the site's tree, cycle by cycle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm's backfill.c is included whole, so that its static functions can be called: its own
 * thread can't be switched off and on again, ours can.  It is foreign code, hence no warnings.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wdeclaration-after-statement"
#pragma GCC diagnostic ignored "-Wformat-truncation"
#include FORESIGHT_BACKFILL_C
#pragma GCC diagnostic pop

#include "stock.h"

#include <sys/prctl.h>

static const slurmctld_lock_t pass_locks = {
	.conf = READ_LOCK,
	.job = WRITE_LOCK,
	.node = WRITE_LOCK,
	.part = READ_LOCK,
	.fed = READ_LOCK,
};
static const slurmctld_lock_t look_locks = { .conf = READ_LOCK, .job = READ_LOCK };
static const slurmctld_lock_t node_locks = { .node = WRITE_LOCK };

/* The switch.  `mutex` is never held while one of slurmctld's locks is waited for. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running;	/* the thread exists */
static bool stopping;
static bool on;
static bool passing;	/* a pass is under way */
static time_t due;	/* of the next pass */
static time_t last_pass;

/* Slurm's own flag: looked at where a pass yields the locks. */
static void set_break_off(bool value)
{
	slurm_mutex_lock(&term_lock);
	stop_backfill = value;
	slurm_cond_signal(&term_cond);
	slurm_mutex_unlock(&term_lock);
}

static int interval(void)
{
	return backfill_interval > 0 ? backfill_interval : BACKFILL_INTERVAL;
}

/* Slurm's reader takes no lock of its own. */
static void load_configuration(void)
{
	lock_slurmctld(look_locks);
	_load_config();
	unlock_slurmctld(look_locks);
}

static void reload_when_asked(void)
{
	bool asked;

	slurm_mutex_lock(&config_lock);
	asked = config_flag;
	config_flag = false;
	slurm_mutex_unlock(&config_lock);
	if (asked)
		load_configuration();
}

/* What Slurm's own thread asks before a pass. */
static bool pass_is_wanted(void)
{
	bool completing;

	if (slurmctld_config.scheduling_disabled || slurmctld_config.shutdown_time ||
	    backfill_interval == -1)
		return false;
	lock_slurmctld(look_locks);
	completing = !job_list || job_is_completing(NULL);
	unlock_slurmctld(look_locks);
	return !completing && !_many_pending_rpcs() && avail_front_end(NULL) &&
	       _more_work(last_pass);
}

static void set_bf_active(uint32_t value)
{
	/* While it is set slurmctld purges no job record: a pass keeps pointers to them while it
	 * yields the locks. */
	slurm_mutex_lock(&check_bf_running_lock);
	slurmctld_diag_stats.bf_active = value;
	slurm_mutex_unlock(&check_bf_running_lock);
}

static void pass(void)
{
	set_bf_active(1);
	lock_slurmctld(pass_locks);
	if (!planned_bitmap || bit_size(planned_bitmap) != node_record_count) {
		FREE_NULL_BITMAP(planned_bitmap);
		planned_bitmap = bit_alloc(node_record_count);
	}
	if (!het_job_list)
		het_job_list = list_create(_het_job_map_del);
	list_flush(het_job_list);
	_attempt_backfill();
	last_pass = time(NULL);
	(void) bb_g_job_try_stage_in();
	unlock_slurmctld(pass_locks);
	set_bf_active(0);
}

/* Rests until a pass is due, a second at a time once it is.  False: the thread is to end. */
static bool wait_for_turn(void)
{
	bool go_on;

	slurm_mutex_lock(&mutex);
	passing = false;
	slurm_cond_broadcast(&turned);
	while (!stopping && !(on && time(NULL) >= due)) {
		struct timespec until = { .tv_sec = due };

		if (on)
			slurm_cond_timedwait(&turned, &mutex, &until);
		else
			slurm_cond_wait(&turned, &mutex);
	}
	go_on = !stopping;
	passing = go_on;
	if (go_on)
		set_break_off(false);
	due = time(NULL) + 1;
	slurm_mutex_unlock(&mutex);
	return go_on;
}

static void set_due(time_t when)
{
	slurm_mutex_lock(&mutex);
	if (on)
		due = when;
	slurm_mutex_unlock(&mutex);
}

static void *stock_thread(void *unused)
{
	(void)unused;
	(void)prctl(PR_SET_NAME, "fs-backfill", 0, 0, 0);
	while (wait_for_turn()) {
		reload_when_asked();
		if (!pass_is_wanted())
			continue;
		pass();
		set_due(last_pass + interval());
	}
	return NULL;
}

int fs_stock_start(void)
{
	int rc;

	stopping = on = passing = false;
	due = last_pass = 0;
	stop_backfill = config_flag = false;
	load_configuration();
	rc = pthread_create(&thread, NULL, stock_thread, NULL);
	running = !rc;
	return rc;
}

void fs_stock_stop(void)
{
	if (!running)
		return;
	slurm_mutex_lock(&mutex);
	stopping = true;
	on = false;
	slurm_cond_broadcast(&turned);
	slurm_mutex_unlock(&mutex);
	set_break_off(true);
	(void)pthread_join(thread, NULL);
	running = false;
	FREE_NULL_LIST(het_job_list);
	xhash_free(user_usage_map);
	FREE_NULL_BITMAP(planned_bitmap);
}

void fs_stock_switch_on(void)
{
	slurm_mutex_lock(&mutex);
	if (!on) {
		on = true;
		due = last_pass = 0;
		slurm_cond_broadcast(&turned);
	}
	slurm_mutex_unlock(&mutex);
}

void fs_stock_switch_off(void)
{
	slurm_mutex_lock(&mutex);
	if (!on) {
		slurm_mutex_unlock(&mutex);
		return;
	}
	on = false;
	slurm_cond_broadcast(&turned);
	while (passing) {
		struct timespec until = { .tv_sec = time(NULL) + 1 };

		/* Again each second: the pass may have begun after the flag was set. */
		set_break_off(true);
		slurm_cond_timedwait(&turned, &mutex, &until);
	}
	slurm_mutex_unlock(&mutex);

	lock_slurmctld(node_locks);
	_handle_planned(false);
	unlock_slurmctld(node_locks);
}

void fs_stock_reconfigure(void)
{
	backfill_reconfig();
}
