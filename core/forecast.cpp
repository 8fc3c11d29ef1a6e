// SPDX-License-Identifier: GPL-2.0-or-later
#include "forecast.hpp"

#include "residuals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace foresight {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr Seconds kDay = 86400;
constexpr Seconds kWeek = 7 * kDay;
/// Levels between which others are interpolated.
constexpr std::array<double, 8> kLevels{0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995};
constexpr std::size_t kLast = 0, kYesterday = 1, kWeekAgo = 2, kDaily = 3, kWeekly = 4;
constexpr std::size_t kExperts = 5;
constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kFewest = 10;

using Points = std::array<double, kExperts>;
using ByLevel = std::array<double, kLevels.size()>;
using Table = std::array<ByLevel, kExperts>;

double pinball(double value, double forecast, double q) noexcept {
    return value >= forecast ? q * (value - forecast) : (1 - q) * (forecast - value);
}

/// The correction by the recent level: how much of what the level is off now stays so at a lead.
struct Correction {
    double xy = 0;
    double xx = 0;

    [[nodiscard]] double stays() const noexcept {
        return xx > 0 ? std::clamp(xy / xx, 0.0, 1.0) : 0.0;
    }
    void learn(double before, double after, double forget) noexcept {
        xy = forget * xy + before * after;
        xx = forget * xx + before * before;
    }
};

/// What is learnt at one lead.
struct Track {
    int lead = 1;
    std::vector<Points> made; ///< a ring: the forecasts of the last `lead` windows
    std::vector<Residuals> errors;
    Table losses{};
    Table counts{};
    Correction daily;
    Correction weekly;
};

} // namespace

class Forecaster::State {
public:
    State(Seconds window, const ForecastOptions& options);

    void observe(double value);
    [[nodiscard]] std::vector<double> quantile(double q, int windows) const;

    Seconds window;
    std::size_t day;
    std::size_t week;
    std::vector<double> values;
    std::vector<Track> tracks;
    double forget = 1;
    double least = std::numeric_limits<double>::infinity();
    double last = kUnknown;

private:
    [[nodiscard]] double value_at(std::size_t period, std::size_t target) const noexcept;
    [[nodiscard]] Points points(double stays_daily, double stays_weekly, std::size_t lead) const;
    void score(Track& track, double value);
    [[nodiscard]] static Table weights(const Track& track);
    [[nodiscard]] static Table offsets(const Track& track);
};

Forecaster::State::State(Seconds w, const ForecastOptions& options)
    : window(w), day(static_cast<std::size_t>(std::max<Seconds>(1, (kDay + w / 2) / w))),
      week(static_cast<std::size_t>((kWeek + w / 2) / w)) {
    forget = std::exp2(-static_cast<double>(window) / static_cast<double>(4 * kDay));
    const auto longest = static_cast<int>(std::max<Seconds>(1, options.longest_lead / w));
    for (double lead = 1; static_cast<int>(lead) <= longest;
         lead = std::max(lead + 1, std::floor(lead * 1.4))) {
        tracks.emplace_back().lead = static_cast<int>(lead);
    }
    if (tracks.back().lead < longest) {
        tracks.emplace_back().lead = longest;
    }
    for (Track& track : tracks) {
        track.made.assign(static_cast<std::size_t>(track.lead), [] {
            Points none;
            none.fill(kUnknown);
            return none;
        }());
        track.errors.assign(kExperts, Residuals(kRemembered));
    }
}

/// The latest known value a whole number of periods before the target.
double Forecaster::State::value_at(std::size_t period, std::size_t target) const noexcept {
    for (std::size_t back = period; back <= target; back += period) {
        const std::size_t index = target - back;
        if (index < values.size() && !std::isnan(values[index])) {
            return values[index];
        }
    }
    return kUnknown;
}

Points Forecaster::State::points(double stays_daily, double stays_weekly, std::size_t lead) const {
    const std::size_t now = values.size() - 1;
    const std::size_t target = now + lead;
    Points points;
    points[kLast] = last;
    points[kYesterday] = value_at(day, target);
    points[kWeekAgo] = value_at(week, target);
    points[kDaily] = points[kYesterday] + stays_daily * (last - value_at(day, now));
    points[kWeekly] = points[kWeekAgo] + stays_weekly * (last - value_at(week, now));
    return points;
}

void Forecaster::State::score(Track& track, double value) {
    const Points& made = track.made[values.size() % track.made.size()];
    const Table offset = offsets(track);
    for (std::size_t k = 0; k < kExperts; ++k) {
        if (std::isnan(made[k])) {
            continue;
        }
        for (std::size_t l = 0; l < kLevels.size(); ++l) {
            track.losses[k][l] =
                forget * track.losses[k][l] + pinball(value, made[k] + offset[k][l], kLevels[l]);
            track.counts[k][l] = forget * track.counts[k][l] + 1;
        }
        track.errors[k].add(value - made[k]);
    }
    const std::size_t target = values.size();
    const auto lead = static_cast<std::size_t>(track.lead);
    if (target >= lead + 1) {
        const std::size_t origin = target - lead;
        const auto learn = [&](Correction& correction, std::size_t period) {
            const double before = values[origin] - value_at(period, origin);
            const double after = value - value_at(period, target);
            if (!std::isnan(before) && !std::isnan(after)) {
                correction.learn(before, after, forget);
            }
        };
        learn(track.daily, day);
        learn(track.weekly, week);
    }
}

void Forecaster::State::observe(double value) {
    const bool known = std::isfinite(value);
    if (known) {
        for (Track& track : tracks) {
            score(track, value);
        }
        last = value;
        least = std::min(least, value);
    }
    values.push_back(known ? value : kUnknown);
    for (Track& track : tracks) {
        track.made[(values.size() - 1) % track.made.size()] =
            points(track.daily.stays(), track.weekly.stays(), static_cast<std::size_t>(track.lead));
    }
}

Table Forecaster::State::offsets(const Track& track) {
    Table table;
    for (std::size_t k = 0; k < kExperts; ++k) {
        for (std::size_t l = 0; l < kLevels.size(); ++l) {
            table[k][l] = track.errors[k].quantile(kLevels[l], kFewest);
        }
    }
    return table;
}

/// Sharply for the forecasters whose mean loss was small: at twice the least, hardly any.
Table Forecaster::State::weights(const Track& track) {
    constexpr double sharpness = 10;
    Table table{};
    for (std::size_t l = 0; l < kLevels.size(); ++l) {
        std::array<double, kExperts> mean{};
        double best = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < kExperts; ++k) {
            mean[k] = track.counts[k][l] > 0 ? track.losses[k][l] / track.counts[k][l] : -1;
            best = mean[k] >= 0 ? std::min(best, mean[k]) : best;
        }
        for (std::size_t k = 0; k < kExperts; ++k) {
            const double loss = mean[k] >= 0 ? mean[k] : best;
            table[k][l] = loss <= best ? 1.0
                          : best > 0   ? std::exp(-sharpness * (loss / best - 1))
                                       : 0.0;
        }
    }
    return table;
}

std::vector<double> Forecaster::State::quantile(double q, int windows) const {
    std::vector<double> curve(static_cast<std::size_t>(std::max(windows, 0)), kUnknown);
    if (values.empty() || std::isnan(last)) {
        return curve;
    }
    std::vector<Table> weight;
    std::vector<Table> offset;
    for (const Track& track : tracks) {
        weight.push_back(weights(track));
        offset.push_back(offsets(track));
    }
    std::size_t right = 0;
    for (std::size_t w = 0; w < curve.size(); ++w) {
        const auto lead = static_cast<int>(w + 1);
        while (right + 1 < tracks.size() && tracks[right].lead < lead) {
            ++right;
        }
        const std::size_t left = right > 0 && tracks[right].lead > lead ? right - 1 : right;
        const double share = left == right
                                 ? 0.0
                                 : static_cast<double>(lead - tracks[left].lead) /
                                       static_cast<double>(tracks[right].lead - tracks[left].lead);
        const Points point = points(
            std::lerp(tracks[left].daily.stays(), tracks[right].daily.stays(), share),
            std::lerp(tracks[left].weekly.stays(), tracks[right].weekly.stays(), share), w + 1);
        ByLevel level;
        for (std::size_t l = 0; l < kLevels.size(); ++l) {
            double sum = 0;
            double total = 0;
            for (std::size_t k = 0; k < kExperts; ++k) {
                if (!std::isnan(point[k])) {
                    const double part = std::lerp(weight[left][k][l], weight[right][k][l], share);
                    total += part;
                    sum += part *
                           (point[k] + std::lerp(offset[left][k][l], offset[right][k][l], share));
                }
            }
            level[l] = total > 0 ? sum / total : last;
        }
        std::sort(level.begin(), level.end());
        const auto above = std::lower_bound(kLevels.begin(), kLevels.end(), q);
        double answer = 0;
        if (above == kLevels.begin()) {
            answer = level.front();
        } else if (above == kLevels.end()) {
            answer = level.back();
        } else {
            const auto l = static_cast<std::size_t>(above - kLevels.begin());
            answer = std::lerp(level[l - 1], level[l],
                               (q - kLevels[l - 1]) / (kLevels[l] - kLevels[l - 1]));
        }
        curve[w] = least >= 0 ? std::max(answer, 0.0) : answer;
    }
    return curve;
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

std::vector<double> Forecaster::quantile(double q, int windows) const {
    return state_->quantile(q, windows);
}

Seconds Forecaster::window() const noexcept {
    return state_->window;
}
std::size_t Forecaster::observed() const noexcept {
    return state_->values.size();
}

} // namespace foresight
