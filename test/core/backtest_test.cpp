// SPDX-License-Identifier: GPL-2.0-or-later
#include "backtest.hpp"
#include "harness.h"
#include "io/series_file.hpp"
#include "services.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

using namespace foresight;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// -- the baselines, by their definition, with no state kept

struct Slow {
    const std::vector<double>& values;
    std::size_t day;

    [[nodiscard]] double earlier(std::size_t origin, std::size_t lead, std::size_t period) const {
        if (period == 0) {
            for (std::size_t i = origin + 1; i-- > 0;) {
                if (!std::isnan(values[i])) {
                    return values[i];
                }
            }
            return kNan;
        }
        std::size_t back = period;
        while (back < lead) {
            back += period;
        }
        return origin + lead >= back ? values[origin + lead - back] : kNan;
    }

    [[nodiscard]] double quantile(std::size_t origin, std::size_t lead, std::size_t period,
                                  double q) const {
        std::vector<double> errors;
        for (std::size_t target = lead; target <= origin; ++target) {
            const double error = values[target] - earlier(target - lead, lead, period);
            if (!std::isnan(error)) {
                errors.push_back(error);
            }
        }
        double copy = earlier(origin, lead, period);
        if (std::isnan(copy) && period > 0) {
            copy = earlier(origin, lead, day);
        }
        if (std::isnan(copy)) {
            copy = earlier(origin, lead, 0);
        }
        if (errors.size() < 10) {
            return copy;
        }
        std::sort(errors.begin(), errors.end());
        const double place = q * static_cast<double>(errors.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const double above = errors[std::min(below + 1, errors.size() - 1)];
        return copy + errors[below] + (above - errors[below]) * (place - std::floor(place));
    }
};

void baselines_are_what_they_are_said_to_be() {
    std::mt19937_64 draw(test_seed());
    for (int round = 0; round < 6; ++round) {
        Series series;
        series.window = 3600; // a week is 168 windows
        const std::size_t length = 60 + draw() % 180;
        for (std::size_t i = 0; i < length; ++i) {
            series.values.push_back(draw() % 9 == 0 ? kNan : static_cast<double>(draw() % 50));
        }
        BacktestOptions options;
        options.train = static_cast<Seconds>(draw() % length) * 1800;
        options.leads = {1800, 3600, 10800, 86400, 90000};
        options.quantiles = {0.1, 0.5, 0.97};
        const Slow slow{series.values, 24};
        const std::size_t periods[] = {0, 24, 168};
        const Method methods[] = {Method::last, Method::day, Method::week};
        for (std::size_t m = 0; m < 3; ++m) {
            for (const LeadScore& score : backtest(series, methods[m], options).leads) {
                const auto lead = static_cast<std::size_t>(score.lead / 3600);
                std::size_t targets = 0;
                double loss = 0;
                double covered = 0;
                const auto first = static_cast<std::size_t>((options.train + 3599) / 3600);
                for (std::size_t origin = first > 0 ? first - 1 : 0; origin + lead < length;
                     ++origin) {
                    const double value = series.values[origin + lead];
                    const double forecast = slow.quantile(origin, lead, periods[m], 0.97);
                    if (!std::isnan(value) && !std::isnan(forecast)) {
                        ++targets;
                        loss += pinball_loss(value, forecast, 0.97);
                        covered += value <= forecast ? 1 : 0;
                    }
                }
                CHECK_INT(score.targets, targets);
                CHECK_NEAR(score.pinball[2] * static_cast<double>(targets), loss, 1e-6);
                CHECK_NEAR(score.coverage[2] * static_cast<double>(targets), covered, 1e-6);
            }
        }
    }
}

void pinball_loss_is_least_for_the_quantile() {
    CHECK_NEAR(pinball_loss(10, 4, 0.9), 5.4, 1e-12);
    CHECK_NEAR(pinball_loss(4, 10, 0.9), 0.6, 1e-12);
    CHECK_NEAR(pinball_loss(4, 4, 0.9), 0, 0);
}

/// The forecast of an origin must not know what comes after it.
void the_future_is_not_seen() {
    const std::uint64_t seed = test_seed();
    Series series = test::make_service("weekdays", seed, 8);
    BacktestOptions options;
    options.leads = {600, 86400};
    options.train = static_cast<Seconds>(series.values.size() - 145) * 600;
    Series other = series;
    // Two origins; that at the end of the training has its farthest target in the window before
    // the last: from there on all is different.
    for (std::size_t i = series.values.size() - 144; i < series.values.size(); ++i) {
        other.values[i] = series.values[i] + 1000;
    }
    const Backtest one = backtest(series, Method::foresight, options);
    const Backtest two = backtest(other, Method::foresight, options);
    REQUIRE(one.leads.size() == 2);
    // Exceeded by 1000 in both, so a median that saw it would be nearer.
    CHECK(two.leads[1].pinball[0] > one.leads[1].pinball[0] + 300);
}

// -- how good it is

/// Ours by the best of last, day and week, by quantile; below 1 is better.  Where the best is
/// exactly right, ours counts in thousandths of the mean level.
std::vector<double> by_best_baseline(const Series& series, const BacktestOptions& options) {
    const Backtest ours = backtest(series, Method::foresight, options);
    std::vector<double> best(options.quantiles.size(), std::numeric_limits<double>::infinity());
    for (const Method method : {Method::last, Method::day, Method::week}) {
        const Backtest theirs = backtest(series, method, options);
        for (std::size_t i = 0; i < best.size(); ++i) {
            best[i] = std::min(best[i], theirs.pinball[i]);
        }
    }
    double sum = 0;
    for (const double value : series.values) {
        sum += std::isnan(value) ? 0 : std::fabs(value);
    }
    const double mean = sum / static_cast<double>(series.values.size());
    std::vector<double> ratios;
    for (std::size_t i = 0; i < best.size(); ++i) {
        ratios.push_back(best[i] > 1e-9 * mean ? ours.pinball[i] / best[i]
                                               : 1000 * ours.pinball[i] / std::max(mean, 1e-9));
    }
    return ratios;
}

/// Never above the best baseline; returns the mean over the quantiles.
double check_never_above(const std::string& file) {
    const std::vector<double> ratios = by_best_baseline(io::read_series(file).series, {});
    double mean = 0;
    for (const double ratio : ratios) {
        mean += ratio / static_cast<double>(ratios.size());
        if (ratio > 1) {
            FAIL("%s: %g of the best baseline", file.c_str(), ratio);
        }
    }
    return mean;
}

void the_sample_is_never_above_the_best_baseline() {
    (void)check_never_above(test_source("test/forecasts/hourly/series.csv"));
}

void public_traces_are_a_tenth_below_the_best_baseline() {
    double sum = 0;
    int files = 0;
    for (const char* name : {"m-small", "m-large"}) {
        const std::string file =
            test_source(("../shared/data/servegen-" + std::string(name) + ".csv").c_str());
        if (std::filesystem::exists(file)) {
            sum += check_never_above(file);
            ++files;
        }
    }
    if (files == 0) {
        test_skip("no traces in ../shared/data");
        return;
    }
    CHECK(sum / files <= 0.9);
}

void services_are_no_worse_than_the_best_baseline() {
    constexpr int seeds = 2;
    for (const test::Service& service : test::services()) {
        std::vector<double> mean(3, 0);
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const auto ratios = by_best_baseline(test::make_service(service.name, seed, 14), {});
            for (std::size_t i = 0; i < mean.size(); ++i) {
                mean[i] += ratios[i] / seeds;
            }
        }
        const double allowed[] = {1 + service.allowed, 1 + service.allowed,
                                  1 + service.allowed_far};
        for (std::size_t i = 0; i < mean.size(); ++i) {
            if (mean[i] > allowed[i]) {
                FAIL("%s: %g of the best baseline at quantile %zu, allowed %g",
                     service.name.c_str(), mean[i], i, allowed[i]);
            }
        }
    }
}

/// Of a service that stays as it is, every quantile covers what it says.
void coverage_is_what_it_says() {
    BacktestOptions options;
    options.quantiles = {0.5, 0.9, 0.95, 0.98, 0.99, 0.995};
    for (const char* name : {"daily", "noise", "autoregressive", "counts"}) {
        const Backtest scores =
            backtest(test::make_service(name, 3, 21), Method::foresight, options);
        CHECK_NEAR(scores.coverage[0], 0.5, 0.06);
        for (std::size_t i = 1; i < options.quantiles.size(); ++i) {
            const double q = options.quantiles[i];
            if (std::fabs(scores.coverage[i] - q) > 0.005 + 0.3 * (1 - q)) {
                FAIL("%s: %g covered at %g", name, scores.coverage[i], q);
            }
        }
    }
}

} // namespace

TEST_SUITE(
    "backtest", {"baselines are what they are said to be", baselines_are_what_they_are_said_to_be},
    {"pinball loss is least for the quantile", pinball_loss_is_least_for_the_quantile},
    {"the future is not seen", the_future_is_not_seen},
    {"the sample is never above the best baseline", the_sample_is_never_above_the_best_baseline},
    {"public traces are a tenth below the best baseline",
     public_traces_are_a_tenth_below_the_best_baseline},
    {"services are no worse than the best baseline", services_are_no_worse_than_the_best_baseline},
    {"coverage is what it says", coverage_is_what_it_says})
