/*
 * harness: runs a table of test cases through CUnit and counts them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "harness.h"

#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <random>
#include <string>

#include <unistd.h>

namespace {

/// What belongs to the case that runs; CUnit hands no argument to a test.
struct Current {
    const test_case* test = nullptr;
    const char* skipped = nullptr;
    std::string directory;
    bool seeded = false;
};

Current current;

/// The checks do not stop at a failure; CUnit counts it for the case.
bool report(bool held, const std::string& text, const char* file, int line) {
    if (!held) {
        std::printf("%s:%d: %s\n", file, line, text.c_str());
    }
    CU_assertImplementation(held ? CU_TRUE : CU_FALSE, static_cast<unsigned>(line), text.c_str(),
                            file, "", CU_FALSE);
    return held;
}

void run_current() {
    try {
        current.test->run();
    } catch (const std::exception& error) {
        test_fail(current.test->name, 0, "an exception left the case: %s", error.what());
    } catch (...) {
        test_fail(current.test->name, 0, "an exception left the case");
    }
}

std::uint64_t the_seed() {
    static const std::uint64_t seed = [] {
        if (const char* given = std::getenv("TEST_SEED")) {
            return static_cast<std::uint64_t>(std::strtoull(given, nullptr, 0));
        }
        return std::uint64_t{std::random_device{}()};
    }();
    return seed;
}

bool chosen(const char* name, int argc, char** argv) {
    if (argc < 2) {
        return true;
    }
    for (int i = 1; i < argc; ++i) {
        if (std::strstr(name, argv[i])) {
            return true;
        }
    }
    return false;
}

struct Counts {
    int passed = 0;
    int failed = 0;
    int skipped = 0;
};

void run_case(CU_pSuite suite, CU_pTest registered, const test_case& test, Counts& counts) {
    current = Current{};
    current.test = &test;
    const auto began = std::chrono::steady_clock::now();
    CU_run_test(suite, registered);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const bool failed = CU_get_number_of_failures() > 0;
    if (!current.directory.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(current.directory, ignored);
    }
    if (failed) {
        ++counts.failed;
        std::printf("FAIL %s\n", test.name);
        if (current.seeded) {
            std::printf("     seed: TEST_SEED=%llu repeats it\n",
                        static_cast<unsigned long long>(the_seed()));
        }
    } else if (current.skipped) {
        ++counts.skipped;
        std::printf("SKIP %s: %s\n", test.name, current.skipped);
    } else {
        ++counts.passed;
        std::printf("ok   %s (%.2f s)\n", test.name, seconds);
    }
    std::fflush(stdout);
}

} // namespace

bool test_check(bool held, const char* what, const char* file, int line) {
    return report(held, std::string("not true: ") + what, file, line);
}

bool test_check_int(long long actual, long long expected, const char* what, const char* file,
                    int line) {
    return report(actual == expected,
                  std::string(what) + " is " + std::to_string(actual) + ", not " +
                      std::to_string(expected),
                  file, line);
}

bool test_check_near(double actual, double expected, double tolerance, const char* what,
                     const char* file, int line) {
    char text[256];
    std::snprintf(text, sizeof(text), "%.120s is %.17g, not %.17g (within %g)", what, actual,
                  expected, tolerance);
    return report(std::fabs(actual - expected) <= tolerance, text, file, line);
}

bool test_check_str(const char* actual, const char* expected, const char* what, const char* file,
                    int line) {
    const bool same = actual && expected ? std::strcmp(actual, expected) == 0 : actual == expected;
    return report(same,
                  std::string(what) + " is \"" + (actual ? actual : "(null)") + "\", not \"" +
                      (expected ? expected : "(null)") + "\"",
                  file, line);
}

bool test_fail(const char* file, int line, const char* format, ...) {
    char text[1024];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return report(false, text, file, line);
}

void test_skip(const char* reason) {
    current.skipped = reason;
}

std::uint64_t test_seed() {
    current.seeded = true;
    return the_seed();
}

const char* test_directory() {
    if (current.directory.empty()) {
        std::string path = (std::filesystem::temp_directory_path() / "foresight-test-XXXXXX").string();
        if (!::mkdtemp(path.data())) {
            test_fail(__FILE__, __LINE__, "mkdtemp %s: %s", path.c_str(), std::strerror(errno));
            std::exit(99);
        }
        current.directory = path;
    }
    return current.directory.c_str();
}

const char* test_source(const char* path) {
    static std::deque<std::string> paths; // stay until the program ends
    const char* top = std::getenv("abs_top_srcdir");
    return paths.emplace_back(std::string(top ? top : TEST_TOP_SRCDIR) + "/" + path).c_str();
}

int test_main(const char* suite, const test_case* cases, std::size_t count, int argc, char** argv) {
    if (CU_initialize_registry() != CUE_SUCCESS) {
        std::fprintf(stderr, "%s: CUnit: %s\n", suite, CU_get_error_msg());
        return 99;
    }
    CU_pSuite registered = CU_add_suite(suite, nullptr, nullptr);
    Counts counts;
    for (std::size_t i = 0; registered && i < count; ++i) {
        if (!chosen(cases[i].name, argc, argv)) {
            continue;
        }
        CU_pTest test = CU_add_test(registered, cases[i].name, run_current);
        if (!test) {
            // Two cases of one name: CUnit refuses, and one of them would never run.
            std::fprintf(stderr, "%s: %s: %s\n", suite, cases[i].name, CU_get_error_msg());
            return 99;
        }
        run_case(registered, test, cases[i], counts);
    }
    CU_cleanup_registry();
    std::printf("%s: %d passed, %d failed, %d skipped\n", suite, counts.passed, counts.failed,
                counts.skipped);
    if (counts.failed > 0) {
        return 1;
    }
    return counts.passed == 0 && counts.skipped > 0 ? 77 : 0;
}
