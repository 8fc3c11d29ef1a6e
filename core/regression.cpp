// SPDX-License-Identifier: GPL-2.0-or-later
#include "regression.hpp"

#include <algorithm>
#include <cmath>

namespace foresight {

namespace {

/// Of the inverse at first: the smaller, the longer weights stay near 0.
constexpr double kPrior = 1;
/// Directions that no row takes would grow without end as the rest is forgotten.
constexpr double kLargestTrace = 1e4;

} // namespace

Regression::Regression() noexcept {
    for (std::size_t i = 0; i < kFeatures; ++i) {
        inverse_[i][i] = kPrior;
    }
}

double Regression::at(const Row& row) const noexcept {
    double sum = 0;
    for (std::size_t i = 0; i < kFeatures; ++i) {
        sum += weights_[i] * row[i];
    }
    return sum;
}

double Regression::between(const Regression& a, const Regression& b, double share,
                           const Row& row) noexcept {
    return share <= 0 ? a.at(row) : std::lerp(a.at(row), b.at(row), share);
}

void Regression::learn(const Row& row, double value, double forget, double far) noexcept {
    const double error = value - at(row);
    Row gain{};
    double total = forget * std::max(1.0, std::fabs(error) / far);
    for (std::size_t i = 0; i < kFeatures; ++i) {
        for (std::size_t j = 0; j < kFeatures; ++j) {
            gain[i] += inverse_[i][j] * row[j];
        }
        total += row[i] * gain[i];
    }
    double trace = 0;
    for (std::size_t i = 0; i < kFeatures; ++i) {
        weights_[i] += gain[i] / total * error;
        for (std::size_t j = 0; j < kFeatures; ++j) {
            inverse_[i][j] = (inverse_[i][j] - gain[i] * gain[j] / total) / forget;
        }
        trace += inverse_[i][i];
    }
    if (trace > kLargestTrace) {
        for (Row& line : inverse_) {
            for (double& entry : line) {
                entry *= kLargestTrace / trace;
            }
        }
    }
}

} // namespace foresight
