/*
 * PrometheusSource: see prometheus.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "prometheus.hpp"

#include "error.hpp"
#include "file.hpp"
#include "json.hpp"
#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace foresight::io {

namespace {

/// Points in one answer; Prometheus gives 11,000 at the most.
constexpr std::int64_t kPiece = 10'000;
/// A window's value is asked for so long after its end: the last sample must have been scraped.
constexpr std::int64_t kSettle = 20;
/// Whatever is counted, there is less of it.
constexpr double kMostLevel = 1e15;

[[noreturn]] void refuse(const std::string& what) {
    throw InputError(what);
}

const char* text_of(const json_t* map, const char* key) {
    const char* text = json_string_value(json_object_get(map, key));
    return text == nullptr ? "" : text;
}

/// The "data" of a good answer.
const json_t* data_of(const Json& answer) {
    const std::string status = text_of(answer.get(), "status");
    if (status == "error") {
        refuse("the query is refused: " + printable(text_of(answer.get(), "error"), 200));
    }
    const json_t* data = json_object_get(answer.get(), "data");
    if (status != "success" || !json_is_object(data)) {
        refuse("the answer is not Prometheus's: it has no status and data");
    }
    return data;
}

Json parse_answer(const std::string& body) {
    json_error_t error;
    Json answer(json_loadb(body.data(), body.size(), JSON_REJECT_DUPLICATES, &error));
    if (!answer) {
        refuse("the answer is not JSON or not whole: \"" + printable(body, 40) + "\"");
    }
    return answer;
}

/// Another status than 200.  Prometheus says what is wrong with a query; others say anything.
[[noreturn]] void refuse_status(const FetchAnswer& answer) {
    const Json body(json_loadb(answer.body.data(), answer.body.size(), 0, nullptr));
    const std::string said = text_of(body.get(), "error");
    refuse("HTTP " + std::to_string(answer.status) + ": \"" +
           printable(said.empty() ? answer.body : said, 120) + "\"");
}

/// The only series of a result; null when there is none.
const json_t* only_series(const json_t* result) {
    if (!json_is_array(result)) {
        refuse("the answer is not Prometheus's: it has no result");
    }
    const std::size_t count = json_array_size(result);
    if (count > 1) {
        refuse("the query gives " + std::to_string(count) +
               " series; make it one, with sum(...) around it");
    }
    return json_array_get(result, 0);
}

/// A pair of a time and a value in text, as Prometheus writes them.
struct Sample {
    double time = 0;
    std::string value;
};

Sample sample_of(const json_t* pair) {
    const json_t* time = json_array_get(pair, 0);
    const json_t* value = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_number(time) || !json_is_string(value)) {
        refuse("the answer is not Prometheus's: a value is not [time, \"number\"]");
    }
    return {json_number_value(time), json_string_value(value)};
}

std::optional<double> level_of(const std::string& text) {
    const auto number = parse_number(text);
    return number && *number >= 0 && *number <= kMostLevel ? number : std::nullopt;
}

} // namespace

double parse_level(const std::string& body) {
    const Json answer = parse_answer(body);
    const json_t* data = data_of(answer);
    const json_t* result = json_object_get(data, "result");
    const std::string type = text_of(data, "resultType");
    if (type != "vector" && type != "scalar") {
        refuse("the query gives a " + printable(type.empty() ? "result of no type" : type) +
               "; it must give numbers");
    }
    const json_t* pair = result;
    if (type == "vector") {
        const json_t* series = only_series(result);
        if (series == nullptr) {
            refuse("the query gives no series (\"result\": [])");
        }
        pair = json_object_get(series, "value");
    }
    const Sample sample = sample_of(pair);
    const auto level = level_of(sample.value);
    if (!level) {
        refuse("the value is " + printable(sample.value, 40) +
               "; it must be a number that is finite and not negative");
    }
    return *level;
}

std::vector<double> parse_past(const std::string& body, std::int64_t first, std::int64_t step,
                               std::size_t count) {
    std::vector<double> values(count, std::numeric_limits<double>::quiet_NaN());
    const Json answer = parse_answer(body);
    const json_t* data = data_of(answer);
    if (std::string(text_of(data, "resultType")) != "matrix") {
        refuse("the answer is not Prometheus's: the past is no matrix");
    }
    const json_t* series = only_series(json_object_get(data, "result"));
    if (series == nullptr) {
        return values; // nothing was measured then
    }
    const json_t* pairs = json_object_get(series, "values");
    if (!json_is_array(pairs)) {
        refuse("the answer is not Prometheus's: a series has no values");
    }
    for (std::size_t i = 0; i < json_array_size(pairs); ++i) {
        const Sample sample = sample_of(json_array_get(pairs, i));
        const double at = (sample.time - static_cast<double>(first)) / static_cast<double>(step);
        const double index = std::round(at);
        if (!(std::fabs(at - index) < 0.001) || index < 0 || index >= static_cast<double>(count)) {
            refuse("the answer has times that were not asked for");
        }
        if (const auto level = level_of(sample.value)) {
            values[static_cast<std::size_t>(index)] = *level;
        }
    }
    return values;
}

PrometheusSource::PrometheusSource(const RealtimeSettings& app, const std::string& directory,
                                   std::int64_t now)
    : name_(app.name), url_(app.url), shown_url_(printable(app.url, 200)), query_(app.query),
      ca_file_(path_in(directory, app.ca_file)), token_file_(path_in(directory, app.token_file)),
      timeout_(app.timeout), interval_(app.fetch_interval), stale_after_(app.stale_after),
      step_(app.query_step), past_(app.past), made_(now) {
    series_.window = step_;
}

FetchRequest PrometheusSource::request(const std::string& what) const {
    FetchRequest made;
    made.url =
        url_ + (url_.back() == '/' ? "" : "/") + "api/v1/" + what + "&query=" + url_encoded(query_);
    made.ca_file = ca_file_;
    made.token_file = token_file_;
    made.timeout = timeout_;
    return made;
}

/// Is a piece of the past due?  Sets its end.
bool PrometheusSource::ask_past(std::int64_t now) {
    const std::int64_t whole = (now - kSettle) / step_ * step_;
    if (series_.values.empty()) {
        series_.origin = std::max<std::int64_t>(0, whole - past_ / step_ * step_);
    }
    const std::int64_t from =
        series_.origin + static_cast<std::int64_t>(series_.values.size()) * step_;
    piece_end_ = std::min(whole, from + kPiece * step_);
    if (piece_end_ <= from || (now < past_due_ && past_due_ <= now + interval_)) {
        return false;
    }
    past_due_ = now + interval_;
    return true;
}

std::optional<FetchRequest> PrometheusSource::next(std::int64_t now) {
    // Due times that a clock set back has left far ahead are void.  In turns where both are due: a
    // slow server gets the one as well as the other.
    const bool level_due = now >= level_due_ || level_due_ > now + interval_;
    if (level_due && !(last_ == Asked::level && ask_past(now))) {
        level_due_ = now + interval_;
        asked_ = last_ = Asked::level;
        return request("query?timeout=" + std::to_string(timeout_) + "s");
    }
    if (level_due || ask_past(now)) {
        asked_ = last_ = Asked::past;
        const std::int64_t first =
            series_.origin + (static_cast<std::int64_t>(series_.values.size()) + 1) * step_;
        return request("query_range?timeout=" + std::to_string(timeout_) +
                       "s&start=" + std::to_string(first) + "&end=" + std::to_string(piece_end_) +
                       "&step=" + std::to_string(step_));
    }
    return std::nullopt;
}

void PrometheusSource::add_past(const std::vector<double>& values) {
    series_.values.insert(series_.values.end(), values.begin(), values.end());
    const auto most = static_cast<std::size_t>(past_ / step_);
    if (series_.values.size() > most + most / 8 + 1) {
        const std::size_t old = series_.values.size() - most;
        series_.values.erase(series_.values.begin(),
                             series_.values.begin() + static_cast<std::ptrdiff_t>(old));
        series_.origin += static_cast<std::int64_t>(old) * step_;
    }
    past_due_ = 0; // the next piece at once
}

void PrometheusSource::answered(const FetchAnswer& answer, std::int64_t now) {
    const Asked asked = std::exchange(asked_, Asked::nothing);
    std::string error = answer.problem;
    double level = std::numeric_limits<double>::quiet_NaN();
    std::shared_ptr<const Series> history;
    try {
        if (error.empty() && answer.status != 200) {
            refuse_status(answer);
        }
        if (error.empty() && asked == Asked::level) {
            level = parse_level(answer.body);
        } else if (error.empty() && asked == Asked::past) {
            const std::int64_t from =
                series_.origin + static_cast<std::int64_t>(series_.values.size()) * step_;
            add_past(parse_past(answer.body, from + step_, step_,
                                static_cast<std::size_t>((piece_end_ - from) / step_)));
            // A past with its end missing would be taken for a service that is gone.
            if (piece_end_ + step_ > now - kSettle) {
                history = std::make_shared<const Series>(series_);
            }
        }
    } catch (const std::exception& problem) {
        error = problem.what();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counters_.fetches;
    counters_.failures += error.empty() ? 0U : 1U;
    news_ = news_ || history || (error.empty() && asked == Asked::level && level != level_);
    if (history) {
        history_ = std::move(history);
    }
    if (error.empty() && asked == Asked::level) {
        level_ = level;
        counters_.last_good = now;
    }
    (asked == Asked::past ? past_error_ : level_error_) = error;
}

/// The caller holds the mutex.
Reading::State PrometheusSource::state(std::int64_t now) const {
    if (now - std::max(counters_.last_good, made_) >= stale_after_) {
        return Reading::State::stale;
    }
    const bool good = level_error_.empty() && past_error_.empty() && counters_.last_good > 0;
    return good ? Reading::State::fresh : Reading::State::held;
}

Reading PrometheusSource::read(std::int64_t now) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    Reading reading;
    reading.state = state(now);
    reading.level = level_;
    reading.history = history_;
    reading.counters = counters_;
    const std::string& error = level_error_.empty() ? past_error_ : level_error_;
    reading.counters.last_error = error;
    return reading;
}

bool PrometheusSource::refresh(std::int64_t now, std::string& problem) {
    const Reading reading = read(now);
    const bool stale = reading.state == Reading::State::stale;
    const std::string& error = reading.counters.last_error;
    const std::string where = name_ + ": " + shown_url_ + ": ";
    if (!error.empty() && error != told_) {
        add_problem(problem, where + error + " (the present size stays)");
    }
    told_ = error;
    if (stale && !told_stale_) {
        add_problem(problem, where + "no good answer for " + format_duration(stale_after_) +
                                 ": back to the static peak");
    }
    const bool turned = stale != told_stale_;
    told_stale_ = stale;
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(news_, false) || turned;
}

} // namespace foresight::io
