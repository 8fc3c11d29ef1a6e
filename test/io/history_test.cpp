/*
 * Tests of HistorySource: windows of what was sampled, and what of them outlives a restart.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/io/error.hpp"
#include "core/io/file.hpp"
#include "core/io/history.hpp"
#include "harness.h"

#include <cmath>
#include <string>

namespace {

using namespace foresight::io;
using foresight::Series;
using State = Reading::State;

constexpr std::int64_t kStart = 1'000'000'200; // a window begins
constexpr foresight::Seconds kPast = 86400;

std::string path() {
    return std::string(test_directory()) + "/foresight.history.chat";
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string problem_of(const std::string& text) {
    try {
        (void)parse_history(text, "f");
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

void windows_hold_the_most() {
    std::string problem;
    HistorySource source(path(), "chat", kPast, kStart);
    CHECK(source.read(kStart).state == State::held);
    source.sample(kStart + 5, 3);
    source.sample(kStart + 300, 7);
    source.sample(kStart + 599, 2);
    CHECK(source.refresh(kStart + 599, problem));
    Reading reading = source.read(kStart + 599);
    CHECK(reading.state == State::fresh);
    CHECK_NEAR(reading.level, 2, 0);
    CHECK(reading.history->values.empty()); // it goes on
    source.sample(kStart + 600, 1);
    source.sample(kStart + 4 * 600, 5); // nobody looked for two windows
    source.sample(kStart + 5 * 600, 5);
    CHECK(source.refresh(kStart + 3000, problem));
    CHECK(!source.refresh(kStart + 3001, problem));
    reading = source.read(kStart + 3000);
    const Series& past = *reading.history;
    CHECK_INT(past.origin, kStart);
    REQUIRE(past.values.size() == 5);
    CHECK_NEAR(past.values[0], 7, 0);
    CHECK_NEAR(past.values[1], 1, 0);
    CHECK(std::isnan(past.values[2]) && std::isnan(past.values[3]));
    CHECK_NEAR(past.values[4], 5, 0);
    CHECK(source.read(kStart + 3000 + 899).state == State::fresh);
    CHECK(source.read(kStart + 3000 + 900).state == State::stale);
    CHECK_STR(problem.c_str(), "");
}

void a_restart_goes_on() {
    std::string problem;
    std::int64_t now = kStart;
    {
        HistorySource source(path(), "chat", kPast, now);
        for (; now < kStart + 3000; now += 30) {
            source.sample(now, static_cast<std::int32_t>((now - kStart) / 600));
            (void)source.refresh(now, problem);
        }
    }
    now += 1500;
    HistorySource source(path(), "chat", kPast, now);
    CHECK_INT(source.read(now).history->values.size(), 4);
    CHECK(source.read(now).state == State::held);
    source.sample(now, 9);
    source.sample(now + 600, 9);
    const Series past = *source.read(now + 600).history;
    CHECK_INT(past.origin, kStart);
    REQUIRE(past.values.size() == 8); // 0 to 3, the one that was cut short, the gap, 9
    CHECK_NEAR(past.values[3], 3, 0);
    CHECK(std::isnan(past.values[4]) && std::isnan(past.values[6]));
    CHECK_NEAR(past.values[7], 9, 0);
    CHECK_STR(problem.c_str(), "");
}

void it_does_not_grow_for_ever() {
    std::string problem;
    HistorySource source("", "chat", kPast, kStart);
    for (std::int64_t i = 0; i < 400; ++i) {
        source.sample(kStart + i * 600, static_cast<std::int32_t>(i));
    }
    const Series& past = *source.read(kStart).history;
    REQUIRE(past.values.size() == 144);
    CHECK_NEAR(past.values.back(), 398, 0);
    CHECK_INT(past.origin + 144 * 600, kStart + 399 * 600);
    // A clock that is set: back, and years ahead.
    source.sample(kStart, 1);
    source.sample(kStart + 600, 1);
    CHECK_INT(source.read(kStart).history->values.size(), 1);
    source.sample(kStart + 400 * kPast, 1);
    source.sample(kStart + 400 * kPast + 600, 1);
    CHECK_INT(source.read(kStart).history->values.size(), 1);
}

void a_bad_file_begins_anew() {
    const std::string good = R"({"format":"foresight-history/1","window_s":600,"origin_s":1200,)";
    CHECK_STR(problem_of(good + "\"gpus\":[1,-1,2]}").c_str(), "");
    CHECK(has(problem_of(good + "\"gpus\":[1,-2]}"), "gpus[1]"));
    CHECK(has(problem_of(good + "\"gpus\":[1,1.5]}"), "gpus[1]"));
    CHECK(has(problem_of(good + "\"gpus\":[null]}"), "gpus[0]"));
    CHECK(has(problem_of(good + "\"gpus\":[1"), "f"));
    CHECK(has(problem_of(good + "\"x\":[]}"), "gpus"));
    CHECK(has(problem_of(R"({"format":"other/1"})"), "format"));
    CHECK(has(problem_of(R"({"format":"foresight-history/1","window_s":60})"), "window_s"));
    CHECK(has(problem_of(R"({"format":"foresight-history/1","window_s":600,"origin_s":7})"),
              "multiple"));
    CHECK(has(problem_of(""), "f"));

    for (const std::string& text :
         {std::string("\xff\0\x01", 3), good + "\"gpus\":[1", std::string(2U << 20U, ' '),
          good + "\"gpus\":[1,1,1,1,1,1]}"}) {
        write_file(path(), text, 0600, Sync::no);
        std::string problem;
        HistorySource source(path(), "chat", kPast, 1800);
        CHECK(!source.refresh(1800, problem));
        CHECK(has(problem, "foresight.history.chat") && has(problem, "begins anew"));
        CHECK(!has(problem, "\n"));
        CHECK(source.read(1800).history->values.empty());
        problem.clear();
        source.sample(1800, 4);
        source.sample(2400, 4);
        CHECK(source.refresh(2400, problem));
        CHECK_STR(problem.c_str(), "");
        CHECK_STR(read_file(path()).c_str(),
                  "{\"format\":\"foresight-history/1\",\"window_s\":600,\"origin_s\":1800,"
                  "\"gpus\":[4]}\n");
    }
}

void a_full_disk_is_told() {
    std::string problem;
    HistorySource source(std::string(test_directory()) + "/none/x", "chat", kPast, kStart);
    source.sample(kStart, 4);
    source.sample(kStart + 600, 4);
    (void)source.refresh(kStart + 600, problem);
    CHECK(has(problem, "the past of chat is not kept"));
    problem.clear();
    (void)source.refresh(kStart + 601, problem);
    CHECK_STR(problem.c_str(), "");
    CHECK_INT(source.read(kStart + 601).history->values.size(), 1);
}

} // namespace

TEST_SUITE("history", {"windows hold the most", windows_hold_the_most},
           {"a restart goes on", a_restart_goes_on},
           {"it does not grow for ever", it_does_not_grow_for_ever},
           {"a bad file begins anew", a_bad_file_begins_anew},
           {"a full disk is told", a_full_disk_is_told})
