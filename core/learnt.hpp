// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Learnt: what jobs of one shape tell one another of a schedule that fills up: that there is no
 * place for the shape between two times.  The next one of the shape looks only after them.
 */
#pragma once

#include "place.hpp"

#include <algorithm>

namespace foresight {

class Learnt {
public:
    /// The earliest place with from ≤ start ≤ latest: earliest(begin), asked for none that starts
    /// where there is none anyway.
    template <typename Earliest>
    [[nodiscard]] std::optional<Place> look(Seconds from, Seconds latest, Earliest earliest) {
        const Seconds begin = from_ <= from ? std::max(from, none_before_) : from;
        std::optional<Place> place;
        if (begin <= latest) {
            place = earliest(begin);
        }
        learn(from, place ? place->start : std::max(begin, latest + 1));
        return place;
    }

    /// Places that start at `time` or later may have opened up.
    void forget_from(Seconds time) noexcept { none_before_ = std::min(none_before_, time); }

private:
    /// There is no place in [from, none_before).
    void learn(Seconds from, Seconds none_before) noexcept {
        if (from < from_) {
            from_ = from;
            none_before_ = none_before;
        } else if (from <= none_before_) { // else nobody has looked in between
            none_before_ = std::max(none_before_, none_before);
        }
    }

    Seconds from_ = kNever;
    Seconds none_before_ = 0;
};

} // namespace foresight
