// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reasons: why a job is not running yet, as data that can be shown, counted and tested.
 */
#pragma once

#include "model.hpp"

#include <string>
#include <vector>

namespace foresight {

enum class ReasonKind {
    gpus,           ///< too few GPUs free together, until `until`
    cpus,           ///< GPUs are free, the CPUs of their nodes are not
    memory,         ///< likewise memory
    block,          ///< enough GPUs are free, but in no legal block
    realtime,       ///< kept for application `app`
    closed,         ///< nodes are closed: a reservation or maintenance ahead
    limit,          ///< limit `limit` is full
    begin,          ///< not before its begin time
    behind,         ///< jobs ahead of it in the plan hold what it needs (`job`: the first of them)
    refused,        ///< the resource manager would not start it lately (`text`)
    beyond_horizon, ///< no place before the horizon ends
    never_fits,     ///< asks for more than its nodes have
    down,           ///< would fit, but nodes or GPUs that it needs are not up
    not_reached,    ///< the rest of a long array: planned as its first tasks start
};

struct Reason {
    ReasonKind kind = ReasonKind::gpus;
    Seconds until = kNever; ///< when this ceases to hold the job; kNever: unknown
    int app = -1;
    int limit = -1;
    std::string job{};  ///< id of a job in the way
    std::string text{}; ///< what the resource manager said
    bool operator==(const Reason&) const = default;
};

/// A stable name, for JSON: "gpus", "beyond-horizon".
[[nodiscard]] const char* name_of(ReasonKind kind) noexcept;

/// The resource that is short: "gpus", "cpus", "memory", "limit", or null where none is.
[[nodiscard]] const char* resource_of(ReasonKind kind) noexcept;

/// One sentence for a person, without times (they are the caller's to format).
[[nodiscard]] std::string describe(const Reason& reason, const Snapshot& snapshot);

/// A few words for a queue listing: stable while nothing changes, no '|', under 48 bytes.
[[nodiscard]] std::string brief(const Reason& reason, const Snapshot& snapshot);

} // namespace foresight
