/*
 * refusals: what Slurm would not start lately, and why (refusals.h).
 *
 * One entry for each job, partition and kind, sorted by job.  An entry that is over stays for a
 * while without force: when the same refusal comes again it is known, and waits twice as long.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "refusals.h"

#include <stdlib.h>
#include <string.h>

/* The longest wait that doubling leads to, in seconds. */
#define LONGEST_WAIT 900
/* How long an entry that is over is remembered, in seconds. */
#define MEMORY 900
/* Hostlists remembered for one job in one partition; the oldest goes. */
#define MOST_HOSTLISTS 16

typedef struct {
	fs_refusal_t refusal;	/* its strings are owned; `nodes` are all hostlists joined */
	char *hostlists[MOST_HOSTLISTS];
	size_t hostlist_count;
	time_t wait;
} entry_t;

struct fs_refusals {
	entry_t *entries;
	size_t count;
	size_t capacity;
};

fs_refusals_t *fs_refusals_new(void)
{
	return calloc(1, sizeof(fs_refusals_t));
}

static void clear_hostlists(entry_t *entry)
{
	for (size_t i = 0; i < entry->hostlist_count; i++)
		free(entry->hostlists[i]);
	entry->hostlist_count = 0;
	free((char *)entry->refusal.nodes);
	entry->refusal.nodes = NULL;
}

static void clear_entry(entry_t *entry)
{
	clear_hostlists(entry);
	free((char *)entry->refusal.partition);
	free((char *)entry->refusal.why);
}

void fs_refusals_free(fs_refusals_t *refusals)
{
	if (!refusals)
		return;
	for (size_t i = 0; i < refusals->count; i++)
		clear_entry(&refusals->entries[i]);
	free(refusals->entries);
	free(refusals);
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static char *copy(const char *string)
{
	return string ? strdup(string) : NULL;
}

/* Where the entries of a job begin, or would. */
static size_t first_of(const fs_refusals_t *refusals, uint32_t job_id)
{
	size_t low = 0;
	size_t high = refusals->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (refusals->entries[middle].refusal.job_id < job_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static entry_t *find_entry(const fs_refusals_t *refusals, uint32_t job_id, const char *partition,
			   enum fs_refusal_kind kind)
{
	for (size_t i = first_of(refusals, job_id);
	     i < refusals->count && refusals->entries[i].refusal.job_id == job_id; i++) {
		entry_t *entry = &refusals->entries[i];

		if (entry->refusal.kind == kind && same(entry->refusal.partition, partition))
			return entry;
	}
	return NULL;
}

static entry_t *insert_entry(fs_refusals_t *refusals, const fs_refusal_t *refusal)
{
	size_t at = first_of(refusals, refusal->job_id);
	char *partition = copy(refusal->partition);
	entry_t *entries = refusals->entries;

	if (refusals->count == refusals->capacity) {
		size_t capacity = refusals->capacity ? 2 * refusals->capacity : 16;

		entries = realloc(entries, capacity * sizeof(*entries));
		if (entries) {
			refusals->entries = entries;
			refusals->capacity = capacity;
		}
	}
	if (!entries || (refusal->partition && !partition)) {
		free(partition);
		return NULL;
	}
	memmove(&entries[at + 1], &entries[at], (refusals->count - at) * sizeof(*entries));
	entries[at] = (entry_t){.refusal = {.job_id = refusal->job_id,
					    .partition = partition,
					    .kind = refusal->kind}};
	refusals->count++;
	return &entries[at];
}

/* All hostlists of an entry in one, which is a hostlist again. */
static void join_hostlists(entry_t *entry)
{
	size_t size = 1;
	char *joined;

	for (size_t i = 0; i < entry->hostlist_count; i++)
		size += strlen(entry->hostlists[i]) + 1;
	joined = malloc(size);
	if (!joined)
		return;
	joined[0] = '\0';
	for (size_t i = 0; i < entry->hostlist_count; i++) {
		if (i)
			strcat(joined, ",");
		strcat(joined, entry->hostlists[i]);
	}
	free((char *)entry->refusal.nodes);
	entry->refusal.nodes = joined;
}

/* True when these very nodes were known already. */
static bool add_hostlist(entry_t *entry, const char *nodes)
{
	char *kept;

	for (size_t i = 0; i < entry->hostlist_count; i++) {
		if (!strcmp(entry->hostlists[i], nodes))
			return true;
	}
	kept = strdup(nodes);
	if (!kept)
		return false;
	if (entry->hostlist_count == MOST_HOSTLISTS) {
		free(entry->hostlists[0]);
		memmove(&entry->hostlists[0], &entry->hostlists[1],
			(MOST_HOSTLISTS - 1) * sizeof(entry->hostlists[0]));
		entry->hostlist_count--;
	}
	entry->hostlists[entry->hostlist_count++] = kept;
	join_hostlists(entry);
	return false;
}

static void set_times(entry_t *entry, const fs_refusal_t *refusal, bool again)
{
	time_t wait = refusal->retry > refusal->when ? refusal->retry - refusal->when : 0;

	if (again && wait < 2 * entry->wait)
		wait = 2 * entry->wait < LONGEST_WAIT ? 2 * entry->wait : LONGEST_WAIT;
	/* A caller that asks for more than the bound knows why. */
	if (refusal->retry - refusal->when > wait)
		wait = refusal->retry - refusal->when;
	entry->wait = wait;
	entry->refusal.when = refusal->when;
	/* Other nodes may have longer to wait. */
	if (again || refusal->kind != FS_REFUSED_NODES ||
	    refusal->when + wait > entry->refusal.retry)
		entry->refusal.retry = refusal->when + wait;
}

void fs_refusals_note(fs_refusals_t *refusals, const fs_refusal_t *refusal)
{
	entry_t *entry = find_entry(refusals, refusal->job_id, refusal->partition, refusal->kind);
	bool again = entry;
	char *why = copy(refusal->why);

	if (!entry)
		entry = insert_entry(refusals, refusal);
	if (!entry) {
		free(why);
		return;
	}
	if (refusal->kind == FS_REFUSED_NODES && refusal->nodes)
		again = add_hostlist(entry, refusal->nodes);
	free((char *)entry->refusal.why);
	entry->refusal.why = why;
	entry->refusal.code = refusal->code;
	set_times(entry, refusal, again);
}

const fs_refusal_t *fs_refusals_find(const fs_refusals_t *refusals, uint32_t job_id,
				     const char *partition, time_t now)
{
	/* No place at all weighs more than no place on some nodes. */
	static const enum fs_refusal_kind order[] = {FS_REFUSED_LIMIT, FS_REFUSED_JOB,
						     FS_REFUSED_NODES};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const entry_t *entry = find_entry(refusals, job_id, partition, order[i]);

		if (entry && entry->refusal.retry > now)
			return &entry->refusal;
	}
	return NULL;
}

/* Keeps the entries for which `keep` says so. */
static void sieve(fs_refusals_t *refusals, bool (*keep)(const entry_t *, time_t), time_t value)
{
	size_t kept = 0;

	for (size_t i = 0; i < refusals->count; i++) {
		if (keep(&refusals->entries[i], value))
			refusals->entries[kept++] = refusals->entries[i];
		else
			clear_entry(&refusals->entries[i]);
	}
	refusals->count = kept;
}

static bool is_other_job(const entry_t *entry, time_t job_id)
{
	return entry->refusal.job_id != (uint32_t)job_id;
}

static bool is_other_kind(const entry_t *entry, time_t kind)
{
	return entry->refusal.kind != (enum fs_refusal_kind)kind;
}

static bool is_remembered(const entry_t *entry, time_t now)
{
	return entry->refusal.retry + MEMORY > now;
}

void fs_refusals_forget_job(fs_refusals_t *refusals, uint32_t job_id)
{
	sieve(refusals, is_other_job, (time_t)job_id);
}

void fs_refusals_forget_kind(fs_refusals_t *refusals, enum fs_refusal_kind kind)
{
	sieve(refusals, is_other_kind, (time_t)kind);
}

void fs_refusals_expire(fs_refusals_t *refusals, time_t now)
{
	sieve(refusals, is_remembered, now);
	/* Nodes of old refusals are not joined to those of new ones. */
	for (size_t i = 0; i < refusals->count; i++) {
		entry_t *entry = &refusals->entries[i];

		if (entry->refusal.retry <= now && entry->hostlist_count > 1) {
			char *last = strdup(entry->hostlists[entry->hostlist_count - 1]);

			clear_hostlists(entry);
			if (last) {
				entry->hostlists[entry->hostlist_count++] = last;
				join_hostlists(entry);
			}
		}
	}
}
