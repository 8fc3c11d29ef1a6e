// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Curve: how many GPUs an application would hold in each step if each had its price.
 *
 * The least of Σ price × held + penalty × max(0, demand − held) over all curves that move by at
 * most the swap cap between two steps.  Without a cap that binds every step stands alone.  With
 * one: dynamic programming over convex piecewise linear functions, kept as their bends ("slope
 * trick"); a swap cap moves the bends left of the minimum down and the others up, a step adds one.
 * Cost: O(steps²), O(steps) where the cap does not bind.
 */
#pragma once

#include "model.hpp"

#include <algorithm>
#include <vector>

namespace foresight {

class Curve {
public:
    /// `demand` is what is missing beside the GPUs that the application's own jobs hold.
    Curve(std::vector<double> demand, double penalty)
        : demand_(std::move(demand)), penalty_(penalty) {}

    /// From step to step at most so many more, so many fewer; without a first value step 0 is free.
    void cap(double up, double down) {
        up_ = up;
        down_ = down;
    }
    void start_at(double held) { before_ = held; }

    /// The least cost at these prices, one a step, where each GPU missing costs so much less;
    /// held() is then a curve that costs it.
    [[nodiscard]] double cheapest(const std::vector<double>& prices,
                                  const std::vector<double>& relief);
    [[nodiscard]] const std::vector<double>& held() const noexcept { return held_; }
    [[nodiscard]] const std::vector<double>& demand() const noexcept { return demand_; }
    [[nodiscard]] double penalty() const noexcept { return penalty_; }

private:
    struct Bend {
        double at = 0;
        double rise = 0; ///< of the slope
    };

    [[nodiscard]] double penalty(std::size_t step, const std::vector<double>& relief) const {
        return std::max(0.0, penalty_ - relief[step]);
    }
    [[nodiscard]] bool moves_freely() const noexcept;
    void follow_cap(const std::vector<double>& prices, const std::vector<double>& relief);
    [[nodiscard]] double lowest() const noexcept;
    void spread();
    void add_step(double price, double penalty, double demand);

    std::vector<double> demand_;
    double penalty_ = 0;
    double up_ = kNoCap;
    double down_ = kNoCap;
    double before_ = -1; ///< held before step 0; negative: free
    std::vector<double> held_;
    // The function of the GPUs held in the step reached: what it and all before it cost least.
    std::vector<Bend> bends_; ///< ascending
    double slope_ = 0;        ///< left of all bends
    double low_ = 0;          ///< its domain
    double high_ = 0;
    double most_ = 0; ///< the largest demand, or what was held before
    std::vector<double> least_; ///< by step: where the function is lowest

    static constexpr double kNoCap = 1e12;
};

} // namespace foresight
