// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Services: made-up series of demand, a seed each, of kinds that a forecaster must not be worse on
 * than the best of last value, yesterday and a week ago.
 */
#pragma once

#include "series.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace foresight::test {

struct Service {
    std::string name;
    /// How far above the best baseline the mean loss may come at 0.5 and 0.9, as a share of it:
    /// what it costs to find out which forecaster is right, where that is one of the baselines.
    double allowed = 0;
    /// The same at 0.99, of which two weeks hold few examples.
    double allowed_far = 0;
};

[[nodiscard]] const std::vector<Service>& services();

/// Some days of the service, windows of ten minutes.
[[nodiscard]] Series make_service(const std::string& name, std::uint64_t seed, int days);

} // namespace foresight::test
