// SPDX-License-Identifier: GPL-2.0-or-later
#include "residuals.hpp"

#include <algorithm>
#include <cmath>

namespace foresight {

namespace {

/// Between the two nearest to a place, counted from 0.
double at_place(const double* sorted, std::size_t count, double place) noexcept {
    place = std::clamp(place, 0.0, static_cast<double>(count - 1));
    const auto below = static_cast<std::size_t>(std::floor(place));
    const std::size_t above = std::min(below + 1, count - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

} // namespace

double quantile_of_sorted(const double* sorted, std::size_t count, double q) noexcept {
    return at_place(sorted, count, q * static_cast<double>(count - 1));
}

double quantile_of_few(const double* sorted, std::size_t count, double q) noexcept {
    return at_place(sorted, count, q * static_cast<double>(count + 1) - 1);
}

void Residuals::add(double error) {
    if (sorted_.size() == most_) {
        const double old = arrived_[oldest_];
        arrived_[oldest_] = error;
        oldest_ = (oldest_ + 1) % most_;
        // The old one goes and the new one comes in one move of what lies between.
        const auto gone = std::lower_bound(sorted_.begin(), sorted_.end(), old);
        const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), error);
        if (place > gone) {
            std::move(gone + 1, place, gone);
            *(place - 1) = error;
        } else {
            std::move_backward(place, gone, gone + 1);
            *place = error;
        }
        return;
    }
    arrived_.push_back(error);
    sorted_.insert(std::lower_bound(sorted_.begin(), sorted_.end(), error), error);
}

double Residuals::quantile(double q, std::size_t least) const noexcept {
    return sorted_.empty() || sorted_.size() < least
               ? 0
               : quantile_of_sorted(sorted_.data(), sorted_.size(), q);
}

} // namespace foresight
