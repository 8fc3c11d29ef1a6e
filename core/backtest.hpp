// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Backtest: how good were the forecasts of a method on a series that is known?
 *
 * The origin moves a window at a time; at each the method has seen all windows before it and none
 * after.  A forecast of a quantile is scored by pinball loss (Koenker & Bassett 1978; Gneiting &
 * Raftery 2007), least in the mean for the true quantile, and its observed coverage is counted.
 *
 * Beside the forecaster (forecast.hpp) stand three baselines: the last value, the same time
 * yesterday, the same time a week ago, each plus the quantile of its own errors at the same lead
 * for all targets up to the origin (nothing is added below ten of them).  Where the window that a
 * baseline copies is not known, it copies that of a day ago, else the last known value; the errors
 * of such makeshifts are not counted among its own.
 *
 * Cost: O(windows × (leads × errors moved + the method's own)).
 */
#pragma once

#include "forecast.hpp"
#include "series.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace foresight {

enum class Method { foresight, last, day, week };

struct BacktestOptions {
    Seconds train = 7 * 86400; ///< before the first origin
    std::vector<Seconds> leads{600, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    std::vector<double> quantiles{0.5, 0.9, 0.99};
};

/// Scores at one lead, a number for each quantile.
struct LeadScore {
    Seconds lead = 0;
    std::size_t targets = 0;      ///< that were known
    std::vector<double> pinball;  ///< mean
    std::vector<double> coverage; ///< share of targets at or below the forecast
};

struct Backtest {
    std::vector<double> pinball; ///< by quantile: the mean over the leads
    std::vector<double> coverage;
    std::vector<LeadScore> leads; ///< those that are whole windows and have targets
};

[[nodiscard]] double pinball_loss(double value, double forecast, double q) noexcept;

/// `forecaster`: a new one for Method::foresight to use; afterwards it knows all of the series.
[[nodiscard]] Backtest backtest(const Series& series, Method method,
                                const BacktestOptions& options = {},
                                Forecaster* forecaster = nullptr);

} // namespace foresight
