// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Search: a better order of jobs, within a budget of work units.
 *
 * Plan-based scheduling searches over orders and decodes each (Zheng, Shae, Zhang, Jamjoom & Fong
 * 2013; Kopanski & Rzadca 2021).  A few static orders come first; the best of them is improved by
 * moving one job, or swapping two, drawn from a fixed seed.  A move is kept unless it loses value.
 * A long queue is decoded by the starts that the bound's prices give it (prices.hpp): once without
 * a budget, else for half of it with prices that get better, before orders and moves are tried.
 * A tier, and an administrator's word, stay above all value: no move crosses them.  A small
 * cluster whose GPUs alone limit is searched as a strip (strip_search.hpp).
 * Cost: one decode a trial.
 */
#pragma once

#include "decode.hpp"
#include "prices.hpp"

namespace foresight {

/// What a search or a decode found.
struct Found {
    std::vector<Placement> placements; ///< in the order in which they were decided
    std::vector<Hold> holds;           ///< one for each application
    std::vector<Entry> order;          ///< decode_order() makes the same plan of it
    double value = 0;                  ///< rewards of the batch jobs, their priorities grown by age
    std::uint64_t work = 0;            ///< work units spent
};

/// The best plan found within the budget; always the decode of a legal order.  The decoder has
/// been prepared.
[[nodiscard]] Found search_order(const Snapshot& snapshot, const Policy& policy, Decoder& decoder,
                                 Prices& prices, std::uint64_t budget);

/// The plan of one order that has every option of every job once.
[[nodiscard]] Found decode_order(const Snapshot& snapshot, const Policy& policy, Decoder& decoder,
                                 const std::vector<Entry>& order);

} // namespace foresight
