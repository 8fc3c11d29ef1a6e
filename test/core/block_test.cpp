// SPDX-License-Identifier: GPL-2.0-or-later
#include "block.hpp"
#include "instance.hpp"

#include <bit>

using namespace foresight;

namespace {

/// The same by looking at each start and each GPU.
GpuMask slow_starts(GpuMask free, int count) {
    GpuMask starts = 0;
    for (int first = 0; first + count <= 64; ++first) {
        bool all = true;
        for (int gpu = first; gpu < first + count; ++gpu) {
            all = all && ((free >> gpu) & 1) != 0;
        }
        starts |= all ? GpuMask{1} << first : 0;
    }
    return starts;
}

void runs_match_a_slow_reference() {
    test::Draw draw(test_seed());
    for (int i = 0; i < 20000; ++i) {
        const GpuMask free =
            draw.chance(50) ? draw.bits() | draw.bits() : draw.bits() | draw.bits() | draw.bits();
        const int count = draw.number(1, 64);
        CHECK(run_starts(free, count) == slow_starts(free, count));
    }
    CHECK(run_starts(~GpuMask{0}, 64) == 1);
    CHECK(run_starts(~GpuMask{0}, 65) == 0);
}

void chosen_blocks_are_legal() {
    test::Draw draw(test_seed());
    for (int i = 0; i < 20000; ++i) {
        const GpuMask free = draw.bits() | draw.bits();
        const int count = draw.number(1, 20);
        for (const Block rule : {Block::any, Block::contiguous, Block::aligned}) {
            for (const Packing packing : {Packing::lowest, Packing::tight}) {
                const GpuMask chosen = choose_block(free, count, rule, packing);
                CHECK(has_block(free, count, rule) == (chosen != 0));
                if (chosen != 0) {
                    CHECK((chosen & ~free) == 0);
                    CHECK_INT(std::popcount(chosen), count);
                    CHECK(is_block(chosen, rule));
                }
            }
        }
    }
}

void aligned_blocks_start_at_powers_of_two() {
    CHECK(has_block(0b11110, 3, Block::contiguous));
    CHECK(!has_block(0b01110, 3, Block::aligned));
    CHECK(choose_block(0b01110000, 3, Block::aligned, Packing::lowest) == 0b01110000);
    CHECK(is_block(0b1100, Block::aligned));
    CHECK(!is_block(0b0110, Block::aligned));
    CHECK(!is_block(0b0101, Block::contiguous));
}

void tight_leaves_the_larger_gap_whole() {
    CHECK(choose_block(0b1111'0011, 2, Block::contiguous, Packing::tight) == 0b11);
    CHECK(choose_block(0b0000'1100'1111, 2, Block::contiguous, Packing::tight) == 0b1100'0000 >> 0);
    CHECK(choose_block(0b1100'1111, 2, Block::contiguous, Packing::lowest) == 0b11);
}

} // namespace

TEST_SUITE("block", {"runs match a slow reference", runs_match_a_slow_reference},
           {"chosen blocks are legal", chosen_blocks_are_legal},
           {"aligned blocks start at powers of two", aligned_blocks_start_at_powers_of_two},
           {"tight leaves the larger gap whole", tight_leaves_the_larger_gap_whole})
