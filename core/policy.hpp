// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A policy is three parameters of one engine: the order in which jobs are given places, how many
 * waiting jobs hold a place ahead, and whether real-time applications follow their curve.
 */
#pragma once

#include "block.hpp"
#include "model.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foresight {

enum class Order {
    arrival,
    priority,            ///< highest first
    priority_per_length, ///< priority ÷ limit, highest first
    rank,                ///< the resource manager's own
    value,               ///< searched: the order that yields the most value
};

enum class Realtime {
    static_peak, ///< each application keeps its peak of the horizon for the whole of it
    elastic,     ///< each follows its curve
};

inline constexpr int kHoldAll = std::numeric_limits<int>::max();

struct Policy {
    std::string name;
    Order order = Order::value;
    int holds = kHoldAll; ///< waiting jobs that hold a place ahead; 1 is EASY
    Realtime realtime = Realtime::elastic;
    /// A waiting job's priority counts double after so long (Order::priority, value); 0: never.
    Seconds age_doubles = 0;
    Packing packing = Packing::tight;
    /// What a plan pays for an announced start that it moves back: a share of the job's worth
    /// (memory.hpp).
    double move_gain = 0.05;
    /// Whether a small cluster's plan may miss real-time demand for a larger objective
    /// (shortfall.hpp).  Not where the demand is a promise.
    bool may_fall_short = false;
};

/// Where in a node, and on which of equal nodes, a block goes; only a strip asks (strip.hpp).
enum class Side : std::uint8_t {
    tight, ///< the node and the run that leave the fewest GPUs
    low,   ///< the lowest legal block
    high,  ///< the highest
    push,  ///< as tight, but applications give way even where they need not
    stay,  ///< as tight, but no application gives way
};

/// One way to run one job, in the order in which a policy looks at them.
struct Entry {
    int job = 0;    ///< index into Snapshot::jobs
    int option = 0; ///< index into Job::options
    int tier = 0;
    bool on_top = false;
    double merit = 0; ///< larger is earlier, within a tier
    Side side = Side::tight;
};

/// Whether the policy may put either first: a tier, then an administrator's word, is above merit.
[[nodiscard]] constexpr bool same_class(const Entry& a, const Entry& b) noexcept {
    return a.tier == b.tier && a.on_top == b.on_top;
}

/// A job's priority, grown with its wait.
[[nodiscard]] double aged_priority(const Snapshot& snapshot, const Policy& policy,
                                   const Job& job) noexcept;

/// Every option of every job, in the policy's order; ties stay in order of arrival.
[[nodiscard]] std::vector<Entry> queue_of(const Snapshot& snapshot, const Policy& policy);

/// The policy of this name (fifo, priority, easy, easy-value, conservative, foresight, rank).
[[nodiscard]] std::optional<Policy> find_policy(std::string_view name);
[[nodiscard]] std::vector<std::string> policy_names();

} // namespace foresight
