// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Experts: simple forecasts of a window ahead, each right for some service.
 *
 * An expert is a point and the spread around it.  The point comes from the past alone: the last
 * value, the same time yesterday or a week ago, a profile of the day …; or from a regression on all
 * of these.  The spread is the quantiles of the point's own past errors at the same lead, over all
 * of them, those of the last days, those near the same time of day, or in proportion to the level.
 */
#pragma once

#include "past.hpp"
#include "regression.hpp"

#include <array>
#include <cstddef>

namespace foresight {

namespace points {
constexpr std::size_t last = 0;
constexpr std::size_t yesterday = 1;
constexpr std::size_t week_ago = 2;
constexpr std::size_t near_week_ago = 3; ///< its mean over 20 minutes to both sides
constexpr std::size_t profile = 4;       ///< mean of the last seven days at this time
constexpr std::size_t hour = 5;          ///< mean of the last hour
constexpr std::size_t day = 6;           ///< mean of the last day
constexpr std::size_t drift = 7;         ///< the last value moved as the profile moves
constexpr std::size_t scaled = 8;        ///< the profile in proportion to the last six hours
constexpr std::size_t regression = 9;
constexpr std::size_t zero = 10; ///< its errors are the values themselves
constexpr std::size_t count = 11;
} // namespace points

enum class Spread {
    none,        ///< a median alone, as it is
    all,         ///< of all past errors
    week,        ///< of those of the last seven days
    two_days,    ///< of those of the last two days
    time_of_day, ///< of those within an hour and a half of this time on the last days
    proportional ///< of all, each divided by its forecast
};

struct Expert {
    std::size_t point;
    Spread spread;
};

/// The first three, with all of their errors, are the baselines of a back-test.
inline constexpr std::array<Expert, 20> kExperts{{
    {points::last, Spread::all},
    {points::yesterday, Spread::all},
    {points::week_ago, Spread::all},
    {points::last, Spread::none},
    {points::last, Spread::week},
    {points::last, Spread::time_of_day},
    {points::near_week_ago, Spread::time_of_day},
    {points::profile, Spread::week},
    {points::hour, Spread::week},
    {points::day, Spread::week},
    {points::day, Spread::time_of_day},
    {points::drift, Spread::week},
    {points::scaled, Spread::week},
    {points::zero, Spread::all},
    {points::zero, Spread::week},
    {points::regression, Spread::all},
    {points::regression, Spread::week},
    {points::regression, Spread::two_days},
    {points::regression, Spread::time_of_day},
    {points::regression, Spread::proportional},
}};

/// What the experts start from; NaN where the past does not reach so far.
struct Points {
    std::array<double, points::count> value; ///< without the regression's
    Regression::Row row;                     ///< for the regression, in units of the mean
};

/// Of the window `lead` after the last one observed.  Some value must be known.
[[nodiscard]] Points points_at(const Past& past, std::size_t lead) noexcept;

/// What errors are divided by, for a forecast of this level.
[[nodiscard]] double proportion(double level, double mean) noexcept;

} // namespace foresight
