/*
 * Last good: settings and curves that once worked, kept on disk for the day they do not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "demand.hpp"
#include "file.hpp"
#include "foresight_io.h"
#include "settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foresight::io {

/// An application's curve and the file that it came from.
struct AppCurve {
    std::string path; ///< empty: not from a file
    FileStamp stamp;  ///< of the file as it was last looked at, good or bad
    std::optional<DemandCurve> curve;
};

/// Settings in force, with everything they need from disk.
struct LoadedSettings {
    Settings settings;
    fs_settings_origin origin = FS_FROM_DEFAULTS;
    std::vector<AppCurve> curves; ///< one for each Settings::realtime
    std::string state_dir;        ///< empty: nothing is kept
    std::string problem;          ///< one line, or empty
};

/// What fs_settings_load() promises, as a value.
[[nodiscard]] LoadedSettings load_settings(const std::string& path, const std::string& state_dir);

/// Reads curves again whose files changed; true when one did.  A bad one keeps what is in force
/// and says so in `loaded.problem`, once for each version of the file.
bool refresh_curves(LoadedSettings& loaded);

/// GPUs wanted in each step, inside MinGpus and MaxGpus.  False when no curve could be had: then
/// it is MaxGpus where the settings have one, else MinGpus.
bool demand_of(const LoadedSettings& loaded, std::size_t app, std::int64_t origin,
               std::int64_t step, std::vector<std::int32_t>& demand);

} // namespace foresight::io
