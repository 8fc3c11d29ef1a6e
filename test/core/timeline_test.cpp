// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.hpp"
#include "timeline.hpp"
#include "usage.hpp"

#include <array>

using namespace foresight;

namespace {

constexpr int kTimes = 60;

/// A timeline with one cell a second.
struct SlowTimeline {
    std::array<Window, kTimes> cells;

    Window window(Seconds from, Seconds until) const {
        Window free = cells[static_cast<std::size_t>(from)];
        for (Seconds t = from; t < std::min<Seconds>(until, kTimes); ++t) {
            free.narrow(cells[static_cast<std::size_t>(t)]);
        }
        return free;
    }
};

void takes_and_gives_match_a_slow_reference() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 300; ++round) {
        Node node;
        node.gpus = 8;
        node.cpus = 100;
        node.memory_mib = 1000;
        Timeline timeline({node});
        SlowTimeline slow;
        slow.cells.fill({lowest_gpus(8), 100, 1000});
        struct Taken {
            Share share;
            Seconds from, until;
        };
        std::vector<Taken> taken;
        for (int i = 0; i < 30; ++i) {
            const bool give = !taken.empty() && draw.chance(30);
            Taken change;
            if (give) {
                change = taken.back();
                taken.pop_back();
                timeline.give(change.share, change.from, change.until);
            } else {
                const Seconds from = draw.number(0, kTimes - 2);
                const Seconds until =
                    draw.chance(10) ? kNever : draw.number(static_cast<int>(from), kTimes);
                GpuMask gpus = draw.bits() & lowest_gpus(8);
                if (until > from) {
                    gpus &= timeline.window(0, from, until).gpus;
                }
                change = {{0, gpus, draw.number(0, 3), draw.number(0, 9)}, from, until};
                timeline.take(change.share, from, until);
                taken.push_back(change);
            }
            for (Seconds t = change.from; t < std::min<Seconds>(change.until, kTimes); ++t) {
                Window& cell = slow.cells[static_cast<std::size_t>(t)];
                const int sign = give ? 1 : -1;
                cell.gpus = give ? cell.gpus | change.share.gpus : cell.gpus & ~change.share.gpus;
                cell.cpus += sign * change.share.cpus;
                cell.memory_mib += sign * change.share.memory_mib;
            }
            const Seconds from = draw.number(0, kTimes - 2);
            const Seconds until = draw.number(static_cast<int>(from) + 1, kTimes);
            CHECK(timeline.window(0, from, until) == slow.window(from, until));
        }
    }
}

void usage_matches_a_slow_reference() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 500; ++round) {
        const int max = draw.number(0, 6);
        Usage usage(max);
        std::array<int, kTimes> slow{};
        for (int i = 0; i < 12; ++i) {
            const int from = draw.number(0, kTimes - 1);
            const int until = draw.number(from, kTimes);
            const int amount = draw.number(0, 3);
            usage.add(from, until, amount);
            for (int t = from; t < until; ++t) {
                slow[static_cast<std::size_t>(t)] += amount;
            }
            const int wanted = draw.number(0, 4);
            const int begin = draw.number(0, kTimes - 1);
            const int duration = draw.number(1, 20);
            Seconds expected = begin;
            for (; expected < 3 * kTimes && wanted > 0; ++expected) {
                bool fits = true;
                for (Seconds t = expected; t < expected + duration; ++t) {
                    fits = fits &&
                           (t < kTimes ? slow[static_cast<std::size_t>(t)] : 0) + wanted <= max;
                }
                if (fits) {
                    break;
                }
            }
            const Seconds got = usage.earliest(begin, duration, wanted);
            CHECK_INT(got, wanted > max ? kNever : expected);
        }
    }
}

void a_node_without_healthy_gpus_has_none() {
    Node node;
    node.gpus = 4;
    node.usable = 0b1010;
    const Timeline timeline({node});
    CHECK(timeline.window(0, 0, kNever).gpus == 0b1010);
}

} // namespace

TEST_SUITE("timeline",
           {"takes and gives match a slow reference", takes_and_gives_match_a_slow_reference},
           {"usage matches a slow reference", usage_matches_a_slow_reference},
           {"a node without healthy GPUs has none", a_node_without_healthy_gpus_has_none})
