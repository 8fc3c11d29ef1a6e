// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline: what is free on every node, from time 0 on.
 *
 * A node's future is a short sorted list of segments; the free GPUs of a window are the AND over
 * its segments, CPUs and memory the minimum.  A segment lasts until the next one; the last one for
 * ever.  A look costs O(segments in the window), a take two insertions.
 */
#pragma once

#include "model.hpp"

#include <algorithm>
#include <vector>

namespace foresight {

/// What is free throughout a stretch of time.
struct Window {
    GpuMask gpus = 0;
    std::int64_t cpus = 0;
    std::int64_t memory_mib = 0;

    void narrow(const Window& other) noexcept {
        gpus &= other.gpus;
        cpus = std::min(cpus, other.cpus);
        memory_mib = std::min(memory_mib, other.memory_mib);
    }
    bool operator==(const Window&) const = default;
};

struct Segment {
    Seconds from = 0;
    Window free;
};

class Timeline {
public:
    /// Every node free for ever, running jobs not yet taken.
    explicit Timeline(const std::vector<Node>& nodes);

    [[nodiscard]] int nodes() const noexcept { return static_cast<int>(segments_.size()); }
    /// GPUs of the node, healthy or not.
    [[nodiscard]] int gpus(int node) const noexcept {
        return gpus_[static_cast<std::size_t>(node)];
    }
    [[nodiscard]] const std::vector<Segment>& segments(int node) const noexcept {
        return segments_[static_cast<std::size_t>(node)];
    }

    /// Index of the segment that holds `time` (≥ 0).
    [[nodiscard]] std::size_t at(int node, Seconds time) const noexcept;

    /// What is free on the node throughout [from, until), until > from ≥ 0.
    [[nodiscard]] Window window(int node, Seconds from, Seconds until) const noexcept;

    /// Takes a share during [from, until).  Nothing checks that it was free: a snapshot may hold
    /// two jobs on one GPU (a node that shrank), and then it is busy until both are gone.
    void take(const Share& share, Seconds from, Seconds until);

    /// Gives back exactly what take() took; the share's GPUs must have been free before it.
    void give(const Share& share, Seconds from, Seconds until);

private:
    std::size_t split(std::vector<Segment>& list, Seconds time);
    /// Applies a change to every segment of [from, until), split at its edges.
    template <typename Change> void change(int node, Seconds from, Seconds until, Change apply);

    std::vector<int> gpus_;
    std::vector<std::vector<Segment>> segments_;
};

} // namespace foresight
