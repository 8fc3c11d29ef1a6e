// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory: what the planner keeps from one plan to the next, so that announced starts stay.
 *
 * Plans compete.  One keeps: every announced place that is still legal is taken as it was, then
 * the kept jobs slide forward into what has become free, then new jobs fill the rest; this is
 * conservative backfill with compression, in which nothing but a loss of resources moves a start
 * back (Mu'alem & Feitelson, TPDS 2001).  What cannot stay, as a running job overran, pushes those
 * behind it (right-shift rescheduling: Abumaizar & Svestka 1997) or goes elsewhere alone.  Another
 * lets new jobs of a higher priority go before kept ones.  The last is the free plan, which knows
 * nothing of what was announced.
 * A plan pays for each announced start that it moves back by more than a minute: a share
 * (Policy::move_gain) of what the job is worth there, doubled with each time that it was moved
 * before, so that no job is put off for ever.  The plan worth most, less what it pays, wins.
 *
 * Planned again with the very same input, the last plan is given back as it was.
 * Cost: two decodes beside the free plan, up to four where something could not stay.
 */
#pragma once

#include "plan.hpp"
#include "policy.hpp"

#include <atomic>
#include <optional>

namespace foresight {

/// One place of the last plan: what was announced.
struct Remembered {
    std::string job; ///< its id; an array's tasks have an entry each
    Placement place; ///< `job` and shares as the last snapshot numbered them
    Request request; ///< what it asked for
    Entry entry;     ///< its class then
    double priority = 0;
    int delays = 0; ///< how often its start was moved back for a gain
};

/// A value; times are seconds from the origin of the last snapshot.
struct Memory {
    std::vector<Remembered> places; ///< in the plan's order
    std::vector<Hold> holds;        ///< by application
    std::vector<std::string> apps;  ///< their ids
    Seconds shifted = 0;            ///< from the last snapshot's origin to that of `places`
    std::uint64_t nodes = 0;        ///< digest of the nodes that shares are of
    std::uint64_t input = 0;        ///< digest of the last plan's input, 0 for none
    std::uint64_t work = 0;         ///< what the last plan took

    /// To a snapshot whose origin is later by so much.
    void shift(Seconds by);
};

/// A plan before it is measured and explained.
struct Draft {
    std::vector<Placement> placements;
    std::vector<Hold> holds;
    std::uint64_t work = 0;
};

/// The last plan, where the input is the very same.
[[nodiscard]] std::optional<Draft> recall(const Memory& memory, std::uint64_t input);

/// The better of the free plan and those that keep what was announced.
[[nodiscard]] Draft keep_announced(const Snapshot& snapshot, const Policy& policy,
                                   const std::atomic<bool>* cancel, const Memory& memory,
                                   Draft free);

/// What the next plan has to know of this one.
[[nodiscard]] Memory remember(const Snapshot& snapshot, const Policy& policy, const Draft& draft,
                              std::uint64_t input, const Memory& before);

} // namespace foresight
