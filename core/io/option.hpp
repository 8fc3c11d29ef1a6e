/*
 * Option: what one key of foresight.conf may hold.
 *
 * One table an object (settings.cpp) has every key with its type, range, default and help; the
 * parser, `foresight check --options` and the manual page's test read the same one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "../model.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace foresight::io {

enum class OptionKind {
    choice,       ///< one of `words`, case-insensitive, stored as its index
    whole,        ///< a whole number
    number,       ///< any finite number
    milliseconds, ///< a whole number
    duration,     ///< Slurm's time formats, stored in seconds
    memory,       ///< Slurm's sizes, stored in MiB
    path,         ///< a path
    url,          ///< http:// or https://, without user, parameters or fragment
    text,         ///< any text without control characters
    word,         ///< letters, digits, '_', '-', '.': it becomes part of file names and labels
    names,        ///< names separated by commas
};

struct Option {
    const char* key;
    OptionKind kind;
    const char* words; ///< choice: "shadow|active"; else ""
    double least;      ///< range of the stored number
    double most;
    const char* initial; ///< as it would be written; "" for none
    const char* help;
};

/// What a value became: choice and whole numbers, number, path and word, names.
using OptionValue =
    std::variant<std::int64_t, double, std::string, std::vector<std::string>>;

/// Throws InputError with what is wrong and what is allowed (no file, no key).
[[nodiscard]] OptionValue parse_option(const Option& option, std::string_view text);

/// The type and the range in words, for the listing: "duration, 00:01:00 to 30-00:00:00".
[[nodiscard]] std::string describe_type(const Option& option);

} // namespace foresight::io
