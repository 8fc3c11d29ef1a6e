/*
 * CurveSource: demand along a curve that is known ahead, from a file or constant.
 *
 * The file is read again when it changes.  A bad one keeps the curve in force, for good: a curve
 * does not age.  The last good one is kept on disk too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "file.hpp"
#include "source.hpp"

namespace foresight::io {

class CurveSource final : public Source {
public:
    explicit CurveSource(DemandCurve curve);

    /// `kept`: where the last good copy lies; empty for none.
    CurveSource(std::string path, std::string kept, const std::string& app, std::int64_t now,
                std::string& problem);

    [[nodiscard]] Reading read(std::int64_t now) const override;
    bool refresh(std::int64_t now, std::string& problem) override;

private:
    void load(std::int64_t now, std::string& problem);
    void recall();

    std::string path_; ///< empty: constant
    std::string kept_;
    FileStamp stamp_; ///< of the file as it was last looked at, good or bad
    std::shared_ptr<const DemandCurve> curve_;
    SourceCounters counters_;
};

/// Writes `text` to `path` unless it stands there already: a reload is no reason to wear a disk.
/// What goes wrong is added to `problem`.
void keep_copy(const std::string& path, const std::string& text, std::string& problem);

} // namespace foresight::io
