/*
 * table: byte strings to small numbers (table.h).  Open addressing with linear probing; keys lie
 * one behind the other in a block that only grows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t hash;
	size_t offset;	/* of the key in `keys` */
	size_t size;
	int32_t value;
	bool used;
};

struct fs_table {
	struct entry *entries;
	size_t capacity;	/* a power of two, or 0 */
	size_t count;
	unsigned char *keys;
	size_t keys_size;
	size_t keys_capacity;
};

fs_table_t *fs_table_new(void)
{
	return calloc(1, sizeof(fs_table_t));
}

void fs_table_free(fs_table_t *table)
{
	if (!table)
		return;
	free(table->entries);
	free(table->keys);
	free(table);
}

static struct entry *find(const fs_table_t *table, uint64_t hash, const void *key, size_t size)
{
	size_t mask = table->capacity - 1;

	for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
		struct entry *entry = &table->entries[at];

		if (!entry->used)
			return entry;
		if (entry->hash == hash && entry->size == size &&
		    (!size || !memcmp(table->keys + entry->offset, key, size)))
			return entry;
	}
}

static bool grow(fs_table_t *table)
{
	size_t capacity = table->capacity ? 2 * table->capacity : 64;
	struct entry *old = table->entries;
	size_t old_capacity = table->capacity;
	struct entry *entries = calloc(capacity, sizeof(*entries));

	if (!entries)
		return false;
	table->entries = entries;
	table->capacity = capacity;
	for (size_t i = 0; i < old_capacity; i++) {
		size_t at;

		if (!old[i].used)
			continue;
		for (at = (size_t)old[i].hash & (capacity - 1); entries[at].used;)
			at = (at + 1) & (capacity - 1);
		entries[at] = old[i];
	}
	free(old);
	return true;
}

static bool keep_key(fs_table_t *table, const void *key, size_t size)
{
	if (table->keys_capacity - table->keys_size < size) {
		size_t capacity = 2 * table->keys_capacity + size + 256;
		unsigned char *keys = realloc(table->keys, capacity);

		if (!keys)
			return false;
		table->keys = keys;
		table->keys_capacity = capacity;
	}
	if (size)
		memcpy(table->keys + table->keys_size, key, size);
	table->keys_size += size;
	return true;
}

int32_t fs_table_put(fs_table_t *table, const void *key, size_t size, int32_t fresh, bool *added)
{
	uint64_t hash = fs_hash(FS_HASH_START, key, size);
	struct entry *entry;

	*added = false;
	if (2 * (table->count + 1) > table->capacity && !grow(table))
		return INT32_MIN;
	entry = find(table, hash, key, size);
	if (entry->used)
		return entry->value;
	if (!keep_key(table, key, size))
		return INT32_MIN;
	*entry = (struct entry){.hash = hash,
				.offset = table->keys_size - size,
				.size = size,
				.value = fresh,
				.used = true};
	table->count++;
	*added = true;
	return fresh;
}

int32_t fs_table_get(const fs_table_t *table, const void *key, size_t size, int32_t missing)
{
	const struct entry *entry;

	if (!table->capacity)
		return missing;
	entry = find(table, fs_hash(FS_HASH_START, key, size), key, size);
	return entry->used ? entry->value : missing;
}

/* Multiply and fold, eight bytes at a time. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash * UINT64_C(0x9fb21c651e98df25) + word) * UINT64_C(0xff51afd7ed558ccd);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ (hash >> 29);
}

uint64_t fs_hash(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t word;

	hash = mix(hash, size);
	for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	if (size)
		memcpy(&word, at, size);
	return mix(hash, word);
}

uint64_t fs_hash_string(uint64_t hash, const char *string)
{
	return string ? fs_hash(hash, string, strlen(string) + 1) : mix(hash, UINT64_MAX);
}

uint64_t fs_hash_number(uint64_t hash, uint64_t number)
{
	return mix(hash, number);
}

void fs_key_reset(fs_key_t *key)
{
	key->size = 0;
	key->failed = false;
}

void fs_key_clear(fs_key_t *key)
{
	free(key->bytes);
	*key = (fs_key_t){0};
}

void fs_key_bytes(fs_key_t *key, const void *bytes, size_t size)
{
	if (key->capacity - key->size < size) {
		size_t capacity = 2 * key->capacity + size + 128;
		unsigned char *grown = realloc(key->bytes, capacity);

		if (!grown) {
			key->failed = true;
			return;
		}
		key->bytes = grown;
		key->capacity = capacity;
	}
	if (size)
		memcpy(key->bytes + key->size, bytes, size);
	key->size += size;
}

void fs_key_string(fs_key_t *key, const char *string)
{
	size_t size = string ? strlen(string) + 1 : 0;

	fs_key_number(key, size);
	fs_key_bytes(key, string, size);
}

void fs_key_number(fs_key_t *key, uint64_t number)
{
	fs_key_bytes(key, &number, sizeof(number));
}
