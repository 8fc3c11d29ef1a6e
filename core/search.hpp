// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Search: a better order of jobs, within a budget of work units.
 *
 * Plan-based scheduling searches over orders and decodes each (Zheng, Shae, Zhang, Jamjoom & Fong
 * 2013; Kopanski & Rzadca 2021).  A few static orders come first; the best of them is improved by
 * moving one job, or swapping two, drawn from a fixed seed.  A move is kept unless it loses value.
 * A tier, and an administrator's word, stay above all value: no move crosses them.
 * Cost: one decode a trial.
 */
#pragma once

#include "decode.hpp"

namespace foresight {

/// The best decode found; always the decode of a legal order.
[[nodiscard]] Decoded search_order(const Snapshot& snapshot, const Policy& policy, Decoder& decoder,
                                   std::uint64_t budget);

} // namespace foresight
