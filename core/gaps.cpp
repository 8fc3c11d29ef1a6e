// SPDX-License-Identifier: GPL-2.0-or-later
#include "gaps.hpp"

#include <algorithm>
#include <bit>

namespace foresight {

Gaps::Gaps(std::vector<int> sizes, Block rule, const Timeline& timeline)
    : sizes_(std::move(sizes)), rule_(rule), index_(sizes_.size()),
      of_node_(static_cast<std::size_t>(timeline.nodes()) * sizes_.size()) {
    slot_.fill(-1);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
        slot_[static_cast<std::size_t>(sizes_[i])] = static_cast<int>(i);
    }
    for (int node = 0; node < timeline.nodes(); ++node) {
        update(timeline, node);
    }
}

void Gaps::find(const std::vector<Segment>& segments, int node, int size,
                std::vector<Gap>& found) const {
    found.clear();
    std::size_t reached = 0; // one past the last segment of the gap before
    for (std::size_t first = 0; first < segments.size(); ++first) {
        GpuMask free = segments[first].free.gpus;
        std::size_t last = first;
        GpuMask common = free;
        while (last < segments.size()) {
            common &= segments[last].free.gpus;
            if (!has_block(common, size, rule_)) {
                break;
            }
            free = common;
            ++last;
        }
        if (last == first || last <= reached) {
            continue; // nothing fits here, or only inside the gap before
        }
        reached = last;
        const Seconds end = last < segments.size() ? segments[last].from : kNever;
        found.push_back({segments[first].from, std::popcount(free) - size, node, end});
        if (last == segments.size()) {
            break;
        }
    }
}

void Gaps::update(const Timeline& timeline, int node) {
    std::vector<Gap> fresh;
    std::vector<Gap> gone;
    std::vector<Gap> come;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
        std::vector<Gap>& old = of_node_[static_cast<std::size_t>(node) * sizes_.size() + i];
        find(timeline.segments(node), node, sizes_[i], fresh);
        if (fresh == old) {
            continue;
        }
        gone.clear();
        come.clear();
        std::set_difference(old.begin(), old.end(), fresh.begin(), fresh.end(),
                            std::back_inserter(gone));
        std::set_difference(fresh.begin(), fresh.end(), old.begin(), old.end(),
                            std::back_inserter(come));
        for (const Gap& gap : gone) {
            index_[i][bucket_of(gap.end - gap.start)].erase(gap);
        }
        for (const Gap& gap : come) {
            index_[i][bucket_of(gap.end - gap.start)].insert(gap);
        }
        old = fresh;
    }
}

} // namespace foresight
