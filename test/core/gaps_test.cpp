// SPDX-License-Identifier: GPL-2.0-or-later
#include "gaps.hpp"
#include "instance.hpp"

#include <algorithm>

using namespace foresight;

namespace {

constexpr int kTimes = 60;

Timeline empty_timeline(int nodes) {
    std::vector<Node> list(static_cast<std::size_t>(nodes));
    for (Node& node : list) {
        node.gpus = 8;
    }
    return Timeline(list);
}

void take_some(test::Draw& draw, Timeline& timeline, int node) {
    const Seconds from = draw.number(0, kTimes - 2);
    const Seconds until = draw.number(static_cast<int>(from) + 1, kTimes);
    timeline.take({node, draw.bits() & draw.bits() & lowest_gpus(8), 0, 0}, from, until);
}

/// The earliest start by looking at every second of every node.
Seconds slow_earliest(const Timeline& timeline, int size, Block rule, Seconds from,
                      Seconds length) {
    for (Seconds start = from; start <= kTimes; ++start) {
        for (int node = 0; node < timeline.nodes(); ++node) {
            if (has_block(timeline.window(node, start, start + length).gpus, size, rule)) {
                return start;
            }
        }
    }
    return kNever;
}

void the_first_gap_is_the_earliest_start() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 200; ++round) {
        const Block rule = static_cast<Block>(draw.number(0, 2));
        Timeline timeline = empty_timeline(draw.number(1, 5));
        Gaps gaps({1, 2, 3, 8}, rule, timeline);
        for (int change = 0; change < 12; ++change) {
            const int node = draw.number(0, timeline.nodes() - 1);
            take_some(draw, timeline, node);
            gaps.update(timeline, node);
            for (const int size : {1, 2, 3, 8}) {
                const Seconds from = draw.number(0, kTimes);
                const Seconds length = draw.number(1, 30);
                Seconds found = kNever;
                gaps.earliest_first(size, from, length, [&](const Gap& gap) {
                    const Seconds start = std::max(gap.start, from);
                    CHECK(
                        has_block(timeline.window(gap.node, gap.start, gap.end).gpus, size, rule));
                    return found = std::min(found, start);
                });
                CHECK_INT(found, slow_earliest(timeline, size, rule, from, length));
            }
        }
    }
}

void whole_nodes_are_found() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 200; ++round) {
        Timeline timeline = empty_timeline(1);
        Gaps gaps({1}, Block::contiguous, timeline);
        for (int change = 0; change < 5; ++change) {
            take_some(draw, timeline, 0);
            gaps.update(timeline, 0);
            const Seconds length = draw.number(1, 30);
            Seconds start = draw.number(0, kTimes);
            const Seconds found = gaps.whole_from(0, start, length);
            while (timeline.window(0, start, start + length).gpus != lowest_gpus(8)) {
                ++start;
            }
            CHECK_INT(found, start);
        }
    }
}

void gaps_are_longest_stretches() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 200; ++round) {
        Timeline timeline = empty_timeline(1);
        for (int change = draw.number(0, 8); change > 0; --change) {
            take_some(draw, timeline, 0);
        }
        const Gaps gaps({2}, Block::contiguous, timeline);
        CHECK(std::is_sorted(gaps.of(0, 2).begin(), gaps.of(0, 2).end()));
        for (const Gap& gap : gaps.of(0, 2)) {
            const auto fits = [&](Seconds from, Seconds until) {
                return has_block(timeline.window(0, from, until).gpus, 2, Block::contiguous);
            };
            CHECK(gap.start == 0 || !fits(gap.start - 1, gap.end));
            CHECK(gap.end == kNever || !fits(gap.start, gap.end + 1));
        }
    }
}

} // namespace

TEST_SUITE("gaps", {"the first gap is the earliest start", the_first_gap_is_the_earliest_start},
           {"whole nodes are found", whole_nodes_are_found},
           {"gaps are longest stretches", gaps_are_longest_stretches})
