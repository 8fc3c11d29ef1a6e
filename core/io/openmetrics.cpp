/*
 * OpenMetrics: see openmetrics.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "openmetrics.hpp"

#include "text.hpp"

namespace foresight::io {

namespace {

std::string label_value(const std::string& value) {
    std::string out;
    for (const char c : utf8(value)) {
        if (c == '\n') {
            out += "\\n";
        } else {
            if (c == '"' || c == '\\') {
                out += '\\';
            }
            out += c;
        }
    }
    return out;
}

} // namespace

void OpenMetrics::family(const std::string& name, const char* type, const char* unit,
                         const char* help) {
    text_ += "# TYPE " + name + " " + type + "\n";
    if (*unit != '\0') {
        text_ += "# UNIT " + name + " " + unit + "\n";
    }
    text_ += "# HELP " + name + " " + help + "\n";
}

void OpenMetrics::sample(const std::string& name, const Labels& labels, double value) {
    text_ += name;
    if (!labels.empty()) {
        text_ += "{";
        for (std::size_t i = 0; i < labels.size(); ++i) {
            text_ += (i == 0 ? "" : ",") + labels[i].first + "=\"" +
                     label_value(labels[i].second) + "\"";
        }
        text_ += "}";
    }
    text_ += " " + format_number(value, 15) + "\n";
}

void OpenMetrics::counter(const std::string& name, const char* help, std::uint64_t value) {
    family(name, "counter", "", help);
    text_ += name + "_total " + std::to_string(value) + "\n";
}

} // namespace foresight::io
