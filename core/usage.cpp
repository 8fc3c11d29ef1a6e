// SPDX-License-Identifier: GPL-2.0-or-later
#include "usage.hpp"

#include <algorithm>

namespace foresight {

Seconds Usage::earliest(Seconds from, Seconds duration, std::int64_t amount) const noexcept {
    if (amount <= 0) {
        return from;
    }
    Seconds start = from;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        const Seconds until = i + 1 < levels_.size() ? levels_[i + 1].from : kNever;
        if (until <= start) {
            continue;
        }
        if (levels_[i].from >= start + duration) {
            break;
        }
        if (levels_[i].used > max_ - amount) {
            start = until;
        }
    }
    return start;
}

std::size_t Usage::split(Seconds time) {
    const auto after =
        std::upper_bound(levels_.begin(), levels_.end(), time,
                         [](Seconds value, const Level& level) { return value < level.from; });
    const auto index = static_cast<std::size_t>(after - levels_.begin());
    if (levels_[index - 1].from == time) {
        return index - 1;
    }
    levels_.insert(after, Level{time, levels_[index - 1].used});
    return index;
}

void Usage::add(Seconds from, Seconds until, std::int64_t amount) {
    from = std::max<Seconds>(from, 0);
    if (until <= from) {
        return;
    }
    const std::size_t first = split(from);
    const std::size_t last = until >= kNever ? levels_.size() : split(until);
    for (std::size_t i = first; i < last; ++i) {
        levels_[i].used += amount;
    }
}

} // namespace foresight
