/*
 * scontrol: reservations through Slurm's own command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <map>
#include <string>
#include <vector>

namespace foresight::command {

/// Runs `scontrol` with these arguments, no shell between; its standard output.  Throws
/// io::InputError with what it said when it is not there or fails.
std::string scontrol(const std::vector<std::string>& arguments);

/// Node lists by reservation.
[[nodiscard]] std::map<std::string, std::string> reservations();

/// One word of a shell, quoted where it needs that.
[[nodiscard]] std::string shell_word(const std::string& word);

} // namespace foresight::command
