// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Usage: how much of one cluster-wide limit is used, over time.
 *
 * A limit is one cumulative resource without places: an association's GPUs, a QOS's GPUs for a
 * user, the running tasks of an array.
 */
#pragma once

#include "model.hpp"

namespace foresight {

class Usage {
public:
    explicit Usage(std::int64_t max) : max_(max) {}

    /// The first time ≥ from at which `amount` more fits for `duration`; kNever when it never does.
    [[nodiscard]] Seconds earliest(Seconds from, Seconds duration,
                                   std::int64_t amount) const noexcept;

    void add(Seconds from, Seconds until, std::int64_t amount);

private:
    struct Level {
        Seconds from;
        std::int64_t used;
    };

    std::size_t split(Seconds time);

    std::int64_t max_;
    std::vector<Level> levels_{{0, 0}};
};

} // namespace foresight
