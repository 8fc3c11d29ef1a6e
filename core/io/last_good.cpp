/*
 * Last good: see last_good.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "last_good.hpp"

#include "curve_source.hpp"
#include "error.hpp"
#include "file.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <unistd.h>

namespace foresight::io {

namespace {

constexpr std::size_t kLargestConf = std::size_t{4} << 20U;

std::string kept_settings(const std::string& state_dir) {
    return state_dir + "/foresight.conf.good";
}

void make_sources(LoadedSettings& loaded, const std::string& directory, std::int64_t now) {
    for (const RealtimeSettings& app : loaded.settings.realtime) {
        loaded.sources.push_back(
            make_source(app, directory, loaded.state_dir, now, loaded.problem));
        loaded.readings.push_back(loaded.sources.back()->read(now));
    }
}

/// The file itself.  True when it is good (also when it is not there: the defaults).
bool load_file(LoadedSettings& loaded, const std::string& path) {
    try {
        if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
            loaded.settings = default_settings();
            loaded.origin = FS_FROM_DEFAULTS;
            if (!loaded.state_dir.empty()) {
                // Taken away on purpose: what it once said must not come back later.
                ::unlink(kept_settings(loaded.state_dir).c_str());
            }
            return true;
        }
        const std::string text = read_file(path, kLargestConf);
        loaded.settings = parse_settings(text, shown_name(path));
        loaded.origin = FS_FROM_FILE;
        if (!loaded.state_dir.empty()) {
            keep_copy(kept_settings(loaded.state_dir), text, loaded.problem);
        }
        return true;
    } catch (const InputError& error) {
        add_problem(loaded.problem, error.what());
        return false;
    }
}

void load_kept(LoadedSettings& loaded) {
    loaded.settings = default_settings();
    loaded.origin = FS_FROM_DEFAULTS;
    if (loaded.state_dir.empty()) {
        return;
    }
    const std::string path = kept_settings(loaded.state_dir);
    try {
        if (stamp_of(path).exists) {
            loaded.settings = parse_settings(read_file(path, kLargestConf), shown_name(path));
            loaded.origin = FS_FROM_LAST_GOOD;
        }
    } catch (const InputError& error) {
        add_problem(loaded.problem, error.what());
    }
}

} // namespace

LoadedSettings load_settings(const std::string& path, const std::string& state_dir,
                             std::int64_t now) {
    LoadedSettings loaded;
    loaded.state_dir = state_dir;
    if (!load_file(loaded, path)) {
        load_kept(loaded);
    }
    if (loaded.settings.publish_dir.empty() && !state_dir.empty()) {
        loaded.settings.publish_dir = state_dir + "/foresight";
    }
    // Also of a last good copy: paths stay relative to the file that the administrator wrote.
    make_sources(loaded, directory_of(path), now);
    return loaded;
}

bool refresh_sources(LoadedSettings& loaded, std::int64_t now) {
    bool changed = false;
    loaded.problem.clear();
    for (std::size_t i = 0; i < loaded.sources.size(); ++i) {
        changed = loaded.sources[i]->refresh(now, loaded.problem) || changed;
        loaded.readings[i] = loaded.sources[i]->read(now);
    }
    return changed;
}

bool demand_of(const LoadedSettings& loaded, std::size_t app, std::int64_t origin,
               std::int64_t step, std::vector<std::int32_t>& demand) {
    const Conversion conversion = conversion_of(loaded.settings.realtime[app]);
    const Reading& reading = loaded.readings[app];
    if (reading.state == Reading::State::stale || std::isnan(reading.level)) {
        const bool capped = conversion.max_gpus < 1'000'000;
        std::fill(demand.begin(), demand.end(),
                  capped ? conversion.max_gpus : conversion.min_gpus);
        return false;
    }
    if (!reading.curve) {
        std::fill(demand.begin(), demand.end(), conversion.gpus(reading.level));
        return true;
    }
    demand = reading.curve->over(origin, step, static_cast<std::int32_t>(demand.size()));
    for (std::int32_t& gpus : demand) {
        gpus = conversion.gpus(gpus);
    }
    return true;
}

} // namespace foresight::io
