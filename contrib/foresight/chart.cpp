/*
 * Chart: see chart.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "chart.hpp"

#include "io/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foresight::command {

namespace {

constexpr int kRows = 14;
constexpr int kLabel = 9; ///< columns of the scale at the left
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A column of the picture; NaN where nothing is known.
struct Slice {
    double value = kUnknown;
    double low = kUnknown;
    double high = kUnknown;
    bool ahead = false; ///< a forecast
};

/// Mean of the known values of windows from … until-1.
double mean_of(const std::vector<double>& values, std::size_t from, std::size_t until) {
    double sum = 0;
    int known = 0;
    for (std::size_t i = from; i < std::min(until, values.size()); ++i) {
        if (std::isfinite(values[i])) {
            sum += values[i];
            ++known;
        }
    }
    return known > 0 ? sum / known : kUnknown;
}

std::vector<Slice> slices_of(const Series& series, std::size_t shown, const Band& band, int room) {
    const std::size_t total = shown + band.middle.size();
    const auto columns = static_cast<std::size_t>(std::max(room, 1));
    const std::size_t each = std::max<std::size_t>(1, (total + columns - 1) / columns);
    std::vector<Slice> slices;
    for (std::size_t from = 0; from < shown; from += each) {
        const std::size_t start = series.values.size() - shown;
        const std::size_t until = std::min(from + each, shown);
        slices.push_back({mean_of(series.values, start + from, start + until)});
    }
    for (std::size_t from = 0; from < band.middle.size(); from += each) {
        slices.push_back({mean_of(band.middle, from, from + each),
                          mean_of(band.low, from, from + each),
                          mean_of(band.high, from, from + each), true});
    }
    return slices;
}

std::string label(double level) {
    const std::string number = io::format_number(level, 4);
    const auto width = static_cast<std::size_t>(kLabel - 1);
    return number.size() >= width ? number.substr(0, width) + " "
                                  : std::string(width - number.size(), ' ') + number + " ";
}

/// What stands for a slice in the row of levels from … until.
std::string cell(const Slice& slice, double from, double until, const Terminal& terminal) {
    const auto inside = [&](double level) { return level >= from && level < until; };
    if (inside(slice.value)) {
        return slice.ahead ? terminal.bold("-") : "*";
    }
    const bool band = slice.ahead && slice.high >= from && slice.low < until;
    return band ? terminal.dim(":") : " ";
}

} // namespace

std::string draw_chart(const Series& series, std::size_t shown, const Band& band,
                       const Terminal& terminal) {
    shown = std::min(shown, series.values.size());
    const std::vector<Slice> slices = slices_of(series, shown, band, terminal.width - kLabel - 1);
    double top = 0;
    double bottom = 0;
    for (const Slice& slice : slices) {
        for (const double level : {slice.value, slice.low, slice.high}) {
            top = std::max(top, std::isnan(level) ? 0 : level);
            bottom = std::min(bottom, std::isnan(level) ? 0 : level);
        }
    }
    // The largest level lies inside the top row.
    const double high = top > bottom ? (top - bottom) / (kRows - 0.5) : 1;
    std::string text;
    for (int row = kRows - 1; row >= 0; --row) {
        const double from = bottom + row * high;
        std::string line =
            row % 4 == 0 || row == kRows - 1 ? label(from) : std::string(kLabel, ' ');
        line += "|";
        for (const Slice& slice : slices) {
            line += cell(slice, from, from + high, terminal);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    const auto past = std::count_if(slices.begin(), slices.end(),
                                    [](const Slice& slice) { return !slice.ahead; });
    std::string axis(static_cast<std::size_t>(kLabel), ' ');
    axis += "+" + std::string(static_cast<std::size_t>(past), '-') + "|" +
            std::string(slices.size() - static_cast<std::size_t>(past), '-');
    text += clipped(axis, terminal.width) + "\n";
    const std::string before =
        "-" + io::format_duration(static_cast<Seconds>(shown) * series.window);
    const std::string after =
        "+" + io::format_duration(static_cast<Seconds>(band.middle.size()) * series.window);
    std::string times(static_cast<std::size_t>(kLabel) + 1, ' ');
    times += before;
    const std::size_t end = kLabel + 1 + slices.size();
    if (times.size() + 1 + after.size() <= end) {
        times.append(end - after.size() - times.size(), ' ');
        times += after;
    }
    return text + clipped(times, terminal.width) + "\n";
}

} // namespace foresight::command
