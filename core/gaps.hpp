// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gaps: where blocks of a few sizes fit, over all nodes, ordered by start.
 *
 * For a size k a gap is a longest stretch of one node throughout which some block of k GPUs is
 * free.  A job of k GPUs that can start at t on a node lies inside one of the node's k-gaps, so the
 * gaps, looked at in order of their starts, give the earliest start without a walk over all
 * nodes.  Gaps of one size stand in buckets by the logarithm of their length: those in a bucket
 * above the job's length all have room for it, so only one bucket holds gaps that may not.
 *
 * Beside them stand the stretches in which a node is free as a whole, node by node: a block over
 * several nodes looks at those alone.
 * Cost: a query O(log gaps) and the gaps of one bucket before the answer; an update O(segments) of
 * one node and size, and a few insertions.
 */
#pragma once

#include "block.hpp"
#include "chunks.hpp"
#include "timeline.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace foresight {

struct Gap {
    Seconds start = 0;
    int loose = 0; ///< GPUs free throughout beside the block: the fewer the tighter
    int node = 0;
    Seconds end = 0; ///< kNever for no end

    auto operator<=>(const Gap&) const = default;
};

class Gaps {
public:
    /// An index for blocks of these sizes (each 1 … kMaxGpusPerNode, ascending).
    Gaps(std::vector<int> sizes, Block rule, const Timeline& timeline);

    [[nodiscard]] bool knows(int size) const noexcept { return slot(size) >= 0; }

    /// The node's share of the index again, after its timeline changed.
    void update(const Timeline& timeline, int node);

    /// Calls visit(gap) for gaps of the size with room for `length` after `from`, until no other
    /// one can begin sooner than the start that visit() returned last (kNever: none yet).  Of the
    /// gaps that begin at that very time each length's tightest is visited too.
    template <typename Visit>
    void earliest_first(int size, Seconds from, Seconds length, Visit visit) const {
        const auto& buckets = index_[static_cast<std::size_t>(slot(size))];
        Seconds known = kNever;
        for (std::size_t b = kBuckets; b-- > bucket_of(length);) {
            buckets[b].each([&](const Gap& gap) {
                const Seconds start = std::max(gap.start, from);
                if (start > known) {
                    return false;
                }
                if (gap.end - start < length) {
                    return true;
                }
                const bool tie = start == known;
                known = visit(gap);
                return !tie && known > start; // the rest of the bucket begins no sooner
            });
        }
    }

    /// Calls visit(gap) for each gap of the size that begins in (after, until] and has room for
    /// `length` from `from` on; stops when it returns false.
    template <typename Visit>
    void each_between(int size, Seconds after, Seconds until, Seconds from, Seconds length,
                      Visit visit) const {
        const auto& buckets = index_[static_cast<std::size_t>(slot(size))];
        bool more = true;
        for (std::size_t b = kBuckets; more && b-- > bucket_of(length);) {
            buckets[b].each_from({after + 1, -1, -1, 0}, [&](const Gap& gap) {
                if (gap.start > until) {
                    return false;
                }
                more = gap.end - std::max(gap.start, from) < length || visit(gap);
                return more;
            });
        }
    }

    /// The first time ≥ from at which all GPUs of the node are free for `length`, or kNever.
    [[nodiscard]] Seconds whole_from(int node, Seconds from, Seconds length) const noexcept {
        const Whole& whole = whole_[static_cast<std::size_t>(node)];
        for (const Stretch& stretch : whole.first) {
            const Seconds start = std::max(stretch.start, from);
            if (stretch.end - start >= length) {
                return start;
            }
        }
        for (const Stretch& stretch : whole.more) {
            const Seconds start = std::max(stretch.start, from);
            if (stretch.end - start >= length) {
                return start;
            }
        }
        return kNever;
    }

    /// The gaps of one node for a size that the index knows, by start.
    [[nodiscard]] const std::vector<Gap>& of(int node, int size) const noexcept {
        return of_node_[static_cast<std::size_t>(node) * sizes_.size() +
                        static_cast<std::size_t>(slot(size))];
    }

private:
    static constexpr std::size_t kBuckets = 64;

    [[nodiscard]] static std::size_t bucket_of(Seconds length) noexcept {
        return length <= 0 ? 0
                           : static_cast<std::size_t>(
                                 std::bit_width(static_cast<std::uint64_t>(length)) - 1);
    }
    [[nodiscard]] int slot(int size) const noexcept {
        return size >= 0 && size <= kMaxGpusPerNode ? slot_[static_cast<std::size_t>(size)] : -1;
    }
    struct Stretch {
        Seconds start = 0;
        Seconds end = 0;
    };
    /// When a node is free as a whole.  The first stretches stand in the array itself, since a
    /// block over nodes looks at every node's.
    struct Whole {
        std::array<Stretch, 4> first; ///< the rest empty
        std::vector<Stretch> more;
    };

    void find(const std::vector<Segment>& segments, int node, int size,
              std::vector<Gap>& found) const;
    void find_whole(const Timeline& timeline, int node);
    void replace(std::size_t size, std::vector<Gap>& old);

    std::vector<int> sizes_;
    std::array<int, kMaxGpusPerNode + 1> slot_{};
    Block rule_;
    std::vector<std::array<Chunks<Gap>, kBuckets>> index_; ///< by size
    std::vector<std::vector<Gap>> of_node_; ///< by node × size: what index_ has of it
    std::vector<Whole> whole_;              ///< by node
    std::vector<Gap> fresh_;                ///< scratch of update()
};

} // namespace foresight
