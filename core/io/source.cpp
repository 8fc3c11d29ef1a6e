/*
 * Source: see source.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "source.hpp"

#include "curve_source.hpp"
#include "file.hpp"
#include "history.hpp"
#include "prometheus.hpp"

namespace foresight::io {

namespace {

std::string kept_curve(const std::string& state_dir, const std::string& app) {
    return state_dir.empty() ? "" : state_dir + "/foresight.curve." + app + ".good";
}

std::string kept_history(const std::string& state_dir, const std::string& app) {
    return state_dir.empty() ? "" : state_dir + "/foresight.history." + app;
}

} // namespace

const char* name_of(Reading::State state) noexcept {
    switch (state) {
    case Reading::State::fresh:
        return "fresh";
    case Reading::State::held:
        return "held";
    case Reading::State::stale:
        return "stale";
    }
    return "";
}

bool Source::refresh(std::int64_t /*now*/, std::string& /*problem*/) {
    return false;
}

void Source::sample(std::int64_t /*now*/, std::int32_t /*gpus*/) {}

FetchClient* Source::client() {
    return nullptr;
}

std::shared_ptr<Source> make_source(const RealtimeSettings& app, const std::string& directory,
                                    const std::string& state_dir, std::int64_t now,
                                    std::string& problem) {
    switch (static_cast<DemandSource>(app.demand)) {
    case DemandSource::none:
        return std::make_shared<CurveSource>(DemandCurve::constant(0));
    case DemandSource::constant:
        return std::make_shared<CurveSource>(
            DemandCurve::constant(static_cast<std::int32_t>(app.gpus)));
    case DemandSource::file:
        return std::make_shared<CurveSource>(
            path_in(directory, app.file), kept_curve(state_dir, app.name), app.name, now, problem);
    case DemandSource::prometheus:
        return std::make_shared<PrometheusSource>(app, directory, now);
    case DemandSource::history:
        return std::make_shared<HistorySource>(kept_history(state_dir, app.name), app.name,
                                               app.past, now);
    }
    return nullptr;
}

Conversion conversion_of(const RealtimeSettings& app) noexcept {
    Conversion made;
    made.units_per_gpu = app.units_per_gpu;
    made.headroom = app.headroom;
    made.min_gpus = static_cast<std::int32_t>(app.min_gpus);
    made.max_gpus = static_cast<std::int32_t>(app.max_gpus);
    return made;
}

void add_problem(std::string& problem, const std::string& more) {
    problem += (problem.empty() ? "" : "; ") + more;
}

} // namespace foresight::io
