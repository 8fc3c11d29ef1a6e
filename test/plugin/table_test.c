/*
 * Tables, keys and hashes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "../../plugin/table.h"

static void test_put_and_get(void)
{
	fs_table_t *table = fs_table_new();
	bool added;

	for (int32_t i = 0; i < 5000; i++) {
		CHECK_INT(fs_table_put(table, &i, sizeof(i), 3 * i, &added), 3 * i);
		CHECK(added);
	}
	for (int32_t i = 0; i < 5000; i++) {
		CHECK_INT(fs_table_put(table, &i, sizeof(i), -1, &added), 3 * i);
		CHECK(!added);
		CHECK_INT(fs_table_get(table, &i, sizeof(i), -1), 3 * i);
	}
	CHECK_INT(fs_table_get(table, "none", 4, -7), -7);
	fs_table_free(table);
	table = fs_table_new();
	CHECK_INT(fs_table_get(table, "none", 4, -7), -7);
	CHECK_INT(fs_table_put(table, NULL, 0, 5, &added), 5);
	CHECK_INT(fs_table_put(table, NULL, 0, 6, &added), 5);
	fs_table_free(table);
}

/* Pieces do not run together: ("ab", "c") is not ("a", "bc"), NULL is not "". */
static void test_keys(void)
{
	fs_table_t *table = fs_table_new();
	fs_key_t key = {0};
	const char *pairs[][2] = {{"ab", "c"}, {"a", "bc"}, {NULL, "abc"}, {"", "abc"}, {"abc", ""},
				  {"abc", NULL}};
	bool added;

	for (int32_t i = 0; i < 6; i++) {
		fs_key_reset(&key);
		fs_key_string(&key, pairs[i][0]);
		fs_key_string(&key, pairs[i][1]);
		CHECK(!key.failed);
		CHECK_INT(fs_table_put(table, key.bytes, key.size, i, &added), i);
		CHECK(added);
	}
	fs_key_clear(&key);
	fs_table_free(table);
}

static void test_hashes(void)
{
	CHECK(fs_hash_string(FS_HASH_START, NULL) != fs_hash_string(FS_HASH_START, ""));
	CHECK(fs_hash_string(FS_HASH_START, "a") != fs_hash_string(FS_HASH_START, "b"));
	CHECK(fs_hash(FS_HASH_START, "abcdefghi", 9) != fs_hash(FS_HASH_START, "abcdefghj", 9));
	CHECK(fs_hash_number(1, 2) != fs_hash_number(2, 1));
	CHECK(fs_hash_number(FS_HASH_START, 1) == fs_hash_number(FS_HASH_START, 1));
}

TEST_SUITE("table",
	   {"what was put is found", test_put_and_get},
	   {"keys of several pieces differ", test_keys},
	   {"hashes tell things apart", test_hashes})
