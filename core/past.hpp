// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Past: the windows that were observed, and means over them.
 *
 * Sums are kept from the start, so that a mean over any stretch is one subtraction.
 */
#pragma once

#include "model.hpp"

#include <cstddef>
#include <vector>

namespace foresight {

class Past {
public:
    explicit Past(Seconds window);

    /// The next window's value; NaN when it is not known.
    void add(double value);

    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
    [[nodiscard]] double operator[](std::size_t index) const noexcept { return values_[index]; }
    /// So many seconds in windows, at least `least`.
    [[nodiscard]] std::size_t windows(Seconds length, std::size_t least = 1) const noexcept;
    [[nodiscard]] std::size_t day() const noexcept { return day_; }
    [[nodiscard]] std::size_t week() const noexcept { return week_; }

    [[nodiscard]] std::size_t known() const noexcept { return known_.back(); }
    // Of the values that are known; NaN where none is.
    [[nodiscard]] double last() const noexcept { return last_; }
    [[nodiscard]] double least() const noexcept { return least_; }
    [[nodiscard]] double most() const noexcept { return most_; }
    [[nodiscard]] double mean() const noexcept;
    /// Over the last so many windows.
    [[nodiscard]] double recent(std::size_t windows) const noexcept;

    // Of windows up to now at the time of day (or of the week) of `target`, which may lie ahead.
    /// The latest known value a whole number of periods before.
    [[nodiscard]] double same_time(std::size_t period, std::size_t target) const noexcept;
    /// The same of the mean over so many windows to both sides.
    [[nodiscard]] double near_time(std::size_t period, std::size_t target,
                                   std::size_t around) const noexcept;
    /// Mean of the last seven days at about this time of day.
    [[nodiscard]] double profile(std::size_t target) const noexcept;

private:
    /// Over windows from … until-1, as far as they were observed.
    [[nodiscard]] double mean(std::size_t from, std::size_t until) const noexcept;

    Seconds window_;
    std::size_t day_;
    std::size_t week_;
    std::size_t around_; ///< windows to both sides in a profile
    std::vector<double> values_;
    std::vector<double> sums_{0};       ///< of the known values before a window
    std::vector<std::size_t> known_{0}; ///< their number
    double last_;
    double least_;
    double most_;
};

} // namespace foresight
