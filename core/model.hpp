// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The model: one planning problem as a value.
 *
 * A Snapshot holds everything that a plan depends on: names, ids and numbers, no pointer into
 * the resource manager, no clock.  The same snapshot gives the same plan, byte for byte.
 *
 * Units.  Times are seconds from the snapshot's origin (the start of step 0); durations are
 * seconds; memory is MiB.  Nodes stand in the order of the line: neighbours are near.
 */
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foresight {

using Seconds = std::int64_t;
using GpuMask = std::uint64_t; // bit i is GPU i of a node

inline constexpr int kMaxGpusPerNode = 64;
/// "Never" and "no end": far enough to be after anything, small enough to be added to.
inline constexpr Seconds kNever = std::numeric_limits<Seconds>::max() / 4;
/// The longest duration that a reader accepts (about 136 years, Slurm's 32 bits of seconds).
inline constexpr Seconds kLongest = std::numeric_limits<std::uint32_t>::max();
/// A count that does not limit: the CPUs of a scenario's node, a request's most nodes.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

[[nodiscard]] constexpr GpuMask lowest_gpus(int count) noexcept {
    return count >= kMaxGpusPerNode ? ~GpuMask{0} : (GpuMask{1} << count) - 1;
}

/// What a node has, what a job takes of one node, or what is left: counts of the three limits.
struct Amount {
    int gpus = 0;
    std::int64_t cpus = 0;
    std::int64_t memory_mib = 0;

    auto operator<=>(const Amount&) const = default;
};

struct Node {
    std::string name;
    int gpus = 0;                   ///< at most kMaxGpusPerNode
    std::int64_t cpus = kUnlimited; ///< schedulable CPUs
    std::int64_t memory_mib = kUnlimited;
    GpuMask usable = ~GpuMask{0};      ///< GPUs that exist and are healthy
    std::vector<GpuMask> gpus_of_type{}; ///< indexed by type; shorter than the type list is "none"
};

/// A node that may not be used in [from, until): a maintenance window, a reservation of others,
/// a node that is completing, a lent node due back.
struct Closure {
    int node = 0;
    Seconds from = 0;
    Seconds until = kNever;
};

/// The nodes that jobs of one kind may use, and when not.  Whoever builds the snapshot folds
/// partition, features, included and excluded nodes and reservation into it, once a kind.
struct NodeClass {
    std::vector<int> nodes;        ///< ascending, each once
    std::vector<Closure> closures; ///< any order; may overlap
};

/// A resource of the whole cluster that jobs share beside the nodes: an association's GrpTRES,
/// a user's MaxTRESPU, an array's %N.  `max` counts what the snapshot's running jobs hold too.
struct Limit {
    std::string name;
    std::int64_t max = kUnlimited;
};

struct LimitUse {
    int limit = 0;
    std::int64_t amount = 0;
};

/// What a job asks for, as chunks: what stays together on one node.
///   8 GPUs anywhere          chunk {1 GPU}, chunks 8
///   -N2 --gres=gpu:4         chunk {4 GPUs}, chunks 2, chunks_per_node_max 1, nodes 2..2
///   -n 64 --cpus-per-task=2  chunk {0 GPUs, 2 CPUs}, chunks 64
struct Request {
    Amount chunk{1, 0, 0};
    int chunks = 1;
    int chunks_per_node_max = std::numeric_limits<int>::max();
    int nodes_min = 1;
    int nodes_max = std::numeric_limits<int>::max();
    Amount per_node; ///< taken once on each node besides the chunks (as --mem); its gpus are 0
    bool whole_nodes = false; ///< takes everything of each of its nodes
    int gpu_type = -1;        ///< index into Snapshot::gpu_types, -1 for any

    [[nodiscard]] int gpus() const noexcept { return chunk.gpus * chunks; }
    auto operator<=>(const Request&) const = default;
};

/// One way to run a job: a partition, a reservation, a preferred feature.
struct Option {
    int node_class = 0;
    Request request;
    Seconds duration = 0;        ///< until the resources are surely back: limit and all grace
    int tier = 0;                ///< partition priority tier: above all value
    std::int64_t rank = 0;       ///< the resource manager's own order, lowest first
    std::vector<int> refused_on; ///< nodes (ascending) that it would not give lately
    std::uint32_t cookie = 0;    ///< the caller's; comes back with the decision
};

/// Why the resource manager would not start a job lately; until `retry` it gets no place and
/// holds nothing.
struct Refusal {
    std::string why;
    Seconds retry = 0;
};

struct Job {
    std::string id;
    std::string kind;             ///< "training", "batch", …: free text, for reports
    std::uint32_t key = 0;        ///< the caller's; comes back with the decision
    Seconds submit = 0;           ///< negative: it waits since then
    Seconds begin = 0;            ///< not before
    double priority = 1.0;        ///< value of a GPU for a step
    int tasks = 1;                ///< an array of equal jobs, started one by one
    bool on_top = false;          ///< an administrator wants it first within its tier
    bool opaque = false;          ///< Request is an estimate: the resource manager selects
    int app = -1;                 ///< the real-time application that it serves, or -1
    std::vector<Option> options;  ///< at least one
    std::vector<LimitUse> limits; ///< what one task adds to each limit
    std::optional<Refusal> refusal;
};

/// A part of one node.
struct Share {
    int node = 0;
    GpuMask gpus = 0;
    std::int64_t cpus = 0;
    std::int64_t memory_mib = 0;

    bool operator==(const Share&) const = default;
};

/// A job that runs: inherited, never moved, over at `end`.
struct Running {
    std::string id;
    std::string kind;
    double priority = 1.0;
    int app = -1;
    Seconds start = 0; ///< zero or negative
    Seconds end = 0;   ///< when its resources are surely back; kNever without a limit
    std::vector<Share> shares;
    std::vector<LimitUse> limits;
};

using GpuSet =
    std::vector<std::pair<int, GpuMask>>; ///< (node, GPUs), nodes ascending, no empty mask

/// A real-time application: a curve of GPUs wanted, which the plan keeps for it.
struct App {
    std::string id;
    double priority = 1.0;
    std::vector<int> demand;            ///< GPUs wanted in each step, the horizon's length
    std::int64_t max_swap = kUnlimited; ///< most GPUs gained plus given up between two steps
    std::optional<GpuSet> held;         ///< before step 0; without it step 0 is free
    int node_class = -1;                ///< where it may hold; -1: everywhere
    Amount per_gpu;                     ///< CPUs and memory kept with each GPU; its gpus are 0
};

enum class Block { any, contiguous, aligned };
enum class Fit { within_horizon, may_overrun };

struct ValueRule {
    double decay_end = 1.0;        ///< weight of the last step; the first is 1, linear between
    double shortfall_weight = 8.0; ///< what a GPU-step of unmet demand costs, times priority
};

struct Snapshot {
    std::string name;
    Seconds step = 3600;
    int steps = 24;
    Seconds now = 0; ///< in step 0; nothing starts before it
    Block block = Block::contiguous;
    Fit fit = Fit::within_horizon;
    ValueRule value;
    std::vector<std::string> gpu_types;
    std::vector<Node> nodes;
    std::vector<NodeClass> classes; ///< class 0 of a scenario: all nodes
    std::vector<Limit> limits;
    std::vector<Job> jobs; ///< in order of arrival
    std::vector<Running> running;
    std::vector<App> apps;

    [[nodiscard]] Seconds horizon() const noexcept { return step * steps; }
};

} // namespace foresight
