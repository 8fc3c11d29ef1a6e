/*
 * Tests of demand curves: dates, weeks, daylight saving time, against a slow reference.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/io/demand.hpp"
#include "core/io/error.hpp"
#include "harness.h"

#include <cstdlib>
#include <ctime>
#include <string>

namespace {

using foresight::io::DemandCurve;
using foresight::io::InputError;

void set_zone(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
}

std::string problem_of(const std::string& csv) {
    try {
        (void)DemandCurve::parse(csv, "c");
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

std::int32_t at(const DemandCurve& curve, std::int64_t time) { return curve.over(time, 1, 1)[0]; }

std::int64_t local(int year, int month, int day, int hour, int minute, int dst = -1) {
    std::tm wall{};
    wall.tm_year = year - 1900;
    wall.tm_mon = month - 1;
    wall.tm_mday = day;
    wall.tm_hour = hour;
    wall.tm_min = minute;
    wall.tm_isdst = dst;
    return std::mktime(&wall);
}

void a_value_holds_until_the_next_row() {
    set_zone("UTC");
    const auto curve = DemandCurve::parse("Time, GPUs\n# c\n100,5\n200,2\r\n\n300,7", "c");
    CHECK_INT(at(curve, 0), 5); // before the first row
    CHECK_INT(at(curve, 199), 5);
    CHECK_INT(at(curve, 200), 2);
    CHECK_INT(at(curve, 1'000'000), 7);
    CHECK_INT(curve.peak(), 7);
    const auto steps = curve.over(150, 100, 3); // the largest of each step
    CHECK_INT(steps[0], 5);
    CHECK_INT(steps[1], 7);
    CHECK_INT(steps[2], 7);
}

void dates_are_local() {
    set_zone("Europe/Berlin");
    const auto curve =
        DemandCurve::parse("time,gpus\n2026-12-01T08:00,4\n2026-12-01T20:00:30,1\n", "c");
    CHECK_INT(at(curve, local(2026, 12, 1, 19, 59)), 4);
    CHECK_INT(at(curve, local(2026, 12, 1, 20, 0) + 29), 4);
    CHECK_INT(at(curve, local(2026, 12, 1, 20, 0) + 30), 1);
}

void a_week_wraps() {
    set_zone("UTC");
    const auto curve = DemandCurve::parse("time,gpus\nMon 08:00,4\nFri 20:00:00,1\n", "c");
    CHECK_INT(at(curve, local(2026, 11, 30, 7, 59)), 1); // a Monday
    CHECK_INT(at(curve, local(2026, 11, 30, 8, 0)), 4);
    CHECK_INT(at(curve, local(2026, 12, 4, 20, 0)), 1);
    CHECK_INT(at(curve, local(2026, 12, 6, 23, 59)), 1);
    CHECK_INT(at(curve, local(2026, 12, 7, 8, 0)), 4);
}

void clocks_change() {
    set_zone("Europe/Berlin");
    // Forward on 2026-03-29 at 2:00, back on 2026-10-25 at 3:00; both Sundays.
    const auto curve = DemandCurve::parse(
        "time,gpus\nSat 22:00,1\nSun 02:30,2\nSun 03:00,3\nSun 09:00,4\n", "c");
    CHECK_INT(at(curve, local(2026, 3, 29, 1, 59)), 1);
    CHECK_INT(at(curve, local(2026, 3, 29, 3, 0)), 3);
    CHECK_INT(at(curve, local(2026, 3, 29, 4, 0)), 3);
    CHECK_INT(at(curve, local(2026, 3, 29, 9, 0)), 4);
    CHECK_INT(at(curve, local(2026, 3, 29, 8, 59)), 3);
    CHECK_INT(at(curve, local(2026, 10, 25, 8, 59)), 3);
    CHECK_INT(at(curve, local(2026, 10, 25, 9, 0)), 4);
    CHECK_INT(at(curve, local(2026, 10, 25, 1, 59)), 1);
    CHECK_INT(at(curve, local(2026, 10, 25, 3, 0)), 3);
    set_zone("UTC");
}

/// The same by looking at the clock on the wall, second by second; right without clock changes.
void random_weeks_match_a_reference() {
    set_zone("UTC");
    std::uint64_t state = test_seed();
    const auto draw = [&](std::uint64_t bound) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return (state >> 33U) % bound;
    };
    const char* days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    for (int round = 0; round < 50; ++round) {
        std::int32_t wanted[7 * 24] = {};
        std::string csv = "time,gpus\n";
        std::int32_t last = -1;
        for (std::size_t hour = 0; hour < 7 * 24; ++hour) {
            if (draw(10) == 0 || hour == 167) {
                last = static_cast<std::int32_t>(draw(9));
                const std::string clock = std::to_string(hour % 24);
                csv += std::string(days[hour / 24]) + " " + (clock.size() < 2 ? "0" : "") + clock +
                       ":00," + std::to_string(last) + "\n";
            }
            wanted[hour] = last;
        }
        for (std::int32_t& gpus : wanted) {
            gpus = gpus < 0 ? last : gpus; // Sunday's last row holds into Monday
        }
        const auto curve = DemandCurve::parse(csv, "c");
        const std::int64_t monday = local(2026, 11, 30, 0, 0);
        const std::int64_t first = static_cast<std::int64_t>(draw(400));
        const auto found = curve.over(monday + first * 3600, 3600, 200);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const auto hour = (static_cast<std::size_t>(first) + i) % (7 * 24);
            if (!CHECK_INT(found[i], wanted[hour])) {
                return;
            }
        }
    }
}

void mistakes_are_named() {
    const auto has = [](const std::string& csv, const char* part) {
        const std::string problem = problem_of(csv);
        if (problem.find(part) == std::string::npos || problem.find('\n') != std::string::npos) {
            FAIL("\"%s\" lacks \"%s\"", problem.c_str(), part);
        }
    };
    has("", "c: no rows");
    has("time,gpus\n", "c: no rows");
    has("gpus,time\n1,2\n", "line 1: the header must be");
    has("time,gpus\n1;2\n", "line 2: must be a time, a comma");
    has("time,gpus\n1,2.5\n", "line 2: gpus: must be a whole number");
    has("time,gpus\n1,-1\n", "gpus");
    has("time,gpus\n1,nan\n", "gpus");
    has("time,gpus\n1,2,3\n", "gpus");
    has("time,gpus\n-1,2\n", "time: must be");
    has("time,gpus\nMon 24:00,2\n", "time: must be");
    has("time,gpus\nMoon 04:00,2\n", "time: must be");
    has("time,gpus\n2026-02-29T00:00,2\n", "time: must be");
    has("time,gpus\n2026-12-01T8:00,2\n", "time: must be");
    has("time,gpus\n5,1\n5,2\n", "line 3: time: must be later");
    has("time,gpus\n5,1\nMon 05:00,2\n", "do not mix");
    has("time,gpus\n\xff\n5,\x01\n", "line 2");
}

} // namespace

TEST_SUITE("demand", {"a value holds until the next row", a_value_holds_until_the_next_row},
           {"dates are local", dates_are_local}, {"a week wraps", a_week_wraps},
           {"clocks change", clocks_change},
           {"random weeks match a reference", random_weeks_match_a_reference},
           {"mistakes are named", mistakes_are_named})
