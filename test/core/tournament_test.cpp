// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.hpp"
#include "tournament.hpp"

using namespace foresight;

namespace {

void finds_what_a_walk_finds() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 200; ++round) {
        const int places = draw.number(1, 40);
        Tournament tournament(static_cast<std::size_t>(places));
        std::vector<Seconds> numbers(static_cast<std::size_t>(places), -1);
        for (int change = 0; change < 60; ++change) {
            const auto place = static_cast<std::size_t>(draw.number(0, places - 1));
            numbers[place] = draw.number(-1, 9);
            tournament.set(place, numbers[place]);
            const Seconds wanted = draw.number(0, 10);
            const int end = draw.number(0, places);
            int expected = end - 1;
            while (expected >= 0 && numbers[static_cast<std::size_t>(expected)] < wanted) {
                --expected;
            }
            CHECK_INT(tournament.last_with(wanted, static_cast<std::size_t>(end)), expected);
        }
    }
}

} // namespace

TEST_SUITE("tournament", {"finds what a walk finds", finds_what_a_walk_finds})
