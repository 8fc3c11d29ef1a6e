/*
 * Schedule: a Plan as foresight-schedule/1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "../plan.hpp"
#include "json.hpp"

#include <optional>
#include <string>

namespace foresight::io {

/// What the plan itself does not know.
struct ScheduleHeader {
    std::string policy;
    std::string mode;                          ///< "fast", "full" or "exact"
    std::int64_t plan_us = 0;                  ///< what planning took, reading and writing left out
    std::optional<bool> proved = std::nullopt; ///< exact: whether no plan is better
};

/// The whole schedule: one line of JSON and a newline.  Jobs stand in order of start, place and
/// id, so that equal plans give equal bytes.
[[nodiscard]] std::string schedule_text(const Snapshot& snapshot, const Plan& plan,
                                        const ScheduleHeader& header);

/// A reason as data, with its sentence: {"kind", "resource", "until_s", "app",
/// "limit", "job", "text"}.  `origin` is added to times: 0 for seconds from step 0.
[[nodiscard]] Json reason_json(const Reason& reason, const Snapshot& snapshot,
                               const char* until_key, Seconds origin);

/// All of them in one line for a person: "Sentence. Sentence.".
[[nodiscard]] std::string reasons_text(const std::vector<Reason>& reasons,
                                       const Snapshot& snapshot);

} // namespace foresight::io
