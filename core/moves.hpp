// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves: how a search changes an order.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace foresight {

/// Takes one element to another position; those between move up by one.
template <typename T> void move_element(std::vector<T>& order, std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
        std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
        std::rotate(at(to), at(from), at(from + 1));
    }
}

} // namespace foresight
