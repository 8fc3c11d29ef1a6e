/*
 * harness: a table of test cases becomes a program, over CUnit, for C and C++.
 *
 *     static void test_empty_queue(void) { CHECK_INT(plan_count(), 0); }
 *
 *     TEST_SUITE("planner",
 *                {"an empty queue gives an empty plan", test_empty_queue},
 *                {"a wide job is planned", test_wide_job})
 *
 * The program prints a line for each check that failed (file:line, what, values), one for each
 * failed or skipped case, and at last the line that "quickstart check" adds up:
 *
 *     planner: 2 passed, 0 failed, 0 skipped
 *
 * Exit status: 0 all passed, 1 one failed, 77 all were skipped (automake's "skip"), 99 the
 * harness itself could not run.  Arguments: names (parts of names) of the cases to run.
 * A C++ exception that leaves a case fails it.  CUnit's own CU_ASSERT macros work too, but the
 * *_FATAL ones jump over destructors: use REQUIRE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FORESIGHT_TEST_HARNESS_H
#define FORESIGHT_TEST_HARNESS_H

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct test_case {
	const char *name;
	void (*run)(void);
};

#define TEST_SUITE(suite, ...)                                                                  \
	int main(int argc, char **argv)                                                         \
	{                                                                                       \
		static const struct test_case cases[] = {__VA_ARGS__};                          \
		return test_main(suite, cases, sizeof(cases) / sizeof(cases[0]), argc, argv);   \
	}

/* Each check is an expression: true when it held.  REQUIRE leaves the function when it did not. */
#define CHECK(condition) test_check(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(actual, expected)                                                             \
	test_check_int((long long)(actual), (long long)(expected), #actual, __FILE__, __LINE__)
#define CHECK_NEAR(actual, expected, tolerance)                                                 \
	test_check_near((actual), (expected), (tolerance), #actual, __FILE__, __LINE__)
#define CHECK_STR(actual, expected)                                                             \
	test_check_str((actual), (expected), #actual, __FILE__, __LINE__)
#define REQUIRE(condition)                                                                      \
	do {                                                                                    \
		if (!CHECK(condition))                                                          \
			return;                                                                 \
	} while (0)

/* Fails the case with a message of printf's manner. */
#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

/* Marks the case that runs as skipped, with the reason; return from it then. */
void test_skip(const char *reason);

/* The seed of a random test: the variable TEST_SEED, or a new one each run.  It is printed when
 * the case fails, with the command that repeats it. */
uint64_t test_seed(void);

/* A directory of this case alone, made on first call and removed after the case. */
const char *test_directory(void);

/* The absolute path of a file of the source tree: test_source("test/scenarios"). */
const char *test_source(const char *path);

int test_main(const char *suite, const struct test_case *cases, size_t count, int argc,
	      char **argv);
bool test_check(bool held, const char *what, const char *file, int line);
bool test_check_int(long long actual, long long expected, const char *what, const char *file,
		    int line);
bool test_check_near(double actual, double expected, double tolerance, const char *what,
		     const char *file, int line);
bool test_check_str(const char *actual, const char *expected, const char *what, const char *file,
		    int line);
bool test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
