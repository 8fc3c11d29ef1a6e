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

/// Bits i such that GPUs i … i+count-1 are all in `free`; count ≥ 1.
[[nodiscard]] GpuMask run_starts(GpuMask free, int count) noexcept;

/// Whether `free` holds a legal block of `count` GPUs of one node.
[[nodiscard]] bool has_block(GpuMask free, int count, Block rule) noexcept;

/// A legal block of `count` GPUs out of `free`, or 0 when there is none; 0 for count 0.
[[nodiscard]] GpuMask choose_block(GpuMask free, int count, Block rule, Packing packing) noexcept;

/// Whether `gpus`, all on one node, have the shape that the rule asks of a block.
[[nodiscard]] bool is_block(GpuMask gpus, Block rule) noexcept;

} // namespace foresight
