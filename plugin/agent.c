/*
 * agent: the thread that schedules, and its cycle: observe, plan, apply, publish.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "agent.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "cycle.h"
#include "planning.h"
#include "pulse.h"
#include "slurm_ops.h"

#define POLL_MS 200

/* The plugin's only state.  All of it is made anew by fs_agent_start(): Slurm may load a plugin,
 * end it and load it again in one process. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_t thread;
	bool running;
	atomic_bool stop;
	bool reconfigure;
	fs_planning_t *planning;
} agent = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
};

static int64_t monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sleeps for a poll's time at the most.  False: the plugin ends. */
static bool doze(bool *reconfigure)
{
	struct timespec until;
	bool go_on;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += POLL_MS * 1000000L;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&agent.mutex);
	if (!atomic_load(&agent.stop))
		pthread_cond_timedwait(&agent.wake, &agent.mutex, &until);
	go_on = !atomic_load(&agent.stop);
	*reconfigure = *reconfigure || agent.reconfigure;
	agent.reconfigure = false;
	pthread_mutex_unlock(&agent.mutex);
	return go_on;
}

static bool is_due(const fs_pulse_t *pulse)
{
	fs_pulse_times_t times = fs_slurm_times();

	return fs_pulse_is_due(pulse, &times, time(NULL), monotonic_ms());
}

static void look(fs_cycle_t *cycle, fs_pulse_t *pulse)
{
	int64_t start = monotonic_ms(), end;

	fs_cycle_run(cycle, pulse);
	end = monotonic_ms();
	fs_pulse_looked(pulse, end, end - start, fs_cycle_interval(cycle));
}

static void *agent_thread(void *unused)
{
	fs_pulse_t pulse = { .edge = FS_NEVER };
	fs_cycle_t *cycle = NULL;
	bool reconfigure = false;

	(void)unused;
	(void)prctl(PR_SET_NAME, "foresight", 0, 0, 0);
	while (doze(&reconfigure)) {
		if (fs_slurm_is_idle())
			continue;
		if (!cycle)
			cycle = fs_cycle_new(agent.planning, &agent.stop);
		else if (reconfigure)
			fs_cycle_reload(cycle);
		if (!cycle)
			continue;
		pulse.again = pulse.again || reconfigure;
		reconfigure = false;
		if (is_due(&pulse) && fs_cycle_may_look(cycle))
			look(cycle, &pulse);
	}
	fs_cycle_free(cycle);
	return NULL;
}

int fs_agent_start(void)
{
	pthread_condattr_t clock;
	int rc;

	if (agent.running)
		return EBUSY;
	atomic_store(&agent.stop, false);
	agent.reconfigure = false;
	agent.planning = fs_planning_new(getenv("FORESIGHT_TEST_FAIL"));
	if (!agent.planning)
		return ENOMEM;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&agent.wake, &clock);
	pthread_condattr_destroy(&clock);

	rc = pthread_create(&agent.thread, NULL, agent_thread, NULL);
	if (rc) {
		fs_planning_free(agent.planning);
		pthread_cond_destroy(&agent.wake);
		return rc;
	}
	agent.running = true;
	return 0;
}

void fs_agent_stop(void)
{
	if (!agent.running)
		return;
	pthread_mutex_lock(&agent.mutex);
	atomic_store(&agent.stop, true);
	pthread_cond_broadcast(&agent.wake);
	pthread_mutex_unlock(&agent.mutex);
	fs_planning_stop(agent.planning);
	pthread_join(agent.thread, NULL);
	fs_planning_free(agent.planning);
	agent.planning = NULL;
	pthread_cond_destroy(&agent.wake);
	agent.running = false;
}

void fs_agent_reconfigure(void)
{
	if (!agent.running)
		return;
	pthread_mutex_lock(&agent.mutex);
	agent.reconfigure = true;
	pthread_cond_broadcast(&agent.wake);
	pthread_mutex_unlock(&agent.mutex);
}
