// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tournament: a number for each of n places, and the last place that has at least so much.
 *
 * A complete binary tree over the places; each inner node keeps the larger of its two (the winner
 * tree of Knuth, TAOCP 3, 5.4.1).  Cost: O(log n) for a change and for a look.
 */
#pragma once

#include "model.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace foresight {

class Tournament {
public:
    /// `places` places, each with -1.
    explicit Tournament(std::size_t places)
        : leaves_(std::bit_ceil(std::max<std::size_t>(places, 1))), tree_(2 * leaves_, -1) {}

    void set(std::size_t place, Seconds number) noexcept {
        std::size_t i = leaves_ + place;
        tree_[i] = number;
        for (i /= 2; i > 0; i /= 2) {
            const Seconds winner = std::max(tree_[2 * i], tree_[2 * i + 1]);
            if (tree_[i] == winner) {
                break;
            }
            tree_[i] = winner;
        }
    }

    /// The last place before `end` that has at least `number` (≥ 0), or -1.
    [[nodiscard]] std::ptrdiff_t last_with(Seconds number, std::size_t end) const noexcept {
        // Up until a left brother has it, then down along the right.
        std::size_t i = leaves_ + end;
        if (end >= leaves_) {
            if (tree_[1] < number) {
                return -1;
            }
            i = 1;
        } else {
            while (i > 0 && ((i & 1) == 0 || tree_[i - 1] < number)) {
                i /= 2;
            }
            if (i == 0) {
                return -1;
            }
            --i;
        }
        while (i < leaves_) {
            i = tree_[2 * i + 1] >= number ? 2 * i + 1 : 2 * i;
        }
        return static_cast<std::ptrdiff_t>(i - leaves_);
    }

private:
    std::size_t leaves_;
    std::vector<Seconds> tree_; ///< 1 is the root, i has 2i and 2i+1
};

} // namespace foresight
