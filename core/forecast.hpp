// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forecast: which level will demand not exceed, with a given probability, in each window ahead?
 *
 * Several simple forecasters watch the series (experts.hpp), each right for some service.  They are
 * combined quantile by quantile and lead by lead with weights that follow their past pinball losses
 * (lead_track.hpp), so that the whole is not much worse than the best of them on any series, and
 * mostly better than all.  Learning never ends: every window that is observed scores the forecasts
 * made for it.
 *
 * Leads are learnt on a grid that is dense near and sparse far; what lies between is interpolated.
 *
 * Cost: O(grid × (grid + experts × errors moved)) for each window observed, some tenths of a
 * millisecond; O(windows × experts × levels) for a forecast.  Memory: O(sum of the grid × experts),
 * about 2 MB with windows of ten minutes.
 * No clock: windows are counted.
 */
#pragma once

#include "series.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace foresight {

struct ForecastOptions {
    /// Errors are learnt for leads up to this; farther ones are taken to be as uncertain.
    Seconds longest_lead = 86400;
};

class Forecaster {
public:
    /// Windows of 60 seconds to an hour.
    explicit Forecaster(Seconds window, const ForecastOptions& options = {});
    Forecaster(const Forecaster& other);
    Forecaster(Forecaster&& other) noexcept;
    Forecaster& operator=(const Forecaster& other);
    Forecaster& operator=(Forecaster&& other) noexcept;
    ~Forecaster();

    /// The next window's value; NaN (or an infinity, or what is beyond ±1e15) when it is not known.
    void observe(double value);
    /// All of a series, whose windows must be as long as this forecaster's.
    void learn(const Series& series);

    /// For each of the next `windows` windows the level that its value does not exceed with
    /// probability q, 0 < q < 1; never less at a larger q.  NaN before any value is known.
    [[nodiscard]] std::vector<double> quantile(double q, int windows) const;

    /// The same for several q at once, a curve for each.
    [[nodiscard]] std::vector<std::vector<double>> quantiles(const std::vector<double>& qs,
                                                             int windows) const;
    /// The same for the window `lead` ahead alone, lead ≥ 1: a level for each q.
    [[nodiscard]] std::vector<double> at(int lead, const std::vector<double>& qs) const;

    [[nodiscard]] Seconds window() const noexcept;
    /// Windows observed so far, with those that were not known.
    [[nodiscard]] std::size_t observed() const noexcept;

private:
    class State;
    std::unique_ptr<State> state_;
};

} // namespace foresight
