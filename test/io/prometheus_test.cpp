/*
 * Tests of PrometheusSource and of the thread that fetches: against a server of good and bad
 * answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/io/error.hpp"
#include "core/io/fetch.hpp"
#include "core/io/file.hpp"
#include "core/io/prometheus.hpp"
#include "harness.h"
#include "server.hpp"

#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <functional>
#include <thread>

#include <unistd.h>

namespace {

using namespace foresight::io;
using State = Reading::State;

std::shared_ptr<Source> source_of(const RealtimeSettings& app) {
    std::string problem;
    return make_source(app, test_directory(), "", std::time(nullptr), problem);
}

Reading now_of(const Source& source) {
    return source.read(std::time(nullptr));
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

std::string vector_of(const std::string& result) {
    return R"({"status":"success","data":{"resultType":"vector","result":)" + result + "}}";
}

void answers_are_read() {
    CHECK_NEAR(parse_level(vector_of(R"([{"metric":{},"value":[1.5,"2.5e1"]}])")), 25, 0);
    CHECK_NEAR(parse_level(vector_of(R"([{"metric":{},"value":[1.5,"0"]}])")), 0, 0);
    CHECK_NEAR(
        parse_level(R"({"status":"success","data":{"resultType":"scalar","result":[1,"7"]}})"), 7,
        0);
    for (const char* bad : {"", "{}", "[]", "null", "{\"status\":\"success\"}",
                            "{\"status\":\"success\",\"data\":[]}", "{\"status\":3,\"data\":{}}"}) {
        CHECK(!error_of([&] { (void)parse_level(bad); }).empty());
        CHECK(!error_of([&] { (void)parse_past(bad, 0, 60, 3); }).empty());
    }
    for (const char* bad : {"[]", "{}", "[3]", R"([{"value":[1]}])", R"([{"value":[1,2]}])",
                            R"([{"value":["1","2"]}])", R"([{"value":[1,"0x10"]}])",
                            R"([{"value":[1,"1e999"]}])", R"([{"value":[1,"2 "]}])"}) {
        CHECK(!error_of([&] { (void)parse_level(vector_of(bad)); }).empty());
    }
}

void a_past_is_read() {
    const auto matrix = [](const std::string& values) {
        return R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":)" +
               values + "}]}}";
    };
    const auto values = parse_past(
        matrix(R"([[600,"1"],[660.0,"NaN"],[780,"-2"],[840,"+Inf"],[900,"3"]])"), 600, 60, 6);
    REQUIRE(values.size() == 6);
    CHECK_NEAR(values[0], 1, 0);
    CHECK_NEAR(values[5], 3, 0);
    CHECK(std::isnan(values[1]) && std::isnan(values[2]) && std::isnan(values[3]) &&
          std::isnan(values[4]));
    const std::string none = R"({"status":"success","data":{"resultType":"matrix","result":[]}})";
    CHECK(std::isnan(parse_past(none, 600, 60, 1).front()));
    CHECK(has(error_of([&] { (void)parse_past(matrix(R"([[630,"1"]])"), 600, 60, 6); }), "times"));
    CHECK(has(error_of([&] { (void)parse_past(matrix(R"([[960,"1"]])"), 600, 60, 6); }), "times"));
    CHECK(has(error_of([&] { (void)parse_past(matrix(R"([[540,"1"]])"), 600, 60, 6); }), "times"));
    CHECK(has(error_of([&] { (void)parse_past(matrix("7"), 600, 60, 6); }), "values"));
}

struct Fault {
    const char* how;
    const char* told; ///< part of the line
};

constexpr Fault kFaults[] = {
    {"hang", "no whole answer within 2 s"},
    {"drip", "no whole answer within 2 s"},
    {"endless", "larger than 4 MiB"},
    {"500", "HTTP 500: \"Internal error\""},
    {"404", "HTTP 404"},
    {"redirect", "HTTP 302"},
    {"html", "not JSON or not whole: \"<html>"},
    {"half", "not JSON or not whole"},
    {"nothing", "not JSON or not whole"},
    {"deep", "not JSON or not whole"},
    {"list", "not Prometheus's"},
    {"empty", "no series (\"result\": [])"},
    {"nan", "the value is NaN"},
    {"inf", "the value is +Inf"},
    {"minus-inf", "the value is -Inf"},
    {"negative", "the value is -3"},
    {"word", "the value is many"},
    {"two", "gives 2 series; make it one"},
    {"string", "gives a string"},
    {"refused", "HTTP 422: \"parse error: "},
    {"close", ""},
    {"cut", ""},
};

/// All at once on one thread: none stands in another's way.
void every_fault_holds_the_size_and_is_told() {
    const Server server;
    if (!server.runs()) {
        return;
    }
    std::vector<std::shared_ptr<Source>> sources;
    for (const Fault& fault : kFaults) {
        sources.push_back(source_of(asking(server.url(fault.how))));
        CHECK(now_of(*sources.back()).state == State::held);
    }
    const Fetcher fetcher(sources);
    for (const auto& source : sources) {
        CHECK(wait_until([&] { return now_of(*source).state == State::fresh; }));
    }
    server.spoil();
    for (std::size_t i = 0; i < sources.size(); ++i) {
        Source& source = *sources[i];
        const auto failed = [&] { return !now_of(source).counters.last_error.empty(); };
        if (!CHECK(wait_until(failed))) {
            FAIL("%s was never told", kFaults[i].how);
            continue;
        }
        const Reading reading = now_of(source);
        if (!has(reading.counters.last_error, kFaults[i].told)) {
            FAIL("%s: %s", kFaults[i].how, reading.counters.last_error.c_str());
        }
        CHECK(reading.state == State::held);
        CHECK_NEAR(reading.level, 3.5, 0);
        CHECK(reading.counters.failures > 0 &&
              reading.counters.failures < reading.counters.fetches);
        CHECK(source.read(reading.counters.last_good + 59).state == State::held);
        CHECK(source.read(reading.counters.last_good + 60).state == State::stale);

        std::string problem;
        (void)source.refresh(std::time(nullptr), problem);
        CHECK(has(problem, "chat: http://127.0.0.1:") && !has(problem, "\n") &&
              !has(problem, "\x1b"));
        problem.clear();
        (void)source.refresh(std::time(nullptr), problem);
        CHECK_STR(problem.c_str(), ""); // once
        CHECK(source.refresh(reading.counters.last_good + 60, problem));
        CHECK(has(problem, "static peak"));
    }
}

void nobody_listens() {
    const auto source = source_of(asking("http://127.0.0.1:" + closed_port()));
    const Fetcher fetcher({source});
    CHECK(wait_until([&] { return now_of(*source).counters.failures > 0; }));
    const Reading reading = now_of(*source);
    CHECK_STR(reading.counters.last_error.c_str(), "cannot connect: Connection refused");
    CHECK(reading.state == State::held && std::isnan(reading.level));
    CHECK(source->read(std::time(nullptr) + 60).state == State::stale);
}

void only_a_real_zero_shrinks() {
    const Server server;
    if (!server.runs()) {
        return;
    }
    const RealtimeSettings app = asking(server.url("zero"));
    const auto source = source_of(app);
    const Fetcher fetcher({source});
    CHECK(wait_until([&] { return now_of(*source).state == State::fresh; }));
    CHECK_INT(conversion_of(app).gpus(now_of(*source).level), 7); // 3.5 at 0.5 each
    server.spoil();
    CHECK(wait_until([&] { return now_of(*source).level == 0; }));
    CHECK_INT(conversion_of(app).gpus(now_of(*source).level), 1);
}

/// 28 days of minutes are more points than any one answer may have.
void a_long_past_comes_in_pieces() {
    const Server server;
    if (!server.runs()) {
        return;
    }
    RealtimeSettings app = asking(server.url("good"));
    app.query_step = 60;
    app.past = 28 * 86400;
    const auto source = source_of(app);
    const Fetcher fetcher({source});
    CHECK(wait_until([&] { return !now_of(*source).history->values.empty(); }));
    const Reading reading = now_of(*source);
    const foresight::Series& past = *reading.history;
    CHECK_STR(reading.counters.last_error.c_str(), "");
    CHECK_INT(past.origin % 60, 0);
    REQUIRE(past.values.size() >= 40320 && past.values.size() <= 40322);
    for (std::size_t i = 0; i < past.values.size(); ++i) {
        const auto end = past.origin + (static_cast<std::int64_t>(i) + 1) * 60;
        if (past.values[i] != static_cast<double>(end / 60 % 1000)) {
            FAIL("window %zu is %g", i, past.values[i]);
            return;
        }
    }
    CHECK(std::time(nullptr) - past.origin - static_cast<std::int64_t>(past.values.size()) * 60 <
          120);
}

/// The past grows at its end, and is cut at its front, in the order of the requests.
void the_past_goes_on() {
    RealtimeSettings app = asking("http://127.0.0.1:1");
    app.query_step = 60;
    app.past = 86400;
    PrometheusSource source(app, ".", 0);
    std::int64_t now = 1'000'000'000;
    for (int minute = 0; minute < 3000; ++minute, now += 60) {
        while (const auto request = source.next(now)) {
            FetchAnswer answer;
            answer.status = 200;
            const std::size_t start = request->url.find("&start=");
            if (start == std::string::npos) {
                answer.body = vector_of(R"([{"value":[1,"2"]}])");
            } else {
                answer.body =
                    R"({"status":"success","data":{"resultType":"matrix","result":[{"values":[[)" +
                    request->url.substr(start + 7, request->url.find("&end=") - start - 7) +
                    R"(,"2"]]}]}})";
            }
            source.answered(answer, now);
        }
    }
    const Reading reading = source.read(now);
    const std::size_t size = reading.history->values.size();
    CHECK(size >= 1440 && size <= 1440 + 1440 / 8 + 1);
    CHECK_NEAR(reading.history->values.back(), 2, 0);
    const std::int64_t end = reading.history->origin + static_cast<std::int64_t>(size) * 60;
    CHECK(now - end <= 120 && now - end >= 0);
    CHECK_INT(reading.counters.failures, 0);
}

bool make_certificate(const std::string& name, const std::string& base) {
    Child openssl({"sh", "-c",
                   "exec openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=a test' "
                   "-addext \"subjectAltName=$1\" -keyout \"$2.key\" -out \"$2.pem\" 2>/dev/null",
                   "sh", name, base});
    return openssl.wait() == 0;
}

void certificates_are_checked() {
    const std::string base = std::string(test_directory()) + "/";
    if (!make_certificate("IP:127.0.0.1", base + "good") ||
        !make_certificate("DNS:other.example", base + "other")) {
        test_skip("there is no openssl to make a certificate");
        return;
    }
    const Server good(base + "good.pem", base + "good.key");
    const Server other(base + "other.pem", base + "other.key");
    if (!good.runs() || !other.runs()) {
        return;
    }
    const auto with_ca = [](const Server& server, const std::string& file) {
        RealtimeSettings app = asking(server.url("good"));
        app.ca_file = file;
        return source_of(app);
    };
    const auto trusted = with_ca(good, "good.pem"); // a relative path: from the file's folder
    const auto unknown = with_ca(good, "");
    const auto of_another = with_ca(good, "other.pem");
    const auto wrong_name = with_ca(other, "other.pem");
    const auto no_file = with_ca(good, "none.pem");
    const Fetcher fetcher({trusted, unknown, of_another, wrong_name, no_file});
    CHECK(wait_until([&] { return now_of(*trusted).state == State::fresh; }));
    for (const auto& source : {unknown, of_another, wrong_name, no_file}) {
        CHECK(wait_until([&] { return !now_of(*source).counters.last_error.empty(); }));
        const Reading reading = now_of(*source);
        CHECK(reading.state == State::held && std::isnan(reading.level));
        const std::string& error = reading.counters.last_error;
        if (!has(error, "ertificate") && !has(error, "SSL")) {
            FAIL("told: %s", error.c_str());
        }
    }
    CHECK(has(now_of(*wrong_name).counters.last_error, "127.0.0.1"));
    CHECK(has(now_of(*no_file).counters.last_error, "none.pem"));
}

void a_token_goes_along() {
    const Server server;
    if (!server.runs()) {
        return;
    }
    const std::string path = std::string(test_directory()) + "/token";
    RealtimeSettings app = asking(server.url("token"));
    const auto without = source_of(app);
    app.token_file = "token";
    const auto with = source_of(app);
    const Fetcher fetcher({without, with});
    CHECK(wait_until([&] { return !now_of(*without).counters.last_error.empty(); }));
    CHECK(has(now_of(*without).counters.last_error, "HTTP 401"));
    CHECK(wait_until([&] { return !now_of(*with).counters.last_error.empty(); }));
    CHECK(has(now_of(*with).counters.last_error, "token: cannot read"));
    write_file(path, "s3cret\r\nX-Evil: yes", 0600, Sync::no);
    CHECK(wait_until([&] { return has(now_of(*with).counters.last_error, "must hold a token"); }));
    write_file(path, "s3cret\n", 0600, Sync::no);
    CHECK(wait_until([&] { return now_of(*with).state == State::fresh; }));
}

/// The threads of this process that are called so, as their /proc/…/status.
std::vector<std::string> fetch_threads() {
    std::vector<std::string> found;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string status = read_file(task.path().string() + "/status");
        if (has(status, "Name:\tforesight-fetch\n")) {
            found.push_back(std::move(status));
        }
    }
    return found;
}

void the_thread_takes_no_signal_and_is_joined() {
    const Server server;
    if (!server.runs()) {
        return;
    }
    RealtimeSettings app = asking(server.url("hang"));
    app.timeout = 300;
    server.spoil();
    const auto source = source_of(app);
    const auto start = std::chrono::steady_clock::now();
    {
        const Fetcher fetcher({source});
        CHECK(wait_until([&] { return fetch_threads().size() == 1; }));
        const std::vector<std::string> threads = fetch_threads();
        REQUIRE(threads.size() == 1);
        const std::size_t at = threads[0].find("SigBlk:\t");
        REQUIRE(at != std::string::npos);
        // All that can be blocked: not KILL and STOP, and not the C library's own two.
        const std::uint64_t blocked = std::stoull(threads[0].substr(at + 8, 16), nullptr, 16);
        CHECK_INT(blocked | 0x180040100ULL, 0xffffffffffffffffULL);
        std::this_thread::sleep_for(std::chrono::milliseconds(300)); // it hangs by now
    }
    CHECK(fetch_threads().empty());
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(120));
    // Given up is not failed; another thread takes the source over.
    CHECK_INT(now_of(*source).counters.failures, 0);
    const Fetcher next({source});
    CHECK(wait_until([&] { return fetch_threads().size() == 1; }));
}

void the_lines_keys_are_checked() {
    const auto problem = [](const std::string& keys) {
        const auto problems = settings_problems("Realtime=a QOS=x " + keys, "f");
        return problems.empty() ? std::string() : problems.front();
    };
    const std::string good = "Url=http://h:9090/p/ Query=up MaxGpus=4 ";
    CHECK_STR(problem(good).c_str(), "");
    CHECK_STR(problem("Url=https://[::1]:9090 MaxGpus=4 Query=\"sum(a{b='c d'}) + 1\"").c_str(),
              "");
    CHECK(has(problem("Demand=prometheus Query=up MaxGpus=4"), "Url: Demand=prometheus needs it"));
    CHECK(has(problem("Query=up Url=http://h"), "MaxGpus: Demand=prometheus needs it, to keep"));
    CHECK(has(problem("Demand=prometheus Url=http://h MaxGpus=1"), "Query: Demand=prometheus"));
    CHECK(has(problem("Gpus=1 Url=http://h"), "Url: goes with Demand=prometheus only"));
    CHECK(has(problem("Gpus=1 Timeout=1"), "Timeout: goes with Demand=prometheus only"));
    CHECK(has(problem(good + "StaleAfter=00:00:30"), "StaleAfter: must be longer"));
    CHECK(has(problem(good + "Past=60-00 QueryStep=1"), "Past: is more than 50000 times"));
    CHECK(has(problem(good + "UnitsPerGpu=0"), "UnitsPerGpu: must be a number"));
    CHECK(has(problem(good + "Headroom=-1"), "Headroom: must be a number"));
    for (const char* url : {"ftp://h", "file:///etc/passwd", "h:9090", "http://", "http://u:p@h",
                            "http://h/?a=b", "http://h/\\#x", "http://h\\\\x", "http:///x"}) {
        CHECK(has(problem("Query=up MaxGpus=1 Url=" + std::string(url)), "Url: must be an http"));
    }
}

} // namespace

TEST_SUITE("prometheus", {"answers are read", answers_are_read}, {"a past is read", a_past_is_read},
           {"every fault holds the size and is told", every_fault_holds_the_size_and_is_told},
           {"nobody listens", nobody_listens},
           {"only a real zero shrinks", only_a_real_zero_shrinks},
           {"a long past comes in pieces", a_long_past_comes_in_pieces},
           {"the past goes on", the_past_goes_on},
           {"certificates are checked", certificates_are_checked},
           {"a token goes along", a_token_goes_along},
           {"the thread takes no signal and is joined", the_thread_takes_no_signal_and_is_joined},
           {"the line's keys are checked", the_lines_keys_are_checked})
