// SPDX-License-Identifier: GPL-2.0-or-later
#include "timeline.hpp"

namespace foresight {

Timeline::Timeline(const std::vector<Node>& nodes) {
    gpus_.reserve(nodes.size());
    segments_.reserve(nodes.size());
    for (const Node& node : nodes) {
        gpus_.push_back(node.gpus);
        const GpuMask gpus = lowest_gpus(node.gpus) & node.usable;
        segments_.push_back({Segment{0, Window{gpus, node.cpus, node.memory_mib}}});
    }
}

std::size_t Timeline::at(int node, Seconds time) const noexcept {
    const std::vector<Segment>& list = segments(node);
    const auto after =
        std::upper_bound(list.begin(), list.end(), time, [](Seconds value, const Segment& segment) {
            return value < segment.from;
        });
    return static_cast<std::size_t>(after - list.begin()) - 1;
}

Window Timeline::window(int node, Seconds from, Seconds until) const noexcept {
    const std::vector<Segment>& list = segments(node);
    std::size_t i = at(node, from);
    Window free = list[i].free;
    for (++i; i < list.size() && list[i].from < until; ++i) {
        free.narrow(list[i].free);
    }
    return free;
}

std::size_t Timeline::split(std::vector<Segment>& list, Seconds time) {
    const auto after =
        std::upper_bound(list.begin(), list.end(), time, [](Seconds value, const Segment& segment) {
            return value < segment.from;
        });
    const auto index = static_cast<std::size_t>(after - list.begin());
    if (index > 0 && list[index - 1].from == time) {
        return index - 1;
    }
    Segment copy = list[index - 1];
    copy.from = time;
    list.insert(after, copy);
    return index;
}

template <typename Change>
void Timeline::change(int node, Seconds from, Seconds until, Change apply) {
    from = std::max<Seconds>(from, 0);
    if (until <= from) {
        return;
    }
    std::vector<Segment>& list = segments_[static_cast<std::size_t>(node)];
    const std::size_t first = split(list, from);
    const std::size_t last = until >= kNever ? list.size() : split(list, until);
    for (std::size_t i = first; i < last; ++i) {
        apply(list[i].free);
    }
}

void Timeline::take(const Share& share, Seconds from, Seconds until) {
    change(share.node, from, until, [&](Window& free) {
        free.gpus &= ~share.gpus;
        free.cpus -= share.cpus;
        free.memory_mib -= share.memory_mib;
    });
}

void Timeline::give(const Share& share, Seconds from, Seconds until) {
    change(share.node, from, until, [&](Window& free) {
        free.gpus |= share.gpus;
        free.cpus += share.cpus;
        free.memory_mib += share.memory_mib;
    });
}

} // namespace foresight
