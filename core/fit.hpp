// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fit: how much of a request one node's window can carry, and which share it would take.
 *
 * GPUs, CPUs and memory are all limits: a node whose CPUs are gone has no usable GPUs.
 */
#pragma once

#include "block.hpp"
#include "timeline.hpp"

namespace foresight {

/// GPUs of the window that the request may use on the node (its type, or any).
[[nodiscard]] GpuMask usable_gpus(const Request& request, const Node& node,
                                  const Window& free) noexcept;

/// Most chunks that the window carries, at most chunks_per_node_max; shapes inside the node are
/// not looked at.  0 when the request wants whole nodes and the node is not all free.
[[nodiscard]] int chunks_in(const Request& request, const Node& node, const Window& free) noexcept;

/// Whether the whole request fits on this one node, as a legal block.
[[nodiscard]] bool fits_alone(const Request& request, const Node& node, const Window& free,
                              Block rule) noexcept;

/// The window of a node that nothing uses.
[[nodiscard]] Window whole_window(const Node& node) noexcept;

/// What `chunks` chunks take of the node.  With a block rule other than any, the GPUs form a
/// legal block; the caller has made sure that there is one.
[[nodiscard]] Share share_of(const Request& request, int index, const Node& node,
                             const Window& free, int chunks, Block rule, Packing packing) noexcept;

} // namespace foresight
