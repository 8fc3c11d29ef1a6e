/*
 * observe_reservations: Slurm's reservations as closures of node classes.
 *
 * Slurm compares a job's limit with a reservation's start, not the limit and all grace; closures
 * start later by the class's grace, so that a job which Slurm lets in still fits.  (Its durations
 * have the same grace.)
 *
 * Left to Slurm: reservations without nodes (licences), of any nodes, and future ones of parts of
 * nodes; a present one of parts is held by a stand-in job.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <stdlib.h>

#define HOUR 3600
#define DAY (24 * HOUR)
#define MOST_WINDOWS 64

/* The next occurrence, by the calendar: days have 23 to 25 hours. */
static time_t advance(time_t when, uint64_t flags)
{
	struct tm tm;
	int days = 1;

	if (flags & RESERVE_FLAG_HOURLY)
		return when + HOUR;
	if (!localtime_r(&when, &tm))
		return when + DAY;
	if (flags & RESERVE_FLAG_WEEKLY)
		days = 7;
	else if (flags & RESERVE_FLAG_WEEKDAY)
		days = tm.tm_wday == 5 ? 3 : tm.tm_wday == 6 ? 2 : 1;
	else if (flags & RESERVE_FLAG_WEEKEND)
		days = tm.tm_wday == 0 ? 6 : tm.tm_wday == 6 ? 1 : 6 - tm.tm_wday;
	tm.tm_mday += days;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

/* The present occurrence, as Slurm counts it. */
static look_window_t first_window(const look_t *look, const slurmctld_resv_t *resv)
{
	look_window_t window = {.from = resv->start_time_first, .until = resv->end_time};

	if (resv->flags & RESERVE_FLAG_TIME_FLOAT) {
		/* It stays ahead by its offset; to the minute, so that it does not move with every
		 * look. */
		window.from = (look->now / 60) * 60 + resv->start_time;
		window.until = FS_NEVER;
	} else if (window.from > resv->start_time || !window.from) {
		window.from = resv->start_time;
	}
	return window;
}

size_t look_windows(const look_t *look, const slurmctld_resv_t *resv, look_window_t *windows,
		    size_t most)
{
	look_window_t window = first_window(look, resv);
	time_t start = resv->start_time;
	time_t end = resv->end_time;
	size_t count = 0;

	for (int i = 0; count < most && i < 10 * MOST_WINDOWS; i++) {
		time_t next;

		if (window.from >= look->horizon_end)
			break;
		if (window.until > look->now && window.until > window.from)
			windows[count++] = window;
		if (!(resv->flags & RESERVE_REOCCURING) || resv->flags & RESERVE_FLAG_TIME_FLOAT)
			break;
		next = advance(start, resv->flags);
		if (next <= start)
			break;
		end += next - start;
		start = next;
		window = (look_window_t){.from = start, .until = end};
	}
	return count;
}

/* Whether a job of the class is kept out of another reservation's nodes (job_test_resv). */
static bool keeps_out(const slurmctld_resv_t *other, const job_record_t *job,
		      const slurmctld_resv_t *own)
{
	bool partial = fs_reservation_is_partial(other);

	if (!other->node_bitmap || other == own)
		return false;
	if (own) {
		if (own->flags & RESERVE_FLAG_MAINT)
			return false;
		if (own->flags & RESERVE_FLAG_OVERLAP && !(other->flags & RESERVE_FLAG_MAINT))
			return false;
		return !partial;
	}
	if (!job)
		return !partial;
	if (job->warn_flags & KILL_JOB_RESV && job->warn_time <= other->max_start_delay)
		return false;
	return !partial || fs_takes_whole_nodes(job->details->whole_node);
}

static void close_window(look_t *look, int32_t class_index, bitstr_t *nodes,
			 bitstr_t *reserved, int64_t from, int64_t until)
{
	if (until <= from)
		return;
	for (size_t i = 0; i < look->node_count; i++) {
		int at = look->nodes[i].slurm_index;

		if (!bit_test(nodes, at) || (reserved && !bit_test(reserved, at)))
			continue;
		if (fs_snapshot_close(look->snapshot, class_index, (int32_t)i, from, until) < 0)
			look->failed = true;
	}
}

void look_close_reserved(look_t *look, int32_t class_index, bitstr_t *nodes,
			 const job_record_t *job, const slurmctld_resv_t *own, int64_t grace)
{
	look_window_t windows[MOST_WINDOWS];
	fs_list_iterator_t *at;
	slurmctld_resv_t *other;

	if (!resv_list)
		return;
	at = list_iterator_create(resv_list);
	while ((other = list_next(at))) {
		size_t count;

		if (!keeps_out(other, job, own))
			continue;
		count = look_windows(look, other, windows, MOST_WINDOWS);
		for (size_t i = 0; i < count; i++) {
			int64_t from = windows[i].from;

			/* It stands: nothing may start there, however short. */
			from = from <= look->now ? LOOK_ALWAYS : from + grace;
			close_window(look, class_index, nodes, other->node_bitmap, from,
				     windows[i].until);
		}
	}
	list_iterator_destroy(at);
}

void look_close_outside(look_t *look, int32_t class_index, bitstr_t *nodes,
			const slurmctld_resv_t *resv)
{
	look_window_t window;

	if (resv->flags & RESERVE_FLAG_FLEX)
		return;
	/* Only until it begins: a job starts before the reservation ends and is stopped by Slurm
	 * a little after that, so a closure at its end would forbid what Slurm allows. */
	if (!look_windows(look, resv, &window, 1))
		window.from = FS_NEVER;
	if (window.from > look->now)
		close_window(look, class_index, nodes, NULL, LOOK_ALWAYS, window.from);
}

/* What a reservation of parts of nodes holds on each node beyond its own jobs. */
typedef struct {
	int64_t *cpus;		/* of its running jobs, by node */
	uint64_t *gpus;
	fs_share *shares;
	size_t count;
} part_t;

static void count_own(look_t *look, int32_t node, const fs_share *share, void *context)
{
	part_t *part = context;

	(void)look;
	part->cpus[node] += share->cpus;
	part->gpus[node] |= share->gpus;
}

static void take_rest(look_t *look, int32_t node, const fs_share *share, void *context)
{
	part_t *part = context;
	fs_share *rest = &part->shares[part->count];

	if (part->count >= look->node_count)
		return;
	*rest = (fs_share){.node = node};
	rest->cpus = share->cpus > part->cpus[node] ? share->cpus - part->cpus[node] : 0;
	rest->gpus = share->gpus & ~part->gpus[node];
	if (rest->cpus || rest->gpus)
		part->count++;
}

static void count_jobs_in(look_t *look, const slurmctld_resv_t *resv, part_t *part)
{
	fs_list_iterator_t *at = list_iterator_create(job_list);
	job_record_t *job;

	while ((job = list_next(at))) {
		if (look_is_running(job) && job->resv_id == resv->resv_id)
			look_visit_shares(look, job->job_resrcs, job->gres_list_alloc, count_own,
					  part);
	}
	list_iterator_destroy(at);
}

static void add_part(look_t *look, const slurmctld_resv_t *resv, const look_window_t *window)
{
	part_t part = {.cpus = calloc(look->node_count + 1, sizeof(*part.cpus)),
		       .gpus = calloc(look->node_count + 1, sizeof(*part.gpus)),
		       .shares = calloc(look->node_count + 1, sizeof(*part.shares))};
	fs_running running = {.id = resv->name, .app = -1, .start = window->from,
			      .end = window->until};

	if (part.cpus && part.gpus && part.shares) {
		count_jobs_in(look, resv, &part);
		look_visit_shares(look, resv->core_resrcs, fs_reservation_gres(resv), take_rest,
				  &part);
		running.shares = part.shares;
		running.share_count = part.count;
		if (part.count && fs_snapshot_add_running(look->snapshot, &running) < 0)
			look->failed = true;
	} else {
		look->failed = true;
	}
	free(part.cpus);
	free(part.gpus);
	free(part.shares);
}

void look_add_partial_reservations(look_t *look)
{
	fs_list_iterator_t *at;
	slurmctld_resv_t *resv;

	if (!resv_list)
		return;
	at = list_iterator_create(resv_list);
	while ((resv = list_next(at)) && !look->failed) {
		look_window_t window;

		if (!fs_reservation_is_partial(resv) || !resv->core_resrcs ||
		    !resv->core_resrcs->node_bitmap ||
		    !look_windows(look, resv, &window, 1) || window.from > look->now)
			continue;
		add_part(look, resv, &window);
	}
	list_iterator_destroy(at);
}
