// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regression: least squares that learn a row at a time and forget slowly (recursive least squares,
 * Haykin, "Adaptive filter theory", with a ridge).  A row that lies far off counts less, in Huber's
 * manner.
 *
 * Cost: O(features²) a row.
 */
#pragma once

#include <array>
#include <cstddef>

namespace foresight {

class Regression {
public:
    static constexpr std::size_t kFeatures = 9;
    using Row = std::array<double, kFeatures>;

    Regression() noexcept;

    /// `far`: an error from which on a row counts less.
    void learn(const Row& row, double value, double forget, double far) noexcept;
    [[nodiscard]] double at(const Row& row) const noexcept;

    /// Between two that learnt the same at other leads: share 0 is a, 1 is b.
    [[nodiscard]] static double between(const Regression& a, const Regression& b, double share,
                                        const Row& row) noexcept;

private:
    Row weights_{};
    std::array<Row, kFeatures> inverse_{};
};

} // namespace foresight
