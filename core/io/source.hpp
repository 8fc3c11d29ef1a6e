/*
 * Source: where an application's demand comes from, and what is known of it.
 *
 * One class a source: a constant, a curve in a file (curve_source.hpp), a Prometheus server
 * (prometheus.hpp), the application's own jobs (history.hpp).  All answer with a Reading.
 *
 * A source fails closed: what cannot be had or makes no sense (a server that is down or answers
 * nonsense, a file that is gone) leaves the last good value in force as "held", and after
 * StaleAfter= the reading is "stale": the application then gets its static peak.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "../conversion.hpp"
#include "../series.hpp"
#include "demand.hpp"
#include "settings.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace foresight::io {

class FetchClient;

/// What a source has been through.
struct SourceCounters {
    std::uint64_t fetches = 0;  ///< times that it was asked
    std::uint64_t failures = 0; ///< of those, without a good answer
    std::int64_t last_good = 0; ///< when it last gave a good value, since the epoch; 0: never yet
    std::string last_error;     ///< one line; empty since the last try went well
};

/// What is known of an application's demand at one moment.  Copying it is cheap.
struct Reading {
    enum class State {
        fresh, ///< the last try went well
        held,  ///< it did not, or nothing is known yet: hold the present size
        stale  ///< not for StaleAfter=: the static peak, whatever else stands here
    };

    State state = State::held;
    /// The last good value, in the source's unit (see Conversion); NaN while there is none.
    double level = std::numeric_limits<double>::quiet_NaN();
    /// What was measured, in the same unit, the last window the newest; never null.  A window's
    /// value is that at its end.  Windows begin at multiples of their length since the epoch, so
    /// that origin / window numbers them for good: a longer past may be cut off at its front.
    /// Another pointer means other content.
    std::shared_ptr<const Series> history = std::make_shared<const Series>();
    /// In GPUs; where demand ahead is known and need not be forecast.  Else null.
    std::shared_ptr<const DemandCurve> curve;
    SourceCounters counters;
};

[[nodiscard]] const char* name_of(Reading::State state) noexcept;

class Source {
public:
    Source() = default;
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source(Source&&) = delete;
    Source& operator=(const Source&) = delete;
    Source& operator=(Source&&) = delete;

    /// What is known at `now` (seconds since the epoch).  Never waits, reads no file.
    [[nodiscard]] virtual Reading read(std::int64_t now) const = 0;

    /// Looks at its files, where it has any.  True when another curve came of it; `problem` gets
    /// one line for each new fault.  Never under a lock of the resource manager.
    virtual bool refresh(std::int64_t now, std::string& problem);

    /// The GPUs that the application's own jobs hold now.  Only memory; may be called often.
    virtual void sample(std::int64_t now, std::int32_t gpus);

    /// Its side of the thread that fetches (fetch.hpp); null where it needs none.
    [[nodiscard]] virtual FetchClient* client();
};

/// Makes the source of a Realtime= line and reads its files; nothing is fetched yet.  Relative
/// paths are taken from `directory`; `state_dir` keeps what must last (empty: nothing is kept).
/// What is wrong is added to `problem`, the source is there all the same.
[[nodiscard]] std::shared_ptr<Source> make_source(const RealtimeSettings& app,
                                                  const std::string& directory,
                                                  const std::string& state_dir, std::int64_t now,
                                                  std::string& problem);

/// UnitsPerGpu=, Headroom=, MinGpus= and MaxGpus= of the line.
[[nodiscard]] Conversion conversion_of(const RealtimeSettings& app) noexcept;

/// Adds a line to those in `problem`, after a semicolon.
void add_problem(std::string& problem, const std::string& more);

} // namespace foresight::io
