// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DailyErrors: the errors of a forecast on the last days, by time of day, and those near one time
 * in order of size.
 *
 * Cost: O(days × errors moved) to go on to the next ten minutes.
 */
#pragma once

#include "past.hpp"

#include <cstddef>
#include <vector>

namespace foresight {

class DailyErrors {
public:
    /// Remembers so many days.
    DailyErrors(const Past& past, std::size_t days);

    /// Of the window `index`; NaN where there was no forecast.
    void add(std::size_t index, double error);
    /// Ascending: those within an hour and a half of the time of day of `target`, whatever its day.
    [[nodiscard]] const std::vector<double>& near(std::size_t target);

private:
    [[nodiscard]] std::size_t slot_of(std::size_t index) const noexcept;
    [[nodiscard]] bool is_near(std::size_t slot) const noexcept;
    void enter(std::size_t slot);
    void leave(std::size_t slot);

    std::size_t day_;
    std::size_t stride_; ///< windows of a slot, ten minutes; its first one is remembered
    std::size_t slots_;  ///< of a day
    std::size_t around_; ///< slots to both sides
    std::size_t days_;
    std::vector<double> errors_; ///< by slot, then by day; NaN for none
    bool placed_ = false;
    std::size_t center_ = 0; ///< the slot that sorted_ is around
    std::vector<double> sorted_;
};

} // namespace foresight
