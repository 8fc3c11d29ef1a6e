// SPDX-License-Identifier: GPL-2.0-or-later
#include "forecast.hpp"
#include "harness.h"
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
           {"a series of other windows is refused", a_series_of_other_windows_is_refused})
