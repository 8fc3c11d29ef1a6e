/*
 * Control: see control.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "control.hpp"

#include "history.hpp"

#include <algorithm>
#include <cmath>

namespace foresight::io {

namespace {

/// A curve is made anew after this, though nothing new is known: time goes on (s).
constexpr Seconds kMostAge = 15;
/// No number of GPUs: MaxGpus= was left out.
constexpr std::int32_t kNoLimit = 1'000'000;
/// A known curve is looked at so finely for lead and hold times (s).
constexpr Seconds kFine = 60;

ControlRule rule_of(const RealtimeSettings& app) {
    ControlRule rule;
    rule.conversion = conversion_of(app);
    rule.quantile = app.quantile;
    rule.lead_time = app.lead_time;
    rule.hold_time = app.hold_time;
    rule.peak =
        rule.conversion.max_gpus < kNoLimit ? rule.conversion.max_gpus : rule.conversion.min_gpus;
    return rule;
}

DemandNow::State state_of(Reading::State state) noexcept {
    switch (state) {
    case Reading::State::fresh:
        return DemandNow::State::known;
    case Reading::State::held:
        return DemandNow::State::held;
    case Reading::State::stale:
        break;
    }
    return DemandNow::State::stale;
}

bool same(double a, double b) noexcept {
    return a == b || (std::isnan(a) && std::isnan(b));
}

} // namespace

Control::Control(const RealtimeSettings& app) : rule_(rule_of(app)) {
    const auto source = static_cast<DemandSource>(app.demand);
    if (is_measured(source)) {
        controller_.emplace(rule_, source == DemandSource::history ? HistorySource::kWindow
                                                                   : app.query_step);
    }
}

void Control::set(const RealtimeSettings& app) {
    rule_ = rule_of(app);
    if (controller_) {
        controller_->set_rule(rule_);
    }
    made_ = {};
}

/// The part of the curve from `origin` on; its last step goes on.  False where it has none.
bool Control::Made::at(std::int64_t origin, Seconds step, std::vector<std::int32_t>& demand) const {
    if (curve.empty() || step != grid.step || origin < grid.from) {
        return false;
    }
    const auto first = static_cast<std::size_t>((origin - grid.from) / step);
    for (std::size_t i = 0; i < demand.size(); ++i) {
        demand[i] = curve[std::min(first + i, curve.size() - 1)];
    }
    return true;
}

/// Is the curve in force made of what is known, and not long ago?
bool Control::is_fresh(std::int64_t now, Seconds step, Seconds horizon) const {
    return !made_.curve.empty() && made_.grid.step == step &&
           made_.grid.from + made_.grid.step * made_.grid.steps >= now + horizon &&
           now >= made_.time && now < made_.time + kMostAge && made_.used == used_ &&
           made_.reading.state == reading_.state && same(made_.reading.level, reading_.level) &&
           made_.reading.history == reading_.history;
}

bool Control::update(const Reading& reading, std::int64_t now, Seconds step, Seconds horizon) {
    const auto is_stale = [](const Reading& one) { return one.state == Reading::State::stale; };
    const bool other_curve =
        reading.curve != reading_.curve || is_stale(reading) != is_stale(reading_);
    reading_ = reading;
    if (!controller_) {
        return other_curve;
    }
    if (is_fresh(now, step, horizon)) {
        return false;
    }
    if (reading_.history != made_.reading.history && !reading_.history->values.empty()) {
        controller_->learn(*reading_.history);
    }
    Made fresh{
        {now - now % step, step, static_cast<int>(horizon / step) + 2}, {}, now, reading_, used_};
    DemandNow demand;
    demand.state = state_of(reading_.state);
    demand.level = reading_.level;
    demand.held = used_;
    if (!made_.curve.empty() && made_.reading.state != Reading::State::stale) {
        // What was kept for it a moment ago is its size too, whether jobs use it or not.
        const Seconds then = (made_.time - made_.grid.from) / made_.grid.step;
        demand.held = std::max(used_, made_.curve[static_cast<std::size_t>(then)]);
    }
    fresh.curve = controller_->curve(demand, now, fresh.grid);
    // Another curve than the one that the plan has, at the times that both tell of?
    std::vector<std::int32_t> before(fresh.curve.size() - 1);
    const bool changed = !made_.at(fresh.grid.from, step, before) ||
                         !std::equal(before.begin(), before.end(), fresh.curve.begin());
    made_ = std::move(fresh);
    return changed;
}

/// A curve that is known ahead.  Where it comes early or stays long, the largest of the steps
/// around.
bool Control::along_curve(std::int64_t origin, Seconds step,
                          std::vector<std::int32_t>& demand) const {
    const auto steps = static_cast<Seconds>(demand.size());
    const Seconds lead = rule_.lead_time;
    const Seconds hold = rule_.hold_time;
    if (lead == 0 && hold == 0) {
        demand = reading_.curve->over(origin, step, static_cast<std::int32_t>(steps));
    } else {
        const Seconds slice = std::min(step, kFine);
        const Seconds count = (hold + steps * step + lead + slice - 1) / slice;
        const auto fine =
            reading_.curve->over(origin - hold, slice, static_cast<std::int32_t>(count));
        for (Seconds i = 0; i < steps; ++i) {
            const Seconds first = i * step / slice;
            const Seconds last =
                std::min(count, (i * step + hold + step + lead + slice - 1) / slice);
            demand[static_cast<std::size_t>(i)] =
                *std::max_element(fine.begin() + first, fine.begin() + last);
        }
    }
    for (std::int32_t& gpus : demand) {
        gpus = rule_.conversion.gpus(gpus);
    }
    return true;
}

bool Control::wanted(std::int64_t origin, Seconds step, std::vector<std::int32_t>& demand) const {
    if (reading_.state == Reading::State::stale || (!controller_ && !reading_.curve)) {
        std::fill(demand.begin(), demand.end(), rule_.peak);
        return false;
    }
    if (!controller_) {
        return along_curve(origin, step, demand);
    }
    if (!made_.at(origin, step, demand)) {
        std::fill(demand.begin(), demand.end(), rule_.peak);
        return false;
    }
    return !std::isnan(reading_.level);
}

} // namespace foresight::io
