// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Explain: all that keeps a job from starting now, found by asking what would have to go.
 *
 * The job is tried at its first possible moment against four pictures of that moment: an empty
 * cluster, what runs, what applications hold besides, and the whole plan.  The first picture in
 * which it does not fit says why.  Answers are shared by jobs of one shape.
 * Cost: a few windows on each node of the class, once a shape.
 */
#pragma once

#include "decode.hpp"

namespace foresight {

/// Fills plan.waits and plan.unplaced for a plan whose placements and holds are set.
void explain(const Snapshot& snapshot, Decoder& decoder, Plan& plan);

} // namespace foresight
