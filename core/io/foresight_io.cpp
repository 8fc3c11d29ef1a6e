/*
 * The C interface of core/io: see foresight_io.h.  No exception leaves a function.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "foresight_io.h"

#include "../capi.hpp"
#include "error.hpp"
#include "fetch.hpp"
#include "intent.hpp"
#include "last_good.hpp"
#include "publish.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>
#include <exception>
#include <iterator>
#include <new>
#include <optional>

using foresight::io::JobFacts;
using foresight::io::LoadedSettings;
using foresight::io::RealtimeSettings;
using foresight::io::WeightSettings;

struct fs_settings {
    LoadedSettings loaded;
    std::optional<foresight::io::Fetcher> fetcher;
};

struct fs_intents {
    std::string state_dir;
    foresight::io::Intents known;
};

namespace {

/// As much of one line as fits.
void tell(char* problem, std::size_t size, const char* what) noexcept {
    if (problem == nullptr || size == 0) {
        return;
    }
    const std::size_t length = std::min(std::strlen(what), size - 1);
    std::memcpy(problem, what, length);
    problem[length] = '\0';
}

std::string_view view_of(const char* text) noexcept {
    return text == nullptr ? std::string_view() : std::string_view(text);
}

JobFacts facts_of(const fs_job_tags& tags) noexcept {
    return {view_of(tags.partition), view_of(tags.account), view_of(tags.qos),
            view_of(tags.user), view_of(tags.comment)};
}

std::int64_t unlimited_to_c(std::int64_t count) noexcept {
    return count >= foresight::kUnlimited ? FS_UNLIMITED : count;
}

} // namespace

extern "C" {

fs_settings* fs_settings_load(const char* path, const char* state_dir, char* problem,
                              std::size_t size, fs_settings_origin* origin) {
    tell(problem, size, "");
    try {
        auto* settings = new fs_settings{foresight::io::load_settings(
            path == nullptr ? "" : path, state_dir == nullptr ? "" : state_dir,
            std::time(nullptr)), std::nullopt};
        tell(problem, size, settings->loaded.problem.c_str());
        if (origin != nullptr) {
            *origin = settings->loaded.origin;
        }
        return settings;
    } catch (const std::exception& error) {
        tell(problem, size, error.what());
        return nullptr;
    }
}

void fs_settings_free(fs_settings* settings) { delete settings; }

int fs_settings_start(fs_settings* settings, fs_settings* old, char* problem, std::size_t size) {
    tell(problem, size, "");
    try {
        if (old != nullptr) {
            old->fetcher.reset();
            foresight::io::take_over(settings->loaded, old->loaded);
        }
        settings->fetcher.emplace(settings->loaded.sources);
        return 0;
    } catch (const std::exception& error) {
        tell(problem, size, error.what());
        return -1;
    }
}

void fs_settings_sample(fs_settings* settings, const fs_snapshot* snapshot) {
    std::vector<foresight::io::Control>& controls = settings->loaded.controls;
    for (std::size_t app = 0; app < controls.size(); ++app) {
        std::int32_t gpus = 0;
        for (const foresight::Running& job : snapshot->snapshot.running) {
            for (const foresight::Share& share : job.shares) {
                gpus += job.app == static_cast<int>(app) ? std::popcount(share.gpus) : 0;
            }
        }
        controls[app].sample(gpus);
        settings->loaded.sources[app]->sample(snapshot->now, gpus);
    }
}

void fs_settings_get(const fs_settings* settings, fs_settings_view* view) {
    const foresight::io::Settings& from = settings->loaded.settings;
    view->mode = from.mode == static_cast<std::int64_t>(foresight::io::Mode::active)
                     ? FS_MODE_ACTIVE
                     : FS_MODE_SHADOW;
    view->horizon = from.horizon;
    view->step = from.step;
    view->interval = from.interval;
    view->budget_ms = from.plan_budget_ms;
    view->overrun_ms = from.plan_overrun_ms;
    view->max_failures = static_cast<std::int32_t>(from.max_failures);
    view->max_starts = static_cast<std::int32_t>(from.max_starts);
    view->end_grace = from.end_grace;
    view->age_doubles = from.weight_doubles_after;
    view->move_gain = from.move_gain / 100;
    view->weighted = !from.weights.empty();
    view->publish_dir = from.publish_dir.c_str();
}

double fs_settings_weight(const fs_settings* settings, const fs_job_tags* tags,
                          const char** kind) {
    const JobFacts job = facts_of(*tags);
    for (const WeightSettings& line : settings->loaded.settings.weights) {
        if (matches(line.match, job)) {
            if (kind != nullptr) {
                *kind = line.kind.c_str();
            }
            return line.weight;
        }
    }
    if (kind != nullptr) {
        *kind = "";
    }
    return 1.0;
}

std::int32_t fs_settings_app_count(const fs_settings* settings) {
    return static_cast<std::int32_t>(settings->loaded.settings.realtime.size());
}

void fs_settings_app(const fs_settings* settings, std::int32_t app, fs_app_settings* view) {
    const RealtimeSettings& from =
        settings->loaded.settings.realtime[static_cast<std::size_t>(app)];
    view->name = from.name.c_str();
    view->priority = from.priority;
    view->max_swap = unlimited_to_c(from.max_swap);
    view->reservation = from.reservation.empty() ? nullptr : from.reservation.c_str();
    view->partition = from.hold_partition.empty() ? nullptr : from.hold_partition.c_str();
    view->per_gpu = {0, from.cpus_per_gpu, from.mem_per_gpu};
    view->wait_on_failure =
        from.on_failure == static_cast<std::int64_t>(foresight::io::OnFailure::wait);
}

std::int32_t fs_settings_app_of(const fs_settings* settings, const fs_job_tags* tags) {
    const std::vector<RealtimeSettings>& apps = settings->loaded.settings.realtime;
    const JobFacts job = facts_of(*tags);
    for (std::size_t i = 0; i < apps.size(); ++i) {
        if (!apps[i].match.empty() && matches(apps[i].match, job)) {
            return static_cast<std::int32_t>(i);
        }
    }
    return -1;
}

int fs_settings_demand(const fs_settings* settings, std::int32_t app, std::int64_t origin,
                       std::int64_t step, std::int32_t steps, std::int32_t* demand) {
    if (app < 0 || app >= fs_settings_app_count(settings) || step <= 0 || steps <= 0) {
        return -1;
    }
    try {
        std::vector<std::int32_t> wanted(static_cast<std::size_t>(steps));
        const bool known =
            settings->loaded.controls[static_cast<std::size_t>(app)].wanted(origin, step, wanted);
        std::copy(wanted.begin(), wanted.end(), demand);
        return known ? 0 : -1;
    } catch (const std::exception&) {
        std::fill_n(demand, steps, 0);
        return -1;
    }
}

bool fs_settings_refresh(fs_settings* settings, char* problem, std::size_t size) {
    tell(problem, size, "");
    try {
        const bool changed = foresight::io::refresh_sources(settings->loaded, std::time(nullptr));
        tell(problem, size, settings->loaded.problem.c_str());
        return changed;
    } catch (const std::exception& error) {
        tell(problem, size, error.what());
        return false;
    }
}

fs_intents* fs_intents_load(const char* state_dir, char* problem, std::size_t size) {
    tell(problem, size, "");
    auto* intents = new (std::nothrow) fs_intents;
    if (intents == nullptr) {
        return nullptr;
    }
    try {
        intents->state_dir = state_dir;
        intents->known = foresight::io::read_intents(intents->state_dir);
    } catch (const std::exception& error) {
        tell(problem, size, error.what());
    }
    return intents;
}

void fs_intents_free(fs_intents* intents) { delete intents; }

std::size_t fs_intents_count(const fs_intents* intents) { return intents->known.size(); }

const char* fs_intents_name(const fs_intents* intents, std::size_t index) {
    return std::next(intents->known.begin(), static_cast<std::ptrdiff_t>(index))->first.c_str();
}

const char* fs_intents_nodes(const fs_intents* intents, const char* name) {
    const auto found = intents->known.find(name);
    return found == intents->known.end() ? nullptr : found->second.c_str();
}

int fs_intents_set(fs_intents* intents, const char* name, const char* nodes, char* problem,
                   std::size_t size) {
    tell(problem, size, "");
    try {
        foresight::io::Intents next = intents->known;
        if (nodes == nullptr) {
            next.erase(name);
        } else {
            next[name] = nodes;
        }
        foresight::io::write_intents(intents->state_dir, next);
        intents->known = std::move(next);
        return 0;
    } catch (const std::exception& error) {
        tell(problem, size, error.what());
        return -1;
    }
}

int fs_publish(const char* dir, const fs_snapshot* snapshot, const fs_plan* plan,
               const fs_counters* counters, bool private_jobs, char* problem, std::size_t size) {
    tell(problem, size, "");
    try {
        if (snapshot == nullptr || plan == nullptr) {
            foresight::io::publish(dir, nullptr, *counters, private_jobs);
        } else {
            const foresight::io::Published published{snapshot->snapshot, plan->plan,
                                                     snapshot->origin};
            foresight::io::publish(dir, &published, *counters, private_jobs);
        }
        return 0;
    } catch (const std::exception& error) {
        tell(problem, size, error.what());
        return -1;
    }
}

} // extern "C"
