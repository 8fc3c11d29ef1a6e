// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shortfall: real-time demand that is worth missing.
 *
 * A search keeps GPUs for all of the demand, so a wide job of a high priority may have no place in
 * the whole horizon though a GPU less for an application, for an hour, would make room for it.
 * Here such bargains are looked for: for each job that has no place, or a late one, the windows in
 * which lower curves would let it in, beside what runs alone or beside the whole plan, at what the
 * missing GPU-steps cost.  A curve comes down to the limit of its swap cap on both sides of the
 * window.  The best bargains are searched again with the lowered curves (search_strip), and the
 * plan with the largest objective stays, so a shortfall is there only where the objective gains.
 *
 * Cost: O(late jobs × steps²) beside a search for each bargain tried.
 */
#pragma once

#include "strip_search.hpp"

namespace foresight {

/// As search_strip(), but demand may be missed where that gains (Policy::may_fall_short).
[[nodiscard]] StripPlan search_shortfalls(const Snapshot& snapshot, const Policy& policy,
                                          const std::vector<Hold>& holds, std::uint64_t budget,
                                          const std::atomic<bool>* cancel);

} // namespace foresight
