// SPDX-License-Identifier: GPL-2.0-or-later
#include "forecast.hpp"

#include "lead_track.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace foresight {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
/// Beyond this a value is a fault of whoever measured, and sums of it lose all the others.
constexpr double kLargest = 1e15;

/// 1, 2, 3, 4, 6, 9, 12, 18, 24, 36 … and the longest.
std::vector<std::size_t> grid_up_to(std::size_t longest) {
    std::vector<std::size_t> grid;
    for (const std::size_t lead : {1U, 2U, 3U, 4U}) {
        grid.push_back(lead);
    }
    for (std::size_t lead = 6; lead <= longest; lead *= 2) {
        grid.push_back(lead);
        grid.push_back(lead / 2 * 3);
    }
    std::erase_if(grid, [&](std::size_t lead) { return lead >= longest; });
    grid.push_back(longest);
    return grid;
}

/// Between the levels that are learnt.
double at_quantile(const ByLevel& level, double q) noexcept {
    const auto above = std::lower_bound(kLevels.begin(), kLevels.end(), q);
    if (above == kLevels.begin()) {
        return level.front();
    }
    if (above == kLevels.end()) {
        return level.back();
    }
    const auto l = static_cast<std::size_t>(above - kLevels.begin());
    return std::lerp(level[l - 1], level[l], (q - kLevels[l - 1]) / (kLevels[l] - kLevels[l - 1]));
}

} // namespace

class Forecaster::State {
public:
    State(Seconds w, const ForecastOptions& options) : window(w), past(w) {
        const auto longest =
            static_cast<std::size_t>(std::max<Seconds>(1, options.longest_lead / w));
        for (const std::size_t lead : grid_up_to(longest)) {
            tracks.emplace_back(lead, past);
        }
    }

    void observe(double value);
    /// Of the window `lead` ahead, by level.
    [[nodiscard]] ByLevel levels(std::size_t lead) const;

    Seconds window;
    Past past;
    std::vector<LeadTrack> tracks;
};

void Forecaster::State::observe(double value) {
    const bool known = std::fabs(value) <= kLargest;
    for (LeadTrack& track : tracks) {
        if (known) {
            track.score(past, value);
        }
    }
    past.add(known ? value : kUnknown);
    if (std::isnan(past.last())) {
        return;
    }
    for (LeadTrack& track : tracks) {
        track.prepare(past);
    }
    for (LeadTrack& track : tracks) {
        track.weigh(tracks);
        track.forecast(past);
    }
}

ByLevel Forecaster::State::levels(std::size_t lead) const {
    std::size_t right = 0;
    while (right + 1 < tracks.size() && tracks[right].lead() < lead) {
        ++right;
    }
    const std::size_t left = right > 0 && tracks[right].lead() > lead ? right - 1 : right;
    const auto from = static_cast<double>(tracks[left].lead());
    const auto until = static_cast<double>(tracks[right].lead());
    const double share = left == right ? 0 : (static_cast<double>(lead) - from) / (until - from);
    ByLevel level = LeadTrack::between(tracks[left], tracks[right], share, past, lead);
    if (past.least() >= 0) {
        for (double& each : level) {
            each = std::max(each, 0.0);
        }
    }
    return level;
}

Forecaster::Forecaster(Seconds window, const ForecastOptions& options)
    : state_(std::make_unique<State>(window, options)) {}
Forecaster::Forecaster(const Forecaster& other) : state_(std::make_unique<State>(*other.state_)) {}
Forecaster::Forecaster(Forecaster&& other) noexcept = default;
Forecaster& Forecaster::operator=(const Forecaster& other) {
    if (this != &other) {
        state_ = std::make_unique<State>(*other.state_);
    }
    return *this;
}
Forecaster& Forecaster::operator=(Forecaster&& other) noexcept = default;
Forecaster::~Forecaster() = default;

void Forecaster::observe(double value) {
    state_->observe(value);
}

void Forecaster::learn(const Series& series) {
    if (series.window != state_->window) {
        throw std::invalid_argument("a series of other windows than the forecaster's");
    }
    for (const double value : series.values) {
        state_->observe(value);
    }
}

std::vector<std::vector<double>> Forecaster::quantiles(const std::vector<double>& qs,
                                                       int windows) const {
    const auto count = static_cast<std::size_t>(std::max(windows, 0));
    std::vector<std::vector<double>> curves(qs.size(), std::vector<double>(count, kUnknown));
    for (std::size_t w = 0; w < count && !std::isnan(state_->past.last()); ++w) {
        const ByLevel level = state_->levels(w + 1);
        for (std::size_t i = 0; i < qs.size(); ++i) {
            curves[i][w] = at_quantile(level, qs[i]);
        }
    }
    return curves;
}

std::vector<double> Forecaster::quantile(double q, int windows) const {
    return quantiles({q}, windows).front();
}

std::vector<double> Forecaster::at(int lead, const std::vector<double>& qs) const {
    std::vector<double> answer(qs.size(), kUnknown);
    if (lead >= 1 && !std::isnan(state_->past.last())) {
        const ByLevel level = state_->levels(static_cast<std::size_t>(lead));
        std::transform(qs.begin(), qs.end(), answer.begin(),
                       [&](double q) { return at_quantile(level, q); });
    }
    return answer;
}

Seconds Forecaster::window() const noexcept {
    return state_->window;
}
std::size_t Forecaster::observed() const noexcept {
    return state_->past.size();
}

} // namespace foresight
