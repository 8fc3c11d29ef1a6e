/*
 * Slurm's configuration syntax: lines of Key=Value pairs.
 *
 * As slurmctld reads slurm.conf: '#' starts a comment unless a backslash stands before it; a
 * backslash at a line's end goes on with the next line; a backslash takes the next character as
 * it is; a value with spaces stands in double quotes.  What a line means is the reader's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foresight::io {

struct ConfPair {
    std::string key; ///< as written
    std::string value;
    char operation = 0; ///< '+' of "Nodes+=", or 0
};

struct ConfLine {
    int number = 0;              ///< of its first line in the file, from 1
    std::vector<ConfPair> pairs; ///< in order
    std::string rest;            ///< what follows the last pair and is none; empty when all is read
    std::string whole;           ///< the line without comment and escapes
};

/// Lines with something on them.
[[nodiscard]] std::vector<ConfLine> parse_conf_text(std::string_view text);

} // namespace foresight::io
