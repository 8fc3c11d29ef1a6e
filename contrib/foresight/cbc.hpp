/*
 * CBC: COIN-OR's branch and cut as the solver of exact plans, where this build has it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "mip.hpp"

namespace foresight::command {

/// A solver that gives up after so many seconds in all its calls; empty when built without CBC.
[[nodiscard]] MipSolver cbc_solver(double seconds);

} // namespace foresight::command
