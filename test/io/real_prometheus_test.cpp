/*
 * Tests of PrometheusSource against a real Prometheus, with two weeks of history loaded into it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/io/control.hpp"
#include "core/io/fetch.hpp"
#include "core/io/file.hpp"
#include "core/io/source.hpp"
#include "harness.h"
#include "server.hpp"

#include <cmath>
#include <ctime>
#include <memory>
#include <string>

namespace {

using namespace foresight::io;
using State = Reading::State;

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kDays = 14;
constexpr std::int64_t kScrape = 120;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Of each of two instances: much from 8 to 16 o'clock UTC, little else.
int load_at(std::int64_t time) {
    const std::int64_t hour = time % kDay / 3600;
    return hour >= 8 && hour < 16 ? 6 : 1;
}

/// Prometheus with a past up to a quarter of an hour from now.
class Prometheus {
public:
    explicit Prometheus(std::int64_t days) : first_(std::time(nullptr) / 600 * 600 - days * kDay) {
        const std::string base = std::string(test_directory()) + "/";
        std::string text = "# TYPE load gauge\n";
        for (const char* labels :
             {"app=\"chat\",i=\"a\"", "app=\"chat\",i=\"b\"", "app=\"other\""}) {
            for (std::int64_t t = first_; t < std::time(nullptr) + 900; t += kScrape) {
                text += std::string("load{") + labels + "} " + std::to_string(load_at(t)) + " " +
                        std::to_string(t) + "\n";
            }
        }
        write_file(base + "load", text + "# EOF\n", 0600, Sync::no);
        write_file(base + "prometheus.yml", "", 0600, Sync::no);
        Child promtool({"sh", "-c",
                        "exec promtool tsdb create-blocks-from openmetrics -q \"$1/load\" "
                        "\"$1/data\" >\"$1/promtool.log\" 2>&1",
                        "sh", test_directory()});
        if (promtool.wait() != 0) {
            return;
        }
        port_ = closed_port();
        server_ = std::make_unique<Child>(std::vector<std::string>{
            "sh", "-c",
            "exec prometheus --config.file=\"$1/prometheus.yml\" --storage.tsdb.path=\"$1/data\" "
            "--storage.tsdb.retention.time=30d --web.listen-address=127.0.0.1:\"$2\" "
            "--log.level=error >\"$1/prometheus.log\" 2>&1",
            "sh", test_directory(), port_});
    }

    [[nodiscard]] bool runs() const noexcept { return server_ != nullptr; }
    [[nodiscard]] std::int64_t first() const noexcept { return first_; }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port_; }
    void end() { server_.reset(); }

private:
    std::int64_t first_; ///< time of the first sample
    std::string port_;
    std::unique_ptr<Child> server_;
};

RealtimeSettings chat(const Prometheus& server, const std::string& query) {
    RealtimeSettings app = asking(server.url());
    app.query = query;
    app.units_per_gpu = 1;
    app.max_gpus = 20;
    app.past = 20 * kDay; // more than there is
    app.timeout = 30;
    return app;
}

bool is_there() {
    if (std::system("command -v prometheus promtool >/dev/null 2>&1") == 0) {
        return true;
    }
    test_skip("there is no prometheus and promtool (Debian package: prometheus)");
    return false;
}

void check_past(const foresight::Series& past, std::int64_t first) {
    std::size_t known = 0;
    for (std::size_t i = 0; i < past.values.size(); ++i) {
        const std::int64_t end = past.origin + (static_cast<std::int64_t>(i) + 1) * past.window;
        if (end < first) {
            CHECK(std::isnan(past.values[i]));
        } else if (end % kDay % 3600 >= kScrape) { // else the last sample is from before
            CHECK_NEAR(past.values[i], 2 * load_at(end), 0);
            ++known;
        }
    }
    CHECK(known > kDays * 115);
}

void a_past_is_learnt_and_forecast() {
    if (!is_there()) {
        return;
    }
    Prometheus server(kDays);
    REQUIRE(server.runs());
    const RealtimeSettings app = chat(server, "sum(load{app='chat'})");
    std::string problem;
    const auto source = make_source(app, ".", "", std::time(nullptr), problem);
    {
        const Fetcher fetcher({source});
        REQUIRE(wait_until([&] {
            const Reading reading = source->read(std::time(nullptr));
            return reading.state == State::fresh && !reading.history->values.empty();
        }));
        const std::int64_t now = std::time(nullptr);
        const Reading reading = source->read(now);
        CHECK(reading.level == 2 || reading.level == 12);
        check_past(*reading.history, server.first());

        Control control(app);
        CHECK(control.update(reading, now, 600, kDay));
        const std::int64_t origin = now - now % 600;
        std::vector<std::int32_t> demand(144);
        CHECK(control.wanted(origin, 600, demand));
        for (std::size_t i = 1; i < demand.size(); ++i) {
            const std::int64_t step = origin + static_cast<std::int64_t>(i) * 600;
            const std::int64_t hour = step % kDay / 3600;
            // Not at the edges, nor where the hold time is not over.
            if (hour >= 9 && hour < 15) {
                CHECK_INT(demand[i], 12);
            } else if (hour < 6 || hour >= 18) {
                CHECK(demand[i] >= 2 && demand[i] <= 4);
            }
        }
        server.end();
        CHECK(wait_until([&] { return source->read(now).state == State::held; }));
        CHECK(has(source->read(now).counters.last_error, "cannot connect"));
        CHECK_NEAR(source->read(now).level, reading.level, 0);
    }
}

void bad_queries_are_told() {
    if (!is_there()) {
        return;
    }
    const Prometheus server(1);
    REQUIRE(server.runs());
    struct Query {
        const char* text;
        const char* told;
    };
    constexpr Query queries[] = {{"load{app='chat'}", "gives 2 series"},
                                 {"sum(load{app='none'})", "no series"},
                                 {"sum(load{", "HTTP 400: \"invalid parameter"},
                                 {"0 / 0", "the value is NaN"},
                                 {"1 / 0", "the value is +Inf"},
                                 {"-sum(load)", "finite and not negative"},
                                 {"'word'", "gives a string"},
                                 {"load[5m]", "gives a matrix"}};
    std::vector<std::shared_ptr<Source>> sources;
    std::string problem;
    for (const Query& query : queries) {
        sources.push_back(
            make_source(chat(server, query.text), ".", "", std::time(nullptr), problem));
    }
    const auto scalar = make_source(chat(server, "3"), ".", "", std::time(nullptr), problem);
    sources.push_back(scalar);
    const Fetcher fetcher(sources);
    CHECK(wait_until([&] { return scalar->read(std::time(nullptr)).level == 3; }));
    for (std::size_t i = 0; i < std::size(queries); ++i) {
        std::string error;
        CHECK(wait_until([&] {
            error = sources[i]->read(std::time(nullptr)).counters.last_error;
            return !error.empty() && !has(error, "cannot connect");
        }));
        if (!has(error, queries[i].told)) {
            FAIL("%s: %s", queries[i].text, error.c_str());
        }
        CHECK(std::isnan(sources[i]->read(std::time(nullptr)).level));
    }
}

} // namespace

TEST_SUITE("real_prometheus", {"a past is learnt and forecast", a_past_is_learnt_and_forecast},
           {"bad queries are told", bad_queries_are_told})
