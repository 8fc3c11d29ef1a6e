// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Explain: all that keeps a job from starting now, found by asking what would have to go.
 *
 * The job is tried at its first possible moment against pictures of that moment: an empty cluster,
 * what runs, what applications hold besides.  The first picture in which it does not fit says why;
 * where it fits in all of them, jobs of the plan come first.
 * Cost: two or three searches at one moment for a job that waits.
 */
#pragma once

#include "decode.hpp"

namespace foresight {

/// Fills plan.waits and plan.unplaced for a plan whose placements and holds are set.
void explain(const Snapshot& snapshot, Decoder& decoder, Plan& plan);

} // namespace foresight
