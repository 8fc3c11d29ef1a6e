// SPDX-License-Identifier: GPL-2.0-or-later
#include "gaps.hpp"

#include <algorithm>
#include <bit>

namespace foresight {

Gaps::Gaps(std::vector<int> sizes, Block rule, const Timeline& timeline)
    : sizes_(std::move(sizes)), rule_(rule), index_(sizes_.size()),
      of_node_(static_cast<std::size_t>(timeline.nodes()) * sizes_.size()),
      whole_(static_cast<std::size_t>(timeline.nodes())) {
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

void Gaps::find_whole(const Timeline& timeline, int node) {
    Whole& whole = whole_[static_cast<std::size_t>(node)];
    whole.first = {};
    whole.more.clear();
    std::size_t count = 0;
    const auto add = [&](const Stretch& stretch) {
        if (count < whole.first.size()) {
            whole.first[count++] = stretch;
        } else {
            whole.more.push_back(stretch);
        }
    };
    Stretch stretch;
    const GpuMask all = lowest_gpus(timeline.gpus(node));
    bool open = false;
    for (const Segment& segment : timeline.segments(node)) {
        const bool free = (segment.free.gpus & all) == all;
        if (free && !open) {
            stretch = {segment.from, kNever};
        } else if (!free && open) {
            add({stretch.start, segment.from});
        }
        open = free;
    }
    if (open) {
        add(stretch);
    }
}

/// Takes `old` out of the index and fresh_ in; both are sorted, and mostly the same.
void Gaps::replace(std::size_t size, std::vector<Gap>& old) {
    const auto bucket = [&](const Gap& gap) -> Chunks<Gap>& {
        return index_[size][bucket_of(gap.end - gap.start)];
    };
    auto gone = old.begin();
    auto come = fresh_.begin();
    while (gone != old.end() || come != fresh_.end()) {
        if (come == fresh_.end() || (gone != old.end() && *gone < *come)) {
            bucket(*gone).erase(*gone);
            ++gone;
        } else if (gone == old.end() || *come < *gone) {
            bucket(*come).insert(*come);
            ++come;
        } else {
            ++gone;
            ++come;
        }
    }
    old = fresh_;
}

void Gaps::update(const Timeline& timeline, int node) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
        find(timeline.segments(node), node, sizes_[i], fresh_);
        replace(i, of_node_[static_cast<std::size_t>(node) * sizes_.size() + i]);
    }
    if (rule_ != Block::any) {
        find_whole(timeline, node);
    }
}

} // namespace foresight
