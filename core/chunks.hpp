// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chunks: a sorted set in short runs of memory, after the leaves of a B-tree (Bayer & McCreight
 * 1972), with one flat index over them in place of inner nodes.
 *
 * To copy one is to copy a few arrays, and a walk in order touches memory in order; that is what a
 * decode does with its index of gaps.  Cost: a change O(kMost + chunks / cache line), a look
 * O(log chunks).
 */
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace foresight {

template <typename Key> class Chunks {
public:
    [[nodiscard]] bool empty() const noexcept { return order_.empty(); }

    /// Adds a key that is not there yet.
    void insert(const Key& key) {
        if (order_.empty()) {
            const std::uint32_t fresh = new_chunk();
            chunks_[fresh].keys[0] = key;
            chunks_[fresh].count = 1;
            order_.push_back(fresh);
            firsts_.push_back(key);
            return;
        }
        std::size_t at = place_of(key);
        if (chunks_[order_[at]].count == kMost) {
            halve(at);
            at += key < firsts_[at + 1] ? 0 : 1;
        }
        Chunk& chunk = chunks_[order_[at]];
        Key* const end = chunk.keys.data() + chunk.count;
        Key* const spot = std::lower_bound(chunk.keys.data(), end, key);
        std::move_backward(spot, end, end + 1);
        *spot = key;
        ++chunk.count;
        firsts_[at] = chunk.keys[0];
    }

    /// Removes a key that is there.
    void erase(const Key& key) {
        if (order_.empty()) {
            return;
        }
        const std::size_t at = place_of(key);
        Chunk& chunk = chunks_[order_[at]];
        Key* const end = chunk.keys.data() + chunk.count;
        Key* const spot = std::lower_bound(chunk.keys.data(), end, key);
        if (spot == end || !(*spot == key)) {
            return;
        }
        std::move(spot + 1, end, spot);
        if (--chunk.count > 0) {
            firsts_[at] = chunk.keys[0];
            return;
        }
        spare_.push_back(order_[at]);
        order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(at));
        firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    /// Calls visit(key) in order, until it returns false.
    template <typename Visit> void each(Visit visit) const { walk(0, 0, visit); }

    /// The same from the first key that is not less than `least`.
    template <typename Visit> void each_from(const Key& least, Visit visit) const {
        if (order_.empty()) {
            return;
        }
        const std::size_t at = place_of(least);
        const Chunk& chunk = chunks_[order_[at]];
        const Key* const begin = chunk.keys.data();
        walk(
            at,
            static_cast<std::uint32_t>(std::lower_bound(begin, begin + chunk.count, least) - begin),
            visit);
    }

private:
    static constexpr std::uint32_t kMost = 64;

    struct Chunk {
        std::array<Key, kMost> keys;
        std::uint32_t count = 0;
    };

    template <typename Visit> void walk(std::size_t at, std::uint32_t i, Visit& visit) const {
        for (; at < order_.size(); ++at, i = 0) {
            const Chunk& chunk = chunks_[order_[at]];
            for (; i < chunk.count; ++i) {
                if (!visit(chunk.keys[i])) {
                    return;
                }
            }
        }
    }

    /// The chunk that holds the key, if any does.
    [[nodiscard]] std::size_t place_of(const Key& key) const noexcept {
        const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), key);
        return after == firsts_.begin() ? 0 : static_cast<std::size_t>(after - firsts_.begin()) - 1;
    }

    std::uint32_t new_chunk() {
        if (!spare_.empty()) {
            const std::uint32_t index = spare_.back();
            spare_.pop_back();
            return index;
        }
        chunks_.emplace_back();
        return static_cast<std::uint32_t>(chunks_.size() - 1);
    }

    void halve(std::size_t at) {
        const std::uint32_t fresh = new_chunk();
        Chunk& upper = chunks_[fresh];
        Chunk& lower = chunks_[order_[at]];
        constexpr std::uint32_t kept = kMost / 2;
        std::copy(lower.keys.begin() + kept, lower.keys.end(), upper.keys.begin());
        upper.count = kMost - kept;
        lower.count = kept;
        const auto next = static_cast<std::ptrdiff_t>(at) + 1;
        order_.insert(order_.begin() + next, fresh);
        firsts_.insert(firsts_.begin() + next, upper.keys[0]);
    }

    std::vector<Chunk> chunks_;
    std::vector<std::uint32_t> order_; ///< indices into chunks_, by their keys
    std::vector<Key> firsts_;          ///< the first key of each, in the same order
    std::vector<std::uint32_t> spare_; ///< chunks without keys
};

} // namespace foresight
