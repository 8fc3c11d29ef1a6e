/*
 * A build without CBC (see configure's --without-cbc).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cbc.hpp"

namespace foresight::command {

MipSolver cbc_solver(double /*seconds*/) {
    return {};
}

} // namespace foresight::command
