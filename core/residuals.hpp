// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Residuals: the latest errors of a forecast, and their quantiles.
 *
 * Kept in order of size beside the order of arrival.  Cost: O(count) moves for each error that
 * comes, with a small constant; O(1) for a quantile.
 */
#pragma once

#include <cstddef>
#include <vector>

namespace foresight {

/// The quantile of `count` ascending numbers, linear between the two nearest (definition 7 of
/// Hyndman & Fan 1996, the usual one).
[[nodiscard]] double quantile_of_sorted(const double* sorted, std::size_t count, double q) noexcept;

/// The same such that one more number of their kind lies below it with probability q (definition
/// 6): farther out where they are few, up to the largest.
[[nodiscard]] double quantile_of_few(const double* sorted, std::size_t count, double q) noexcept;

class Residuals {
public:
    /// Remembers so many; the oldest gives way.
    explicit Residuals(std::size_t most) : most_(most) {}

    void add(double error);
    [[nodiscard]] std::size_t count() const noexcept { return sorted_.size(); }
    [[nodiscard]] const std::vector<double>& sorted() const noexcept { return sorted_; }
    /// 0 where there are fewer than `least`.
    [[nodiscard]] double quantile(double q, std::size_t least) const noexcept;

private:
    std::size_t most_;
    std::size_t oldest_ = 0;
    std::vector<double> arrived_; ///< a ring once it is full
    std::vector<double> sorted_;
};

} // namespace foresight
