// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Real time: which GPUs each application holds in each step.
 *
 * The curve comes first: the smallest curve that covers the demand and never moves by more than
 * the swap cap between two steps (grow early, hold longer), which is the lower Lipschitz envelope
 * of the demand; where GPUs held at the start make that impossible, it misses least.  Then the
 * places: an application keeps what it holds while it needs it, gives up from the low end of the
 * line, and takes from the high end, first GPUs that stay free for as long as the new rank is
 * needed.  So held GPUs gather at one end, swaps are few and batch blocks stay whole.
 * Cost: O(steps + changes × nodes).
 */
#pragma once

#include "plan.hpp"
#include "policy.hpp"
#include "profile.hpp"

namespace foresight {

/// GPUs to hold in each step, before anything is known of free GPUs.
[[nodiscard]] std::vector<int> hold_curve(const App& app, Realtime mode);

/// Plans every application's holds, the highest priority first, and takes them from the profile.
/// `own` are placements of the applications' own jobs, taken already: their GPUs count as held.
[[nodiscard]] std::vector<Hold> plan_holds(const Snapshot& snapshot, Realtime mode,
                                           const std::vector<Placement>& own, Profile& profile);

} // namespace foresight
