/*
 * Demand: see demand.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "demand.hpp"

#include "error.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

namespace foresight::io {

namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kMostGpus = 1'000'000;
constexpr std::size_t kMostRows = 1'000'000;
constexpr std::int64_t kLatest = 253402300800; // year 10000: later ones are typing errors

/// A time in one of the three forms.
struct Stamp {
    std::int64_t time;
    bool weekly;
};

/// Exactly `count` digits at the front of `text`.
std::optional<int> take(std::string_view& text, std::size_t count) {
    if (text.size() < count) {
        return std::nullopt;
    }
    int number = 0;
    for (const char c : text.substr(0, count)) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        number = number * 10 + (c - '0');
    }
    text.remove_prefix(count);
    return number;
}

bool take_mark(std::string_view& text, char mark) {
    if (text.empty() || text.front() != mark) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

/// 08:00 or 08:00:30, the whole of `text`, as seconds since midnight.
std::optional<std::int64_t> parse_clock(std::string_view text) {
    const auto hours = take(text, 2);
    if (!hours || !take_mark(text, ':')) {
        return std::nullopt;
    }
    const auto minutes = take(text, 2);
    std::optional<int> seconds = 0;
    if (take_mark(text, ':')) {
        seconds = take(text, 2);
    }
    if (!minutes || !seconds || !text.empty() || *hours > 23 || *minutes > 59 || *seconds > 59) {
        return std::nullopt;
    }
    return *hours * 3600 + *minutes * 60 + *seconds;
}

/// Local wall-clock time to the epoch; `days` may lie outside the month.
std::int64_t local_time(int year, int month, int day, std::int64_t clock) {
    std::tm wall{};
    wall.tm_year = year - 1900;
    wall.tm_mon = month - 1;
    wall.tm_mday = day;
    wall.tm_hour = static_cast<int>(clock / 3600);
    wall.tm_min = static_cast<int>(clock / 60 % 60);
    wall.tm_sec = static_cast<int>(clock % 60);
    wall.tm_isdst = -1;
    return std::mktime(&wall);
}

bool is_date(int year, int month, int day) {
    constexpr std::array<int, 12> lengths{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1970 || month < 1 || month > 12 || day < 1) {
        return false;
    }
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= lengths[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

std::optional<std::int64_t> parse_date(std::string_view text) {
    const auto year = take(text, 4);
    const bool dash = take_mark(text, '-');
    const auto month = take(text, 2);
    const bool dash_too = take_mark(text, '-');
    const auto day = take(text, 2);
    const bool time = take_mark(text, 'T') || take_mark(text, ' ');
    if (!year || !dash || !month || !dash_too || !day || !time || !is_date(*year, *month, *day)) {
        return std::nullopt;
    }
    const auto clock = parse_clock(text);
    return clock ? std::optional(local_time(*year, *month, *day, *clock)) : std::nullopt;
}

std::optional<std::int64_t> parse_weekday(std::string_view text) {
    constexpr std::array<std::string_view, 7> days{"mon", "tue", "wed", "thu",
                                                   "fri", "sat", "sun"};
    for (std::size_t i = 0; i < days.size(); ++i) {
        if (text.size() > 4 && equal_nocase(text.substr(0, 3), days[i]) && text[3] == ' ') {
            const auto clock = parse_clock(trim(text.substr(3)));
            return clock ? std::optional(static_cast<std::int64_t>(i) * kDay + *clock)
                         : std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<Stamp> parse_stamp(std::string_view text) {
    if (const auto week = parse_weekday(text)) {
        return Stamp{*week, true};
    }
    if (const auto epoch = parse_whole(text)) {
        return *epoch >= 0 && *epoch <= kLatest ? std::optional(Stamp{*epoch, false})
                                                : std::nullopt;
    }
    const auto date = parse_date(text);
    return date ? std::optional(Stamp{*date, false}) : std::nullopt;
}

[[noreturn]] void fail(const std::string& file, std::size_t line, const std::string& what) {
    throw InputError(file + ": line " + std::to_string(line) + ": " + what);
}

std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

bool is_header(std::string_view line) {
    const std::size_t comma = line.find(',');
    return comma != std::string_view::npos && equal_nocase(trim(line.substr(0, comma)), "time") &&
           equal_nocase(trim(line.substr(comma + 1)), "gpus");
}

std::int32_t parse_gpus(std::string_view text, const std::string& file, std::size_t line) {
    const auto gpus = parse_whole(text);
    if (!gpus || *gpus < 0 || *gpus > kMostGpus) {
        fail(file, line, "gpus: must be a whole number, 0 to " + std::to_string(kMostGpus) +
                             "; is \"" + printable(text) + "\"");
    }
    return static_cast<std::int32_t>(*gpus);
}

} // namespace

DemandCurve DemandCurve::constant(std::int32_t gpus) {
    DemandCurve curve;
    curve.rows_.push_back({0, gpus});
    return curve;
}

DemandCurve DemandCurve::parse(const std::string& csv, const std::string& shown_file) {
    DemandCurve curve;
    std::string_view left = csv;
    if (left.substr(0, 3) == "\xEF\xBB\xBF") {
        left.remove_prefix(3);
    }
    bool header = false;
    for (std::size_t number = 1; !left.empty(); ++number) {
        const std::string_view line = take_line(left);
        if (line.empty() || line.front() == '#') {
            continue;
        }
        if (!header) {
            if (!is_header(line)) {
                fail(shown_file, number, "the header must be \"time,gpus\"; is \"" +
                                             printable(line) + "\"");
            }
            header = true;
            continue;
        }
        const std::size_t comma = line.find(',');
        if (comma == std::string_view::npos) {
            fail(shown_file, number, "must be a time, a comma and GPUs");
        }
        const auto stamp = parse_stamp(trim(line.substr(0, comma)));
        if (!stamp) {
            fail(shown_file, number,
                 "time: must be seconds since 1970, 2026-12-01T08:00[:00] or Mon 08:00[:00]; is \"" +
                     printable(trim(line.substr(0, comma))) + "\"");
        }
        const Row row{stamp->time, parse_gpus(trim(line.substr(comma + 1)), shown_file, number)};
        if (curve.rows_.empty()) {
            curve.weekly_ = stamp->weekly;
        } else if (curve.weekly_ != stamp->weekly) {
            fail(shown_file, number, "time: dates and times of the week do not mix");
        } else if (row.time <= curve.rows_.back().time) {
            fail(shown_file, number, "time: must be later than that of the row before");
        }
        curve.rows_.push_back(row);
        if (curve.rows_.size() > kMostRows) {
            fail(shown_file, number, "more than " + std::to_string(kMostRows) + " rows");
        }
    }
    if (curve.rows_.empty()) {
        throw InputError(shown_file + ": no rows; a header \"time,gpus\" and at least one row " +
                         "are needed");
    }
    return curve;
}

std::int32_t DemandCurve::peak() const noexcept {
    return std::max_element(rows_.begin(), rows_.end(),
                            [](const Row& a, const Row& b) { return a.gpus < b.gpus; })
        ->gpus;
}

/// The weekly rows as changes on the time line, from one that stands at `from` already.
std::vector<DemandCurve::Row> DemandCurve::changes_of_week(std::int64_t from,
                                                           std::int64_t until) const {
    const std::time_t first = from;
    std::tm wall{};
    ::localtime_r(&first, &wall);
    std::vector<Row> changes;
    // A week and a day back stands some change, whatever the clocks did since.
    int day = -8;
    int weekday = (wall.tm_wday + 6 + day + 14) % 7; // 0 is Monday
    for (std::int64_t midnight = 0; midnight <= until; ++day, weekday = (weekday + 1) % 7) {
        const auto local = [&](std::int64_t clock) {
            return local_time(wall.tm_year + 1900, wall.tm_mon + 1, wall.tm_mday + day, clock);
        };
        midnight = local(0);
        const auto low = std::lower_bound(
            rows_.begin(), rows_.end(), weekday * kDay,
            [](const Row& row, std::int64_t time) { return row.time < time; });
        for (auto row = low; row != rows_.end() && row->time < (weekday + 1) * kDay; ++row) {
            changes.push_back({local(row->time - weekday * kDay), row->gpus});
        }
    }
    // In the hour that a clock skips, a row may come out after its successor: never so.
    for (std::size_t i = changes.size(); i-- > 1;) {
        changes[i - 1].time = std::min(changes[i - 1].time, changes[i].time);
    }
    return changes;
}

std::vector<std::int32_t> DemandCurve::over(std::int64_t origin, std::int64_t step,
                                            std::int32_t steps) const {
    const std::int64_t end = origin + step * steps;
    const std::vector<Row> week = weekly_ ? changes_of_week(origin, end) : std::vector<Row>();
    const std::vector<Row>& rows = weekly_ ? week : rows_;
    std::vector<std::int32_t> demand;
    demand.reserve(static_cast<std::size_t>(std::max(steps, 0)));
    // The row in force at a step's start, then all that start inside the step.
    auto next = std::upper_bound(rows.begin(), rows.end(), origin,
                                 [](std::int64_t time, const Row& row) { return time < row.time; });
    std::int32_t in_force = next == rows.begin() ? rows.front().gpus : std::prev(next)->gpus;
    for (std::int64_t start = origin; start < end; start += step) {
        while (next != rows.end() && next->time <= start) {
            in_force = next->gpus;
            ++next;
        }
        std::int32_t most = in_force;
        for (; next != rows.end() && next->time < start + step; ++next) {
            in_force = next->gpus;
            most = std::max(most, in_force);
        }
        demand.push_back(most);
    }
    return demand;
}

} // namespace foresight::io
