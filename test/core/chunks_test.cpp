// SPDX-License-Identifier: GPL-2.0-or-later
#include "chunks.hpp"
#include "instance.hpp"

#include <set>

using namespace foresight;

namespace {

void check_same(const Chunks<int>& chunks, const std::set<int>& set) {
    auto expected = set.begin();
    std::size_t seen = 0;
    chunks.each([&](int key) {
        CHECK(expected != set.end() && key == *expected);
        if (expected != set.end()) {
            ++expected;
        }
        ++seen;
        return true;
    });
    CHECK_INT(static_cast<long>(seen), static_cast<long>(set.size()));
    CHECK(chunks.empty() == set.empty());
}

void holds_what_a_set_holds() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 20; ++round) {
        Chunks<int> chunks;
        std::set<int> set;
        const int most = draw.number(1, 3000);
        // Fill, thin out, fill again: chunks halve, run empty and come back.
        for (const int keep : {80, 10, 60}) {
            for (int change = 0; change < 2000; ++change) {
                const int key = draw.number(0, most);
                if (draw.chance(keep)) {
                    if (set.insert(key).second) {
                        chunks.insert(key);
                    }
                } else if (set.erase(key) > 0) {
                    chunks.erase(key);
                }
            }
            check_same(chunks, set);
        }
        const Chunks<int> copy = chunks;
        for (const int key : set) {
            chunks.erase(key);
        }
        check_same(chunks, {});
        check_same(copy, set);
    }
}

void a_walk_stops_when_told() {
    Chunks<int> chunks;
    for (int key = 0; key < 500; ++key) {
        chunks.insert(499 - key);
    }
    int seen = 0;
    chunks.each([&](int key) { return ++seen, key < 300; });
    CHECK_INT(seen, 301);
}

} // namespace

TEST_SUITE("chunks", {"holds what a set holds", holds_what_a_set_holds},
           {"a walk stops when told", a_walk_stops_when_told})
