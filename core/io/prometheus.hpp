/*
 * PrometheusSource: demand as a Prometheus server measures it (or one that speaks its HTTP API).
 *
 * A PromQL query that gives one series is asked for its value now, every FetchInterval=, and for
 * its past, a value each QueryStep=: at the start Past= back, in pieces that no server refuses
 * (11,000 points are its limit), later each window when it is over.
 *
 * Only a number that is finite and not negative counts.  No answer, a nonsensical one, no series or
 * several: the last good level stays, the reading is "held", and after StaleAfter= it is "stale".
 *
 * Threads: next() and answered() on the fetch thread, the rest anywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "fetch.hpp"
#include "source.hpp"

#include <mutex>
#include <vector>

namespace foresight::io {

class PrometheusSource final : public Source, public FetchClient {
public:
    /// Relative paths of the line are taken from `directory`.
    PrometheusSource(const RealtimeSettings& app, const std::string& directory, std::int64_t now);

    [[nodiscard]] Reading read(std::int64_t now) const override;
    bool refresh(std::int64_t now, std::string& problem) override;
    [[nodiscard]] FetchClient* client() override { return this; }

    [[nodiscard]] std::optional<FetchRequest> next(std::int64_t now) override;
    void answered(const FetchAnswer& answer, std::int64_t now) override;

private:
    enum class Asked { nothing, level, past };

    [[nodiscard]] FetchRequest request(const std::string& what) const;
    [[nodiscard]] bool ask_past(std::int64_t now);
    [[nodiscard]] Reading::State state(std::int64_t now) const;
    void add_past(const std::vector<double>& values);

    const std::string name_;
    const std::string url_;
    const std::string shown_url_;
    const std::string query_;
    const std::string ca_file_;
    const std::string token_file_;
    const std::int64_t timeout_;
    const std::int64_t interval_;
    const std::int64_t stale_after_;
    const std::int64_t step_;
    const std::int64_t past_;
    const std::int64_t made_; ///< when it began to be asked

    // The fetch thread's alone.
    Asked asked_ = Asked::nothing;
    Asked last_ = Asked::nothing;
    std::int64_t level_due_ = 0;
    std::int64_t past_due_ = 0;
    std::int64_t piece_end_ = 0; ///< of the piece of the past that is asked for
    Series series_; ///< the past so far; its last window ends where the next piece begins

    mutable std::mutex mutex_; ///< for what follows
    double level_ = std::numeric_limits<double>::quiet_NaN();
    std::shared_ptr<const Series> history_ = std::make_shared<const Series>();
    SourceCounters counters_;
    std::string level_error_;
    std::string past_error_;
    bool news_ = false; ///< something came that a plan should know

    // refresh()'s alone.
    std::string told_;
    bool told_stale_ = false;
};

/// The value of an answer to an instant query.  Throws InputError with what is wrong with it.
[[nodiscard]] double parse_level(const std::string& body);

/// The values of an answer to a range query, `count` of them at `first`, `first` + `step`, …;
/// NaN where there is none, or none that is finite and not negative.  Throws InputError.
[[nodiscard]] std::vector<double> parse_past(const std::string& body, std::int64_t first,
                                             std::int64_t step, std::size_t count);

} // namespace foresight::io
