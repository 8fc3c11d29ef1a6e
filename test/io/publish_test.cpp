/*
 * Tests of publishing and text: valid JSON and OpenMetrics whatever a name holds, whole files.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/capi.hpp"
#include "core/io/error.hpp"
#include "core/io/file.hpp"
#include "core/io/foresight_io.h"
#include "core/io/json.hpp"
#include "core/io/text.hpp"
#include "core/planner.hpp"
#include "harness.h"

#include <array>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <dirent.h>
#include <sys/stat.h>

namespace {

using namespace foresight;
using namespace foresight::io;

constexpr const char* kOddName = "n\"\\|\n\xff\x01";

/// Two jobs on one node of 4 GPUs, and an application; names as bad as they come.
void fill(fs_snapshot& handle) {
    handle.origin = 1'800'000'000;
    Snapshot& snapshot = handle.snapshot;
    snapshot.step = 3600;
    snapshot.steps = 4;
    Node node;
    node.name = kOddName;
    node.gpus = 4;
    node.usable = 0b1111;
    snapshot.nodes.push_back(node);
    snapshot.classes.push_back({{0}, {}});
    for (const int gpus : {3, 9}) {
        Job job;
        job.id = std::string(kOddName) + std::to_string(gpus);
        job.kind = kOddName;
        job.options.emplace_back();
        job.options.back().request.chunks = gpus;
        job.options.back().duration = 3600;
        snapshot.jobs.push_back(job);
    }
    App app;
    app.id = kOddName;
    app.demand = {1, 1, 1, 1};
    snapshot.apps.push_back(app);
}

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

mode_t mode_of(const std::string& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777U : 0;
}

int entries_of(const std::string& directory) {
    int count = 0;
    DIR* open = ::opendir(directory.c_str());
    while (open != nullptr && ::readdir(open) != nullptr) {
        ++count;
    }
    if (open != nullptr) {
        ::closedir(open);
    }
    return count;
}

void a_plan_is_published() {
    fs_snapshot snapshot;
    fs_plan plan;
    fill(snapshot);
    plan.plan = make_plan(snapshot.snapshot, {*find_policy("rank")});
    fs_counters counters{};
    counters.mode = "active";
    counters.cycles = 3;
    std::array<char, 256> problem{};
    const std::string directory = std::string(test_directory()) + "/public";
    for (const bool hidden : {false, true}) {
        CHECK_INT(fs_publish(directory.c_str(), &snapshot, &plan, &counters, hidden,
                             problem.data(), problem.size()), 0);
        CHECK_INT(mode_of(directory + "/plan.jsonl"), hidden ? 0600 : 0644);
        CHECK_INT(mode_of(directory + "/metrics.prom"), 0644);
    }
    CHECK_INT(mode_of(directory), 0755);
    CHECK_INT(entries_of(directory), 4); // with . and ..: no temporary file is left
    const auto lines = lines_of(directory + "/plan.jsonl");
    REQUIRE(lines.size() == 3);
    for (const std::string& line : lines) {
        (void)parse_json(line, "line"); // throws where it is no JSON
    }
    const Json header = parse_json(lines[0], "header");
    const Reader top(header.get(), lines[0]);
    CHECK_STR(top.field("format").text().c_str(), "foresight-plan/1");
    CHECK_INT(top.field("jobs_starting").whole(0, 9), 1);
    CHECK_INT(top.field("jobs_waiting").whole(0, 9), 1);
    const Json placed = parse_json(lines[1], "placed");
    const Reader job(placed.get(), lines[1]);
    CHECK_STR(job.field("state").text().c_str(), "starting");
    CHECK_INT(job.field("start").whole(0, INT64_MAX), 1'800'000'000);
    CHECK(lines[2].find("never-fits") != std::string::npos);
}

void metrics_are_openmetrics() {
    fs_snapshot snapshot;
    fs_plan plan;
    fill(snapshot);
    plan.plan = make_plan(snapshot.snapshot, {*find_policy("rank")});
    fs_counters counters{};
    counters.mode = "shadow";
    counters.cycles = 18446744073709551615ULL;
    std::array<char, 256> problem{};
    const std::string directory = test_directory();
    REQUIRE(fs_publish(directory.c_str(), &snapshot, &plan, &counters, false, problem.data(),
                       problem.size()) == 0);
    const auto lines = lines_of(directory + "/metrics.prom");
    REQUIRE(!lines.empty());
    CHECK_STR(lines.back().c_str(), "# EOF");
    std::string family;
    std::string type;
    for (const std::string& line : lines) {
        if (line.rfind("# TYPE ", 0) == 0) {
            std::istringstream(line.substr(7)) >> family >> type;
        } else if (line.rfind("# UNIT ", 0) == 0) {
            std::string name;
            std::string unit;
            std::istringstream(line.substr(7)) >> name >> unit;
            CHECK(name == family && name.size() > unit.size() &&
                  name.substr(name.size() - unit.size() - 1) == "_" + unit);
        } else if (line[0] != '#') {
            const std::string suffix = type == "counter" ? "_total" : type == "info" ? "_info" : "";
            const std::string name = line.substr(0, line.find_first_of(" {"));
            if (name != family + suffix) {
                FAIL("a sample of %s in the family %s", name.c_str(), family.c_str());
            }
        }
        CHECK(utf8(line) == line);
    }
    // Without a plan, after a failed one, only the counters.
    CHECK_INT(fs_publish(directory.c_str(), &snapshot, nullptr, &counters, false, problem.data(),
                         problem.size()), 0);
}

void a_place_that_is_no_directory_is_told() {
    fs_counters counters{};
    std::array<char, 256> problem{};
    CHECK_INT(fs_publish("/proc/none/here", nullptr, nullptr, &counters, false, problem.data(),
                         problem.size()), -1);
    CHECK(std::string(problem.data()).find("/proc/none/here") != std::string::npos);
    const std::string file = std::string(test_directory()) + "/file";
    write_file(file, "x", 0644, Sync::disk);
    CHECK_INT(fs_publish(file.c_str(), nullptr, nullptr, &counters, false, problem.data(),
                         problem.size()), -1);
}

void text_survives_any_bytes() {
    CHECK_STR(utf8("a\xff\xc3(\xe2\x82\xac").c_str(), "a\xEF\xBF\xBD\xEF\xBF\xBD(\xe2\x82\xac");
    CHECK_STR(utf8("\xed\xa0\x80").c_str(), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); // a surrogate
    CHECK_STR(utf8("\xc0\x80").c_str(), "\xEF\xBF\xBD\xEF\xBF\xBD");                 // overlong
    CHECK_STR(printable("a\nb\x1b[31m\xff").c_str(), "a\\nb\\x1b[31m\\xff");
    CHECK_STR(printable("\xc2\x9b" "x").c_str(), "\\xc2\\x9bx"); // C1: a terminal's CSI
    CHECK_STR(printable("aaaaaaaaaa", 4).c_str(), "aaaa...");
    std::uint64_t state = test_seed();
    for (int round = 0; round < 2000; ++round) {
        std::string bytes;
        for (int i = 0; i < 20; ++i) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            bytes += static_cast<char>(state >> 56U);
        }
        const std::string valid = utf8(bytes);
        CHECK(utf8(valid) == valid);
        CHECK(to_text(json_text(bytes)).size() > 2);
    }
}

void durations_are_slurms() {
    const auto seconds = [](const char* text) { return parse_duration(text).value_or(-1); };
    CHECK_INT(seconds("30"), 1800);
    CHECK_INT(seconds("30:15"), 1815);
    CHECK_INT(seconds("1:30:15"), 5415);
    CHECK_INT(seconds("2-12"), 216000);
    CHECK_INT(seconds("2-12:30"), 217800);
    CHECK_INT(seconds("2-12:30:05"), 217805);
    CHECK_INT(seconds("22265-00:00:00"), 22265LL * 86400); // 61 years
    for (const char* bad : {"", "-1", "1-", "1:", ":1", "1:2:3:4", "1-2-3", "x", "1 ", "1.5",
                            "99999999999999999999", "60000-00", "INFINITE", "1:2-3"}) {
        if (seconds(bad) != -1) {
            FAIL("\"%s\" was taken for a duration", bad);
        }
    }
    CHECK_STR(format_duration(217805).c_str(), "2-12:30:05");
    CHECK_INT(parse_memory("2G").value_or(-1), 2048);
    CHECK_INT(parse_memory("1500").value_or(-1), 1500);
    CHECK(!parse_memory("2X") && !parse_memory("-1") && !parse_memory("9999999999999T"));
}

} // namespace

TEST_SUITE("publish", {"a plan is published", a_plan_is_published},
           {"metrics are OpenMetrics", metrics_are_openmetrics},
           {"a place that is no directory is told", a_place_that_is_no_directory_is_told},
           {"text survives any bytes", text_survives_any_bytes},
           {"durations are Slurm's", durations_are_slurms})
