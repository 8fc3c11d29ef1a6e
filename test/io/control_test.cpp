/*
 * Tests of Control: from what a source tells to the GPUs that a plan keeps; and of a reload.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/io/control.hpp"
#include "core/io/file.hpp"
#include "core/io/foresight_io.h"
#include "harness.h"
#include "server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <thread>

#include <sys/stat.h>

namespace {

using namespace foresight::io;
using foresight::Seconds;
using State = Reading::State;

RealtimeSettings app_of(const std::string& keys) {
    return parse_settings("Realtime=chat QOS=x " + keys, "f").realtime.front();
}

constexpr const char* kMeasured = "Url=http://h Query=up MinGpus=1 MaxGpus=20 ";

/// Some days in windows of ten minutes, ending at `now`.
Reading reading_of(std::int64_t now, int days, double level) {
    auto past = std::make_shared<foresight::Series>();
    past->origin = now - days * 86400;
    past->window = 600;
    past->values.assign(static_cast<std::size_t>(days) * 144, level);
    Reading reading;
    reading.state = State::fresh;
    reading.level = level;
    reading.history = past;
    return reading;
}

constexpr std::int64_t kNow = 1'000'000'200; // in the second step of 600 s since then

std::vector<std::int32_t> wanted(const Control& control, std::int64_t origin, Seconds step,
                                 std::size_t steps) {
    std::vector<std::int32_t> demand(steps);
    (void)control.wanted(origin, step, demand);
    return demand;
}

bool all(const std::vector<std::int32_t>& demand, std::int32_t gpus) {
    return std::all_of(demand.begin(), demand.end(), [&](std::int32_t one) { return one == gpus; });
}

void a_curve_comes_early_and_stays() {
    std::uint64_t state = test_seed();
    const auto random = [&](std::uint64_t below) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<std::int64_t>((state >> 33U) % below);
    };
    for (int round = 0; round < 40; ++round) {
        std::string csv = "time,gpus\n";
        std::int64_t time = 60 * random(10);
        for (int row = 0; row < 12; ++row, time += 60 * (1 + random(20))) {
            csv += std::to_string(time) + "," + std::to_string(random(9)) + "\n";
        }
        RealtimeSettings app = app_of("File=x MinGpus=1 MaxGpus=7");
        app.lead_time = random(3) * 60 * random(15);
        app.hold_time = random(3) * 60 * random(15);
        const Seconds step = 60 * (1 + random(20));
        Reading reading;
        reading.state = State::fresh;
        reading.curve = std::make_shared<const DemandCurve>(DemandCurve::parse(csv, "f"));
        Control control(app);
        CHECK(control.update(reading, 0, step, 10 * step));
        CHECK(!control.update(reading, 0, step, 10 * step));
        const std::vector<std::int32_t> made = wanted(control, step, step, 10);
        for (std::size_t i = 0; i < made.size(); ++i) {
            const Seconds start = step * (1 + static_cast<Seconds>(i));
            const auto seconds = reading.curve->over(
                start - app.hold_time, 1,
                static_cast<std::int32_t>(app.hold_time + step + app.lead_time));
            const int most = *std::max_element(seconds.begin(), seconds.end());
            CHECK_INT(made[i], std::clamp(most, 1, 7));
        }
    }
}

void nothing_known_is_the_static_peak() {
    Control control(app_of(kMeasured));
    std::vector<std::int32_t> demand(4);
    CHECK(!control.wanted(kNow, 600, demand));
    CHECK(all(demand, 20));
    (void)control.update(Reading(), kNow, 600, 2400);
    CHECK(!control.wanted(kNow - kNow % 600, 600, demand));
    CHECK(all(demand, 20));
}

void a_flat_demand_is_kept_and_causes_nothing() {
    Control control(app_of(std::string(kMeasured) + "UnitsPerGpu=0.5"));
    Reading reading = reading_of(kNow - kNow % 600, 14, 3.5);
    CHECK(control.update(reading, kNow, 600, 86400));
    CHECK(all(wanted(control, kNow - kNow % 600, 600, 144), 7));
    int changes = 0;
    for (std::int64_t now = kNow; now < kNow + 7200; now += 30) {
        if (now % 600 == 0) {
            reading = reading_of(now, 14, 3.5);
        }
        changes += control.update(reading, now, 600, 86400) ? 1 : 0;
        CHECK_INT(wanted(control, now - now % 600, 600, 144).front(), 7);
    }
    CHECK_INT(changes, 0);
    // Also for the planner's next step, before any update.
    CHECK(all(wanted(control, kNow - kNow % 600 + 7200, 600, 144), 7));
}

void faults_hold_and_age() {
    Control control(app_of(kMeasured));
    Reading reading = reading_of(kNow - kNow % 600, 14, 6);
    (void)control.update(reading, kNow, 600, 7200);
    CHECK_INT(wanted(control, kNow, 600, 1).front(), 6);
    // More than its jobs use is its size all the same; what they use beyond it too.
    reading.state = State::held;
    reading.level = 2;
    control.sample(3);
    (void)control.update(reading, kNow + 30, 600, 7200);
    CHECK_INT(wanted(control, kNow, 600, 1).front(), 6);
    control.sample(8);
    (void)control.update(reading, kNow + 60, 600, 7200);
    CHECK_INT(wanted(control, kNow, 600, 1).front(), 8);
    reading.state = State::stale;
    CHECK(control.update(reading, kNow + 90, 600, 7200));
    CHECK(all(wanted(control, kNow, 600, 12), 20));
}

void a_real_zero_shrinks_after_the_hold_time() {
    Control control(app_of(std::string(kMeasured) + "HoldTime=5"));
    Reading reading = reading_of(kNow - kNow % 600, 14, 0);
    reading.level = 4;
    (void)control.update(reading, kNow, 600, 7200);
    CHECK_INT(wanted(control, kNow, 600, 1).front(), 4);
    reading.level = 0;
    (void)control.update(reading, kNow + 299, 600, 7200);
    CHECK_INT(wanted(control, kNow, 600, 1).front(), 4);
    (void)control.update(reading, kNow + 320, 600, 7200);
    for (const int gpus : wanted(control, kNow, 600, 12)) {
        CHECK_INT(gpus, 1);
    }
}

/// A load that repeats each day is kept for before it comes.
void growth_comes_early() {
    Control control(app_of(std::string(kMeasured) + "LeadTime=00:30:00 HoldTime=0"));
    const std::int64_t midnight = kNow - kNow % 86400;
    auto past = std::make_shared<foresight::Series>();
    past->origin = midnight - 14 * 86400;
    past->window = 600;
    for (int i = 0; i < 14 * 144; ++i) {
        past->values.push_back(i % 144 >= 48 && i % 144 < 96 ? 12 : 2); // 8 to 16 o'clock
    }
    Reading reading;
    reading.state = State::fresh;
    reading.level = 2;
    reading.history = past;
    (void)control.update(reading, midnight, 600, 86400);
    const std::vector<std::int32_t> demand = wanted(control, midnight, 600, 144);
    CHECK_INT(demand[0], 2);
    CHECK_INT(demand[40], 2);
    CHECK(demand[45] >= 12 && demand[48] >= 12 && demand[95] >= 12);
    CHECK(demand[110] <= 4);
}

struct Site {
    std::string directory = test_directory();
    std::array<char, 512> problem{};

    fs_settings* load(const std::string& text) {
        ::mkdir((directory + "/state").c_str(), 0700);
        write_file(directory + "/foresight.conf", text, 0600, Sync::no);
        return fs_settings_load((directory + "/foresight.conf").c_str(),
                                (directory + "/state").c_str(), problem.data(), problem.size(),
                                nullptr);
    }
};

/// The demand now, -1 while none is known.
std::int32_t demand_now(fs_settings* settings) {
    std::array<char, 512> problem{};
    const std::time_t now = std::time(nullptr);
    std::int32_t demand = -1;
    (void)fs_settings_refresh(settings, problem.data(), problem.size());
    const bool known = fs_settings_demand(settings, 0, now - now % 900, 900, 1, &demand) == 0;
    return known ? demand : -1;
}

/// scontrol reconfigure forgets nothing, or every reservation would grow to its peak.
void a_reload_keeps_what_is_known() {
    const Server server;
    if (!server.runs()) {
        return;
    }
    const std::string line = "Realtime=chat QOS=x Query=\"sum(x{a='b c'}) + 1\" MaxGpus=99 "
                             "FetchInterval=00:00:01 Past=1-00 HoldTime=0 Url=" +
                             server.url("500");
    Site site;
    fs_settings* first = site.load(line + "\n");
    CHECK_STR(site.problem.data(), "");
    CHECK_INT(demand_now(first), -1); // nothing is fetched before it is told to
    CHECK_INT(fs_settings_start(first, nullptr, site.problem.data(), site.problem.size()), 0);
    bool known = false;
    for (int i = 0; i < 2400 && !known; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
        known = demand_now(first) >= 4; // 3.5
    }
    CHECK(known);
    server.spoil();
    fs_settings* second = site.load(line + " UnitsPerGpu=1000\n");
    CHECK_INT(demand_now(second), -1);
    CHECK_INT(fs_settings_start(second, first, site.problem.data(), site.problem.size()), 0);
    fs_settings_free(first);
    CHECK_INT(demand_now(second), 1);
    // Another URL is another source.
    fs_settings* third = site.load(line + "x\n");
    CHECK_INT(fs_settings_start(third, second, site.problem.data(), site.problem.size()), 0);
    CHECK_INT(demand_now(third), -1);
    fs_settings_free(third);
    fs_settings_free(second);
}

} // namespace

TEST_SUITE("control", {"a curve comes early and stays", a_curve_comes_early_and_stays},
           {"nothing known is the static peak", nothing_known_is_the_static_peak},
           {"a flat demand is kept and causes nothing", a_flat_demand_is_kept_and_causes_nothing},
           {"faults hold and age", faults_hold_and_age},
           {"a real zero shrinks after the hold time", a_real_zero_shrinks_after_the_hold_time},
           {"growth comes early", growth_comes_early},
           {"a reload keeps what is known", a_reload_keeps_what_is_known})
