// SPDX-License-Identifier: GPL-2.0-or-later
#include "free_now.hpp"

#include "block.hpp"

#include <functional>

namespace foresight {

FreeNow::FreeNow(std::vector<int> sizes, Block rule) : sizes_(std::move(sizes)), rule_(rule) {
    by_gpus_.resize(sizes_.empty() ? 1 : static_cast<std::size_t>(sizes_.back()) + 1);
}

void FreeNow::reset(const Timeline& timeline, Seconds now) {
    now_ = now;
    node_gpus_ = 1;
    for (int node = 0; node < timeline.nodes(); ++node) {
        node_gpus_ = std::max(node_gpus_, timeline.gpus(node));
    }
    blocks_.clear();
    for (const int size : sizes_) {
        by_gpus_[static_cast<std::size_t>(size)].failed = kNever;
        if (size < node_gpus_) {
            blocks_.push_back(size);
        }
    }
    blocks_.push_back(node_gpus_); // the last: nodes as a whole, whatever they have
    const std::size_t row =
        rule_ == Block::any ? static_cast<std::size_t>(node_gpus_) : blocks_.size();
    until_.assign(static_cast<std::size_t>(timeline.nodes()) * row, now_);
    for (int node = 0; node < timeline.nodes(); ++node) {
        look_at(timeline, node);
    }
    find_longest();
}

void FreeNow::update(const Timeline& timeline, int node) {
    look_at(timeline, node);
    find_longest();
}

void FreeNow::failed(int gpus, Seconds length) noexcept {
    Size& size = by_gpus_[static_cast<std::size_t>(gpus)];
    if (length < size.failed) {
        size.failed = length;
        ++version_;
    }
}

void FreeNow::look_at(const Timeline& timeline, int node) {
    if (rule_ == Block::any) {
        look_at_gpus(timeline, node);
        return;
    }
    const auto row = until_.begin() +
                     static_cast<std::ptrdiff_t>(static_cast<std::size_t>(node) * blocks_.size());
    const std::vector<Segment>& segments = timeline.segments(node);
    std::size_t i = timeline.at(node, now_);
    GpuMask free = segments[i].free.gpus;
    // A larger block is free for no longer than a smaller one.
    std::size_t fitting = blocks_.size() - 1;
    bool whole = true;
    for (Seconds at = now_;; at = segments[i].from) {
        free &= segments[i].free.gpus;
        if (whole && count_gpus(free) < timeline.gpus(node)) {
            row[static_cast<std::ptrdiff_t>(blocks_.size() - 1)] = at;
            whole = false;
        }
        while (fitting > 0 && !has_block(free, blocks_[fitting - 1], rule_)) {
            row[static_cast<std::ptrdiff_t>(--fitting)] = at;
        }
        if (free == 0 || ++i == segments.size()) {
            break;
        }
    }
    std::fill_n(row, fitting, kNever);
    if (whole) {
        row[static_cast<std::ptrdiff_t>(blocks_.size() - 1)] = kNever;
    }
}

void FreeNow::look_at_gpus(const Timeline& timeline, int node) {
    const auto row = until_.begin() + static_cast<std::ptrdiff_t>(node) * node_gpus_;
    const std::vector<Segment>& segments = timeline.segments(node);
    std::fill_n(row, node_gpus_, now_);
    std::size_t i = timeline.at(node, now_);
    GpuMask free = segments[i].free.gpus;
    while (free != 0 && ++i < segments.size()) {
        for (GpuMask gone = free & ~segments[i].free.gpus; gone != 0; gone &= gone - 1) {
            row[std::countr_zero(gone)] = segments[i].from;
        }
        free &= segments[i].free.gpus;
    }
    for (; free != 0; free &= free - 1) {
        row[std::countr_zero(free)] = kNever;
    }
}

void FreeNow::set(int gpus, Seconds until) noexcept {
    Size& size = by_gpus_[static_cast<std::size_t>(gpus)];
    version_ += size.until != until ? 1 : 0;
    size.until = until;
}

void FreeNow::find_longest() {
    if (rule_ == Block::any) {
        whole_ = until_;
        std::sort(whole_.begin(), whole_.end(), std::greater<>());
        for (const int size : sizes_) {
            set(size, static_cast<std::size_t>(size) > whole_.size()
                          ? now_
                          : whole_[static_cast<std::size_t>(size) - 1]);
        }
        return;
    }
    const std::size_t row = blocks_.size();
    for (std::size_t b = 0; b + 1 < row; ++b) {
        Seconds longest = now_;
        for (std::size_t i = b; i < until_.size(); i += row) {
            longest = std::max(longest, until_[i]);
        }
        set(blocks_[b], longest);
    }
    if (sizes_.empty() || sizes_.back() < node_gpus_) {
        return;
    }
    whole_.clear();
    for (std::size_t i = row - 1; i < until_.size(); i += row) {
        whole_.push_back(until_[i]);
    }
    std::sort(whole_.begin(), whole_.end(), std::greater<>());
    for (auto size = sizes_.rbegin(); size != sizes_.rend() && *size >= node_gpus_; ++size) {
        const auto nodes = static_cast<std::size_t>(*size / node_gpus_);
        set(*size, nodes > whole_.size() ? now_ : whole_[nodes - 1]);
    }
}

} // namespace foresight
