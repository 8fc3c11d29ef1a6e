/*
 * Last good: settings and curves that once worked, kept on disk for the day they do not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "control.hpp"
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
    std::vector<Control> controls;                ///< … what is made of what it tells
    std::string state_dir;                        ///< empty: nothing is kept
    std::string problem;                          ///< one line, or empty
};

/// What fs_settings_load() promises, as a value.  `now`: seconds since the epoch.
[[nodiscard]] LoadedSettings load_settings(const std::string& path, const std::string& state_dir,
                                           std::int64_t now);

/// Looks at every source: files that changed are read again, then the readings are taken and curves
/// made of them.  True when a curve changed.  A bad file keeps what is in force and says so in `loaded.problem`, once
/// for each version of the file.
bool refresh_sources(LoadedSettings& loaded, std::int64_t now);

/// Of the settings that go, what lasts: sources that are measured, and what was learnt from them,
/// where an application is there again with the same source.  Nobody may fetch for `old` any more.
void take_over(LoadedSettings& loaded, LoadedSettings& old);

} // namespace foresight::io
