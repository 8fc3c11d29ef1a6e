/*
 * Chart: what was measured and what is forecast, as a curve with its band, time to the right.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "series.hpp"
#include "terminal.hpp"

#include <string>
#include <vector>

namespace foresight::command {

/// A forecast, a value for each window ahead in each.
struct Band {
    std::vector<double> low;
    std::vector<double> middle;
    std::vector<double> high;
};

/// The last `shown` windows of the series, then the forecast.  A column is the mean of its
/// windows; those that are not known stay empty.
[[nodiscard]] std::string draw_chart(const Series& series, std::size_t shown, const Band& band,
                                     const Terminal& terminal);

} // namespace foresight::command
