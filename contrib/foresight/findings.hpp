/*
 * Findings: what `foresight check` has to say, and where it looks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "io/settings.hpp"
#include "slurm_conf.hpp"

#include <string>
#include <vector>

namespace foresight::command {

enum class Level {
    note,   ///< good to know
    active, ///< keeps active mode from being possible
    must    ///< has to change
};

struct Finding {
    Level level = Level::note;
    std::string text;   ///< one line: place, what, why
    std::string change; ///< the exact line to write, or empty
};

using Findings = std::vector<Finding>;

/// What slurm.conf says about active mode: the guard of the plugin finds the same.
void find_active_blockers(const SlurmConf& slurm, Findings& findings);

/// Which way the plugin is installed, and whether the directories for it are there.
/// Returns "drop-in", "SchedulerType" or "none".
[[nodiscard]] std::string find_install(const SlurmConf& slurm, Findings& findings);

/// Names in foresight.conf that slurm.conf does not know, curves that cannot be read.
void find_settings_problems(const io::Settings& settings, const std::string& conf_path,
                            const SlurmConf* slurm, Findings& findings);

/// What users and administrators should know before it runs.
void find_notes(const io::Settings& settings, const SlurmConf& slurm, Findings& findings);

} // namespace foresight::command
