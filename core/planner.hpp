// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The planner: snapshot in, plan out.  No clock, no I/O, no randomness, no globals.
 */
#pragma once

#include "memory.hpp"
#include "plan.hpp"
#include "policy.hpp"

#include <atomic>

namespace foresight {

struct PlanOptions {
    Policy policy;
    /// Work units (places tried on a node) that the search may spend; the first decode always
    /// runs to its end, so that every plan looks at every job.
    std::uint64_t budget = 0;
    /// Set from another thread to stop at once; the plan is then incomplete and must not be used.
    const std::atomic<bool>* cancel = nullptr;
    /// False leaves out reasons, metrics and bound, which only a reader needs.
    bool explained = true;
};

/// Plans the whole queue.  Never throws on a snapshot that check(snapshot) accepts, memory aside.
[[nodiscard]] Plan make_plan(const Snapshot& snapshot, const PlanOptions& options);

/// The same, knowing what the last plan announced; `memory` is then what this one did.  An
/// incomplete plan leaves it as it was.
[[nodiscard]] Plan make_plan(const Snapshot& snapshot, const PlanOptions& options, Memory& memory);

/// What is wrong with a snapshot (an index out of range, a negative time, …), or empty.
[[nodiscard]] std::string check(const Snapshot& snapshot);

} // namespace foresight
