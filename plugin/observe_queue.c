/*
 * observe_queue: the pending queue, as Slurm's own build_job_queue() has it.
 *
 * Slurm decides which jobs are eligible (holds, dependencies, begin times, partitions, array
 * tasks) and in which order; a record of its queue is an option of the job that it belongs to.
 * Jobs that wait for nothing but their begin time or their array's %N are added behind it, so that
 * they are planned and the plugin wakes in time.
 *
 * Three passes: look_at_queue() reads the records and asks Slurm for nodes, look_prepare_jobs()
 * adds limits and tags under the association manager's locks, which must not be held in the
 * first, and look_add_jobs() fills the snapshot when no lock is held any more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <stdlib.h>
#include <string.h>

/* Slurm's build_job_queue() stops without a word after so long, in microseconds. */
#define BUILD_TIMEOUT 2000000

static int64_t build_timeout(void)
{
	const char *at = slurm_conf.sched_params ?
				 xstrcasestr(slurm_conf.sched_params, "build_queue_timeout=") :
				 NULL;
	int64_t value = at ? strtoll(at + strlen("build_queue_timeout="), NULL, 10) : 0;

	return value >= 100 ? value : BUILD_TIMEOUT;
}

static int64_t elapsed_us(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - start->tv_sec) * 1000000 +
	       (now.tv_nsec - start->tv_nsec) / 1000;
}

/* The reservation that a queue record runs in: one that it was given (magnetic, or one of a list)
 * or the job's own. */
static slurmctld_resv_t *reservation_of(const job_queue_rec_t *record)
{
	const job_record_t *job = record->job_ptr;

	if (record->resv_ptr)
		return record->resv_ptr;
	if (!job->resv_name || !*job->resv_name)
		return NULL;
	return job->resv_ptr ? job->resv_ptr : find_resv_name(job->resv_name);
}

/* The job of a record, as the number of its look_job_t. */
static look_job_t *job_of(look_t *look, fs_table_t *numbers, const job_queue_rec_t *record)
{
	job_record_t *job = record->job_ptr;
	look_job_t *grown;
	bool added;
	int32_t number = fs_table_put(numbers, &job, sizeof(job), (int32_t)look->job_count,
				      &added);

	if (number < 0) {
		look->failed = true;
		return NULL;
	}
	if (!added)
		return &look->jobs[number];
	grown = look_grow(look, look->jobs, sizeof(*grown), look->job_count + 1,
			  &look->job_capacity);
	if (!grown)
		return NULL;
	look->jobs = grown;
	grown[look->job_count] = (look_job_t){.job = job,
					      .number = job->job_id,
					      .arrival = job->details->submit_time};
	return &grown[look->job_count++];
}

/* Seconds that a job's resources are taken: its limit and all grace. */
static int64_t duration_of(const look_t *look, const job_record_t *job, const part_record_t *part)
{
	uint32_t minutes = job->time_limit;
	int64_t grace = look_grace(look, part);

	/* As select_nodes() does when it starts the job. */
	if (minutes == NO_VAL)
		minutes = part->default_time != NO_VAL ? part->default_time : part->max_time;
	if (minutes == INFINITE || minutes == NO_VAL || grace == FS_NEVER)
		return FS_NEVER;
	return (int64_t)minutes * 60 + grace;
}

static int compare_nodes(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a;
	int32_t y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* A hostlist of refused nodes to the snapshot's indices, ascending, each once. */
static void refuse_nodes(look_t *look, const char *hosts, look_option_t *option)
{
	fs_hostlist_t *list = hostlist_create(hosts);
	int32_t *found;
	size_t count = 0;
	char *host;

	if (!list)
		return;
	found = calloc(look->node_count + 1, sizeof(*found));
	if (!found)
		look->failed = true;
	while (found && count < look->node_count && (host = hostlist_shift(list))) {
		const node_record_t *node = find_node_record(host);

		if (node && look->node_index[node->index] >= 0)
			found[count++] = look->node_index[node->index];
		free(host);
	}
	hostlist_destroy(list);
	if (!found)
		return;
	qsort(found, count, sizeof(*found), compare_nodes);
	for (size_t i = 0; i < count; i++) {
		if (!option->option.refusals || found[option->option.refusals - 1] != found[i])
			found[option->option.refusals++] = found[i];
	}
	option->refused_on = found;
	option->option.refused_on = found;
}

static void fold_refusal(look_t *look, const job_record_t *job, look_option_t *option)
{
	const fs_refusal_t *refusal;

	if (!look->refusals)
		return;
	refusal = fs_refusals_find(look->refusals, job->job_id, option->part->name, look->now);
	if (!refusal)
		return;
	if (refusal->kind == FS_REFUSED_NODES) {
		if (refusal->nodes)
			refuse_nodes(look, refusal->nodes, option);
		return;
	}
	option->refused = refusal->why ? refusal->why : "refused";
	option->refused_until = refusal->retry;
}

/* What of a job depends on the partition (memory, CPUs) stands in its record for the partition
 * that build_job_queue() came to last: have Slurm write it for this one. */
static bool adapt_to_partition(job_record_t *job, part_record_t *part)
{
	bool fits;

	if (!job->part_ptr_list || job->part_ptr == part)
		return true;
	job->part_ptr = part;
	fits = job_limits_check(&job, false) == WAIT_NO_REASON;
	return fits;
}

static void add_record(look_t *look, const job_queue_rec_t *record, uint32_t cookie)
{
	fs_record_t *kept = &look->out->records[cookie];
	const slurmdb_qos_rec_t *qos = fs_queue_record_qos(record);
	bool given = record->resv_ptr;

	kept->job_id = record->job_ptr->job_id;
	kept->partition = strdup(record->part_ptr->name);
	kept->reservation = given ? strdup(record->resv_ptr->name) : NULL;
	kept->use_prefer = record->use_prefer;
	kept->priority = record->priority;
	kept->qos_id = qos ? qos->id : record->job_ptr->qos_id;
	kept->fingerprint = fs_record_fingerprint(record->job_ptr, record->part_ptr);
	if (!kept->partition || (given && !kept->reservation))
		look->failed = true;
	look->out->record_count = (size_t)cookie + 1;
}

static void add_option(look_t *look, fs_table_t *numbers, const job_queue_rec_t *record,
		       int64_t rank)
{
	look_option_t *option = &look->options[look->option_count];
	slurmctld_resv_t *resv = reservation_of(record);
	const look_class_t *class;
	look_job_t *job;
	fs_ask_t ask;

	if (!adapt_to_partition(record->job_ptr, record->part_ptr))
		return;
	class = look_class(look, record->job_ptr, record->part_ptr, resv, record->use_prefer);
	job = class ? job_of(look, numbers, record) : NULL;
	if (!job)
		return;
	look_ask(look, record->job_ptr, record->part_ptr, class, &ask);
	*option = (look_option_t){.part = record->part_ptr, .resv = resv};
	option->opaque = !fs_request_from(&ask, &option->option.request);
	option->option.node_class = class->index;
	option->option.duration = duration_of(look, record->job_ptr, record->part_ptr);
	option->option.tier = record->part_ptr->priority_tier;
	option->option.rank = rank;
	option->option.cookie = (uint32_t)look->option_count;
	fold_refusal(look, record->job_ptr, option);
	if (class->unusable) {
		option->refused = class->unusable;
		option->refused_until = FS_NEVER;
	}
	add_record(look, record, option->option.cookie);
	look->option_count++;
	if (job->last)
		look->options[job->last - 1].next = look->option_count;
	else
		job->first = look->option_count;
	job->last = look->option_count;
}

/* Jobs that only Slurm's own backfill can start. */
static bool is_supported(const job_record_t *job)
{
	return !job->het_job_id && !job->burst_buffer && job->details &&
	       (job->details->min_nodes || job->details->max_nodes);
}

static bool may_start(const job_queue_rec_t *record)
{
	return record->job_ptr && record->part_ptr && record->job_ptr->details &&
	       IS_JOB_PENDING(record->job_ptr) && record->part_ptr->state_up & PARTITION_SCHED;
}

/* A job that an administrator put before all others: its priority was set by hand, and no job
 * with a computed one stands before it in its tier. */
static void mark_top(look_t *look, bool *computed_before, int64_t *tier,
		     const job_queue_rec_t *record, fs_table_t *numbers)
{
	job_record_t *job = record->job_ptr;
	int32_t number = fs_table_get(numbers, &job, sizeof(job), -1);

	if (record->part_ptr->priority_tier != *tier) {
		*tier = record->part_ptr->priority_tier;
		*computed_before = false;
	}
	if (!job->direct_set_prio)
		*computed_before = true;
	else if (number >= 0 && !*computed_before)
		look->jobs[number].on_top = true;
}

/* 0, or the time before which a job may not start. */
static int64_t begin_of(const look_t *look, const job_record_t *job)
{
	return job->details->begin_time > look->now ? (int64_t)job->details->begin_time : 0;
}

/* Waits for its begin time in the horizon, or for other tasks of its array to end (%N), and for
 * nothing else. */
static bool waits_its_turn(const look_t *look, const job_record_t *job)
{
	const fs_job_details_t *details = job->details;
	bool later;

	if (!IS_JOB_PENDING(job) || IS_JOB_COMPLETING(job) || !details || !job->priority ||
	    details->dependency || (details->depend_list && list_count(details->depend_list)))
		return false;
	later = details->begin_time > look->now && details->begin_time < look->horizon_end;
	/* build_job_queue() has just written this reason. */
	return later || (job->state_reason == WAIT_ARRAY_TASK_LIMIT &&
			 details->begin_time <= look->now);
}

static void append_later(fs_list_t *queue, job_record_t *job, part_record_t *part)
{
	part_record_t *before = job->part_ptr;
	job_queue_rec_t *record;
	bool fits;

	job->part_ptr = part;
	fits = job_limits_check(&job, false) == WAIT_NO_REASON;
	job->part_ptr = before;
	if (!fits)
		return;
	record = xmalloc(sizeof(*record));
	record->array_task_id = job->array_task_id;
	record->job_id = job->job_id;
	record->job_ptr = job;
	record->part_ptr = part;
	record->priority = job->priority;
	list_append(queue, record);
}

/* They stand last: Slurm gives them no place before that. */
static void append_all_later(const look_t *look, fs_list_t *queue)
{
	fs_list_iterator_t *at = list_iterator_create(job_list);
	job_record_t *job;

	while ((job = list_next(at))) {
		fs_list_iterator_t *parts;
		part_record_t *part;

		if (!waits_its_turn(look, job))
			continue;
		if (!job->part_ptr_list) {
			if (job->part_ptr)
				append_later(queue, job, job->part_ptr);
			continue;
		}
		parts = list_iterator_create(job->part_ptr_list);
		while ((part = list_next(parts)))
			append_later(queue, job, part);
		list_iterator_destroy(parts);
	}
	list_iterator_destroy(at);
}

static void read_records(look_t *look, fs_list_t *queue, int64_t eligible)
{
	fs_table_t *numbers = fs_table_new();
	fs_table_t *skipped = fs_table_new();
	fs_list_iterator_t *at = list_iterator_create(queue);
	job_queue_rec_t *record;
	bool computed_before = false;
	int64_t tier = INT64_MAX;
	int64_t rank = 0;

	if (!numbers || !skipped)
		look->failed = true;
	while (!look->failed && (record = list_next(at))) {
		bool added = false;

		rank++;
		if (!may_start(record))
			continue;
		if (!is_supported(record->job_ptr)) {
			fs_table_put(skipped, &record->job_id, sizeof(record->job_id), 0, &added);
			look->out->unsupported += added;
			continue;
		}
		add_option(look, numbers, record, rank);
		if (rank <= eligible)
			mark_top(look, &computed_before, &tier, record, numbers);
	}
	list_iterator_destroy(at);
	fs_table_free(numbers);
	fs_table_free(skipped);
}

void look_at_queue(look_t *look)
{
	struct timespec start;
	fs_list_t *queue;
	int64_t eligible;
	size_t count;

	clock_gettime(CLOCK_MONOTONIC, &start);
	queue = build_job_queue(false, false);
	if (!queue)
		return;
	look->out->truncated = elapsed_us(&start) >= build_timeout();
	sort_job_queue(queue);
	eligible = list_count(queue);
	append_all_later(look, queue);
	count = (size_t)list_count(queue);
	look->options = calloc(count + 1, sizeof(*look->options));
	look->out->records = calloc(count + 1, sizeof(*look->out->records));
	if (look->options && look->out->records)
		read_records(look, queue, eligible);
	else
		look->failed = true;
	list_destroy(queue);
}

/* Tasks that an array's record still holds; 1 for a job. */
static int32_t pending_tasks(const job_record_t *job)
{
	if (!job->array_recs || job->array_task_id != NO_VAL || !job->array_recs->task_cnt)
		return 1;
	return job->array_recs->task_cnt < INT32_MAX ? (int32_t)job->array_recs->task_cnt :
						       INT32_MAX;
}

/* Per-job maxima depend on the partition's QOS: an option over one never starts.  Leaves the
 * limits of the first option that may start in look->uses. */
static void add_limits(look_t *look, const look_job_t *job)
{
	part_record_t *usable = NULL;
	part_record_t *last = NULL;

	for (size_t i = job->first; i; i = look->options[i - 1].next) {
		look_option_t *option = &look->options[i - 1];
		const char *never = look_limits(look, job->job, option->part, false);

		last = option->part;
		if (never) {
			option->refused = never;
			option->refused_until = FS_NEVER;
		} else if (!usable) {
			usable = option->part;
		}
	}
	if (usable && usable != last)
		look_limits(look, job->job, usable, false);
}

/* The options of a job in one array; those that are refused go, unless all are: then the job
 * itself is refused until the first of them may be tried again. */
static size_t usable_options(const look_t *look, const look_job_t *job, fs_option *options,
			     fs_job *added)
{
	size_t count = 0;
	int64_t retry = FS_NEVER;
	const char *why = NULL;
	bool all_refused = true;

	for (size_t i = job->first; i; i = look->options[i - 1].next)
		all_refused = all_refused && look->options[i - 1].refused;
	for (size_t i = job->first; i; i = look->options[i - 1].next) {
		const look_option_t *option = &look->options[i - 1];

		added->opaque = added->opaque || option->opaque;
		if (option->refused && !all_refused)
			continue;
		if (!why || (option->refused && option->refused_until <= retry)) {
			retry = option->refused_until;
			why = option->refused;
		}
		options[count++] = option->option;
	}
	if (all_refused) {
		added->refused = why;
		added->retry = retry;
	}
	return count;
}

/* Copies look->uses behind those of the jobs before; the offset. */
static size_t keep_uses(look_t *look)
{
	size_t at = look->kept_count;
	fs_limit_use *grown = look_grow(look, look->kept, sizeof(*grown), at + look->use_count,
					&look->kept_capacity);

	if (!grown && look->use_count)
		return 0;
	look->kept = grown;
	if (look->use_count)
		memcpy(grown + at, look->uses, look->use_count * sizeof(*grown));
	look->kept_count += look->use_count;
	return at;
}

static void prepare_job(look_t *look, look_job_t *job)
{
	job_record_t *record = job->job;
	fs_job *added = &job->added;
	fs_job_tags tags;

	*added = (fs_job){.key = record->job_id, .submit = job->arrival};
	look_job_id(record, job->id, sizeof(job->id));
	look_tags(record, look->options[job->first - 1].part, &tags);
	add_limits(look, job);
	job->kept = keep_uses(look);
	added->limit_count = look->use_count;
	added->priority = fs_settings_weight(look->settings, &tags, &added->kind);
	added->app = fs_settings_app_of(look->settings, &tags);
	added->tasks = pending_tasks(record);
	added->on_top = job->on_top;
	added->begin = begin_of(look, record);
}

static int compare_arrival(const void *a, const void *b)
{
	const look_job_t *x = a;
	const look_job_t *y = b;

	if (x->arrival != y->arrival)
		return x->arrival < y->arrival ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

void look_prepare_jobs(look_t *look)
{
	if (look->job_count)
		qsort(look->jobs, look->job_count, sizeof(*look->jobs), compare_arrival);
	for (size_t i = 0; i < look->job_count && !look->failed; i++)
		prepare_job(look, &look->jobs[i]);
}

void look_add_jobs(look_t *look)
{
	fs_option *options = calloc(look->option_count + 1, sizeof(*options));

	if (!options) {
		look->failed = true;
		return;
	}
	for (size_t i = 0; i < look->job_count && !look->failed; i++) {
		look_job_t *job = &look->jobs[i];

		job->added.id = job->id;
		job->added.limits = look->kept + job->kept;
		job->added.options = options;
		job->added.option_count = usable_options(look, job, options, &job->added);
		if (fs_snapshot_add_job(look->snapshot, &job->added) < 0)
			look->failed = true;
	}
	free(options);
}
