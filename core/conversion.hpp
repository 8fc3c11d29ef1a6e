// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Conversion: how many GPUs a level of demand takes, where demand is measured in anything
 * (requests a second, sessions, GPUs).
 *
 *     GPUs = ceil(level × (1 + headroom / 100) ÷ units_per_gpu), within min_gpus … max_gpus
 *
 * Any demand at all takes a GPU: only a real 0 comes down to min_gpus.
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace foresight {

struct Conversion {
    double units_per_gpu = 1;
    double headroom = 0; ///< percent
    std::int32_t min_gpus = 0;
    std::int32_t max_gpus = 1'000'000;

    /// Of a level that is known; what is not (NaN) is the caller's to hold.  An infinite one, which
    /// a quantile may be, takes max_gpus.
    [[nodiscard]] std::int32_t gpus(double level) const noexcept {
        if (!(level > 0)) {
            return std::min(min_gpus, max_gpus);
        }
        // What is a hair above a whole number through arithmetic alone takes no further GPU.
        const double exact = level * (1 + headroom / 100) / units_per_gpu;
        const double whole = std::max(1.0, std::ceil(exact - 1e-9 * std::max(1.0, exact)));
        const double most = std::max(min_gpus, max_gpus);
        return static_cast<std::int32_t>(
            std::min(most, std::max(static_cast<double>(min_gpus), whole)));
    }
};

} // namespace foresight
