// SPDX-License-Identifier: GPL-2.0-or-later
#include "controller.hpp"

#include "harness.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace foresight;

namespace {

constexpr Seconds kWindow = 600;
constexpr Seconds kDay = 86400;
constexpr Seconds kEpoch = 1'700'006'400; // a multiple of a day
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Ten days, ten requests a second at night and fifty by day.
Series two_levels(int days) {
    Series series{kEpoch, kWindow, {}};
    for (Seconds at = 0; at < days * kDay; at += kWindow) {
        const Seconds hour = at % kDay / 3600;
        series.values.push_back(hour >= 8 && hour < 20 ? 50 : 10);
    }
    return series;
}

ControlRule rule_for_ten_gpus() {
    ControlRule rule;
    rule.conversion = {.units_per_gpu = 5, .headroom = 0, .min_gpus = 1, .max_gpus = 12};
    rule.peak = 12;
    return rule;
}

StepGrid grid_at(Seconds from, int steps = 24, Seconds step = 3600) {
    return {from, step, steps};
}

int at_hour(const std::vector<int>& curve, int hour) {
    return curve[static_cast<std::size_t>(hour)];
}

void follows_the_day() {
    DemandController controller(rule_for_ten_gpus(), kWindow);
    controller.learn(two_levels(10));
    const Seconds now = kEpoch + 10 * kDay;
    const std::vector<int> curve = controller.curve({.level = 10}, now, grid_at(now));
    CHECK_INT(at_hour(curve, 2), 2);
    CHECK_INT(at_hour(curve, 12), 10);
    CHECK(at_hour(curve, 22) >= 2 && at_hour(curve, 22) <= 4);
}

void grows_early_and_shrinks_late() {
    ControlRule rule = rule_for_ten_gpus();
    rule.lead_time = 3600;
    rule.hold_time = 2 * 3600;
    DemandController controller(rule, kWindow);
    controller.learn(two_levels(10));
    const Seconds now = kEpoch + 10 * kDay;
    const std::vector<int> curve = controller.curve({.level = 10}, now, grid_at(now));
    CHECK_INT(at_hour(curve, 6), 2);
    CHECK_INT(at_hour(curve, 7), 10);
    CHECK_INT(at_hour(curve, 21), 10);
    CHECK(at_hour(curve, 22) >= 2 && at_hour(curve, 22) <= 4);
}

void a_level_that_came_down_is_held() {
    ControlRule rule = rule_for_ten_gpus();
    rule.hold_time = 1800;
    DemandController controller(rule, kWindow);
    controller.learn(two_levels(10));
    const Seconds now = kEpoch + 10 * kDay;
    const auto first = [&](Seconds later, double level) {
        return controller.curve({.level = level}, now + later, grid_at(now, 24, 600)).front();
    };
    CHECK_INT(first(0, 40), 8);
    CHECK_INT(first(60, 10), 8);
    CHECK_INT(first(1799, 10), 8);
    CHECK_INT(first(1800, 10), 2);
}

void what_is_not_known_is_held_or_the_peak() {
    DemandController controller(rule_for_ten_gpus(), kWindow);
    const Seconds now = kEpoch + 10 * kDay;
    CHECK_INT(controller.curve({}, now, grid_at(now)).front(), 12);
    CHECK_INT(controller.curve({.level = 5}, now, grid_at(now)).front(), 1);
    CHECK_INT(controller.curve({.level = 5}, now, grid_at(now)).back(), 12);
    controller.learn(two_levels(10));
    using enum DemandNow::State;
    const std::vector<int> kept =
        controller.curve({.state = held, .level = 10, .held = 7}, now, grid_at(now));
    CHECK_INT(at_hour(kept, 2), 7);
    CHECK_INT(at_hour(kept, 12), 10);
    const std::vector<int> stale_curve =
        controller.curve({.state = stale, .level = 10, .held = 7}, now, grid_at(now));
    CHECK(std::all_of(stale_curve.begin(), stale_curve.end(), [](int gpus) { return gpus == 12; }));
}

void only_a_real_zero_shrinks_to_the_least() {
    ControlRule rule = rule_for_ten_gpus();
    rule.conversion.min_gpus = 0;
    DemandController controller(rule, kWindow);
    Series nothing{kEpoch, kWindow, std::vector<double>(7 * 144, 0.0)};
    controller.learn(nothing);
    const Seconds now = kEpoch + 7 * kDay;
    CHECK_INT(controller.curve({.level = 0}, now, grid_at(now)).front(), 0);
    CHECK_INT(controller.curve({.level = 0.001}, now, grid_at(now)).front(), 1);
    DemandController blind(rule, kWindow);
    blind.learn({kEpoch, kWindow, std::vector<double>(7 * 144, kUnknown)});
    CHECK_INT(blind.curve({}, now, grid_at(now)).front(), 12);
}

void a_short_past_is_not_trusted_far() {
    DemandController controller(rule_for_ten_gpus(), kWindow);
    controller.learn({kEpoch, kWindow, std::vector<double>(24, 10.0)}); // four hours
    const Seconds now = kEpoch + 4 * 3600;
    const std::vector<int> curve = controller.curve({.level = 10}, now, grid_at(now));
    CHECK_INT(at_hour(curve, 1), 2);
    CHECK_INT(at_hour(curve, 3), 12);
}

/// Each window as it comes, or all at once, or again: the same.
void learning_in_pieces_is_the_same() {
    const Series all = two_levels(8);
    DemandController once(rule_for_ten_gpus(), kWindow);
    once.learn(all);
    DemandController pieces(rule_for_ten_gpus(), kWindow);
    for (const std::size_t count : {100U, 101U, 500U, 500U, 1152U}) {
        Series part = all;
        part.values.resize(count);
        pieces.learn(part);
    }
    Series tail = all; // the front may be cut off
    tail.origin += 1000 * kWindow;
    tail.values.erase(tail.values.begin(), tail.values.begin() + 1000);
    pieces.learn(tail);
    CHECK(once.forecast(144) == pieces.forecast(144));
    CHECK_INT(static_cast<int>(once.forecast(144).size()), 144);
    // A series that begins after what was seen is another one.
    tail.origin += 2 * kDay;
    pieces.learn(tail);
    DemandController anew(rule_for_ten_gpus(), kWindow);
    anew.learn(tail);
    CHECK(pieces.forecast(144) == anew.forecast(144));
}

void risk_grows_with_the_lead() {
    const DemandController controller(rule_for_ten_gpus(), kWindow);
    CHECK(std::abs(controller.risk(0) - 0.01) < 1e-12);
    CHECK(std::abs(controller.risk(3600) - 0.05) < 1e-12);
    CHECK(controller.risk(kDay) == controller.risk(3600));
}

/// In a noisy week the curve of the next step covers nearly all of the demand that then comes.
void covers_what_comes() {
    std::mt19937_64 engine(test_seed());
    std::normal_distribution<double> noise(0, 3);
    Series series = two_levels(14);
    for (double& value : series.values) {
        value = std::max(0.0, value + noise(engine));
    }
    ControlRule rule = rule_for_ten_gpus();
    rule.conversion.units_per_gpu = 1;
    rule.conversion.max_gpus = 100;
    rule.peak = 100;
    DemandController controller(rule, kWindow);
    Series past = series;
    past.values.resize(7 * 144);
    int missed = 0;
    int idle = 0;
    int targets = 0;
    for (std::size_t i = past.values.size(); i + 1 < series.values.size(); ++i) {
        past.values.push_back(series.values[i]);
        controller.learn(past);
        const Seconds now = kEpoch + static_cast<Seconds>(i + 1) * kWindow;
        const std::vector<int> curve =
            controller.curve({.level = series.values[i]}, now, grid_at(now, 6, kWindow));
        const int wanted = rule.conversion.gpus(series.values[i + 1]);
        missed += curve.front() < wanted;
        idle += curve.front() - wanted;
        ++targets;
    }
    CHECK(missed <= targets / 25);
    CHECK(idle <= targets * 15); // of a hundred
}

} // namespace

TEST_SUITE("controller", {"follows the day", follows_the_day},
           {"grows early and shrinks late", grows_early_and_shrinks_late},
           {"a level that came down is held", a_level_that_came_down_is_held},
           {"what is not known is held, or the peak", what_is_not_known_is_held_or_the_peak},
           {"only a real zero shrinks to the least", only_a_real_zero_shrinks_to_the_least},
           {"a short past is not trusted far", a_short_past_is_not_trusted_far},
           {"learning in pieces is the same", learning_in_pieces_is_the_same},
           {"risk grows with the lead", risk_grows_with_the_lead},
           {"covers what comes", covers_what_comes})
