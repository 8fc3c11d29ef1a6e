// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LeadTrack: what is learnt about forecasts at one lead: the experts' errors, the regression, how
 * each expert's loss stands to that of their combination, and a last correction of the tails.
 *
 * An expert's standing at a quantile is the log of its mean pinball loss by that of the combination
 * at the same targets, near 0 their relative difference; old targets are forgotten.  It is shrunk
 * towards 0 while targets are few, pooled with those of near leads, and the expert's weight falls
 * exponentially with it (as in prediction with expert advice: Cesa-Bianchi & Lugosi 2006; Berrisch
 * & Ziel, "CRPS learning", 2021).  An expert without a forecast sleeps: it is not compared then.
 *
 * The tails follow the coverage that is observed: a quantile that was exceeded too often rises
 * (Gibbs & Candès, "Adaptive conformal inference", 2021), and leaks back.
 */
#pragma once

#include "daily_errors.hpp"
#include "experts.hpp"
#include "residuals.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace foresight {

/// The quantiles that are learnt; others lie between.
inline constexpr std::array<double, 10> kLevels{0.05, 0.1,  0.25, 0.5,  0.75,
                                                0.9,  0.95, 0.98, 0.99, 0.995};
using ByLevel = std::array<double, kLevels.size()>;
using Table = std::array<ByLevel, kExperts.size()>;

class LeadTrack {
public:
    LeadTrack(std::size_t lead, const Past& past);

    [[nodiscard]] std::size_t lead() const noexcept { return lead_; }

    /// Learns from the value of the next window, before the past has it.
    void score(const Past& past, double value);
    /// What the forecasts from now on take; after the past has the window.
    void prepare(const Past& past);
    /// `near`: the tracks of all leads, prepared.
    void weigh(const std::vector<LeadTrack>& near);
    /// Makes the forecast that score() will judge.
    void forecast(const Past& past);

    /// The forecast of the window `lead` ahead between those that a and b learnt for, ascending.
    [[nodiscard]] static ByLevel between(const LeadTrack& a, const LeadTrack& b, double share,
                                         const Past& past, std::size_t lead);

private:
    /// A forecast, kept until its window comes.
    struct Made {
        bool known = false;
        std::array<double, points::count> point{};
        Regression::Row row{};
        double unit = 1; ///< the mean then
        Table quantile{};
        ByLevel combined{};
        ByLevel corrected{};
    };
    /// Sums over past targets that fade.
    struct Standing {
        double excess = 0;   ///< of the expert's loss over the combination's
        double combined = 0; ///< the combination's loss
        double targets = 0;
    };

    [[nodiscard]] static Made make(const LeadTrack& a, const LeadTrack& b, double share,
                                   const Past& past, std::size_t lead);
    void learn_standing(const Made& made, double value);
    void learn_errors(const Made& made, const Past& past, double value);
    void learn_tails(const Made& made, double value);

    std::size_t lead_;
    ByLevel forget_{};
    double forget_regression_;
    ByLevel convinced_{}; ///< targets by which a standing counts by half
    double tail_gain_;
    double window_share_;    ///< of a window in ten minutes, what rates are made for
    std::vector<Made> made_; ///< a ring
    Regression regression_;
    std::vector<Residuals> errors_; ///< by expert; empty where it takes those by time of day
    /// By point: one where an expert takes errors by time of day, else none.
    std::array<std::vector<DailyErrors>, points::count> daily_;
    std::array<std::array<Standing, kLevels.size()>, kExperts.size()> standing_{};
    Table spread_{}; ///< what the points take now, by expert
    Table weight_{};
    ByLevel tail_{};   ///< in units of the error
    double unit_ = 0;  ///< the mean
    double error_ = 0; ///< mean of the median's, recently
};

} // namespace foresight
