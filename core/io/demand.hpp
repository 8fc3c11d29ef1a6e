/*
 * Demand: how many GPUs a real-time application wants, over the time of day.
 *
 * A curve is a CSV file with the header "time,gpus".  A time is seconds since the epoch, local
 * time (2026-12-01T08:00, seconds as an option), or a time of the week (Mon 08:00); a file holds
 * dates or times of the week, not both.  A value holds until the next row; before the first
 * dated row stands the first value; a week wraps around.  Local times follow the machine's time
 * zone and its daylight saving time: Mon 08:00 is 8 o'clock on the wall.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foresight::io {

class DemandCurve {
public:
    /// The same demand at all times.
    [[nodiscard]] static DemandCurve constant(std::int32_t gpus);

    /// Throws InputError ("FILE: line 3: ...").
    [[nodiscard]] static DemandCurve parse(const std::string& csv, const std::string& shown_file);

    /// For each of `steps` steps of `step` seconds from `origin` (seconds since the epoch), the
    /// largest demand of the step.
    [[nodiscard]] std::vector<std::int32_t> over(std::int64_t origin, std::int64_t step,
                                                 std::int32_t steps) const;

    [[nodiscard]] std::int32_t peak() const noexcept;

private:
    struct Row {
        std::int64_t time; ///< since the epoch, or since Monday 00:00 on the wall
        std::int32_t gpus;
    };

    [[nodiscard]] std::vector<Row> changes_of_week(std::int64_t from, std::int64_t until) const;

    std::vector<Row> rows_; ///< in order of time; never empty
    bool weekly_ = false;
};

} // namespace foresight::io
