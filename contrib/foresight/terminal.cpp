/*
 * Terminal: see terminal.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "terminal.hpp"

#include "io/error.hpp"
#include "io/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

namespace foresight::command {

namespace {

constexpr int kNarrowest = 30;

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
}

int width_of_stdout() {
    if (const char* columns = std::getenv("COLUMNS")) {
        if (const auto width = io::parse_whole(columns); width && *width > 0 && *width < 10000) {
            return static_cast<int>(*width);
        }
    }
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return 100;
}

std::string wrapped(std::string_view text, bool colour, const std::string& code) {
    return colour ? "\x1b[" + code + "m" + std::string(text) + "\x1b[0m" : std::string(text);
}

} // namespace

Terminal Terminal::of_stdout() {
    Terminal terminal;
    const char* term = std::getenv("TERM");
    terminal.colour = ::isatty(STDOUT_FILENO) == 1 && !is_set("NO_COLOR") &&
                      (term == nullptr || std::string_view(term) != "dumb");
    terminal.width = std::max(width_of_stdout(), kNarrowest);
    return terminal;
}

std::string Terminal::bold(std::string_view text) const { return wrapped(text, colour, "1"); }
std::string Terminal::dim(std::string_view text) const { return wrapped(text, colour, "2"); }

std::string Terminal::painted(std::string_view text, int colour_index) const {
    // Of the 6x6x6 cube, light enough for black letters.
    constexpr std::array<int, 12> cube{114, 180, 75, 211, 150, 222, 117, 176, 79, 216, 147, 186};
    const int code = cube[static_cast<std::size_t>(colour_index) % cube.size()];
    return wrapped(text, colour, "30;48;5;" + std::to_string(code));
}

int columns_of(std::string_view text) {
    return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

std::string clipped(std::string_view text, int columns) {
    if (columns_of(text) <= columns) {
        return std::string(text);
    }
    std::string out;
    int used = 0;
    for (const char c : text) {
        const bool first = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
        if (first && ++used >= columns) {
            break;
        }
        out += c;
    }
    return out + "…";
}

std::string table(const std::vector<std::vector<std::string>>& rows, const Terminal& terminal) {
    std::vector<int> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], columns_of(row[i]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) {
                const int gap = widths[i] - columns_of(row[i]) + 2;
                line.append(static_cast<std::size_t>(gap), ' ');
            }
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += clipped(line, terminal.width) + "\n";
    }
    return text;
}

void finish_output() {
    std::cout.flush();
    if (!std::cout) {
        throw io::InputError("standard output: cannot write");
    }
}

} // namespace foresight::command
