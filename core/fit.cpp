// SPDX-License-Identifier: GPL-2.0-or-later
#include "fit.hpp"

#include <bit>

namespace foresight {

namespace {

/// Turns of `each` that go into `free` after `once`; `most` when `each` takes nothing.
std::int64_t turns(std::int64_t free, std::int64_t once, std::int64_t each,
                   std::int64_t most) noexcept {
    const std::int64_t left = free - once;
    if (left < 0) {
        return 0;
    }
    return each <= 0 ? most : std::min(most, left / each);
}

} // namespace

Window whole_window(const Node& node) noexcept {
    return {lowest_gpus(node.gpus) & node.usable, node.cpus, node.memory_mib};
}

GpuMask usable_gpus(const Request& request, const Node& node, const Window& free) noexcept {
    if (request.gpu_type < 0) {
        return free.gpus;
    }
    const auto type = static_cast<std::size_t>(request.gpu_type);
    return type < node.gpus_of_type.size() ? free.gpus & node.gpus_of_type[type] : 0;
}

int chunks_in(const Request& request, const Node& node, const Window& free) noexcept {
    if (request.whole_nodes && !(free == whole_window(node))) {
        return 0;
    }
    std::int64_t most = std::min(request.chunks, request.chunks_per_node_max);
    most = turns(std::popcount(usable_gpus(request, node, free)), 0, request.chunk.gpus, most);
    most = turns(free.cpus, request.per_node.cpus, request.chunk.cpus, most);
    most = turns(free.memory_mib, request.per_node.memory_mib, request.chunk.memory_mib, most);
    return static_cast<int>(most);
}

bool fits_alone(const Request& request, const Node& node, const Window& free, Block rule) noexcept {
    return request.nodes_min <= 1 && chunks_in(request, node, free) >= request.chunks &&
           (rule == Block::any ||
            has_block(usable_gpus(request, node, free), request.gpus(), rule));
}

Share share_of(const Request& request, int index, const Node& node, const Window& free, int chunks,
               Block rule, Packing packing) noexcept {
    if (request.whole_nodes) {
        return {index, free.gpus, free.cpus >= kUnlimited ? 0 : free.cpus,
                free.memory_mib >= kUnlimited ? 0 : free.memory_mib};
    }
    return {
        index,
        choose_block(usable_gpus(request, node, free), chunks * request.chunk.gpus, rule, packing),
        request.per_node.cpus + chunks * request.chunk.cpus,
        request.per_node.memory_mib + chunks * request.chunk.memory_mib};
}

} // namespace foresight
