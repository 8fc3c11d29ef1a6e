// SPDX-License-Identifier: GPL-2.0-or-later
#include "block.hpp"

#include <algorithm>
#include <bit>

namespace foresight {

namespace {

/// GPU numbers at which an aligned block of `count` may start.
GpuMask aligned_starts(int count) noexcept {
    const auto size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
    GpuMask starts = 0;
    for (int i = 0; i < kMaxGpusPerNode; i += size) {
        starts |= GpuMask{1} << i;
    }
    return starts;
}

GpuMask block_starts(GpuMask free, int count, Block rule) noexcept {
    const GpuMask runs = run_starts(free, count);
    return rule == Block::aligned ? runs & aligned_starts(count) : runs;
}

/// How many free GPUs beside the block at `start` would be cut off with it: the rest of its run.
int leftover(GpuMask free, int start, int count) noexcept {
    const GpuMask above = start + count >= kMaxGpusPerNode ? 0 : free >> (start + count);
    const GpuMask below = start == 0 ? 0 : free << (kMaxGpusPerNode - start);
    return std::countr_one(above) + std::countl_one(below);
}

} // namespace

GpuMask lowest_of(GpuMask free, int count) noexcept {
    GpuMask chosen = 0;
    for (; count > 0; --count) {
        const GpuMask bit = free & (~free + 1);
        chosen |= bit;
        free ^= bit;
    }
    return chosen;
}

GpuMask run_starts(GpuMask free, int count) noexcept {
    if (count > kMaxGpusPerNode) {
        return 0;
    }
    // After each turn a bit of `free` marks a run of `length` ones from it upwards.
    for (int length = 1; length < count && free != 0;) {
        const int shift = std::min(length, count - length);
        free &= free >> shift;
        length += shift;
    }
    return free;
}

GpuMask in_blocks(GpuMask free, int count, Block rule) noexcept {
    if (rule == Block::any) {
        return count_gpus(free) >= count ? free : 0;
    }
    GpuMask covered = block_starts(free, count, rule);
    for (int length = 1; length < count && covered != 0;) {
        const int shift = std::min(length, count - length);
        covered |= covered << shift;
        length += shift;
    }
    return covered;
}

bool has_block(GpuMask free, int count, Block rule) noexcept {
    if (count == 0) {
        return true;
    }
    return rule == Block::any ? std::popcount(free) >= count : block_starts(free, count, rule) != 0;
}

GpuMask choose_block(GpuMask free, int count, Block rule, Packing packing) noexcept {
    if (count == 0 || !has_block(free, count, rule)) {
        return 0;
    }
    if (rule == Block::any) {
        return lowest_of(free, count);
    }
    GpuMask starts = block_starts(free, count, rule);
    int best = std::countr_zero(starts);
    if (packing == Packing::tight) {
        int least = leftover(free, best, count);
        for (starts &= starts - 1; starts != 0 && least > 0; starts &= starts - 1) {
            const int start = std::countr_zero(starts);
            const int rest = leftover(free, start, count);
            if (rest < least) {
                least = rest;
                best = start;
            }
        }
    }
    return lowest_gpus(count) << best;
}

bool is_block(GpuMask gpus, Block rule) noexcept {
    const int count = std::popcount(gpus);
    if (rule == Block::any || count == 0) {
        return true;
    }
    return (block_starts(gpus, count, rule) & (gpus & (~gpus + 1))) != 0;
}

} // namespace foresight
