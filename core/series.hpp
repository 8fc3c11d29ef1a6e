// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Series: what was measured, a value for each window of time; NaN where nothing is known.
 */
#pragma once

#include "model.hpp"

#include <vector>

namespace foresight {

struct Series {
    Seconds origin = 0; ///< start of the first window, since the epoch; core only counts from it
    Seconds window = 600;
    std::vector<double> values;
};

} // namespace foresight
