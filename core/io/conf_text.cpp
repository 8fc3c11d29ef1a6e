/*
 * Slurm's configuration syntax: see conf_text.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "conf_text.hpp"

#include "text.hpp"

#include <algorithm>
#include <optional>

namespace foresight::io {

namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

bool is_key_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.';
}

/// Cuts the comment off: from the first '#' with an even number of backslashes before it.
std::string_view without_comment(std::string_view line) {
    bool escaped = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '#' && !escaped) {
            return line.substr(0, i);
        }
        escaped = line[i] == '\\' && !escaped;
    }
    return line;
}

/// An odd number of backslashes at the end: the next line belongs to this one.
bool continues(std::string_view& line) {
    const std::string_view trimmed = line.substr(0, line.find_last_not_of(kSpace) + 1);
    const std::size_t before = trimmed.find_last_not_of('\\');
    const std::size_t count = trimmed.size() - (before == std::string_view::npos ? 0 : before + 1);
    if (count % 2 == 0) {
        return false;
    }
    line = trimmed.substr(0, trimmed.size() - 1);
    return true;
}

std::string unescape(std::string_view line) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\' && i + 1 < line.size()) {
            ++i;
        }
        out += line[i];
    }
    return out;
}

void skip_space(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
}

/// Takes one pair from the front of `text`, or nothing and leaves it as it is.
std::optional<ConfPair> take_pair(std::string_view& text) {
    std::string_view left = text;
    ConfPair pair;
    std::size_t length = 0;
    while (length < left.size() && is_key_char(left[length])) {
        ++length;
    }
    pair.key = left.substr(0, length);
    left.remove_prefix(length);
    skip_space(left);
    if (left.size() > 1 && left[1] == '=' && kSpace.find(left[0]) == std::string_view::npos) {
        pair.operation = left.front();
        left.remove_prefix(1);
    }
    if (length == 0 || left.empty() || left.front() != '=' ||
        std::string_view("\0+-*/", 5).find(pair.operation) == std::string_view::npos) {
        return std::nullopt;
    }
    left.remove_prefix(1);
    skip_space(left);
    const std::size_t close = left.substr(0, 1) == "\"" ? left.find('"', 1) : left.npos;
    if (close != std::string_view::npos &&
        (close + 1 == left.size() || kSpace.find(left[close + 1]) != std::string_view::npos)) {
        pair.value = left.substr(1, close - 1);
        left.remove_prefix(close + 1);
    } else {
        const std::size_t end = std::min(left.find_first_of(kSpace), left.size());
        if (end == 0) {
            return std::nullopt;
        }
        pair.value = left.substr(0, end);
        left.remove_prefix(end);
    }
    text = left;
    return pair;
}

} // namespace

std::vector<ConfLine> parse_conf_text(std::string_view text) {
    std::vector<ConfLine> lines;
    int number = 0;
    while (!text.empty()) {
        ConfLine line;
        std::string joined;
        line.number = number + 1;
        bool more = true;
        while (more && !text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            std::string_view piece = without_comment(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
            ++number;
            more = continues(piece);
            joined += piece;
        }
        line.whole = trim(unescape(joined));
        std::string_view left = line.whole;
        while (auto pair = take_pair(left)) {
            line.pairs.push_back(std::move(*pair));
            skip_space(left);
        }
        line.rest = left;
        if (!line.whole.empty()) {
            lines.push_back(std::move(line));
        }
    }
    return lines;
}

} // namespace foresight::io
