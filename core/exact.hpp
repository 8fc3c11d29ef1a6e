// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exact: the best plan of a small snapshot, by mixed-integer programming.
 *
 * The time-indexed model (van den Akker, Hurkens & Savelsbergh 2000): a binary for each job, start
 * and position of its block; for each application, GPU and step whether it holds the GPU, with
 * the swap cap on changes.  Times lie on the greatest common divisor of step, durations and
 * submits, where some best plan's starts lie too.  First without positions, GPUs only counted:
 * that program is small, its optimum bounds the other's, and where it is no better than a plan in
 * hand, that plan is proved.  Only then with positions.
 *
 * Cost: exponential; the caller's solver has a time limit and says whether it proved the optimum.
 */
#pragma once

#include "mip.hpp"
#include "plan.hpp"

#include <string>

namespace foresight {

struct ExactAnswer {
    Plan plan;
    bool proved = false; ///< no plan has a larger objective
};

/// Why there is no exact model of this snapshot (too large, too fine a grid, …), or empty.
[[nodiscard]] std::string no_exact_model(const Snapshot& snapshot);

/// The best plan; `known` is a legal one to start from, returned where nothing better is found.
[[nodiscard]] ExactAnswer exact_plan(const Snapshot& snapshot, const Plan& known,
                                     const MipSolver& solve);

} // namespace foresight
