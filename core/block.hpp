// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Block shapes as bit tricks on a node's GPU mask.
 *
 * A run of k ones in a word is found with O(log k) shifts (Hacker's Delight, 6-3): AND the mask
 * with itself shifted, doubling the shift; what is left marks where runs start.
 */
#pragma once

#include "model.hpp"

namespace foresight {

/// How a place is chosen among equals.
enum class Packing {
    lowest, ///< the lowest free block on the lowest node, as the published baseline
    tight,  ///< the block and the node that leave the fewest GPUs beside it
};

/// For a hot function: one version for the processors of the last decade beside the baseline's,
/// chosen when the program is loaded, with all that it calls inside.  Bit tricks take half the
/// time so.  Integers only: a version may round floating point in another way.
#if defined(__x86_64__) && defined(__gnu_linux__)
#define FORESIGHT_HOT __attribute__((target_clones("arch=x86-64-v3", "default"), flatten))
/// The same for floating point: wider vectors, but no fused operations, so that every processor
/// rounds alike and makes the same plan.
#define FORESIGHT_WIDE __attribute__((target_clones("avx2", "default"), flatten))
#else
#define FORESIGHT_HOT
#define FORESIGHT_WIDE
#endif

/// GPUs of a mask.  (Without a flag for newer processors std::popcount is a call.)
[[nodiscard]] constexpr int count_gpus(GpuMask gpus) noexcept {
    gpus -= (gpus >> 1) & 0x5555555555555555ULL;
    gpus = (gpus & 0x3333333333333333ULL) + ((gpus >> 2) & 0x3333333333333333ULL);
    gpus = (gpus + (gpus >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return static_cast<int>((gpus * 0x0101010101010101ULL) >> 56);
}

/// Bits i such that GPUs i … i+count-1 are all in `free`; count ≥ 1.
[[nodiscard]] GpuMask run_starts(GpuMask free, int count) noexcept;

/// The lowest `count` GPUs of a mask that has as many.
[[nodiscard]] GpuMask lowest_of(GpuMask free, int count) noexcept;

/// Whether `free` holds a legal block of `count` GPUs of one node.
[[nodiscard]] bool has_block(GpuMask free, int count, Block rule) noexcept;

/// The free GPUs that lie in a legal block of `count` of them; count ≥ 1.
[[nodiscard]] GpuMask in_blocks(GpuMask free, int count, Block rule) noexcept;

/// A legal block of `count` GPUs out of `free`, or 0 when there is none; 0 for count 0.
[[nodiscard]] GpuMask choose_block(GpuMask free, int count, Block rule, Packing packing) noexcept;

/// Whether `gpus`, all on one node, have the shape that the rule asks of a block.
[[nodiscard]] bool is_block(GpuMask gpus, Block rule) noexcept;

} // namespace foresight
