// SPDX-License-Identifier: GPL-2.0-or-later
#include "experts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foresight {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kTiny = 1e-12;

double or_else(double value, double other) noexcept {
    return std::isnan(value) ? other : value;
}

/// How the last six hours stand to the profile's, within reason; NaN without a profile.
double recent_proportion(const Past& past, double six_hours) noexcept {
    constexpr double most = 4;
    const std::size_t now = past.size() - 1;
    const std::size_t step = past.windows(1800);
    double sum = 0;
    int found = 0;
    for (std::size_t back = 0; back < past.windows(6 * 3600) && back <= now; back += step) {
        const double level = past.profile(now - back);
        if (!std::isnan(level)) {
            sum += level;
            ++found;
        }
    }
    return sum > 0 ? std::clamp(six_hours / (sum / found), 1 / most, most) : kUnknown;
}

} // namespace

double proportion(double level, double mean) noexcept {
    return std::max({std::fabs(level), 0.05 * std::fabs(mean), kTiny});
}

Points points_at(const Past& past, std::size_t lead) noexcept {
    const std::size_t now = past.size() - 1;
    const std::size_t target = now + lead;
    const double last = past.last();
    const double six_hours = or_else(past.recent(past.windows(6 * 3600)), last);
    const double profile_now = past.profile(now);
    Points at;
    at.value.fill(kUnknown);
    at.value[points::zero] = 0;
    at.value[points::last] = last;
    at.value[points::yesterday] = past.same_time(past.day(), target);
    at.value[points::week_ago] = past.same_time(past.week(), target);
    at.value[points::near_week_ago] = past.near_time(past.week(), target, past.windows(1200, 0));
    at.value[points::profile] = past.profile(target);
    at.value[points::hour] = or_else(past.recent(past.windows(3600)), last);
    at.value[points::day] = past.recent(past.day());
    at.value[points::drift] = last + at.value[points::profile] - profile_now;
    at.value[points::scaled] = at.value[points::profile] * recent_proportion(past, six_hours);

    const double day = or_else(at.value[points::day], last);
    const double profile = or_else(at.value[points::profile], day);
    at.row = {0,
              last,
              at.value[points::hour],
              six_hours,
              day,
              or_else(at.value[points::yesterday], profile),
              or_else(at.value[points::near_week_ago], profile),
              profile,
              or_else(profile_now, day)};
    const double unit = std::max(std::fabs(past.mean()), kTiny);
    for (double& feature : at.row) {
        feature /= unit;
    }
    at.row[0] = 1;
    return at;
}

} // namespace foresight
