// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fragmentation: the share of free GPUs that the queue cannot use for the shape of its blocks.
 *
 * Counted when the plan's first starts have been made: for each job that waits on, the free GPUs
 * that lie in no legal block of the size that it wants together on a node, divided by all free
 * ones; the mean over those jobs (the expected fragment of Weng et al., ATC 2023, with the queue
 * itself for the workload).  0 when nothing is free or nobody waits.
 * Cost: O(nodes × distinct sizes).
 */
#pragma once

#include "plan.hpp"

namespace foresight {

[[nodiscard]] double fragmentation(const Snapshot& snapshot, const Plan& plan);

/// GPUs that a request wants together on one node.
[[nodiscard]] int gpus_together(const Request& request, Block rule) noexcept;

} // namespace foresight
