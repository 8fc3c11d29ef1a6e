/*
 * table: byte strings to small numbers, in the order of their first appearance.
 *
 * A look at Slurm meets the same kind of job, limit or job id many times; a table makes each of
 * them one number.  Keys are compared whole, so no two different ones can meet in a hash.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FORESIGHT_TABLE_H
#define FORESIGHT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fs_table fs_table_t;

/* NULL without memory, as everywhere here where a pointer comes back. */
fs_table_t *fs_table_new(void);
void fs_table_free(fs_table_t *table);

/* The value of a key; a key that is not there gets `fresh`, and *added says so.  INT32_MIN without
 * memory. */
int32_t fs_table_put(fs_table_t *table, const void *key, size_t size, int32_t fresh, bool *added);
/* The value of a key, or `missing`. */
int32_t fs_table_get(const fs_table_t *table, const void *key, size_t size, int32_t missing);

/* A hash of bytes that can be continued; start with FS_HASH_START. */
#define FS_HASH_START UINT64_C(0x9e3779b97f4a7c15)
uint64_t fs_hash(uint64_t hash, const void *bytes, size_t size);
/* Of a string, its end included; NULL differs from "". */
uint64_t fs_hash_string(uint64_t hash, const char *string);
uint64_t fs_hash_number(uint64_t hash, uint64_t number);

/* A key that is built up piece by piece. */
typedef struct {
	unsigned char *bytes;
	size_t size;
	size_t capacity;
	bool failed;	/* no memory: the key is not to be used */
} fs_key_t;

void fs_key_reset(fs_key_t *key);
void fs_key_clear(fs_key_t *key);	/* frees */
void fs_key_bytes(fs_key_t *key, const void *bytes, size_t size);
void fs_key_string(fs_key_t *key, const char *string);
void fs_key_number(fs_key_t *key, uint64_t number);

#endif
