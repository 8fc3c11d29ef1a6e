/*
 * Option: see option.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "option.hpp"

#include "error.hpp"
#include "text.hpp"

#include <algorithm>

namespace foresight::io {

namespace {

constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestWord = 64;

std::string kind_name(const Option& option) {
    switch (option.kind) {
    case OptionKind::choice: {
        std::string words = option.words;
        std::replace(words.begin(), words.end(), '|', ' ');
        const std::vector<std::string> all = split(words, ' ');
        std::string text = "one of";
        for (std::size_t i = 0; i < all.size(); ++i) {
            text += (i == 0 ? " " : i + 1 == all.size() ? " or " : ", ") + all[i];
        }
        return text;
    }
    case OptionKind::whole: return "a whole number";
    case OptionKind::number: return "a number";
    case OptionKind::milliseconds: return "milliseconds, a whole number";
    case OptionKind::duration: return "a time (minutes, mm:ss, hh:mm:ss, d-hh[:mm[:ss]])";
    case OptionKind::memory: return "a size (MiB, or with K, M, G or T)";
    case OptionKind::path: return "a path";
    case OptionKind::url: return "an http:// or https:// URL without user, ? and #";
    case OptionKind::text: return "a text";
    case OptionKind::word: return "a name of letters, digits, '_', '-' and '.'";
    case OptionKind::names: return "names separated by commas";
    }
    return "";
}

std::string shown(const Option& option, double stored) {
    switch (option.kind) {
    case OptionKind::duration: return format_duration(static_cast<Seconds>(stored));
    case OptionKind::memory: return format_number(stored, 15) + "M";
    default: return format_number(stored, 15);
    }
}

bool has_range(const Option& option) {
    switch (option.kind) {
    case OptionKind::whole:
    case OptionKind::number:
    case OptionKind::milliseconds:
    case OptionKind::duration:
    case OptionKind::memory: return true;
    default: return false;
    }
}

[[noreturn]] void refuse(const Option& option, std::string_view text) {
    throw InputError("must be " + describe_type(option) + "; is \"" + printable(text) + "\"");
}

std::int64_t parse_choice(const Option& option, std::string_view text) {
    const std::vector<std::string> words = split(option.words, '|');
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (equal_nocase(words[i], text)) {
            return static_cast<std::int64_t>(i);
        }
    }
    refuse(option, text);
}

std::string parse_word(const Option& option, std::string_view text) {
    const bool fine = std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
    });
    if (text.empty() || text.size() > kLongestWord || !fine || text.front() == '.') {
        refuse(option, text);
    }
    return std::string(text);
}

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

/// What may pass a secret on (a user's password, a key among the parameters) is refused: a URL
/// stands in log lines.
std::string parse_url(const Option& option, std::string_view text) {
    const std::size_t colon = std::min(text.find("://"), text.size());
    const std::string scheme = lower(text.substr(0, colon));
    const std::string_view rest = text.substr(std::min(colon + 3, text.size()));
    const bool fine = (scheme == "http" || scheme == "https") && !rest.empty() &&
                      rest.front() != '/' && rest.front() != ':' && !has_control(text) &&
                      rest.find_first_of(" ?#@\\\"<>") == std::string_view::npos;
    if (!fine) {
        refuse(option, text);
    }
    return scheme + "://" + std::string(rest);
}

std::string parse_text(const Option& option, std::string_view text) {
    if (trim(text).empty() || has_control(text)) {
        refuse(option, text);
    }
    return std::string(text);
}

std::optional<std::int64_t> parse_stored(const Option& option, std::string_view text) {
    switch (option.kind) {
    case OptionKind::duration: return parse_duration(text);
    case OptionKind::memory: return parse_memory(text);
    default: return parse_whole(text);
    }
}

} // namespace

std::string describe_type(const Option& option) {
    std::string text = kind_name(option);
    if (has_range(option)) {
        text += ", " + shown(option, option.least) + " to " + shown(option, option.most);
    }
    return text;
}

OptionValue parse_option(const Option& option, std::string_view text) {
    if (text.size() > kLongestText) {
        throw InputError("is longer than " + std::to_string(kLongestText) + " bytes");
    }
    switch (option.kind) {
    case OptionKind::choice: return parse_choice(option, text);
    case OptionKind::path: return std::string(text);
    case OptionKind::url: return parse_url(option, text);
    case OptionKind::text: return parse_text(option, text);
    case OptionKind::word: return parse_word(option, text);
    case OptionKind::names: {
        std::vector<std::string> names = split(text, ',');
        if (names.empty()) {
            refuse(option, text);
        }
        return names;
    }
    case OptionKind::number: {
        const auto number = parse_number(text);
        if (!number || *number < option.least || *number > option.most) {
            refuse(option, text);
        }
        return *number;
    }
    default: {
        const auto number = parse_stored(option, text);
        if (!number || static_cast<double>(*number) < option.least ||
            static_cast<double>(*number) > option.most) {
            refuse(option, text);
        }
        return *number;
    }
    }
}

} // namespace foresight::io
