/*
 * A program of tests that fail, in each way that a test can, for harness.sh.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "harness.h"

#include <stdexcept>

namespace {

void fails_by_check() {
    CHECK(1 == 2);
}
void fails_by_number() {
    CHECK_INT(1, 2);
}
void fails_by_text() {
    CHECK_STR(nullptr, "text");
}
void fails_by_exception() {
    throw std::runtime_error("thrown on purpose");
}
void fails_by_cunit() {
    CU_ASSERT(1 == 2);
}
void fails_with_a_seed() {
    FAIL("seed %d", test_seed() != 0);
}
void is_skipped() {
    test_skip("on purpose");
}
void passes() {
    REQUIRE(1 == 1);
}

} // namespace

TEST_SUITE("fails", {"by check", fails_by_check}, {"by number", fails_by_number},
           {"by text", fails_by_text}, {"by exception", fails_by_exception},
           {"by cunit", fails_by_cunit}, {"with a seed", fails_with_a_seed},
           {"is skipped", is_skipped}, {"passes", passes})
