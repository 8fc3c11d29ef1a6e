/*
 * foresight forecast: how good would forecasts have been on a series, and what comes next?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "forecast.hpp"
#include "backtest.hpp"
#include "chart.hpp"
#include "io/error.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "io/series_file.hpp"
#include "io/text.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

namespace foresight::command {

namespace {

constexpr Seconds kDay = 86400;
constexpr Seconds kWeek = 7 * kDay;

struct ForecastArguments {
    std::string file;
    std::string column;
    std::string methods = "foresight,last,day,week";
    std::optional<Seconds> train;
    Seconds horizon = kDay;
    std::optional<double> quantile;
    bool json = false;
};

struct Tested {
    std::string name;
    Backtest scores;
};

Method method_of(const std::string& name) {
    if (name == "foresight") {
        return Method::foresight;
    }
    if (name == "last") {
        return Method::last;
    }
    if (name == "day") {
        return Method::day;
    }
    if (name == "week") {
        return Method::week;
    }
    throw io::InputError("--method: must be of foresight, last, day, week; is \"" +
                         io::printable(name) + "\"");
}

BacktestOptions options_of(const ForecastArguments& arguments, const Series& series) {
    BacktestOptions options;
    // Half of what is shorter than two weeks and a half is left to test.
    const Seconds length = static_cast<Seconds>(series.values.size()) * series.window;
    options.train = arguments.train.value_or(std::min(kWeek, length / 2));
    std::erase_if(options.leads, [&](Seconds lead) {
        return lead > arguments.horizon || lead % series.window != 0;
    });
    if (options.leads.empty()) {
        throw io::InputError("--horizon-s: no lead is tested up to " +
                             std::to_string(arguments.horizon) + " s in windows of " +
                             std::to_string(series.window) + " s; give at least 3600");
    }
    if (arguments.quantile) {
        options.quantiles.push_back(*arguments.quantile);
        std::sort(options.quantiles.begin(), options.quantiles.end());
        options.quantiles.erase(std::unique(options.quantiles.begin(), options.quantiles.end()),
                                options.quantiles.end());
    }
    return options;
}

/// The names of --method, each once.
std::vector<std::string> names_of(const std::string& methods) {
    std::vector<std::string> names = io::split(methods, ',');
    if (names.empty()) {
        (void)method_of(methods);
    }
    for (const std::string& name : names) {
        (void)method_of(name);
        if (std::count(names.begin(), names.end(), name) > 1) {
            throw io::InputError("--method: \"" + name + "\" twice");
        }
    }
    return names;
}

std::vector<Tested> test_all(const ForecastArguments& arguments, const Series& series,
                             const BacktestOptions& options, Forecaster& forecaster) {
    std::vector<Tested> tested;
    for (const std::string& name : names_of(arguments.methods)) {
        tested.push_back({name, backtest(series, method_of(name), options, &forecaster)});
        if (tested.back().scores.leads.empty()) {
            throw io::InputError(
                io::shown_name(arguments.file) + ": " + std::to_string(options.train) +
                " s learnt of " +
                std::to_string(static_cast<Seconds>(series.values.size()) * series.window) +
                " s leave no known window to test; give a smaller --train-s");
        }
    }
    return tested;
}

/// From the end of the series; learns it first where no test of the forecaster has.
Band band_of(const Series& series, Forecaster& forecaster, Seconds horizon, double quantile) {
    if (forecaster.observed() == 0) {
        forecaster.learn(series);
    }
    const int windows = static_cast<int>(std::max<Seconds>(1, horizon / forecaster.window()));
    const double high = std::max(quantile, 1 - quantile);
    auto curves = forecaster.quantiles({1 - high, 0.5, high}, windows);
    return {std::move(curves[0]), std::move(curves[1]), std::move(curves[2])};
}

// -- as JSON

io::Json by_quantile(const std::vector<double>& quantiles, const std::vector<double>& values) {
    io::Json map = io::json_map();
    for (std::size_t i = 0; i < quantiles.size(); ++i) {
        io::put(map, io::format_number(quantiles[i], 12).c_str(), io::json_number(values[i]));
    }
    return map;
}

io::Json json_of(const Backtest& scores, const std::vector<double>& quantiles) {
    io::Json leads = io::json_list();
    for (const LeadScore& score : scores.leads) {
        io::Json lead = io::json_map();
        io::put(lead, "lead_s", io::json_whole(score.lead));
        io::put(lead, "targets", io::json_whole(static_cast<std::int64_t>(score.targets)));
        io::put(lead, "pinball", by_quantile(quantiles, score.pinball));
        io::put(lead, "coverage", by_quantile(quantiles, score.coverage));
        io::append(leads, std::move(lead));
    }
    io::Json method = io::json_map();
    io::put(method, "pinball", by_quantile(quantiles, scores.pinball));
    io::put(method, "coverage", by_quantile(quantiles, scores.coverage));
    io::put(method, "by_lead", std::move(leads));
    return method;
}

io::Json json_of(const std::vector<double>& curve) {
    io::Json list = io::json_list();
    for (const double value : curve) {
        io::append(list, io::json_number(value));
    }
    return list;
}

void print_json(const ForecastArguments& arguments, const io::SeriesFile& file,
                const BacktestOptions& options, const std::vector<Tested>& tested,
                const Band& band) {
    const Series& series = file.series;
    io::Json methods = io::json_map();
    for (const Tested& each : tested) {
        io::put(methods, each.name.c_str(), json_of(each.scores, options.quantiles));
    }
    io::Json ahead = io::json_map();
    io::put(
        ahead, "start_s",
        io::json_whole(series.origin + static_cast<Seconds>(series.values.size()) * series.window));
    io::put(ahead, "low", json_of(band.low));
    io::put(ahead, "median", json_of(band.middle));
    io::put(ahead, "high", json_of(band.high));
    io::Json all = io::json_map();
    io::put(all, "file", io::json_text(arguments.file));
    io::put(all, "column", io::json_text(file.column));
    io::put(all, "window_s", io::json_whole(series.window));
    io::put(all, "train_s", io::json_whole(options.train));
    io::put(all, "methods", std::move(methods));
    io::put(all, "forecast", std::move(ahead));
    std::cout << io::to_text(all) << "\n";
}

// -- for people

std::string percent(double share) {
    return io::format_number(100 * share, 3) + " %";
}

std::string lead_text(Seconds lead) {
    return lead % 3600 == 0 ? std::to_string(lead / 3600) + " h"
                            : std::to_string(lead / 60) + " min";
}

std::string scores_table(const std::vector<Tested>& tested, const std::vector<double>& quantiles,
                         const Terminal& terminal) {
    std::vector<std::vector<std::string>> rows{{"QUANTILE", "METHOD", "LOSS", "COVERED"}};
    for (const LeadScore& score : tested.front().scores.leads) {
        rows.front().push_back(lead_text(score.lead));
    }
    for (std::size_t q = 0; q < quantiles.size(); ++q) {
        for (const Tested& each : tested) {
            rows.push_back({io::format_number(quantiles[q]), each.name,
                            io::format_number(each.scores.pinball[q], 4),
                            percent(each.scores.coverage[q])});
            for (const LeadScore& score : each.scores.leads) {
                rows.back().push_back(io::format_number(score.pinball[q], 4));
            }
        }
    }
    return table(rows, terminal);
}

/// How the first method stands to the best of the others, in words.
std::string comparison(const std::vector<Tested>& tested, const std::vector<double>& quantiles) {
    std::string text;
    for (std::size_t q = 0; q < quantiles.size() && tested.size() > 1; ++q) {
        const auto best = std::min_element(tested.begin() + 1, tested.end(),
                                           [&](const Tested& a, const Tested& b) {
                                               return a.scores.pinball[q] < b.scores.pinball[q];
                                           });
        const double theirs = best->scores.pinball[q];
        const double ours = tested.front().scores.pinball[q];
        const std::string by =
            theirs > 0 ? percent(std::fabs(1 - ours / theirs)) : io::format_number(ours, 4);
        text += (text.empty() ? tested.front().name + ": " : "; ") + by +
                (ours <= theirs ? " below " : " above ") + best->name + " at " +
                io::format_number(quantiles[q]);
    }
    return text.empty() ? text : text + "\n";
}

void print_for_people(const ForecastArguments& arguments, const io::SeriesFile& file,
                      const BacktestOptions& options, const std::vector<Tested>& tested,
                      const Band& band) {
    const Terminal terminal = Terminal::of_stdout();
    const Series& series = file.series;
    const auto unknown = std::count_if(series.values.begin(), series.values.end(),
                                       [](double value) { return std::isnan(value); });
    std::cout << terminal.bold(io::shown_name(arguments.file)) << ": "
              << io::printable(file.column, 30) << ", " << series.values.size() << " windows of "
              << io::format_duration(series.window)
              << (unknown > 0 ? ", " + std::to_string(unknown) + " not known" : "") << "\n"
              << "Mean pinball loss after " << io::format_duration(options.train)
              << " learnt, and the share of values covered\n\n"
              << scores_table(tested, options.quantiles, terminal) << "\n"
              << comparison(tested, options.quantiles) << "\n";
    const std::size_t shown =
        std::max<std::size_t>(1, static_cast<std::size_t>(kDay / series.window));
    const double quantile = arguments.quantile.value_or(0.9);
    const double high = std::max(quantile, 1 - quantile);
    constexpr int wide = 50;
    const char* gap = terminal.width < wide ? "\n" : "   ";
    std::cout << draw_chart(series, shown, band, terminal) << "* measured" << gap << "- median"
              << gap << ": from " << io::format_number(1 - high, 4) << " to "
              << io::format_number(high, 4) << "\n";
}

int run_forecast(const ForecastArguments& arguments) {
    (void)names_of(arguments.methods);
    const io::SeriesFile file = io::read_series(arguments.file, arguments.column);
    const BacktestOptions options = options_of(arguments, file.series);
    Forecaster forecaster(file.series.window);
    const std::vector<Tested> tested = test_all(arguments, file.series, options, forecaster);
    const Band band =
        band_of(file.series, forecaster, arguments.horizon, arguments.quantile.value_or(0.9));
    if (arguments.json) {
        print_json(arguments, file, options, tested, band);
    } else {
        print_for_people(arguments, file, options, tested, band);
    }
    return kDone;
}

} // namespace

void add_forecast(CLI::App& app, int& status) {
    auto arguments = std::make_shared<ForecastArguments>();
    CLI::App* verb =
        app.add_subcommand("forecast", "Test forecasts on a series of demand, and draw the next");
    verb->add_option("FILE", arguments->file,
                     "CSV or JSON of times and values, - for standard input")
        ->required()
        ->option_text(" ");
    verb->add_option("--column", arguments->column, "The values' column, where there are several")
        ->option_text("NAME");
    verb->add_option("--method", arguments->methods,
                     "Of foresight, last (value), day (the same time yesterday), week (a week "
                     "ago); the first is compared with the others (default all)")
        ->option_text("NAME[,NAME...]");
    verb->add_option("--train-s", arguments->train,
                     "Seconds of the series learnt before the first forecast is scored (7 days, "
                     "or half of a shorter series)")
        ->check(CLI::Range(Seconds{0}, Seconds{1'000'000'000}))
        ->option_text("N");
    verb->add_option("--horizon-s", arguments->horizon,
                     "Test leads up to this, and draw so far ahead (86400)")
        ->check(CLI::Range(Seconds{60}, 4 * kWeek))
        ->option_text("N");
    verb->add_option("--quantile", arguments->quantile,
                     "Tested beside 0.5, 0.9 and 0.99; the band's upper edge (0.9)")
        ->check(CLI::Range(0.001, 0.999))
        ->option_text("Q");
    verb->add_flag("--json", arguments->json, "Print one JSON object, nothing else");
    verb->footer("At every window after the training, each method forecasts from what came "
                 "before; last, day and week carry the quantiles of their own past errors.");
    verb->callback([arguments, &status] { status = run_forecast(*arguments); });
}

} // namespace foresight::command
