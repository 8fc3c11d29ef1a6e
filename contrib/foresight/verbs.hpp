/*
 * The verbs of the foresight command, one file each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <CLI/CLI.hpp>

namespace foresight::command {

/// What a run ends with.
enum Status {
    kDone = 0,
    kNo = 1,      ///< the answer is "no": an illegal schedule, a failed check
    kBadInput = 2 ///< bad usage or input
};

/// Each adds its verb; when it is the one asked for, it runs inside CLI::App::parse() and leaves
/// its exit status in `status`.  Bad input is an io::InputError.
void add_plan(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_forecast(CLI::App& app, int& status);
void add_restore(CLI::App& app, int& status);

} // namespace foresight::command
