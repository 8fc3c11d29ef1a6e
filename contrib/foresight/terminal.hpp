/*
 * Terminal: where the output goes, and what may be done with it there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foresight::command {

struct Terminal {
    bool colour = false;
    int width = 100; ///< columns

    /// Of standard output: colour on a terminal unless NO_COLOR is set or TERM is dumb; the
    /// width of the terminal, or $COLUMNS.
    [[nodiscard]] static Terminal of_stdout();

    /// `text` in bold, or as it is.
    [[nodiscard]] std::string bold(std::string_view text) const;
    [[nodiscard]] std::string dim(std::string_view text) const;
    /// On a background of one of a dozen colours that tell neighbours apart.
    [[nodiscard]] std::string painted(std::string_view text, int colour_index) const;
};

/// Columns that UTF-8 text takes, each character one.
[[nodiscard]] int columns_of(std::string_view text);
/// At most so many columns, cut with "…".
[[nodiscard]] std::string clipped(std::string_view text, int columns);

/// Rows of cells under a header, columns as wide as needed, two spaces between; the last column
/// is cut at the terminal's edge.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows,
                                const Terminal& terminal);

/// Flushes standard output; throws io::InputError when what was printed could not be written.
void finish_output();

} // namespace foresight::command
