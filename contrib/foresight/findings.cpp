/*
 * Findings: see findings.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "findings.hpp"

extern "C" {
#include "../../plugin/guard.h"
}
#include "io/demand.hpp"
#include "io/fetch.hpp"
#include "io/error.hpp"
#include "io/file.hpp"
#include "io/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <sys/stat.h>

namespace foresight::command {

namespace {

#ifndef FORESIGHT_DROPIN_DIR
#define FORESIGHT_DROPIN_DIR "/usr/local/lib/foresight"
#endif
#ifndef SLURM_PLUGINDIR
#define SLURM_PLUGINDIR ""
#endif

/// Slurm's own plugin directory, where configure found one.
std::string stock_directory() {
    return *SLURM_PLUGINDIR == '\0' ? "/usr/lib/x86_64-linux-gnu/slurm-wlm" : SLURM_PLUGINDIR;
}

bool is_directory(const std::string& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

/// A site on which nothing keeps active mode from being possible.
constexpr fs_site_t kFine{"sched_interval=-1,defer", "preempt/none", "select/cons_tres", false,
                          false, false, false};

/// Asks the plugin's own guard about one aspect at a time, so that all are told at once.
void ask_guard(const fs_site_t& site, const std::string& place, Findings& findings) {
    std::array<char, 4096> line{};
    if (fs_guard_allows(&site, line.data(), line.size())) {
        return;
    }
    // "slurm.conf needs KEY=VALUE (why)"
    constexpr std::string_view file = "slurm.conf ";
    constexpr std::string_view needs = "needs ";
    std::string text = line.data();
    std::string change;
    if (text.compare(0, file.size(), file) == 0) {
        text.erase(0, file.size());
    }
    if (text.compare(0, needs.size(), needs) == 0) {
        change = text.substr(needs.size(), text.find(" (") - needs.size());
    }
    findings.push_back({Level::active, place + ": " + text, change});
}

/// The first directory of PluginDir that has the file.
std::optional<std::string> find_plugin(const std::vector<std::string>& directories,
                                       const std::string& file) {
    for (const std::string& directory : directories) {
        std::string path = io::path_in(directory, file);
        if (io::stamp_of(path).exists) {
            return path;
        }
    }
    return std::nullopt;
}

/// Is this shared object ours?  The stock plugin never says the word.
bool is_ours(const std::string& path) {
    try {
        return io::read_file(path).find("foresight") != std::string::npos;
    } catch (const io::InputError&) {
        return false;
    }
}

void check_directories(const SlurmConf& slurm, const std::vector<std::string>& directories,
                       Findings& findings) {
    for (const std::string& directory : directories) {
        if (!is_directory(directory)) {
            findings.push_back({Level::must,
                                slurm.place("PluginDir") + ": PluginDir names " +
                                    io::printable(directory) +
                                    ", which is no directory: every Slurm command and daemon "
                                    "here dies of that",
                                "mkdir -p " + io::printable(directory)});
        }
    }
}

void check_partition(const std::string& name, const std::string& key, int line,
                     const std::string& conf_path, const SlurmConf* slurm, Findings& findings) {
    if (slurm != nullptr && !name.empty() && !slurm->has_partition(name)) {
        findings.push_back({Level::must,
                            io::shown_name(conf_path) + ":" + std::to_string(line) + ": " + key +
                                ": slurm.conf has no partition " + io::printable(name),
                            ""});
    }
}

/// The files of Demand=prometheus.
void check_server(const io::RealtimeSettings& app, const std::string& place,
                  const std::string& directory, Findings& findings) {
    const auto check = [&](const char* key, const std::string& file, auto read) {
        try {
            if (!file.empty()) {
                (void)read(io::path_in(directory, file));
            }
        } catch (const io::InputError& error) {
            findings.push_back({Level::must, place + ": " + key + ": " + error.what(), ""});
        }
    };
    check("CaFile", app.ca_file, [](const std::string& path) { return io::read_file(path); });
    check("TokenFile", app.token_file, io::read_token);
    if (!app.token_file.empty() && app.url.rfind("http://", 0) == 0) {
        findings.push_back({Level::note,
                            place + ": TokenFile: http:// carries the token for all to read; "
                                    "https:// does not",
                            ""});
    }
}

void check_app(const io::RealtimeSettings& app, const std::string& conf_path,
               const SlurmConf* slurm, Findings& findings) {
    const std::string place = io::shown_name(conf_path) + ":" + std::to_string(app.line);
    for (const std::string& partition : app.match.partitions) {
        check_partition(partition, "Partition", app.line, conf_path, slurm, findings);
    }
    const std::vector<std::string>& own = app.match.partitions;
    if (std::find(own.begin(), own.end(), app.hold_partition) == own.end()) {
        check_partition(app.hold_partition, "HoldPartition", app.line, conf_path, slurm, findings);
    }
    if (!app.match.tags.empty() && app.match.qos.empty() && app.match.accounts.empty() &&
        app.match.partitions.empty()) {
        findings.push_back({Level::note, place + ": Tag: any user can write this word into a "
                                                 "job's comment; add Account=, QOS= or "
                                                 "Partition= where that matters", ""});
    }
    check_server(app, place, io::directory_of(conf_path), findings);
    if (static_cast<io::DemandSource>(app.demand) != io::DemandSource::file) {
        return;
    }
    const std::string path = io::path_in(io::directory_of(conf_path), app.file);
    try {
        const auto curve = io::DemandCurve::parse(io::read_file(path), io::shown_name(path));
        if (curve.peak() == 0) {
            findings.push_back({Level::note, io::shown_name(path) + ": asks for 0 GPUs at all "
                                                                    "times", ""});
        }
    } catch (const io::InputError& error) {
        findings.push_back({Level::must, place + ": File: " + error.what(), ""});
    }
}

void check_publish_dir(const io::Settings& settings, Findings& findings) {
    const std::string& path = settings.publish_dir;
    if (!path.empty() && !is_directory(path) && !is_directory(io::directory_of(path))) {
        findings.push_back({Level::must,
                            "PublishDir: neither " + io::printable(path) +
                                " nor the directory above it is there",
                            "mkdir -p " + io::printable(path)});
    }
}

} // namespace

void find_active_blockers(const SlurmConf& slurm, Findings& findings) {
    // Slurm 22.05 falls back to select/linear when the key is missing.
    const std::string select = slurm.value("SelectType", "select/linear");
    fs_site_t site = kFine;
    site.select_type = select.c_str();
    ask_guard(site, slurm.place("SelectType"), findings);

    const std::string preempt = slurm.value("PreemptType", "preempt/none");
    site = kFine;
    site.preempt_type = preempt.c_str();
    ask_guard(site, slurm.place("PreemptType"), findings);

    site = kFine;
    for (const std::string& word : slurm.words("PreemptMode")) {
        site.gang = site.gang || word == "gang";
        site.preempt_on = site.preempt_on || (word != "off" && word != "gang");
    }
    ask_guard(site, slurm.place("PreemptMode"), findings);

    site = kFine;
    site.front_ends = slurm.find("FrontendName") != nullptr;
    ask_guard(site, slurm.place("FrontendName"), findings);

    const std::string parameters = slurm.value("SchedulerParameters");
    site = kFine;
    site.scheduler_parameters = parameters.c_str();
    ask_guard(site, slurm.place("SchedulerParameters"), findings);
    if (slurm.has_word("SchedulerParameters", "defer")) {
        findings.push_back({Level::note, "with defer, salloc -I and srun -I (--immediate) always "
                                         "fail; tell users who call them", ""});
    } else if (slurm.has_word("SchedulerParameters", "defer_batch")) {
        findings.push_back({Level::note, slurm.place("SchedulerParameters") +
                                             ": defer_batch is not defer: srun and salloc would "
                                             "still start at submission", ""});
    }
}

std::string find_install(const SlurmConf& slurm, Findings& findings) {
    const std::string stock = stock_directory();
    const ConfSetting* plugin_dir = slurm.find("PluginDir");
    const std::vector<std::string> directories =
        io::split(plugin_dir == nullptr ? stock : plugin_dir->value, ':');
    check_directories(slurm, directories, findings);
    const std::string scheduler = io::lower(slurm.value("SchedulerType", "sched/backfill"));
    if (scheduler == "sched/foresight") {
        if (!find_plugin(directories, "sched_foresight.so")) {
            findings.push_back({Level::must,
                                slurm.place("SchedulerType") +
                                    ": SchedulerType=sched/foresight, but no directory of "
                                    "PluginDir has sched_foresight.so: slurmctld would not start",
                                "make install"});
        }
        findings.push_back({Level::note,
                            "SchedulerType=sched/foresight: other nodes need nothing; but when "
                            "Slurm is upgraded, slurmctld does not start until the plugin is "
                            "rebuilt, and heterogeneous jobs are refused (the drop-in has "
                            "neither)", ""});
        return "SchedulerType";
    }
    const auto backfill = find_plugin(directories, "sched_backfill.so");
    if (scheduler == "sched/backfill" && backfill && is_ours(*backfill)) {
        findings.push_back({Level::note,
                            "drop-in: " + io::directory_of(*backfill) +
                                " must be there on every node and login host that shares this "
                                "slurm.conf, even empty", ""});
        return "drop-in";
    }
    if (scheduler != "sched/backfill") {
        findings.push_back({Level::must,
                            slurm.place("SchedulerType") + ": SchedulerType=" +
                                io::printable(scheduler) + " is neither of the two ways in",
                            "SchedulerType=sched/backfill"});
    }
    std::string line = "PluginDir=" FORESIGHT_DROPIN_DIR;
    for (const std::string& directory : directories) {
        line += directory == FORESIGHT_DROPIN_DIR ? "" : ":" + io::printable(directory);
    }
    findings.push_back({Level::must,
                        slurm.place("PluginDir") +
                            ": Foresight is not switched on: no directory of PluginDir has its "
                            "sched_backfill.so before Slurm's own (make the directory on all "
                            "nodes first, even empty)",
                        line});
    return "none";
}

void find_settings_problems(const io::Settings& settings, const std::string& conf_path,
                            const SlurmConf* slurm, Findings& findings) {
    for (const io::RealtimeSettings& app : settings.realtime) {
        check_app(app, conf_path, slurm, findings);
    }
    for (const io::WeightSettings& weight : settings.weights) {
        for (const std::string& partition : weight.match.partitions) {
            check_partition(partition, "Partition", weight.line, conf_path, slurm, findings);
        }
    }
    check_publish_dir(settings, findings);
}

void find_notes(const io::Settings& settings, const SlurmConf& slurm, Findings& findings) {
    const auto note = [&](std::string text) {
        findings.push_back({Level::note, std::move(text), ""});
    };
    if (settings.mode == static_cast<std::int64_t>(io::Mode::active)) {
        note("heterogeneous jobs wait in active mode; shadow mode schedules them");
        if (slurm.find("BurstBufferType") != nullptr) {
            note(slurm.place("BurstBufferType") +
                 ": jobs with burst buffers wait in active mode; shadow mode schedules them");
        }
    }
    if (slurm.find("FederationParameters") != nullptr) {
        note("membership of a federation is not visible in slurm.conf; in one, the plugin stays "
             "in shadow mode");
    }
    if (const std::string over = io::lower(slurm.value("OverTimeLimit"));
        over == "unlimited" || over == "infinite") {
        note(slurm.place("OverTimeLimit") + ": OverTimeLimit=UNLIMITED: no job has an end that "
                                            "can be planned with");
    }
    if (slurm.has_word("PrivateData", "jobs")) {
        note("PrivateData has jobs: plan.jsonl is readable for SlurmUser only");
    }
}

} // namespace foresight::command
