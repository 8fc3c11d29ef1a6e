// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Validate: an independent checker of plans.
 *
 * It shares no code with the planner's timeline and search, so that a mistake there cannot hide
 * here: it sweeps each node's events and counts.  Cost: O(n log n) in placements and holds.
 */
#pragma once

#include "plan.hpp"

namespace foresight {

/// Every rule that the plan breaks, one line each; empty for a legal plan.
[[nodiscard]] std::vector<std::string> validate(const Snapshot& snapshot, const Plan& plan);

} // namespace foresight
