/*
 * Tests of foresight.conf: the tables, the syntax, the last good copy, the C functions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/io/conf_text.hpp"
#include "core/io/error.hpp"
#include "core/io/file.hpp"
#include "core/io/foresight_io.h"
#include "core/io/settings.hpp"
#include "harness.h"

#include <array>
#include <memory>
#include <set>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace foresight::io;

struct FreeSettings {
    void operator()(fs_settings* settings) const { fs_settings_free(settings); }
};

/// A configuration file and a state directory of the case's own.
class Site {
public:
    Site() : conf_(std::string(test_directory()) + "/foresight.conf"),
             state_(std::string(test_directory()) + "/state") {
        ::mkdir(state_.c_str(), 0700);
    }

    void write(const std::string& text) const { write_named("foresight.conf", text); }
    void write_named(const std::string& name, const std::string& text) const {
        write_file(std::string(test_directory()) + "/" + name, text, 0644, Sync::no);
    }
    void remove() const { ::unlink(conf_.c_str()); }

    void load() {
        settings_.reset(fs_settings_load(conf_.c_str(), state_.c_str(), problem_.data(),
                                         problem_.size(), &origin_));
        if (settings_) {
            fs_settings_get(settings_.get(), &view_);
        }
    }

    bool refresh() { return fs_settings_refresh(settings_.get(), problem_.data(), problem_.size()); }

    [[nodiscard]] const fs_settings* get() const { return settings_.get(); }
    [[nodiscard]] const fs_settings_view& view() const { return view_; }
    [[nodiscard]] fs_settings_origin origin() const { return origin_; }
    [[nodiscard]] std::string problem() const { return problem_.data(); }
    [[nodiscard]] const std::string& state() const { return state_; }

private:
    std::string conf_;
    std::string state_;
    std::array<char, 512> problem_{};
    fs_settings_origin origin_ = FS_FROM_DEFAULTS;
    fs_settings_view view_{};
    std::unique_ptr<fs_settings, FreeSettings> settings_;
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string first_problem(const std::string& text) {
    const auto problems = settings_problems(text, "f");
    return problems.empty() ? "" : problems.front();
}

void the_tables_are_sound() {
    for (const OptionGroup& group : option_groups()) {
        std::set<std::string> keys;
        for (const Option* option : group.options) {
            CHECK(keys.insert(option->key).second);
            CHECK(std::string(option->help).size() > 10);
            CHECK(option->least <= option->most);
            if (*option->initial != '\0') {
                // A default outside its own range would throw here.
                (void)parse_option(*option, option->initial);
            }
        }
    }
    CHECK_INT(default_settings().horizon, 86400);
    CHECK_INT(default_settings().mode, static_cast<std::int64_t>(Mode::shadow));
}

void the_syntax_is_slurms() {
    const Settings settings = parse_settings("# comment\n  MODE = active # more\n\n"
                                             "hOrIzOn=\"2-00\"\nSte\\\np=00:30:00\n"
                                             "PublishDir=/a\\#b\r\n",
                                             "f");
    CHECK_INT(settings.mode, static_cast<std::int64_t>(Mode::active));
    CHECK_INT(settings.horizon, 2 * 86400);
    CHECK_INT(settings.step, 1800);
    CHECK_STR(settings.publish_dir.c_str(), "/a#b");
    const auto lines = parse_conf_text("A=1 \\\n B=\"x y\" C=\"\"\n\nNodes+=n1 rest here\n");
    REQUIRE(lines.size() == 2 && lines[0].pairs.size() == 3 && lines[1].pairs.size() == 1);
    CHECK_STR(lines[0].pairs[1].value.c_str(), "x y");
    CHECK_STR(lines[0].pairs[2].value.c_str(), "");
    CHECK_INT(lines[1].number, 4);
    CHECK(lines[1].pairs[0].operation == '+');
    CHECK_STR(lines[1].rest.c_str(), "rest here");
}

void mistakes_are_named() {
    CHECK(has(first_problem("\n\nHorizont=1"), "f:3: Horizont: unknown key (did you mean Horizon?)"));
    CHECK(has(first_problem("MaxStarts=1x"), "f:1: MaxStarts: must be a whole number, 1 to 10000"));
    CHECK(has(first_problem("MaxStarts=0"), "1 to 10000"));
    CHECK(has(first_problem("MoveGain=-1"), "f:1: MoveGain: must be a number, 0 to 1000"));
    CHECK(has(first_problem("MaxStarts=99999999999999999999"), "1 to 10000"));
    CHECK(has(first_problem("Mode=active Horizon=1-00"), "Mode: one option a line"));
    CHECK(has(first_problem("Mode=active x"), "trailing junk"));
    CHECK(has(first_problem("Mode=\"active"), "Mode"));
    CHECK(has(first_problem("Step=2-00"), "Step"));
    CHECK(has(first_problem("Step=00:00:01\nHorizon=1-00"), "10000"));
    CHECK(has(first_problem("PlanBudget=5000\nPlanOverrun=1000"), "PlanOverrun"));
    CHECK(has(first_problem("PublishDir=here"), "absolute"));
    CHECK(has(first_problem("Weight=nan"), "Weight"));
    CHECK(has(first_problem("Weight=inf"), "Weight"));
    CHECK(has(first_problem("Realtime=a QOS=x Demand=static"), "Gpus"));
    CHECK(has(first_problem("Realtime=a QOS=x Demand=file"), "File"));
    CHECK(has(first_problem("Realtime=a Gpus=1"), "needs QOS="));
    CHECK(first_problem("Realtime=a Gpus=1 Reservation=r").empty());
    CHECK(has(first_problem("Realtime=a Gpus=1 Reservation=r QOS=q"), "leave out QOS="));
    CHECK(has(first_problem("Realtime=a Reservation=r Demand=history MaxGpus=8"),
              "history counts the jobs"));
    CHECK(has(first_problem("Realtime=a Gpus=1 Reservation=r OnFailure=wait"),
              "leave out OnFailure="));
    CHECK(has(first_problem("Realtime=a Gpus=1 Reservation=r\nRealtime=b Gpus=1 Reservation=r"),
              "on line 1 already"));
    CHECK(has(first_problem("Realtime=a QOS=x Gpus=1 MinGpus=3 MaxGpus=2"), "MinGpus"));
    CHECK(has(first_problem("Realtime=a QOS=x Gpus=1\nRealtime=A QOS=y Gpus=1"), "there already"));
    CHECK(has(first_problem("Realtime=a QOS=x QOS=y Gpus=1"), "given twice"));
    CHECK(has(first_problem(std::string("Mode=active\0x", 13)), "f:1: a byte 0"));
    CHECK(first_problem("\xff\xfe=\x01\n").find('\x01') == std::string::npos);
    CHECK(settings_problems("A=1\nB=2\nC=3\n", "f").size() == 3);
}

void random_bytes_never_crash() {
    std::uint64_t state = test_seed();
    const std::string pieces[] = {"Mode=", "active", "Realtime=", "QOS=", "\\", "\n", "\"", "#",
                                  "=",     " ",      "Weight=",   "5",    ",",  "\xff", "1-00:"};
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        for (int i = 0; i < 30; ++i) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            text += pieces[(state >> 33U) % std::size(pieces)];
        }
        for (const std::string& problem : settings_problems(text, "f")) {
            CHECK(problem.find('\n') == std::string::npos);
        }
    }
}

void a_bad_file_keeps_the_last_good_one() {
    Site site;
    site.load();
    CHECK_INT(site.origin(), FS_FROM_DEFAULTS);
    CHECK_INT(site.view().mode, FS_MODE_SHADOW);
    CHECK_STR(site.problem().c_str(), "");

    site.write("Mode=active\nMaxStarts=7\n");
    site.load();
    CHECK_INT(site.origin(), FS_FROM_FILE);
    CHECK_INT(site.view().mode, FS_MODE_ACTIVE);

    site.write("Mode=activ\n");
    site.load(); // a new process: nothing but the disk remembers
    CHECK_INT(site.origin(), FS_FROM_LAST_GOOD);
    CHECK_INT(site.view().mode, FS_MODE_ACTIVE);
    CHECK_INT(site.view().max_starts, 7);
    CHECK(has(site.problem(), "foresight.conf:1: Mode: must be one of"));

    site.remove();
    site.load();
    CHECK_INT(site.view().mode, FS_MODE_SHADOW);
    site.write("nonsense\n");
    site.load(); // taken away on purpose: active mode must not come back
    CHECK_INT(site.origin(), FS_FROM_DEFAULTS);
    CHECK_INT(site.view().mode, FS_MODE_SHADOW);
}

void a_state_directory_that_is_gone_is_told() {
    Site site;
    site.write("Mode=active\n");
    ::rmdir(site.state().c_str());
    site.load();
    CHECK_INT(site.view().mode, FS_MODE_ACTIVE);
    CHECK(has(site.problem(), "last good copy is not kept"));
}

void a_bad_curve_keeps_the_one_in_force() {
    Site site;
    site.write("Mode=active\nRealtime=chat QOS=rt File=c.csv MaxGpus=9\n");
    std::array<std::int32_t, 2> demand{};
    site.load(); // never a curve: the most that the administrator allows, and the mode stays
    CHECK_INT(site.view().mode, FS_MODE_ACTIVE);
    CHECK(has(site.problem(), "c.csv"));
    CHECK_INT(fs_settings_demand(site.get(), 0, 0, 60, 2, demand.data()), -1);
    CHECK_INT(demand[1], 9);

    site.write_named("c.csv", "time,gpus\n0,3\n");
    CHECK(site.refresh());
    CHECK_INT(fs_settings_demand(site.get(), 0, 0, 60, 2, demand.data()), 0);
    CHECK_INT(demand[0], 3);
    CHECK(!site.refresh()); // nothing changed

    site.write_named("c.csv", "time,gpus\n0,nan\n");
    CHECK(!site.refresh());
    CHECK(has(site.problem(), "line 2: gpus"));
    CHECK_INT(fs_settings_demand(site.get(), 0, 0, 60, 2, demand.data()), 0);
    CHECK_INT(demand[0], 3);
    CHECK(!site.refresh());
    CHECK_STR(site.problem().c_str(), ""); // told once

    site.load(); // a restart
    CHECK_INT(fs_settings_demand(site.get(), 0, 0, 60, 2, demand.data()), 0);
    CHECK_INT(demand[0], 3);
}

void jobs_are_matched() {
    Site site;
    site.write("Realtime=chat QOS=rt Partition=serve,fast Gpus=2\n"
               "Realtime=tagged Tag=voice Gpus=1 MaxSwap=2 CpusPerGpu=4 MemPerGpu=2G OnFailure=wait\n"
               "Weight=8 Kind=training QOS=High Account=a,b\nWeight=0.5 User=eve\nWeight=2\n");
    site.load();
    CHECK_STR(site.problem().c_str(), "");
    CHECK(site.view().weighted);
    CHECK_NEAR(site.view().move_gain, 0.05, 1e-12);
    fs_job_tags tags{};
    const char* kind = nullptr;
    CHECK_NEAR(fs_settings_weight(site.get(), &tags, &kind), 2, 0);
    tags.qos = "high";
    tags.account = "b";
    CHECK_NEAR(fs_settings_weight(site.get(), &tags, &kind), 8, 0);
    CHECK_STR(kind, "training");
    tags.account = "c";
    tags.user = "eve";
    CHECK_NEAR(fs_settings_weight(site.get(), &tags, nullptr), 0.5, 0);
    CHECK_INT(fs_settings_app_of(site.get(), &tags), -1);
    tags.qos = "rt";
    tags.partition = "batch,fast";
    CHECK_INT(fs_settings_app_of(site.get(), &tags), 0);
    tags.partition = "faster";
    CHECK_INT(fs_settings_app_of(site.get(), &tags), -1);
    tags.comment = "for team x; voice,blue";
    CHECK_INT(fs_settings_app_of(site.get(), &tags), 1);
    tags.comment = "voices";
    CHECK_INT(fs_settings_app_of(site.get(), &tags), -1);
    fs_app_settings app{};
    fs_settings_app(site.get(), 0, &app);
    CHECK(app.partition == nullptr && app.max_swap == FS_UNLIMITED && !app.wait_on_failure);
    CHECK_INT(app.per_gpu.cpus, -1);
    fs_settings_app(site.get(), 1, &app);
    CHECK_INT(app.max_swap, 2);
    CHECK_INT(app.per_gpu.cpus, 4);
    CHECK_INT(app.per_gpu.memory_mib, 2048);
    CHECK(app.wait_on_failure);
}

} // namespace

TEST_SUITE("settings", {"the tables are sound", the_tables_are_sound},
           {"the syntax is Slurm's", the_syntax_is_slurms},
           {"mistakes are named", mistakes_are_named},
           {"random bytes never crash", random_bytes_never_crash},
           {"a bad file keeps the last good one", a_bad_file_keeps_the_last_good_one},
           {"a state directory that is gone is told", a_state_directory_that_is_gone_is_told},
           {"a bad curve keeps the one in force", a_bad_curve_keeps_the_one_in_force},
           {"jobs are matched", jobs_are_matched})
