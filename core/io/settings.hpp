/*
 * Settings: foresight.conf as a value.
 *
 * The file is in Slurm's manner, one option a line, but for Realtime= and Weight=, whose lines
 * go on with further keys.  The tables in settings.cpp hold every key.  Whatever is wrong is one
 * line that names file, line and key; nothing of a bad file is used.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "option.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foresight::io {

enum class Mode { shadow, active };
enum class OnFailure { backfill, wait };

/// Which jobs a line means.  All that is given must hold; one of a list is enough.
struct JobMatch {
    std::vector<std::string> qos;
    std::vector<std::string> partitions;
    std::vector<std::string> accounts;
    std::vector<std::string> users;
    std::vector<std::string> tags; ///< words of the job's comment

    [[nodiscard]] bool empty() const noexcept {
        return qos.empty() && partitions.empty() && accounts.empty() && users.empty() &&
               tags.empty();
    }
};

/// What Slurm says of a job; empty where there is nothing.
struct JobFacts {
    std::string_view partition; ///< several are separated by commas
    std::string_view account;
    std::string_view qos;
    std::string_view user;
    std::string_view comment;
};

[[nodiscard]] bool matches(const JobMatch& match, const JobFacts& job);

enum class DemandSource { none, file, constant, prometheus, history };

/// Is demand what was measured, and not a curve that is known ahead?
[[nodiscard]] constexpr bool is_measured(DemandSource source) noexcept {
    return source == DemandSource::prometheus || source == DemandSource::history;
}

/// A Realtime= line.
struct RealtimeSettings {
    std::string name;
    JobMatch match;
    double priority = 0;
    std::int64_t max_swap = 0; ///< kUnlimited without one
    std::int64_t demand = 0;   ///< DemandSource
    std::string file;          ///< of DemandSource::file, as written
    std::int64_t gpus = 0;     ///< of DemandSource::constant
    std::string url;           ///< of DemandSource::prometheus, and what follows
    std::string query;
    std::string ca_file;
    std::string token_file;
    Seconds query_step = 0;
    Seconds past = 0;
    Seconds timeout = 0;
    Seconds fetch_interval = 0;
    Seconds stale_after = 0;
    double quantile = 0;
    Seconds lead_time = 0;
    Seconds hold_time = 0;
    double units_per_gpu = 0;
    double headroom = 0; ///< percent
    std::int64_t min_gpus = 0;
    std::int64_t max_gpus = 0;
    std::int64_t cpus_per_gpu = 0; ///< -1: a node's share of a GPU
    std::int64_t mem_per_gpu = 0;  ///< MiB; -1 likewise
    std::string reservation;       ///< whose nodes are lent; empty: a pool
    std::string hold_partition;    ///< where it may hold GPUs; empty: everywhere
    std::int64_t on_failure = 0;   ///< OnFailure
    int line = 0;
};

/// A Weight= line.
struct WeightSettings {
    double weight = 0;
    std::string kind;
    JobMatch match;
    int line = 0;
};

struct Settings {
    std::int64_t mode = 0; ///< Mode
    Seconds horizon = 0;
    Seconds step = 0;
    Seconds interval = 0;
    std::int64_t plan_budget_ms = 0;
    std::int64_t plan_overrun_ms = 0;
    std::int64_t max_failures = 0;
    std::int64_t max_starts = 0;
    Seconds end_grace = 0;
    Seconds weight_doubles_after = 0;
    double move_gain = 0; ///< percent
    std::string publish_dir; ///< empty: "foresight" in Slurm's StateSaveLocation
    std::vector<RealtimeSettings> realtime;
    std::vector<WeightSettings> weights;
};

/// Every option at its default.
[[nodiscard]] Settings default_settings();

/// Throws InputError: "FILE:LINE: Key: ...".
[[nodiscard]] Settings parse_settings(const std::string& text, const std::string& shown_file);

/// All that is wrong, one line each, for `foresight check`; empty when parse_settings accepts it.
[[nodiscard]] std::vector<std::string> settings_problems(const std::string& text,
                                                         const std::string& shown_file);

/// The tables, for the listing.
struct OptionGroup {
    const char* title;
    std::vector<const Option*> options;
};
[[nodiscard]] std::vector<OptionGroup> option_groups();

} // namespace foresight::io
