// SPDX-License-Identifier: GPL-2.0-or-later
#include "daily_errors.hpp"
#include "forecast.hpp"
#include "harness.h"
#include "past.hpp"
#include "regression.hpp"
#include "residuals.hpp"
#include "services.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace foresight;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<double> kQuantiles{0.01, 0.05, 0.3,  0.5,   0.8,  0.9,
                                     0.93, 0.95, 0.99, 0.995, 0.999};

/// Finite, not below 0, and never less at a larger quantile.
void check_curves(const Forecaster& forecaster, int windows) {
    const auto curves = forecaster.quantiles(kQuantiles, windows);
    REQUIRE(curves.size() == kQuantiles.size());
    for (std::size_t i = 0; i < curves.size(); ++i) {
        REQUIRE(curves[i].size() == static_cast<std::size_t>(windows));
        for (std::size_t w = 0; w < curves[i].size(); ++w) {
            if (!std::isfinite(curves[i][w]) || curves[i][w] < 0 ||
                (i > 0 && curves[i][w] < curves[i - 1][w])) {
                FAIL("quantile %g of window %zu is %g", kQuantiles[i], w + 1, curves[i][w]);
                return;
            }
        }
    }
}

void nothing_known_is_no_forecast() {
    Forecaster forecaster(600);
    CHECK_INT(forecaster.quantile(0.9, 0).size(), 0);
    CHECK(std::isnan(forecaster.quantile(0.9, 3)[2]));
    forecaster.observe(kNan);
    forecaster.observe(kInfinity);
    CHECK(std::isnan(forecaster.quantile(0.9, 3)[0]));
    CHECK(std::isnan(forecaster.at(1, {0.5})[0]));
    forecaster.observe(7);
    CHECK_NEAR(forecaster.quantile(0.5, 300)[299], 7, 1e-9);
    CHECK_INT(forecaster.observed(), 3);
}

void every_service_has_sane_curves() {
    const std::uint64_t seed = test_seed();
    for (const test::Service& service : test::services()) {
        Forecaster forecaster(600);
        const Series series = test::make_service(service.name, seed, 9);
        std::size_t index = 0;
        for (const double value : series.values) {
            forecaster.observe(value);
            if (++index < 40 || index % 97 == 0) {
                check_curves(forecaster, index % 3 == 0 ? 300 : 20);
            }
        }
    }
}

void unknown_windows_and_nonsense_are_passed_over() {
    std::mt19937_64 draw(test_seed());
    Forecaster forecaster(600);
    forecaster.observe(3);
    for (int i = 0; i < 1500; ++i) {
        switch (draw() % 8) {
        case 0:
            forecaster.observe(kNan);
            break;
        case 1:
            forecaster.observe(i % 2 == 0 ? kInfinity : -kInfinity);
            break;
        case 2:
            forecaster.observe(1e300);
            break;
        case 3:
            forecaster.observe(0);
            break;
        case 4:
            forecaster.observe(1e12);
            break;
        default:
            forecaster.observe(static_cast<double>(draw() % 1000));
            break;
        }
        if (i % 50 == 1) {
            check_curves(forecaster, 150);
        }
    }
}

void zeros_stay_zeros() {
    Forecaster forecaster(600);
    for (int i = 0; i < 2000; ++i) {
        forecaster.observe(0);
    }
    for (const double level : forecaster.quantile(0.995, 144)) {
        CHECK_NEAR(level, 0, 0);
    }
}

void a_burst_raises_the_upper_quantiles_and_is_forgotten() {
    std::mt19937_64 draw(test_seed());
    const auto calm = [&] { return 100 + static_cast<double>(draw() % 10); };
    Forecaster forecaster(600);
    for (int i = 0; i < 1008; ++i) {
        forecaster.observe(calm());
    }
    const double before = forecaster.quantile(0.95, 1)[0];
    CHECK(before < 115);
    for (int i = 0; i < 6; ++i) {
        forecaster.observe(400);
    }
    CHECK(forecaster.quantile(0.95, 1)[0] > 200);
    for (int i = 0; i < 1008; ++i) {
        forecaster.observe(calm());
    }
    CHECK(forecaster.quantile(0.95, 1)[0] < 130);
}

void windows_of_any_length_work() {
    for (const Seconds window : {60, 300, 900, 1000, 3600}) {
        Forecaster forecaster(window, {6 * 3600});
        for (int i = 0; i < 400; ++i) {
            forecaster.observe(i % 24);
        }
        CHECK_INT(forecaster.window(), window);
        check_curves(forecaster, 500);
    }
}

void a_copy_goes_its_own_way() {
    const Series series = test::make_service("weekdays", test_seed(), 8);
    Forecaster one(600);
    one.learn(series);
    Forecaster two(one);
    const auto before = one.quantiles(kQuantiles, 144);
    CHECK(two.quantiles(kQuantiles, 144) == before);
    for (int i = 0; i < 50; ++i) {
        two.observe(1000);
    }
    CHECK(one.quantiles(kQuantiles, 144) == before);
    CHECK(two.quantiles(kQuantiles, 144) != before);
    two = one;
    two.observe(5);
    one.observe(5);
    CHECK(two.quantiles(kQuantiles, 144) == one.quantiles(kQuantiles, 144));
    Forecaster three(std::move(two));
    CHECK(three.quantiles(kQuantiles, 144) == one.quantiles(kQuantiles, 144));
}

void the_same_values_give_the_same_forecast() {
    const Series series = test::make_service("bursts", test_seed(), 8);
    Forecaster one(600);
    one.learn(series);
    Forecaster two(600);
    for (const double value : series.values) {
        two.observe(value);
        (void)two.quantile(0.9, 7); // to ask changes nothing
    }
    const auto curves = one.quantiles(kQuantiles, 200);
    CHECK(two.quantiles(kQuantiles, 200) == curves);
    for (std::size_t i = 0; i < kQuantiles.size(); ++i) {
        CHECK(one.quantile(kQuantiles[i], 200) == curves[i]);
        CHECK_NEAR(one.at(17, kQuantiles)[i], curves[i][16], 0);
    }
}

/// Sorted as it goes on, against a sort of everything each time.
void daily_errors_are_those_near_the_time_of_day() {
    std::mt19937_64 draw(test_seed());
    for (const Seconds window : {60, 600, 1000, 3600}) {
        const Past past(window);
        constexpr std::size_t days = 3;
        DailyErrors daily(past, days);
        const std::size_t stride = past.windows(600);
        const std::size_t slots = (past.day() + stride - 1) / stride;
        const std::size_t around = std::min<std::size_t>(9, (slots - 1) / 2);
        std::vector<std::vector<double>> kept(slots, std::vector<double>(days, kNan));
        for (std::size_t index = 0; index < 6 * past.day(); ++index) {
            if (draw() % 10 != 0) {
                const double error = draw() % 20 == 0 ? kNan : static_cast<double>(draw() % 30);
                daily.add(index, error);
                if (index % past.day() % stride == 0) {
                    kept[index % past.day() / stride][index / past.day() % days] = error;
                }
            }
            const std::size_t target = draw() % 50 == 0 ? index + draw() % 999 : index + 7;
            std::vector<double> slow;
            for (std::size_t slot = 0; slot < slots; ++slot) {
                const std::size_t apart = (slot + slots - target % past.day() / stride) % slots;
                for (const double error : kept[slot]) {
                    if (std::min(apart, slots - apart) <= around && !std::isnan(error)) {
                        slow.push_back(error);
                    }
                }
            }
            std::sort(slow.begin(), slow.end());
            REQUIRE(daily.near(target) == slow);
        }
    }
}

void the_past_knows_its_means() {
    Past past(600);
    CHECK(std::isnan(past.last()));
    CHECK(std::isnan(past.recent(5)));
    for (int i = 0; i < 1300; ++i) {
        past.add(i % 100 == 7 ? kNan : i % 144);
    }
    CHECK_INT(past.day(), 144);
    CHECK_INT(past.week(), 1008);
    CHECK_INT(past.known(), 1287);
    CHECK_NEAR(past.last(), 1299 % 144, 0);
    CHECK_NEAR(past.recent(2), 1298.5 - 9 * 144, 1e-9);
    CHECK_NEAR(past.same_time(144, 1300), 1300 % 144, 0);
    CHECK_NEAR(past.same_time(144, 1307 + 144), 1163 % 144, 0); // 1307 is not there yet
    CHECK_NEAR(past.same_time(144, 1207 + 144), 1063 % 144, 0); // 1207 is not known
    CHECK(std::isnan(past.same_time(1008, 1007)));
    CHECK_NEAR(past.profile(1300), 1300 % 144, 0.01);
    CHECK_NEAR(past.most(), 143, 0);
    CHECK_NEAR(past.least(), 0, 0);
}

void a_regression_finds_what_follows_from_what() {
    std::mt19937_64 draw(test_seed());
    const auto fraction = [&] { return static_cast<double>(draw() % 10000) / 10000; };
    Regression regression;
    Regression::Row row{};
    for (int i = 0; i < 500; ++i) {
        for (double& feature : row) {
            feature = fraction();
        }
        row[8] = row[7]; // two that say the same
        const double value = 0.3 + 2 * row[1] - row[4] + row[7];
        row[0] = 1;
        // A wild one now and then moves it little.
        regression.learn(row, i % 50 == 49 ? 1000 : value, 0.999, 0.5);
    }
    row = {1, 0.2, 0.9, 0.9, 0.6, 0.9, 0.9, 0.5, 0.5};
    CHECK_NEAR(regression.at(row), 0.3 + 0.4 - 0.6 + 0.5, 0.25);
    CHECK_NEAR(Regression::between(Regression(), regression, 0.5, row), regression.at(row) / 2,
               1e-12);
}

void quantiles_of_few_lie_farther_out() {
    const std::vector<double> ten{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    CHECK_NEAR(quantile_of_sorted(ten.data(), 10, 0.9), 8.1, 1e-12);
    CHECK_NEAR(quantile_of_few(ten.data(), 10, 0.9), 8.9, 1e-12);
    CHECK_NEAR(quantile_of_few(ten.data(), 10, 0.5), 4.5, 1e-12);
    CHECK_NEAR(quantile_of_few(ten.data(), 10, 0.99), 9, 0);
    CHECK_NEAR(quantile_of_few(ten.data(), 10, 0.01), 0, 0);
    CHECK_NEAR(quantile_of_few(ten.data(), 1, 0.7), 0, 0);
    Residuals latest(3);
    for (const double error : {5.0, -1.0, 4.0, 4.0, 2.0}) {
        latest.add(error);
    }
    CHECK(latest.sorted() == (std::vector<double>{2, 4, 4}));
    CHECK_NEAR(latest.quantile(0.5, 3), 4, 0);
    CHECK_NEAR(latest.quantile(0.5, 4), 0, 0);
}

void a_series_of_other_windows_is_refused() {
    Series series;
    series.window = 300;
    bool refused = false;
    try {
        Forecaster(600).learn(series);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);
}

} // namespace

TEST_SUITE("forecast", {"nothing known is no forecast", nothing_known_is_no_forecast},
           {"every service has sane curves", every_service_has_sane_curves},
           {"unknown windows and nonsense are passed over",
            unknown_windows_and_nonsense_are_passed_over},
           {"zeros stay zeros", zeros_stay_zeros},
           {"a burst raises the upper quantiles and is forgotten",
            a_burst_raises_the_upper_quantiles_and_is_forgotten},
           {"windows of any length work", windows_of_any_length_work},
           {"a copy goes its own way", a_copy_goes_its_own_way},
           {"the same values give the same forecast", the_same_values_give_the_same_forecast},
           {"daily errors are those near the time of day",
            daily_errors_are_those_near_the_time_of_day},
           {"the past knows its means", the_past_knows_its_means},
           {"a regression finds what follows from what", a_regression_finds_what_follows_from_what},
           {"quantiles of few lie farther out", quantiles_of_few_lie_farther_out},
           {"a series of other windows is refused", a_series_of_other_windows_is_refused})
