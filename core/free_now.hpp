// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Free now: for how long GPUs are free from a moment on, as a quick "no" for jobs that cannot
 * start.
 *
 * For each size of block that jobs ask for, the end of the longest stretch, over the nodes, in
 * which such a block is free from now on; for blocks over nodes, of the n-th longest in which a
 * node is free as a whole; where any GPUs do, of the n-th longest in which a GPU is.  What cannot
 * start by these cannot start; what can by these must still be looked at in the profile.
 * Sizes that were looked at in vain are remembered: nothing of them that lasts as long starts
 * either, while jobs only take places.
 * Cost: O(segments) a node that changed, O(nodes) a change.
 */
#pragma once

#include "timeline.hpp"

namespace foresight {

class FreeNow {
public:
    /// `sizes`: GPUs that jobs ask for, ascending.
    FreeNow(std::vector<int> sizes, Block rule);

    /// All anew, at another moment; failures are forgotten.
    void reset(const Timeline& timeline, Seconds now);
    /// A node of the timeline has lost GPUs.
    void update(const Timeline& timeline, int node);
    /// A job of this size and length could not start.
    void failed(int gpus, Seconds length) noexcept;

    /// False: none of this size and length can start now.  A size that was named.
    [[nodiscard]] bool may_start(int gpus, Seconds length) const noexcept {
        const Size& size = by_gpus_[static_cast<std::size_t>(gpus)];
        return size.until - now_ >= length && length < size.failed;
    }
    /// Counts changes of what may start.
    [[nodiscard]] unsigned version() const noexcept { return version_; }

private:
    struct Size {
        Seconds until = 0;       ///< end of the longest stretch from now on
        Seconds failed = kNever; ///< the shortest length that was tried in vain
    };

    void look_at(const Timeline& timeline, int node);
    void look_at_gpus(const Timeline& timeline, int node);
    void find_longest();
    void set(int gpus, Seconds until) noexcept;

    std::vector<int> sizes_;
    Block rule_;
    int node_gpus_ = 1;       ///< of the largest node
    std::vector<int> blocks_; ///< sizes that stand on one node, ascending
    std::vector<Size> by_gpus_;
    std::vector<Seconds> until_; ///< by node and block; by node and GPU where any GPUs do
    std::vector<Seconds> whole_; ///< by node: as a whole; scratch of find_longest()
    Seconds now_ = 0;
    unsigned version_ = 0;
};

} // namespace foresight
