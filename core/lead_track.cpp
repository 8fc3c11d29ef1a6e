// SPDX-License-Identifier: GPL-2.0-or-later
#include "lead_track.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foresight {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostErrors = 4032;
constexpr std::size_t kFewest = 10;    ///< errors, below which a spread is none
constexpr std::size_t kDailyKept = 14; ///< days, for errors by time of day
constexpr std::size_t kDailyFewest = 60;
constexpr double kSharpness = 10;     ///< of weights, to the standing
constexpr double kRemembered = 3;     ///< days, after which a target counts by half
constexpr double kConvinced = 1;      ///< days of targets: their standing counts by half
constexpr std::size_t kMedian = 3;    ///< of kLevels
constexpr std::size_t kFirstTail = 5; ///< of kLevels: 0.9
constexpr double kTailGain = 0.03;    ///< in ten minutes
constexpr double kTailLeak = 0.002;

double pinball(double value, double forecast, double q) noexcept {
    return value >= forecast ? q * (value - forecast) : (1 - q) * (forecast - value);
}

std::size_t most_errors(Spread spread, const Past& past) {
    switch (spread) {
    case Spread::week:
        return past.week();
    case Spread::two_days:
        return 2 * past.day();
    default:
        return kMostErrors;
    }
}

bool by_time_of_day(std::size_t point) {
    return std::any_of(kExperts.begin(), kExperts.end(), [&](const Expert& expert) {
        return expert.point == point && expert.spread == Spread::time_of_day;
    });
}

/// What an expert's spread is multiplied by.
double scale_of(const Expert& expert, double point, double mean) noexcept {
    return expert.spread == Spread::proportional ? proportion(point, mean) : 1;
}

} // namespace

LeadTrack::LeadTrack(std::size_t lead, const Past& past) : lead_(lead), made_(lead) {
    const auto of_day = [&](double days) {
        return std::exp2(-1 / (days * static_cast<double>(past.day())));
    };
    for (std::size_t l = 0; l < kLevels.size(); ++l) {
        // Far out, the targets that tell experts apart are rare: they are remembered longer.
        const double rare = std::sqrt(std::max(1.0, 0.1 / (1 - kLevels[l])));
        forget_[l] = of_day(kRemembered * rare);
        convinced_[l] = kConvinced * rare * std::sqrt(rare) * static_cast<double>(past.day());
    }
    forget_regression_ = of_day(20);
    window_share_ = std::clamp(144.0 / static_cast<double>(past.day()), 0.1, 3.0);
    // What is learnt of far leads comes late, and would overshoot.
    tail_gain_ = window_share_ * kTailGain *
                 std::pow(std::max(1.0, window_share_ * static_cast<double>(lead)), -0.3);
    for (const Expert& expert : kExperts) {
        errors_.emplace_back(most_errors(expert.spread, past));
    }
    for (std::size_t point = 0; point < points::count; ++point) {
        if (by_time_of_day(point)) {
            daily_[point].emplace_back(past, kDailyKept);
        }
    }
}

// -- learning

void LeadTrack::score(const Past& past, double value) {
    const Made& made = made_[past.size() % lead_];
    if (made.known) {
        learn_standing(made, value);
        learn_tails(made, value);
        learn_errors(made, past, value);
    }
}

void LeadTrack::learn_standing(const Made& made, double value) {
    for (std::size_t l = 0; l < kLevels.size(); ++l) {
        const double combined = pinball(value, made.combined[l], kLevels[l]);
        for (std::size_t k = 0; k < kExperts.size(); ++k) {
            if (std::isnan(made.quantile[k][l])) {
                continue;
            }
            Standing& standing = standing_[k][l];
            const double excess = pinball(value, made.quantile[k][l], kLevels[l]) - combined;
            standing.excess = forget_[l] * standing.excess + excess;
            standing.combined = forget_[l] * standing.combined + combined;
            standing.targets = forget_[l] * standing.targets + 1;
        }
    }
}

void LeadTrack::learn_tails(const Made& made, double value) {
    const double error = std::fabs(value - made.combined[kMedian]);
    const double rate = std::min(1.0, window_share_ / 144);
    error_ = error_ > 0 ? std::lerp(error_, error, rate) : error;
    for (std::size_t l = kFirstTail; l < kLevels.size(); ++l) {
        const double exceeded = value > made.corrected[l] ? 1 : 0;
        tail_[l] += tail_gain_ * (exceeded - (1 - kLevels[l]));
        tail_[l] *= 1 - window_share_ * kTailLeak;
    }
}

void LeadTrack::learn_errors(const Made& made, const Past& past, double value) {
    for (std::size_t k = 0; k < kExperts.size(); ++k) {
        const double point = made.point[kExperts[k].point];
        if (!std::isnan(point)) {
            errors_[k].add((value - point) / scale_of(kExperts[k], point, made.unit));
        }
    }
    for (std::size_t point = 0; point < points::count; ++point) {
        for (DailyErrors& daily : daily_[point]) {
            daily.add(past.size(), value - made.point[point]);
        }
    }
    constexpr double far = 0.5;
    regression_.learn(made.row, value / made.unit, forget_regression_, far);
}

// -- what forecasts take

void LeadTrack::prepare(const Past& past) {
    unit_ = std::fabs(past.mean());
    std::array<const std::vector<double>*, points::count> near{};
    for (std::size_t point = 0; point < points::count; ++point) {
        for (DailyErrors& daily : daily_[point]) {
            near[point] = &daily.near(past.size() - 1 + lead_);
        }
    }
    for (std::size_t k = 0; k < kExperts.size(); ++k) {
        const std::vector<double>* daily = near[kExperts[k].point];
        const bool by_day =
            kExperts[k].spread == Spread::time_of_day && daily->size() >= kDailyFewest;
        const std::vector<double>& errors = by_day ? *daily : errors_[k].sorted();
        for (std::size_t l = 0; l < kLevels.size(); ++l) {
            spread_[k][l] = errors.size() < kFewest || kExperts[k].spread == Spread::none ? 0
                            : kExperts[k].spread == Spread::all
                                ? quantile_of_sorted(errors.data(), errors.size(), kLevels[l])
                                : quantile_of_few(errors.data(), errors.size(), kLevels[l]);
        }
    }
}

void LeadTrack::weigh(const std::vector<LeadTrack>& near) {
    std::array<std::array<Standing, kLevels.size()>, kExperts.size()> pooled{};
    for (const LeadTrack& other : near) {
        // An octave of leads is a standard deviation.
        const double apart =
            std::log2(static_cast<double>(other.lead_) / static_cast<double>(lead_));
        const double share = std::exp(-apart * apart / 2);
        for (std::size_t k = 0; share > 0.01 && k < kExperts.size(); ++k) {
            for (std::size_t l = 0; l < kLevels.size(); ++l) {
                pooled[k][l].excess += share * other.standing_[k][l].excess;
                pooled[k][l].combined += share * other.standing_[k][l].combined;
            }
        }
    }
    const double tiny = 1e-12 * unit_ + 1e-300;
    for (std::size_t l = 0; l < kLevels.size(); ++l) {
        double best = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < kExperts.size(); ++k) {
            const Standing& sums = pooled[k][l];
            // log of the expert's loss by the combination's, near 0 their relative difference.
            const double mean = std::log((std::max(0.0, sums.combined + sums.excess) + tiny) /
                                         (sums.combined + tiny));
            const double targets = standing_[k][l].targets;
            weight_[k][l] = mean * targets / (targets + convinced_[l]);
            best = std::min(best, weight_[k][l]);
        }
        for (std::size_t k = 0; k < kExperts.size(); ++k) {
            weight_[k][l] = std::exp(-kSharpness * (weight_[k][l] - best));
        }
    }
}

// -- forecasts

LeadTrack::Made LeadTrack::make(const LeadTrack& a, const LeadTrack& b, double share,
                                const Past& past, std::size_t lead) {
    const Points at = points_at(past, lead);
    Made made;
    made.known = true;
    made.point = at.value;
    made.row = at.row;
    made.unit = std::max(std::fabs(past.mean()), 1e-12);
    if (past.size() > past.day()) {
        // It follows no straight line far beyond what has been seen.
        const double range = past.most() - past.least();
        made.point[points::regression] =
            std::clamp(made.unit * Regression::between(a.regression_, b.regression_, share, at.row),
                       past.least() - range, past.most() + range);
    }
    ByLevel total{};
    for (std::size_t k = 0; k < kExperts.size(); ++k) {
        const double point = made.point[kExperts[k].point];
        const double scale = scale_of(kExperts[k], point, made.unit);
        // What has no errors yet says nothing of a service's level.
        const bool sleeps = kExperts[k].point == points::zero && past.known() < kFewest + lead;
        for (std::size_t l = 0; l < kLevels.size(); ++l) {
            const bool silent = kExperts[k].spread == Spread::none && l != kMedian;
            made.quantile[k][l] =
                sleeps || silent
                    ? kUnknown
                    : point + scale * std::lerp(a.spread_[k][l], b.spread_[k][l], share);
            if (!std::isnan(made.quantile[k][l])) {
                const double weight = std::lerp(a.weight_[k][l], b.weight_[k][l], share);
                made.combined[l] += weight * made.quantile[k][l];
                total[l] += weight;
            }
        }
    }
    for (std::size_t l = 0; l < kLevels.size(); ++l) {
        made.combined[l] = total[l] > 0 ? made.combined[l] / total[l] : past.last();
    }
    std::sort(made.combined.begin(), made.combined.end());
    for (std::size_t l = 0; l < kLevels.size(); ++l) {
        made.corrected[l] =
            made.combined[l] + std::lerp(a.tail_[l] * a.error_, b.tail_[l] * b.error_, share);
    }
    std::sort(made.corrected.begin(), made.corrected.end());
    return made;
}

void LeadTrack::forecast(const Past& past) {
    made_[(past.size() - 1) % lead_] = make(*this, *this, 0, past, lead_);
}

ByLevel LeadTrack::between(const LeadTrack& a, const LeadTrack& b, double share, const Past& past,
                           std::size_t lead) {
    return make(a, b, share, past, lead).corrected;
}

} // namespace foresight
