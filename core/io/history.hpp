/*
 * HistorySource: demand as the GPUs that the application's own jobs hold, which needs nothing
 * beside Slurm.
 *
 * What sample() tells is gathered in windows of ten minutes, the most of each; a window in which
 * nobody looked is not known.  Each window that is over goes to disk, whole or not at all, so that
 * a restart forgets minutes at the most.  A file that cannot be understood is told once and begins
 * anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "source.hpp"

#include <string>

namespace foresight::io {

class HistorySource final : public Source {
public:
    static constexpr Seconds kWindow = 600;
    /// Nobody looked for so long: nothing good is known any more (s).
    static constexpr Seconds kStale = 900;

    /// `path`: where it is kept; empty: nowhere.  `past`: seconds that are kept.
    /// What is wrong with the file comes with the first refresh(): no reason to refuse settings.
    HistorySource(std::string path, const std::string& app, Seconds past, std::int64_t now);

    [[nodiscard]] Reading read(std::int64_t now) const override;
    bool refresh(std::int64_t now, std::string& problem) override;
    void sample(std::int64_t now, std::int32_t gpus) override;

private:
    void load(std::int64_t now);
    void add_window(std::int64_t end);

    std::string path_;
    std::string app_;
    Seconds past_;
    std::shared_ptr<const Series> history_ = std::make_shared<const Series>();
    std::int64_t window_ = 0; ///< start of the one that goes on; 0: none yet
    double most_ = std::numeric_limits<double>::quiet_NaN(); ///< in it
    double level_ = std::numeric_limits<double>::quiet_NaN();
    bool news_ = false;
    bool unsaved_ = false;
    std::string problem_; ///< to be told
    SourceCounters counters_;
};

/// The text of a file of one application's past, and back.  Throws InputError.
[[nodiscard]] std::string write_history(const Series& series);
[[nodiscard]] Series parse_history(const std::string& text, const std::string& shown_file);

} // namespace foresight::io
