/*
 * Last good: see last_good.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "last_good.hpp"

#include "error.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

namespace foresight::io {

namespace {

constexpr mode_t kPrivate = 0600;
constexpr std::size_t kLargestConf = std::size_t{4} << 20U;
constexpr std::size_t kLargestCurve = std::size_t{64} << 20U;

std::string kept_settings(const std::string& state_dir) {
    return state_dir + "/foresight.conf.good";
}

std::string kept_curve(const std::string& state_dir, const std::string& app) {
    return state_dir + "/foresight.curve." + app + ".good";
}

void add_problem(std::string& problem, const std::string& more) {
    problem += (problem.empty() ? "" : "; ") + more;
}

/// Writes a copy unless it is there already: a reload is no reason to wear a disk.
void keep(const std::string& path, const std::string& text, std::string& problem) {
    try {
        if (stamp_of(path).exists && read_file(path) == text) {
            return;
        }
        write_file(path, text, kPrivate, Sync::disk);
    } catch (const InputError& error) {
        add_problem(problem, std::string("the last good copy is not kept: ") + error.what());
    }
}

/// Replaces a curve by what its file says now; throws InputError and leaves it as it is.
void read_curve(AppCurve& curve, const std::string& state_dir, const std::string& app,
                std::string& problem) {
    curve.stamp = stamp_of(curve.path);
    const std::string text = read_file(curve.path, kLargestCurve);
    curve.curve = DemandCurve::parse(text, shown_name(curve.path));
    if (!state_dir.empty()) {
        keep(kept_curve(state_dir, app), text, problem);
    }
}

/// The curve that worked before, when the file does not.
std::optional<DemandCurve> recall_curve(const std::string& state_dir, const std::string& app) {
    if (state_dir.empty()) {
        return std::nullopt;
    }
    try {
        const std::string path = kept_curve(state_dir, app);
        return DemandCurve::parse(read_file(path, kLargestCurve), shown_name(path));
    } catch (const InputError&) {
        return std::nullopt;
    }
}

void load_curves(LoadedSettings& loaded, const std::string& directory) {
    for (const RealtimeSettings& app : loaded.settings.realtime) {
        AppCurve& curve = loaded.curves.emplace_back();
        switch (static_cast<DemandSource>(app.demand)) {
        case DemandSource::none: curve.curve = DemandCurve::constant(0); break;
        case DemandSource::constant:
            curve.curve = DemandCurve::constant(static_cast<std::int32_t>(app.gpus));
            break;
        case DemandSource::file:
            curve.path = path_in(directory, app.file);
            try {
                read_curve(curve, loaded.state_dir, app.name, loaded.problem);
            } catch (const InputError& error) {
                curve.curve = recall_curve(loaded.state_dir, app.name);
                add_problem(loaded.problem,
                            std::string(error.what()) +
                                (curve.curve ? " (the last good curve of " : " (no curve for ") +
                                app.name + (curve.curve ? " stays in force)" : " yet)"));
            }
            break;
        }
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
            keep(kept_settings(loaded.state_dir), text, loaded.problem);
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

LoadedSettings load_settings(const std::string& path, const std::string& state_dir) {
    LoadedSettings loaded;
    loaded.state_dir = state_dir;
    if (!load_file(loaded, path)) {
        load_kept(loaded);
    }
    if (loaded.settings.publish_dir.empty() && !state_dir.empty()) {
        loaded.settings.publish_dir = state_dir + "/foresight";
    }
    // Also of a last good copy: paths stay relative to the file that the administrator wrote.
    load_curves(loaded, directory_of(path));
    return loaded;
}

bool refresh_curves(LoadedSettings& loaded) {
    bool changed = false;
    loaded.problem.clear();
    for (std::size_t i = 0; i < loaded.curves.size(); ++i) {
        AppCurve& curve = loaded.curves[i];
        if (curve.path.empty() || stamp_of(curve.path) == curve.stamp) {
            continue;
        }
        try {
            read_curve(curve, loaded.state_dir, loaded.settings.realtime[i].name, loaded.problem);
            changed = true;
        } catch (const InputError& error) {
            add_problem(loaded.problem,
                        std::string(error.what()) + " (the curve in force stays)");
        }
    }
    return changed;
}

bool demand_of(const LoadedSettings& loaded, std::size_t app, std::int64_t origin,
               std::int64_t step, std::vector<std::int32_t>& demand) {
    const RealtimeSettings& settings = loaded.settings.realtime[app];
    const std::optional<DemandCurve>& curve = loaded.curves[app].curve;
    const auto steps = static_cast<std::int32_t>(demand.size());
    const bool capped = settings.max_gpus < 1'000'000;
    const auto least = static_cast<std::int32_t>(settings.min_gpus);
    const auto most = static_cast<std::int32_t>(settings.max_gpus);
    if (!curve) {
        std::fill(demand.begin(), demand.end(), capped ? most : least);
        return false;
    }
    demand = curve->over(origin, step, steps);
    for (std::int32_t& gpus : demand) {
        gpus = std::clamp(gpus, least, most);
    }
    return true;
}

} // namespace foresight::io
