/*
 * OpenMetrics: the text exposition format of metrics.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace foresight::io {

class OpenMetrics {
public:
    using Labels = std::vector<std::pair<std::string, std::string>>;

    /// Begins a family: its samples follow.  A unit, when given, must end the name.
    void family(const std::string& name, const char* type, const char* unit, const char* help);
    void sample(const std::string& name, const Labels& labels, double value);
    /// A family of one counter; "_total" is added to its sample.
    void counter(const std::string& name, const char* help, std::uint64_t value);

    /// The whole text with its end mark.
    [[nodiscard]] std::string finish() const { return text_ + "# EOF\n"; }

private:
    std::string text_;
};

} // namespace foresight::io
