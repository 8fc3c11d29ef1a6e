/*
 * Publishing: the plan in force as JSON lines, and metrics in OpenMetrics text.
 *
 * plan.jsonl: the first line is an object about the whole ("format": "foresight-plan/1"), then a
 * line for each job: what runs, what starts now, what is planned, what has no place and why.
 * Times are seconds since the epoch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "../plan.hpp"
#include "foresight_io.h"

#include <string>

namespace foresight::io {

/// A plan and when it was made for.
struct Published {
    const Snapshot& snapshot;
    const Plan& plan;
    std::int64_t origin; ///< of the snapshot's times: seconds since the epoch at step 0
};

[[nodiscard]] std::string plan_lines(const Published& published, const std::string& mode);

/// `published` is null while there is no plan: then only counters stand in the text.
[[nodiscard]] std::string metrics_text(const Published* published, const fs_counters& counters);

/// Writes both into `directory` (made when missing), each whole, then renamed.  Throws InputError.
void publish(const std::string& directory, const Published* published,
             const fs_counters& counters, bool private_jobs);

} // namespace foresight::io
