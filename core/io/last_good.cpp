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

#include <unistd.h>

namespace foresight::io {

namespace {

constexpr std::size_t kLargestConf = std::size_t{4} << 20U;

std::string kept_settings(const std::string& state_dir) {
    return state_dir + "/foresight.conf.good";
}

bool update(LoadedSettings& loaded, std::size_t app, std::int64_t now) {
    return loaded.controls[app].update(loaded.sources[app]->read(now), now, loaded.settings.step,
                                       loaded.settings.horizon);
}

/// Would the source be the same?  Files and constants are read anew: that costs nothing.
bool same_source(const RealtimeSettings& a, const RealtimeSettings& b) {
    return a.name == b.name && a.demand == b.demand &&
           is_measured(static_cast<DemandSource>(a.demand)) && a.url == b.url &&
           a.query == b.query && a.ca_file == b.ca_file && a.token_file == b.token_file &&
           a.query_step == b.query_step && a.past == b.past && a.timeout == b.timeout &&
           a.fetch_interval == b.fetch_interval && a.stale_after == b.stale_after;
}

void make_sources(LoadedSettings& loaded, const std::string& directory, std::int64_t now) {
    for (const RealtimeSettings& app : loaded.settings.realtime) {
        loaded.sources.push_back(
            make_source(app, directory, loaded.state_dir, now, loaded.problem));
        loaded.controls.emplace_back(app);
        update(loaded, loaded.sources.size() - 1, now);
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
        changed = update(loaded, i, now) || changed;
    }
    return changed;
}

void take_over(LoadedSettings& loaded, LoadedSettings& old) {
    for (std::size_t i = 0; i < loaded.sources.size(); ++i) {
        const RealtimeSettings& app = loaded.settings.realtime[i];
        for (std::size_t j = 0; j < old.sources.size(); ++j) {
            if (same_source(app, old.settings.realtime[j])) {
                loaded.sources[i] = old.sources[j];
                loaded.controls[i] = std::move(old.controls[j]);
                loaded.controls[i].set(app);
            }
        }
    }
}

} // namespace foresight::io
