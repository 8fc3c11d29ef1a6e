// SPDX-License-Identifier: GPL-2.0-or-later
#include "past.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foresight {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr Seconds kDay = 86400;

} // namespace

Past::Past(Seconds window)
    : window_(window), day_(windows(kDay)), week_(windows(7 * kDay)), around_(windows(600, 0)),
      last_(kUnknown), least_(kUnknown), most_(kUnknown) {}

std::size_t Past::windows(Seconds length, std::size_t least) const noexcept {
    // Half a window and less is none.
    return std::max(least, static_cast<std::size_t>((length + (window_ - 1) / 2) / window_));
}

void Past::add(double value) {
    const bool known = std::isfinite(value);
    values_.push_back(known ? value : kUnknown);
    sums_.push_back(sums_.back() + (known ? value : 0));
    known_.push_back(known_.back() + (known ? 1 : 0));
    if (known) {
        last_ = value;
        least_ = std::fmin(least_, value);
        most_ = std::fmax(most_, value);
    }
}

double Past::mean(std::size_t from, std::size_t until) const noexcept {
    until = std::min(until, values_.size());
    if (from >= until || known_[until] == known_[from]) {
        return kUnknown;
    }
    return (sums_[until] - sums_[from]) / static_cast<double>(known_[until] - known_[from]);
}

double Past::mean() const noexcept {
    return mean(0, values_.size());
}

double Past::recent(std::size_t windows) const noexcept {
    return mean(values_.size() - std::min(windows, values_.size()), values_.size());
}

double Past::same_time(std::size_t period, std::size_t target) const noexcept {
    for (std::size_t back = period; back <= target; back += period) {
        const std::size_t index = target - back;
        if (index < values_.size() && !std::isnan(values_[index])) {
            return values_[index];
        }
    }
    return kUnknown;
}

double Past::near_time(std::size_t period, std::size_t target, std::size_t around) const noexcept {
    for (std::size_t back = period; back <= target; back += period) {
        const std::size_t index = target - back;
        if (index >= values_.size()) {
            continue;
        }
        const double near = mean(index - std::min(index, around), index + around + 1);
        if (!std::isnan(near)) {
            return near;
        }
    }
    return kUnknown;
}

double Past::profile(std::size_t target) const noexcept {
    constexpr int days = 7;
    double sum = 0;
    int found = 0;
    for (std::size_t back = day_; back <= target && found < days; back += day_) {
        const std::size_t index = target - back;
        if (index >= values_.size()) {
            continue;
        }
        const double near = mean(index - std::min(index, around_), index + around_ + 1);
        if (!std::isnan(near)) {
            sum += near;
            ++found;
        }
    }
    return found > 0 ? sum / found : kUnknown;
}

} // namespace foresight
