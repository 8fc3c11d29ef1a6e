// SPDX-License-Identifier: GPL-2.0-or-later
#include "daily_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foresight {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr Seconds kSlot = 600;
constexpr std::size_t kAround = 9; ///< slots: an hour and a half

void insert(std::vector<double>& sorted, double error) {
    if (!std::isnan(error)) {
        sorted.insert(std::lower_bound(sorted.begin(), sorted.end(), error), error);
    }
}

void remove(std::vector<double>& sorted, double error) {
    if (!std::isnan(error)) {
        sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), error));
    }
}

} // namespace

DailyErrors::DailyErrors(const Past& past, std::size_t days)
    : day_(past.day()), stride_(past.windows(kSlot)), slots_((day_ + stride_ - 1) / stride_),
      around_(std::min(kAround, (slots_ - 1) / 2)), days_(days), errors_(slots_ * days, kUnknown) {}

std::size_t DailyErrors::slot_of(std::size_t index) const noexcept {
    return index % day_ / stride_;
}

bool DailyErrors::is_near(std::size_t slot) const noexcept {
    const std::size_t ahead = (slot + slots_ - center_) % slots_;
    return placed_ && (ahead <= around_ || slots_ - ahead <= around_);
}

void DailyErrors::enter(std::size_t slot) {
    for (std::size_t i = 0; i < days_; ++i) {
        insert(sorted_, errors_[slot * days_ + i]);
    }
}

void DailyErrors::leave(std::size_t slot) {
    for (std::size_t i = 0; i < days_; ++i) {
        remove(sorted_, errors_[slot * days_ + i]);
    }
}

void DailyErrors::add(std::size_t index, double error) {
    if (index % day_ % stride_ != 0) {
        return;
    }
    const std::size_t slot = slot_of(index);
    double& kept = errors_[slot * days_ + index / day_ % days_];
    if (is_near(slot)) {
        remove(sorted_, kept);
        insert(sorted_, error);
    }
    kept = error;
}

const std::vector<double>& DailyErrors::near(std::size_t target) {
    const std::size_t slot = slot_of(target);
    if (placed_ && slot == (center_ + 1) % slots_) {
        leave((center_ + slots_ - around_) % slots_);
        enter((slot + around_) % slots_);
    } else if (!placed_ || slot != center_) {
        sorted_.clear();
        for (std::size_t i = 0; i <= 2 * around_; ++i) {
            enter((slot + slots_ + i - around_) % slots_);
        }
    }
    placed_ = true;
    center_ = slot;
    return sorted_;
}

} // namespace foresight
