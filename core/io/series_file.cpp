/*
 * SeriesFile: see series_file.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "series_file.hpp"

#include "error.hpp"
#include "file.hpp"
#include "json.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace foresight::io {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr Seconds kShortestWindow = 60;
constexpr Seconds kLongestWindow = 3600;
constexpr std::size_t kMostWindows = 1'000'000;
constexpr double kLatest = 253402300800.0; // year 10000: later ones are typing errors
constexpr double kLargest = 1e15;
constexpr std::array<std::string_view, 4> kTimes{"time", "start_s", "time_s", "timestamp"};

/// A row as it stands in the file, with words for its place.
struct Row {
    std::string place;
    Seconds time;
    double value;
};

[[noreturn]] void fail(const std::string& file, const std::string& place, const std::string& what) {
    throw InputError(file + ": " + (place.empty() ? "" : place + ": ") + what);
}

/// Which columns hold times and values.
struct Columns {
    std::size_t time = 0;
    std::size_t value = 0;
};

Columns choose(const std::vector<std::string>& names, const std::string& wanted,
               const std::string& file, const std::string& place) {
    Columns columns;
    const auto is_time = [](const std::string& name) {
        return std::any_of(kTimes.begin(), kTimes.end(),
                           [&](std::string_view time) { return equal_nocase(name, time); });
    };
    const auto named = std::find_if(names.begin(), names.end(), is_time);
    columns.time = named == names.end() ? 0 : static_cast<std::size_t>(named - names.begin());
    std::vector<std::size_t> others;
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i != columns.time) {
            others.push_back(i);
            list += (list.empty() ? "" : ", ") + printable(names[i], 30);
        }
    }
    if (others.empty()) {
        fail(file, place,
             "a column of times and one of values are needed, as in "
             "\"time,value\"; is \"" +
                 printable(names.empty() ? "" : names.front()) + "\"");
    }
    if (wanted.empty()) {
        if (others.size() > 1) {
            fail(file, place, "several columns; choose one with --column: " + printable(list, 200));
        }
        columns.value = others.front();
        return columns;
    }
    const auto found = std::find_if(others.begin(), others.end(),
                                    [&](std::size_t i) { return equal_nocase(names[i], wanted); });
    if (found == others.end()) {
        fail(file, place,
             "no column \"" + printable(wanted, 30) + "\"; there are " + printable(list, 200));
    }
    columns.value = *found;
    return columns;
}

/// Fields between commas, trimmed; empty ones count.
std::vector<std::string> fields_of(std::string_view line) {
    std::vector<std::string> fields;
    while (true) {
        const std::size_t end = std::min(line.find(','), line.size());
        fields.emplace_back(trim(line.substr(0, end)));
        if (end == line.size()) {
            return fields;
        }
        line.remove_prefix(end + 1);
    }
}

Seconds time_of(double time, const std::string& file, const std::string& place) {
    if (!(time >= 0 && time <= kLatest) || std::floor(time) != time) {
        fail(file, place, "time: must be whole seconds, at least 0; is " + format_number(time, 15));
    }
    return static_cast<Seconds>(time);
}

double value_of(double value, const std::string& file, const std::string& place) {
    if (!(value >= 0 && value <= kLargest)) {
        fail(file, place,
             "value: must be a number, 0 to 1e15 (empty where it is not known); is " +
                 format_number(value));
    }
    return value;
}

double field_number(const std::string& field, const char* what, const std::string& file,
                    const std::string& place) {
    const auto number = parse_number(field);
    if (!number) {
        fail(file, place,
             std::string(what) + ": must be a number; is \"" + printable(field) + "\"");
    }
    return *number;
}

std::vector<Row> rows_of_csv(std::string_view text, const std::string& file, std::string& column) {
    if (text.substr(0, 3) == "\xEF\xBB\xBF") {
        text.remove_prefix(3);
    }
    std::vector<Row> rows;
    std::vector<std::string> header;
    Columns columns;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#') {
            continue;
        }
        const std::string place = "line " + std::to_string(number);
        const std::vector<std::string> fields = fields_of(line);
        if (header.empty()) {
            if (parse_number(fields.front())) {
                fail(file, place,
                     "a header is needed, as \"time,value\"; is \"" + printable(line) + "\"");
            }
            header = fields;
            columns = choose(header, column, file, place);
            column = header[columns.value];
            continue;
        }
        if (fields.size() != header.size()) {
            fail(file, place,
                 "must have " + std::to_string(header.size()) + " fields as the header; has " +
                     std::to_string(fields.size()));
        }
        const Seconds time =
            time_of(field_number(fields[columns.time], "time", file, place), file, place);
        const std::string& value = fields[columns.value];
        rows.push_back({place, time,
                        value.empty()
                            ? kUnknown
                            : value_of(field_number(value, "value", file, place), file, place)});
    }
    return rows;
}

/// Of the first row's keys.
std::vector<std::string> keys_of(const json_t* object) {
    std::vector<std::string> keys;
    const char* key = nullptr;
    json_t* value = nullptr;
    json_object_foreach(const_cast<json_t*>(object), key, value) {
        keys.emplace_back(key);
    }
    return keys;
}

double number_in(const json_t* value, const char* what, const std::string& file,
                 const std::string& place) {
    if (!json_is_number(value)) {
        fail(file, place, std::string(what) + ": must be a number");
    }
    return json_number_value(value);
}

std::vector<Row> rows_of_json(const std::string& text, const std::string& file,
                              std::string& column) {
    const Json list = parse_json(text, file);
    if (!json_is_array(list.get())) {
        fail(file, "", "must be a list of [time, value] or of objects");
    }
    std::vector<Row> rows;
    std::vector<std::string> keys;
    Columns columns;
    for (std::size_t i = 0; i < json_array_size(list.get()); ++i) {
        const json_t* row = json_array_get(list.get(), i);
        const std::string place = "[" + std::to_string(i) + "]";
        const json_t* time = nullptr;
        const json_t* value = nullptr;
        if (json_is_array(row) && json_array_size(row) == 2 && keys.empty()) {
            if (!column.empty()) {
                fail(file, place, "pairs have no columns to choose from; leave --column out");
            }
            time = json_array_get(row, 0);
            value = json_array_get(row, 1);
        } else if (json_is_object(row) && (i == 0 || !keys.empty())) {
            if (keys.empty()) {
                keys = keys_of(row);
                columns = choose(keys, column, file, place);
                column = keys[columns.value];
            }
            time = json_object_get(row, keys[columns.time].c_str());
            value = json_object_get(row, keys[columns.value].c_str());
        }
        if (time == nullptr) {
            fail(file, place,
                 keys.empty()
                     ? "must be a list of a time and a value"
                     : "must be an object with \"" + printable(keys[columns.time], 30) + "\"");
        }
        const Seconds at = time_of(number_in(time, "time", file, place), file, place);
        const bool known = value != nullptr && !json_is_null(value);
        rows.push_back(
            {place, at,
             known ? value_of(number_in(value, "value", file, place), file, place) : kUnknown});
    }
    return rows;
}

/// The commonest distance of two rows; of two as common, the shorter.
Seconds window_of(const std::vector<Row>& rows) {
    std::map<Seconds, std::size_t> distances;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        ++distances[rows[i].time - rows[i - 1].time];
    }
    return std::max_element(distances.begin(), distances.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
}

Series series_of(const std::vector<Row>& rows, const std::string& file) {
    if (rows.size() < 2) {
        fail(file, "", "at least two rows are needed; has " + std::to_string(rows.size()));
    }
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].time <= rows[i - 1].time) {
            fail(file, rows[i].place, "time: must be later than that of the row before");
        }
    }
    Series series;
    series.origin = rows.front().time;
    series.window = window_of(rows);
    if (series.window < kShortestWindow || series.window > kLongestWindow) {
        fail(file, "",
             "rows are " + std::to_string(series.window) +
                 " s apart; windows of 60 s to an hour are needed");
    }
    for (const Row& row : rows) {
        const Seconds since = row.time - series.origin;
        if (since % series.window != 0) {
            fail(file, row.place,
                 "time: " + std::to_string(row.time) + " is no whole number of windows of " +
                     std::to_string(series.window) + " s after the first");
        }
        const auto index = static_cast<std::size_t>(since / series.window);
        if (index >= kMostWindows) {
            fail(file, row.place,
                 "more than " + std::to_string(kMostWindows) + " windows since the first row");
        }
        series.values.resize(index, kUnknown);
        series.values.push_back(row.value);
    }
    return series;
}

} // namespace

SeriesFile parse_series(const std::string& text, const std::string& shown_file,
                        const std::string& column) {
    SeriesFile file;
    file.column = column;
    const std::string_view start = trim(text);
    const bool json = !start.empty() && (start.front() == '[' || start.front() == '{');
    const std::vector<Row> rows = json ? rows_of_json(text, shown_file, file.column)
                                       : rows_of_csv(text, shown_file, file.column);
    file.series = series_of(rows, shown_file);
    if (file.column.empty()) {
        file.column = "value";
    }
    return file;
}

SeriesFile read_series(const std::string& path, const std::string& column) {
    return parse_series(read_file(path), shown_name(path), column);
}

} // namespace foresight::io
