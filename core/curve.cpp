// SPDX-License-Identifier: GPL-2.0-or-later
#include "curve.hpp"

#include <algorithm>

namespace foresight {

double Curve::cheapest(const std::vector<double>& prices, const std::vector<double>& relief) {
    held_.resize(demand_.size());
    for (std::size_t i = 0; i < held_.size(); ++i) {
        held_[i] = prices[i] < penalty(i, relief) ? demand_[i] : 0.0;
    }
    if (!moves_freely()) {
        follow_cap(prices, relief);
    }
    double cost = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
        cost += prices[i] * held_[i] + penalty(i, relief) * std::max(0.0, demand_[i] - held_[i]);
    }
    return cost;
}

/// Whether the curve that looks at each step alone keeps the cap.
bool Curve::moves_freely() const noexcept {
    if (up_ >= kNoCap && down_ >= kNoCap) {
        return true;
    }
    double before = before_ >= 0 || held_.empty() ? before_ : held_.front();
    for (const double held : held_) {
        if (held > before + up_ || held < before - down_) {
            return false;
        }
        before = held;
    }
    return true;
}

void Curve::follow_cap(const std::vector<double>& prices, const std::vector<double>& relief) {
    bends_.clear();
    least_.clear();
    slope_ = 0;
    low_ = std::max(0.0, before_);
    // More than this never pays, so a slope of 0 that rounding tips over leads nowhere far.
    most_ = before_;
    for (const double demand : demand_) {
        most_ = std::max(most_, demand);
    }
    high_ = before_ >= 0 ? before_ : most_;
    double least = low_;
    for (std::size_t i = 0; i < demand_.size(); ++i) {
        if (i > 0 || before_ >= 0) {
            spread();
        }
        add_step(prices[i], penalty(i, relief), demand_[i]);
        least = lowest();
        least_.push_back(least);
    }
    double after = least;
    for (std::size_t i = demand_.size(); i-- > 0;) {
        // Convex: of what the next step allows, the nearest to the lowest is best.
        held_[i] =
            i + 1 == demand_.size() ? least : std::clamp(least_[i], after - up_, after + down_);
        after = held_[i];
    }
}

/// Where the function is lowest.
double Curve::lowest() const noexcept {
    double slope = slope_;
    if (slope >= 0) {
        return low_;
    }
    for (const Bend& bend : bends_) {
        slope += bend.rise;
        if (slope >= 0) {
            return bend.at;
        }
    }
    return high_;
}

/// Lets the next step differ by the cap: what is left of the lowest moves down, the rest up, and
/// between them the function is flat.
void Curve::spread() {
    const double low = low_;
    const double high = high_;
    low_ = std::max(0.0, low - down_);
    high_ = std::min(most_, high + up_);
    if (slope_ > 0) { // lowest at its left end
        bends_.insert(bends_.begin(), {low, slope_});
        slope_ = 0;
    }
    double slope = slope_;
    for (std::size_t i = 0; i < bends_.size(); ++i) {
        Bend& bend = bends_[i];
        const double before = slope;
        slope += bend.rise;
        if (slope <= 0) {
            bend.at = std::max(low_, bend.at - down_);
        } else if (before >= 0) {
            bend.at = std::min(high_, bend.at + up_);
        } else { // the lowest itself
            const Bend right{std::min(high_, bend.at + up_), slope};
            bend = {std::max(low_, bend.at - down_), -before};
            bends_.insert(bends_.begin() + static_cast<std::ptrdiff_t>(i) + 1, right);
            ++i;
        }
    }
    if (slope < 0) { // lowest at its right end
        bends_.push_back({std::max(low_, high - down_), -slope});
    }
}

void Curve::add_step(double price, double penalty, double demand) {
    slope_ += price - penalty;
    const Bend bend{std::clamp(demand, low_, high_), penalty};
    const auto after = std::upper_bound(bends_.begin(), bends_.end(), bend.at,
                                        [](double at, const Bend& other) { return at < other.at; });
    bends_.insert(after, bend);
}

} // namespace foresight
