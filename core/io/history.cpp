/*
 * HistorySource: see history.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "history.hpp"

#include "error.hpp"
#include "file.hpp"
#include "json.hpp"
#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace foresight::io {

namespace {

constexpr const char* kFormat = "foresight-history/1";
constexpr std::size_t kLargest = std::size_t{1} << 20U;
constexpr std::size_t kMostWindows = 60'000; // a year and some
constexpr std::int64_t kMostGpus = 1'000'000;
constexpr std::int64_t kLatest = 253402300800; // year 10000
constexpr std::int64_t kUnknown = -1;
constexpr mode_t kPrivate = 0600;

std::int64_t start_of(std::int64_t now) noexcept {
    return now - now % HistorySource::kWindow;
}

std::int64_t end_of(const Series& series) noexcept {
    return series.origin + static_cast<std::int64_t>(series.values.size()) * series.window;
}

} // namespace

std::string write_history(const Series& series) {
    const Json gpus = json_list();
    for (const double value : series.values) {
        append(gpus, json_whole(std::isfinite(value) ? std::llround(value) : kUnknown));
    }
    const Json made = json_map();
    put(made, "format", json_text(kFormat));
    put(made, "window_s", json_whole(series.window));
    put(made, "origin_s", json_whole(series.origin));
    put(made, "gpus", Json(json_incref(gpus.get())));
    return to_text(made) + "\n";
}

Series parse_history(const std::string& text, const std::string& shown_file) {
    const Json json = parse_json(text, shown_file);
    const Reader file(json.get(), shown_file);
    const Reader format = file.field("format");
    if (format.text() != kFormat) {
        format.fail(std::string("must be \"") + kFormat + "\"");
    }
    Series series;
    series.window = file.field("window_s").whole(HistorySource::kWindow, HistorySource::kWindow);
    const Reader origin = file.field("origin_s");
    series.origin = origin.whole(0, kLatest);
    if (series.origin % series.window != 0) {
        origin.fail("must be a multiple of window_s");
    }
    const Reader gpus = file.field("gpus");
    if (gpus.size() > kMostWindows) {
        gpus.fail("has more than " + std::to_string(kMostWindows) + " values");
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const std::int64_t value = gpus.item(i).whole(kUnknown, kMostGpus);
        series.values.push_back(value == kUnknown ? std::numeric_limits<double>::quiet_NaN()
                                                  : static_cast<double>(value));
    }
    return series;
}

HistorySource::HistorySource(std::string path, const std::string& app, Seconds past,
                             std::int64_t now)
    : path_(std::move(path)), app_(app), past_(past) {
    try {
        load(now);
    } catch (const InputError& error) {
        counters_.last_error = error.what();
        ++counters_.failures;
        problem_ = std::string(error.what()) + " (the past of " + app_ + " begins anew)";
    }
}

void HistorySource::load(std::int64_t now) {
    if (path_.empty() || !stamp_of(path_).exists) {
        return;
    }
    Series series = parse_history(read_file(path_, kLargest), shown_name(path_));
    if (end_of(series) > now + kWindow) {
        throw InputError(shown_name(path_) + ": is of times to come: is the clock right?");
    }
    history_ = std::make_shared<const Series>(std::move(series));
}

/// The window that went on is over, and so are those in which nobody looked, up to `end`.
void HistorySource::add_window(std::int64_t end) {
    Series series = *history_;
    if (series.values.empty() || end_of(series) > window_ || end - end_of(series) > past_) {
        series = {window_, kWindow, {}}; // the clock was set, or all that is known is too old
    }
    // What lies between, a restart for one, is not known.
    const auto unknown = std::numeric_limits<double>::quiet_NaN();
    series.values.resize(static_cast<std::size_t>((window_ - series.origin) / kWindow), unknown);
    series.values.push_back(most_);
    series.values.resize(
        static_cast<std::size_t>(std::max(window_ + kWindow, end) - series.origin) / kWindow,
        unknown);
    const auto most = static_cast<std::size_t>(past_ / kWindow);
    if (series.values.size() > most) {
        const std::size_t old = series.values.size() - most;
        series.values.erase(series.values.begin(),
                            series.values.begin() + static_cast<std::ptrdiff_t>(old));
        series.origin += static_cast<std::int64_t>(old) * kWindow;
    }
    history_ = std::make_shared<const Series>(std::move(series));
    unsaved_ = news_ = true;
}

void HistorySource::sample(std::int64_t now, std::int32_t gpus) {
    const std::int64_t start = start_of(now);
    if (start != window_) {
        const bool on = window_ != 0 && start > window_ && start - window_ <= past_;
        if (on) {
            add_window(start);
        }
        window_ = start;
        most_ = gpus;
    }
    most_ = std::max(most_, static_cast<double>(gpus));
    news_ = news_ || level_ != gpus;
    level_ = gpus;
    ++counters_.fetches;
    counters_.last_good = now;
}

bool HistorySource::refresh(std::int64_t /*now*/, std::string& problem) {
    if (!problem_.empty()) {
        add_problem(problem, std::exchange(problem_, ""));
    }
    if (unsaved_ && !path_.empty()) {
        unsaved_ = false; // a full disk is told once a window
        try {
            write_file(path_, write_history(*history_), kPrivate, Sync::disk);
            counters_.last_error.clear();
        } catch (const InputError& error) {
            counters_.last_error = error.what();
            ++counters_.failures;
            add_problem(problem,
                        std::string(error.what()) + " (the past of " + app_ + " is not kept)");
        }
    }
    return std::exchange(news_, false);
}

Reading HistorySource::read(std::int64_t now) const {
    Reading reading;
    reading.counters = counters_;
    reading.history = history_;
    reading.level = level_;
    // Nobody looked yet: slurmctld has just started, the present size is as good as any.
    const bool stale = counters_.last_good != 0 && now - counters_.last_good >= kStale;
    reading.state = stale                      ? Reading::State::stale
                    : counters_.last_good == 0 ? Reading::State::held
                                               : Reading::State::fresh;
    return reading;
}

} // namespace foresight::io
