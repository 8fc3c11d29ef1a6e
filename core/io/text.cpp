/*
 * Text: see text.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace foresight::io {

namespace {

unsigned char byte_of(char c) { return static_cast<unsigned char>(c); }

// Without the locale: keys and numbers are ASCII.
char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool continues(std::string_view bytes, std::size_t at, std::size_t count) {
    if (at + count > bytes.size()) {
        return false;
    }
    for (std::size_t i = 1; i < count; ++i) {
        if ((byte_of(bytes[at + i]) & 0xC0U) != 0x80U) {
            return false;
        }
    }
    return true;
}

/// Length of the well-formed UTF-8 character at `at` (no overlong forms, no surrogates), or 0.
std::size_t character_at(std::string_view bytes, std::size_t at) {
    const unsigned lead = byte_of(bytes[at]);
    if (lead < 0x80) {
        return 1;
    }
    const unsigned next = at + 1 < bytes.size() ? byte_of(bytes[at + 1]) : 0;
    if (lead >= 0xC2 && lead <= 0xDF) {
        return continues(bytes, at, 2) ? 2 : 0;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        const bool bad = (lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F);
        return !bad && continues(bytes, at, 3) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const bool bad = (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F);
        return !bad && continues(bytes, at, 4) ? 4 : 0;
    }
    return 0;
}

std::string escaped(unsigned char byte) {
    switch (byte) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    return {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

/// Reads digits from the front of `text`; nothing when there is none or they overflow.
std::optional<std::int64_t> take_digits(std::string_view& text) {
    if (text.empty() || !is_digit(text.front())) {
        return std::nullopt;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

} // namespace

std::string utf8(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = character_at(bytes, at);
        if (length == 0) {
            out += "\xEF\xBF\xBD";
            ++at;
        } else {
            out += bytes.substr(at, length);
            at += length;
        }
    }
    return out;
}

std::string printable(std::string_view bytes, std::size_t longest) {
    std::string out;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = character_at(bytes, at);
        const unsigned char byte = byte_of(bytes[at]);
        // C1 controls (U+0080 to U+009F) move terminals too.
        const bool control = byte < 0x20 || byte == 0x7F ||
                             (length == 2 && byte == 0xC2 && byte_of(bytes[at + 1]) < 0xA0);
        std::string piece;
        if (length == 0 || control) {
            piece = escaped(byte);
            for (std::size_t i = 1; i < length; ++i) {
                piece += escaped(byte_of(bytes[at + i]));
            }
        } else {
            piece = bytes.substr(at, length);
        }
        if (out.size() + piece.size() > longest) {
            return out + "...";
        }
        out += piece;
        at += std::max<std::size_t>(length, 1);
    }
    return out;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lower_char);
    return out;
}

bool equal_nocase(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower_char(x) == lower_char(y); });
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && is_space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t end = std::min(text.find(separator), text.size());
        const std::string_view part = trim(text.substr(0, end));
        if (!part.empty()) {
            parts.emplace_back(part);
        }
        if (end == text.size()) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
    std::int64_t number = 0;
    if (text.size() > 1 && text.front() == '+' && text[1] != '-') {
        text.remove_prefix(1);
    }
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc{} || stop != end) {
        return std::nullopt;
    }
    return number;
}

std::optional<double> parse_number(std::string_view text) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc{} || stop != end || !std::isfinite(number)) {
        return std::nullopt;
    }
    return number;
}

std::optional<Seconds> parse_duration(std::string_view text) {
    std::array<std::int64_t, 4> fields{}; // days or the first field, then the next ones
    std::size_t count = 0;
    bool days = false;
    while (true) {
        const auto digits = take_digits(text);
        if (!digits || *digits > kLongest || count == fields.size()) {
            return std::nullopt;
        }
        fields[count++] = *digits;
        if (text.empty()) {
            break;
        }
        const char mark = text.front();
        text.remove_prefix(1);
        if (mark == '-' && count == 1) {
            days = true;
        } else if (mark != ':') {
            return std::nullopt;
        }
    }
    Seconds total = 0;
    if (days) {
        if (count < 2) {
            return std::nullopt;
        }
        total = fields[0] * 86400 + fields[1] * 3600 + fields[2] * 60 + fields[3];
    } else if (count == 4) {
        return std::nullopt;
    } else if (count == 3) {
        total = fields[0] * 3600 + fields[1] * 60 + fields[2];
    } else {
        total = fields[0] * 60 + fields[1];
    }
    return total <= kLongest ? std::optional(total) : std::nullopt;
}

std::string format_duration(Seconds seconds) {
    const auto two = [](Seconds n) { return (n < 10 ? "0" : "") + std::to_string(n); };
    const std::string sign = seconds < 0 ? "-" : "";
    const Seconds s = seconds < 0 ? -seconds : seconds;
    const std::string days = s >= 86400 ? std::to_string(s / 86400) + "-" : "";
    return sign + days + two(s / 3600 % 24) + ":" + two(s / 60 % 60) + ":" + two(s % 60);
}

std::optional<std::int64_t> parse_memory(std::string_view text) {
    constexpr std::int64_t most = std::int64_t{1} << 40U; // MiB: an exbibyte
    const auto digits = take_digits(text);
    if (!digits || *digits > most) {
        return std::nullopt;
    }
    if (text.size() == 2 && lower_char(text[1]) == 'b') {
        text.remove_suffix(1);
    }
    if (text.empty()) {
        return digits;
    }
    if (text.size() != 1) {
        return std::nullopt;
    }
    std::int64_t mib = *digits;
    switch (lower_char(text.front())) {
    case 'k': return (mib + 1023) / 1024;
    case 'm': return mib;
    case 'g': mib *= 1024; break;
    case 't': mib *= 1024 * std::int64_t{1024}; break;
    default: return std::nullopt;
    }
    return mib <= most ? std::optional(mib) : std::nullopt;
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
    const std::string wanted = lower(word.substr(0, 64));
    std::optional<std::string> best;
    std::size_t least = std::max<std::size_t>(2, wanted.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(wanted, lower(candidate));
        if (distance < least) {
            least = distance;
            best = candidate;
        }
    }
    return best;
}

std::string format_number(double number, int digits) {
    std::array<char, 64> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                      std::chars_format::general, digits);
    return {buffer.data(), result.ptr};
}

} // namespace foresight::io
