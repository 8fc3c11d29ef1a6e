// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Digest: a number that tells whether two inputs of the planner are the same.
 *
 * FNV-1a (Fowler, Noll & Vo) in words of 64 bits, over every field in order.  Cost: O(snapshot).
 */
#pragma once

#include "model.hpp"
#include "policy.hpp"

namespace foresight {

/// Of everything that a plan depends on but its memory.
[[nodiscard]] std::uint64_t digest_of(const Snapshot& snapshot, const Policy& policy,
                                      std::uint64_t budget);

/// Of the nodes and the block rule alone: while it stays, a share of a node means the same.
[[nodiscard]] std::uint64_t digest_of_nodes(const Snapshot& snapshot);

} // namespace foresight
