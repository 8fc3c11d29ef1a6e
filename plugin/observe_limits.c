/*
 * observe_limits: limits of associations, QOS and arrays, in the model's terms.
 *
 * A job adds to a limit what it asks for; running jobs add what they hold.  Which limit of a
 * resource counts is Slurm's rule (acct_policy.c): the partition's or job's QOS first, the other
 * QOS where that one is silent, the associations from the user's up to the root where both are.
 *
 * Left to Slurm, which refuses and so teaches the plan (refusals.h): limits of resource-minutes
 * and wall time, and node counts of jobs that share nodes (Slurm counts each node once).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_SIZE 128

/* The scopes of limits, as part of their keys. */
enum scope { SCOPE_QOS, SCOPE_QOS_USER, SCOPE_QOS_ACCOUNT, SCOPE_ASSOC, SCOPE_ARRAY };
/* In place of a resource's number. */
#define JOBS UINT64_C(0xffffffff)

typedef struct {
	look_t *look;
	const job_record_t *job;
	bool running;
	const uint64_t *counts;		/* by resource: asked for, or held */
	const uint16_t *admin;		/* by resource: set by an administrator, no limit then */
	bool whole_nodes;
	const char *never;
} limited_t;

static int32_t limit_index(look_t *look, const char *name, int64_t max)
{
	bool added;
	int32_t index = fs_table_put(look->limit_keys, look->key.bytes, look->key.size,
				     look->limit_count, &added);

	if (look->key.failed || index < 0) {
		look->failed = true;
		return -1;
	}
	if (added) {
		look->limit_count++;
		if (fs_snapshot_add_limit(look->snapshot, name, max) != index)
			look->failed = true;
	}
	return index;
}

static void use(look_t *look, int32_t limit, int64_t amount)
{
	fs_limit_use *grown;

	if (limit < 0)
		return;
	grown = look_grow(look, look->uses, sizeof(*grown), look->use_count + 1,
			  &look->use_capacity);
	if (!grown)
		return;
	look->uses = grown;
	grown[look->use_count++] = (fs_limit_use){.limit = limit, .amount = amount};
}

static void key_of(look_t *look, enum scope scope, uint64_t id, uint64_t what, const char *whom)
{
	fs_key_reset(&look->key);
	fs_key_number(&look->key, scope);
	fs_key_number(&look->key, id);
	fs_key_number(&look->key, what);
	fs_key_string(&look->key, whom);
}

static int64_t as_max(uint64_t max)
{
	return max > (uint64_t)INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)max;
}

/* "gpu", "gpu:a100", "cpu": how a resource is called in a limit's name. */
static const char *resource_name(uint64_t resource)
{
	const slurmdb_tres_rec_t *tres;

	if (resource == JOBS)
		return "jobs";
	tres = assoc_mgr_tres_array[resource];
	return tres->name && *tres->name ? tres->name : tres->type;
}

/* Whether a resource's limit says something about what a job will hold. */
static bool is_modelled(const limited_t *limited, uint32_t resource)
{
	if (resource == TRES_ARRAY_ENERGY || resource == TRES_ARRAY_BILLING ||
	    resource == TRES_ARRAY_VMEM || resource == TRES_ARRAY_FS_DISK)
		return false;
	/* Slurm counts a node once however many jobs share it. */
	if (resource == TRES_ARRAY_NODE && !limited->whole_nodes)
		return false;
	return limited->counts[resource] && limited->counts[resource] != NO_VAL64;
}

typedef struct {
	enum scope scope;
	uint64_t id;
	const char *owner;	/* "qos high", "account physics" */
	const char *whom;	/* user or account within a QOS, or NULL */
} holder_t;

static void add_use(limited_t *limited, const holder_t *holder, uint64_t resource, uint64_t max,
		    uint64_t amount)
{
	char name[NAME_SIZE];
	look_t *look = limited->look;

	snprintf(name, sizeof(name), "%s %s%s%s%s", resource_name(resource), holder->owner,
		 holder->whom ? " (" : "", holder->whom ? holder->whom : "",
		 holder->whom ? ")" : "");
	key_of(look, holder->scope, holder->id, resource, holder->whom);
	use(look, limit_index(look, name, as_max(max)), as_max(amount));
}

/* One array of limits, by resource.  `taken` is where a QOS has said its word; a pending job's
 * limits there are not looked at again.  A running job adds to all: they all count it. */
static void add_resources(limited_t *limited, const holder_t *holder, const uint64_t *limits,
			  bool *taken, bool takes)
{
	if (!limits)
		return;
	for (uint32_t i = 0; i < g_tres_count; i++) {
		bool counts = limits[i] != INFINITE64 && is_modelled(limited, i);

		if (limits[i] == INFINITE64 || (taken[i] && !limited->running))
			continue;
		if (limited->admin && limited->admin[i] == ADMIN_SET_LIMIT && !limited->running)
			continue;
		if (takes)
			taken[i] = true;
		if (counts)
			add_use(limited, holder, i, limits[i], limited->counts[i]);
	}
}

static void add_jobs(limited_t *limited, const holder_t *holder, uint32_t max, bool *taken,
		     bool takes)
{
	if (max == INFINITE || (*taken && !limited->running))
		return;
	if (takes)
		*taken = true;
	add_use(limited, holder, JOBS, max, 1);
}

/* MaxTRES of one job: a job over it never starts. */
static void check_job_size(limited_t *limited, const uint64_t *limits, bool *taken, bool takes,
			   const char *why)
{
	if (!limits || limited->running)
		return;
	for (uint32_t i = 0; i < g_tres_count; i++) {
		if (limits[i] == INFINITE64 || taken[i] ||
		    (limited->admin && limited->admin[i] == ADMIN_SET_LIMIT))
			continue;
		if (takes)
			taken[i] = true;
		if (limited->counts[i] != NO_VAL64 && limited->counts[i] > limits[i] &&
		    i != TRES_ARRAY_BILLING && i != TRES_ARRAY_ENERGY)
			limited->never = why;
	}
}

/* Where a QOS has set a limit already. */
typedef struct {
	bool *group;
	bool *user;
	bool *account;
	bool *job;
	bool group_jobs;
	bool user_jobs;
	bool account_jobs;
} taken_t;

static void add_qos(limited_t *limited, const slurmdb_qos_rec_t *qos, taken_t *taken)
{
	char owner[64];
	char user[16];
	const slurmdb_assoc_rec_t *assoc = limited->job->assoc_ptr;
	holder_t group = {.scope = SCOPE_QOS, .id = qos->id, .owner = owner};
	holder_t per_user = {.scope = SCOPE_QOS_USER, .id = qos->id, .owner = owner};
	holder_t per_account = {.scope = SCOPE_QOS_ACCOUNT, .id = qos->id, .owner = owner};

	snprintf(owner, sizeof(owner), "of qos %.40s", qos->name ? qos->name : "?");
	snprintf(user, sizeof(user), "%u", limited->job->user_id);
	per_user.whom = assoc && assoc->user ? assoc->user : user;
	per_account.whom = assoc && assoc->acct ? assoc->acct : "?";
	add_resources(limited, &group, qos->grp_tres_ctld, taken->group, true);
	add_resources(limited, &per_user, qos->max_tres_pu_ctld, taken->user, true);
	add_resources(limited, &per_account, qos->max_tres_pa_ctld, taken->account, true);
	check_job_size(limited, qos->max_tres_pj_ctld, taken->job, true, "over its QOS's MaxTRES");
	add_jobs(limited, &group, qos->grp_jobs, &taken->group_jobs, true);
	add_jobs(limited, &per_user, qos->max_jobs_pu, &taken->user_jobs, true);
	add_jobs(limited, &per_account, qos->max_jobs_pa, &taken->account_jobs, true);
}

static void add_associations(limited_t *limited, taken_t *taken)
{
	const slurmdb_assoc_rec_t *assoc = limited->job->assoc_ptr;
	bool first = true;

	for (; assoc; assoc = assoc->usage ? assoc->usage->parent_assoc_ptr : NULL) {
		char owner[96];
		holder_t holder = {.scope = SCOPE_ASSOC, .id = assoc->id, .owner = owner};

		if (assoc->user)
			snprintf(owner, sizeof(owner), "of user %.36s in %.36s", assoc->user,
				 assoc->acct ? assoc->acct : "?");
		else
			snprintf(owner, sizeof(owner), "of account %.40s",
				 assoc->acct ? assoc->acct : "?");
		add_resources(limited, &holder, assoc->grp_tres_ctld, taken->group, false);
		add_jobs(limited, &holder, assoc->grp_jobs, &taken->group_jobs, false);
		if (first) {
			/* The user's own; parents' were handed down to it. */
			bool jobs = taken->user_jobs || taken->account_jobs;
			holder_t own = holder;

			check_job_size(limited, assoc->max_tres_ctld, taken->job, false,
				       "over its association's MaxTRES");
			own.whom = "MaxJobs";
			add_jobs(limited, &own, assoc->max_jobs, &jobs, false);
		}
		first = false;
	}
}

static void add_accounting(limited_t *limited, part_record_t *part)
{
	job_record_t *job = (job_record_t *)limited->job;
	slurmdb_qos_rec_t *first = NULL;
	slurmdb_qos_rec_t *second = NULL;
	part_record_t *saved = job->part_ptr;
	bool *flags = calloc(4 * (size_t)g_tres_count + 1, sizeof(*flags));
	taken_t taken = {.group = flags};

	if (!flags) {
		limited->look->failed = true;
		return;
	}
	taken.user = flags + g_tres_count;
	taken.account = taken.user + g_tres_count;
	taken.job = taken.account + g_tres_count;
	job->part_ptr = part; /* the order depends on the partition */
	acct_policy_set_qos_order(job, &first, &second);
	job->part_ptr = saved;
	if (first)
		add_qos(limited, first, &taken);
	if (second)
		add_qos(limited, second, &taken);
	add_associations(limited, &taken);
	free(flags);
}

/* --array=…%N: how many of its tasks run at once. */
static void add_array(look_t *look, const job_record_t *job)
{
	const job_record_t *head = job;
	char name[NAME_SIZE];

	if (!job->array_job_id)
		return;
	if (!head->array_recs)
		head = find_job_record(job->array_job_id);
	if (!head || !head->array_recs || !head->array_recs->max_run_tasks)
		return;
	snprintf(name, sizeof(name), "tasks of array %u", job->array_job_id);
	key_of(look, SCOPE_ARRAY, job->array_job_id, JOBS, NULL);
	use(look, limit_index(look, name, head->array_recs->max_run_tasks), 1);
}

const char *look_limits(look_t *look, job_record_t *job, part_record_t *part, bool running)
{
	limited_t limited = {.look = look,
			     .job = job,
			     .running = running,
			     .counts = running ? job->tres_alloc_cnt : job->tres_req_cnt,
			     .admin = job->limit_set.tres};

	look->use_count = 0;
	add_array(look, job);
	if (!(accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) || !limited.counts)
		return NULL;
	limited.whole_nodes = (job->details && fs_takes_whole_nodes(job->details->whole_node)) ||
			      (part && part->max_share == 0);
	add_accounting(&limited, part);
	return limited.never;
}
