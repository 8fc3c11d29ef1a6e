/*
 * Text: numbers, durations and names between people, Slurm and us.
 *
 * Names come from users and may hold any byte.  utf8() makes a name fit for JSON, printable()
 * for a terminal or a one-line message.  Parsers take the whole string or nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "../model.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foresight::io {

/// Valid UTF-8: bytes that are not become U+FFFD, one for each; the rest stays as it is.
[[nodiscard]] std::string utf8(std::string_view bytes);

/// One line for a person: control characters and bytes that are not UTF-8 are escaped (\n,
/// \x1b), and what is longer than `longest` bytes is cut with "...".
[[nodiscard]] std::string printable(std::string_view bytes, std::size_t longest = 80);

[[nodiscard]] std::string lower(std::string_view text);
[[nodiscard]] bool equal_nocase(std::string_view a, std::string_view b);
[[nodiscard]] std::string_view trim(std::string_view text);
/// Split at each `separator`, parts trimmed; empty parts are left out.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

/// A whole number in decimal, with a sign or without; nothing around it.
[[nodiscard]] std::optional<std::int64_t> parse_whole(std::string_view text);
/// A finite number in decimal; nothing around it.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// Slurm's time formats, to seconds: minutes, mm:ss, hh:mm:ss, d-hh, d-hh:mm, d-hh:mm:ss.
[[nodiscard]] std::optional<Seconds> parse_duration(std::string_view text);
/// The same in Slurm's way to print it: 1-02:03:04 or 02:03:04.
[[nodiscard]] std::string format_duration(Seconds seconds);

/// Slurm's memory sizes, to MiB: a whole number, MiB or with K, M, G or T.
[[nodiscard]] std::optional<std::int64_t> parse_memory(std::string_view text);

/// The candidate that `word` was most likely meant to be, or nothing.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

/// A number without trailing zeros, for people: 8, 0.5, 264.978.
[[nodiscard]] std::string format_number(double number, int digits = 6);

} // namespace foresight::io
