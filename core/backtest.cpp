// SPDX-License-Identifier: GPL-2.0-or-later
#include "backtest.hpp"

#include "residuals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace foresight {

namespace {

constexpr Seconds kDay = 86400;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A method as the back-test sees it: at each origin a quantile for each lead.
class Candidate {
public:
    virtual ~Candidate() = default;
    /// The window `index` of the series has been seen.
    virtual void see(std::size_t index) = 0;
    /// By lead, then by quantile.
    [[nodiscard]] virtual std::vector<std::vector<double>> ask() = 0;
};

/// A copy of an earlier window, plus the quantile of the errors of such copies.
class Baseline : public Candidate {
public:
    Baseline(const Series& series, std::vector<std::size_t> leads, std::vector<double> quantiles,
             std::size_t period)
        : values_(series.values), leads_(std::move(leads)), quantiles_(std::move(quantiles)),
          period_(period), day_(static_cast<std::size_t>(
                               std::max<Seconds>(1, (kDay + series.window / 2) / series.window))),
          errors_(leads_.size(), Residuals(values_.size())), known_(values_.size(), kUnknown) {}

    void see(std::size_t index) override {
        now_ = index;
        const double value = values_[index];
        known_[index] = std::isnan(value) && index > 0 ? known_[index - 1] : value;
        for (std::size_t i = 0; i < leads_.size() && !std::isnan(value); ++i) {
            if (index >= leads_[i]) {
                if (const double copy = own_copy(index - leads_[i], leads_[i]); !std::isnan(copy)) {
                    errors_[i].add(value - copy);
                }
            }
        }
    }

    [[nodiscard]] std::vector<std::vector<double>> ask() override {
        std::vector<std::vector<double>> asked;
        for (std::size_t i = 0; i < leads_.size(); ++i) {
            const double copy = copy_for(now_, leads_[i]);
            auto& row = asked.emplace_back();
            for (const double q : quantiles_) {
                row.push_back(copy + errors_[i].quantile(q, kFewestErrors));
            }
        }
        return asked;
    }

private:
    static constexpr std::size_t kFewestErrors = 10;

    /// The value so many windows or whole periods before the target; NaN when it is not known.
    [[nodiscard]] double earlier(std::size_t origin, std::size_t lead, std::size_t period) const {
        const std::size_t back = (lead + period - 1) / period * period;
        return origin + lead >= back ? values_[origin + lead - back] : kUnknown;
    }

    /// What the method copies for a target so far after `origin`; NaN when that is not known.
    [[nodiscard]] double own_copy(std::size_t origin, std::size_t lead) const {
        return period_ == 0 ? known_[origin] : earlier(origin, lead, period_);
    }

    /// The same or, when it is not known, a day ago, else the last known value.
    [[nodiscard]] double copy_for(std::size_t origin, std::size_t lead) const {
        double copy = own_copy(origin, lead);
        if (std::isnan(copy) && period_ > 0) {
            copy = earlier(origin, lead, day_);
        }
        return std::isnan(copy) ? known_[origin] : copy;
    }

    const std::vector<double>& values_;
    std::vector<std::size_t> leads_;
    std::vector<double> quantiles_;
    std::size_t period_; ///< in windows; 0 for the last value
    std::size_t day_;
    std::size_t now_ = 0;
    std::vector<Residuals> errors_; ///< by lead
    std::vector<double> known_;     ///< the last known value at each window
};

class Forecasting : public Candidate {
public:
    Forecasting(const Series& series, std::vector<std::size_t> leads, std::vector<double> quantiles,
                Forecaster* forecaster)
        : values_(series.values), leads_(std::move(leads)), quantiles_(std::move(quantiles)),
          own_(series.window), forecaster_(forecaster != nullptr ? *forecaster : own_) {}

    void see(std::size_t index) override { forecaster_.observe(values_[index]); }

    [[nodiscard]] std::vector<std::vector<double>> ask() override {
        std::vector<std::vector<double>> asked;
        for (const std::size_t lead : leads_) {
            asked.push_back(forecaster_.at(static_cast<int>(lead), quantiles_));
        }
        return asked;
    }

private:
    const std::vector<double>& values_;
    std::vector<std::size_t> leads_;
    std::vector<double> quantiles_;
    Forecaster own_;
    Forecaster& forecaster_;
};

std::unique_ptr<Candidate> candidate(const Series& series, Method method,
                                     const std::vector<std::size_t>& leads,
                                     const std::vector<double>& quantiles, Forecaster* forecaster) {
    const auto windows = [&](Seconds length) {
        return static_cast<std::size_t>(
            std::max<Seconds>(1, (length + series.window / 2) / series.window));
    };
    switch (method) {
    case Method::last:
        return std::make_unique<Baseline>(series, leads, quantiles, 0);
    case Method::day:
        return std::make_unique<Baseline>(series, leads, quantiles, windows(kDay));
    case Method::week:
        return std::make_unique<Baseline>(series, leads, quantiles, windows(7 * kDay));
    case Method::foresight:
        break;
    }
    return std::make_unique<Forecasting>(series, leads, quantiles, forecaster);
}

/// Sums over targets become means; the whole is the mean over all targets of all leads.
void average(Backtest& result, std::size_t quantiles) {
    std::erase_if(result.leads, [](const LeadScore& score) { return score.targets == 0; });
    result.pinball.assign(quantiles, 0);
    result.coverage.assign(quantiles, 0);
    double targets = 0;
    for (LeadScore& score : result.leads) {
        const auto count = static_cast<double>(score.targets);
        targets += count;
        for (std::size_t i = 0; i < quantiles; ++i) {
            result.pinball[i] += score.pinball[i];
            result.coverage[i] += score.coverage[i];
            score.pinball[i] /= count;
            score.coverage[i] /= count;
        }
    }
    for (std::size_t i = 0; i < quantiles && targets > 0; ++i) {
        result.pinball[i] /= targets;
        result.coverage[i] /= targets;
    }
}

} // namespace

double pinball_loss(double value, double forecast, double q) noexcept {
    return value >= forecast ? q * (value - forecast) : (1 - q) * (forecast - value);
}

Backtest backtest(const Series& series, Method method, const BacktestOptions& options,
                  Forecaster* forecaster) {
    Backtest result;
    std::vector<std::size_t> leads;
    for (const Seconds lead : options.leads) {
        if (lead >= series.window && lead % series.window == 0) {
            leads.push_back(static_cast<std::size_t>(lead / series.window));
            const std::vector<double> none(options.quantiles.size(), 0.0);
            result.leads.push_back({lead, 0, none, none});
        }
    }
    const auto first =
        static_cast<std::size_t>((options.train + series.window - 1) / series.window);
    const auto tested = candidate(series, method, leads, options.quantiles, forecaster);
    for (std::size_t index = 0; index < series.values.size() && !leads.empty(); ++index) {
        tested->see(index);
        if (index + 1 < first || index + 1 >= series.values.size()) {
            continue;
        }
        const std::vector<std::vector<double>> asked = tested->ask();
        for (std::size_t i = 0; i < leads.size(); ++i) {
            const std::size_t target = index + leads[i];
            if (target >= series.values.size() || std::isnan(series.values[target]) ||
                std::isnan(asked[i].front())) {
                continue;
            }
            LeadScore& score = result.leads[i];
            ++score.targets;
            for (std::size_t q = 0; q < options.quantiles.size(); ++q) {
                score.pinball[q] +=
                    pinball_loss(series.values[target], asked[i][q], options.quantiles[q]);
                score.coverage[q] += series.values[target] <= asked[i][q] ? 1 : 0;
            }
        }
    }
    average(result, options.quantiles.size());
    return result;
}

} // namespace foresight
