// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Explain: all that keeps a job from starting now, found by asking what would have to go.
 *
 * The job is tried against pictures of what is ahead: an empty cluster, what runs, what
 * applications hold besides.  Each picture says from when on it would fit, and so until when that
 * is in its way and whose it is; what is left up to its start is due to jobs that the plan puts
 * first.  In a long queue only the first jobs get the whole chain, the others its first link.
 * Cost: two or three searches for a job that waits.
 */
#pragma once

#include "decode.hpp"

namespace foresight {

/// Fills plan.waits and plan.unplaced for a plan whose placements and holds are set.
void explain(const Snapshot& snapshot, Decoder& decoder, Plan& plan);

} // namespace foresight
