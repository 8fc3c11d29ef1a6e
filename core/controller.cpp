// SPDX-License-Identifier: GPL-2.0-or-later
#include "controller.hpp"

#include <algorithm>
#include <cmath>

namespace foresight {

namespace {

/// How many times as likely a miss may be from this lead on as at once.
constexpr double kFarRisk = 5;
constexpr Seconds kFar = 3600;
/// No quantile below this is asked for, whatever the rule: the curve is a promise.
constexpr double kMostRisk = 0.5;

} // namespace

DemandController::DemandController(const ControlRule& rule, Seconds window)
    : rule_(rule), forecaster_(window) {}

double DemandController::risk(Seconds lead) const noexcept {
    const double far = static_cast<double>(std::clamp<Seconds>(lead, 0, kFar)) / kFar;
    return std::min(kMostRisk, (1 - rule_.quantile) * (1 + (kFarRisk - 1) * far));
}

void DemandController::observe(double value) {
    forecaster_.observe(value);
    learnt_until_ += forecaster_.window();
    if (seen_ > 0 || std::isfinite(value)) {
        seen_ += forecaster_.window();
    }
}

void DemandController::learn(const Series& series) {
    const auto count = static_cast<Seconds>(series.values.size());
    const Seconds end = series.origin + count * series.window;
    if (series.window != forecaster_.window() || learnt_until_ < series.origin ||
        learnt_until_ > end) {
        forecaster_ = Forecaster(series.window);
        learnt_until_ = series.origin;
        seen_ = 0;
    }
    for (Seconds i = (learnt_until_ - series.origin) / series.window; i < count; ++i) {
        observe(series.values[static_cast<std::size_t>(i)]);
    }
}

std::vector<int> DemandController::forecast(int windows) const {
    std::vector<int> gpus;
    if (!known() || windows <= 0) {
        return gpus;
    }
    const Seconds window = forecaster_.window();
    const auto near = static_cast<int>(std::min<Seconds>(windows, kFar / window));
    for (int i = 0; i < near; ++i) {
        const double level = forecaster_.quantile(1 - risk(i * window), i + 1).back();
        gpus.push_back(rule_.conversion.gpus(level));
    }
    const std::vector<double> far = forecaster_.quantile(1 - risk(kFar), windows);
    for (int i = near; i < windows; ++i) {
        gpus.push_back(rule_.conversion.gpus(far[static_cast<std::size_t>(i)]));
    }
    for (int i = 0; i < windows; ++i) {
        if (i * window > seen_ / 2) {
            int& most = gpus[static_cast<std::size_t>(i)];
            most = std::max(most, rule_.peak);
        }
    }
    return gpus;
}

/// The most that the forecast wants while a step lasts, some time before and after it.
std::vector<int> DemandController::ahead(Seconds from, const StepGrid& grid) const {
    const Seconds window = forecaster_.window();
    const Seconds end = grid.from + grid.steps * grid.step + rule_.lead_time;
    const Seconds windows = std::max<Seconds>(1, (end - learnt_until_ + window - 1) / window);
    const std::vector<int> gpus = forecast(static_cast<int>(windows));
    std::vector<int> curve(static_cast<std::size_t>(grid.steps), rule_.conversion.gpus(0));
    if (gpus.empty()) {
        return curve;
    }
    const auto window_of = [&](Seconds time) {
        return std::clamp<Seconds>((time - learnt_until_) / window, 0, windows - 1);
    };
    for (int step = 0; step < grid.steps; ++step) {
        const Seconds start = grid.from + step * grid.step;
        // What was over before now is not held for: that is what hold() does.
        const Seconds first = std::max(from, start - rule_.hold_time);
        const Seconds last = start + grid.step + rule_.lead_time - 1;
        for (Seconds i = window_of(first); i <= window_of(last); ++i) {
            int& most = curve[static_cast<std::size_t>(step)];
            most = std::max(most, gpus[static_cast<std::size_t>(i)]);
        }
    }
    return curve;
}

/// What was wanted at any time in the last hold time stays until that is over.
void DemandController::hold(int wanted, Seconds now, const StepGrid& grid,
                            std::vector<int>& curve) {
    while (!wanted_.empty() && wanted_.front().at + rule_.hold_time <= now) {
        wanted_.pop_front();
    }
    while (!wanted_.empty() && wanted_.back().gpus <= wanted) {
        wanted_.pop_back();
    }
    wanted_.push_back({now, wanted});
    for (const Wanted& entry : wanted_) {
        for (int step = 0; step < grid.steps; ++step) {
            if (grid.from + step * grid.step >= entry.at + rule_.hold_time && step > 0) {
                break;
            }
            int& gpus = curve[static_cast<std::size_t>(step)];
            gpus = std::max(gpus, entry.gpus);
        }
    }
}

std::vector<int> DemandController::curve(const DemandNow& demand, Seconds now,
                                         const StepGrid& grid) {
    const auto steps = static_cast<std::size_t>(std::max(0, grid.steps));
    const bool level = std::isfinite(demand.level);
    if (demand.state == DemandNow::State::stale || (!known() && !level) || steps == 0) {
        return std::vector<int>(steps, rule_.peak);
    }
    std::vector<int> curve = ahead(now, grid);
    if (!known()) {
        // A level and no past: it may rise to the peak once this step is over.
        std::fill(curve.begin() + 1, curve.end(), std::max(rule_.peak, curve.front()));
    }
    if (level) {
        curve.front() = std::max(curve.front(), rule_.conversion.gpus(demand.level));
    }
    if (demand.state == DemandNow::State::held) {
        for (int& gpus : curve) {
            gpus = std::max(gpus, demand.held);
        }
    }
    hold(curve.front(), now, grid, curve);
    return curve;
}

} // namespace foresight
