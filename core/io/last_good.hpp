/*
 * Last good: settings and curves that once worked, kept on disk for the day they do not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "foresight_io.h"
#include "settings.hpp"
#include "source.hpp"

#include <memory>
#include <string>
#include <vector>

namespace foresight::io {

/// Settings in force, with everything they need from disk.
struct LoadedSettings {
    Settings settings;
    fs_settings_origin origin = FS_FROM_DEFAULTS;
    std::vector<std::shared_ptr<Source>> sources; ///< one for each Settings::realtime
    std::vector<Reading> readings;                ///< of each, when it was last looked at
    std::string state_dir;                        ///< empty: nothing is kept
    std::string problem;                          ///< one line, or empty
};

/// What fs_settings_load() promises, as a value.  `now`: seconds since the epoch.
[[nodiscard]] LoadedSettings load_settings(const std::string& path, const std::string& state_dir,
                                           std::int64_t now);

/// Looks at every source: files that changed are read again, then the readings are taken.  True
/// when a curve changed.  A bad file keeps what is in force and says so in `loaded.problem`, once
/// for each version of the file.
bool refresh_sources(LoadedSettings& loaded, std::int64_t now);

/// GPUs wanted in each step, within MinGpus and MaxGpus, by the last readings alone: along the
/// curve where there is one, else at the present level.  False when nothing is known, or nothing
/// good since long: then it is the static peak, MaxGpus, where the settings have one, else MinGpus.
bool demand_of(const LoadedSettings& loaded, std::size_t app, std::int64_t origin,
               std::int64_t step, std::vector<std::int32_t>& demand);

} // namespace foresight::io
