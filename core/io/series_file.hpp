/*
 * SeriesFile: a series of demand that someone measured, from a CSV or JSON file.
 *
 * CSV: a header, then a row for each window: its start and its value; '#' comments and empty lines
 * are passed over.
 *
 *     start_s,requests_per_s
 *     0,212.78
 *     600,179.6983
 *
 * JSON: a list of the same, as pairs [[0, 212.78], …] or as objects [{"start_s": 0, …}, …].
 *
 * The first column (or a column named time, start_s, time_s or timestamp) holds the time in
 * seconds, since whenever; the value is any other column.  Rows are in order of time and a whole
 * number of windows apart, a window being the commonest distance, 60 s to an hour.  Rows left out,
 * and empty or null values, are windows that are not known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "../series.hpp"

#include <string>

namespace foresight::io {

struct SeriesFile {
    Series series;
    std::string column; ///< that the values are from
};

/// "-" is standard input.  `column` names the values' where there are several; empty: the only
/// one.  Throws InputError ("FILE: line 3: ...").
[[nodiscard]] SeriesFile read_series(const std::string& path, const std::string& column = "");

/// The same of a file's text, JSON when it begins with a bracket.
[[nodiscard]] SeriesFile parse_series(const std::string& text, const std::string& shown_file,
                                      const std::string& column = "");

} // namespace foresight::io
