/*
 * foresight check: what the plugin would find in foresight.conf and slurm.conf, before a restart.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "findings.hpp"
#include "io/error.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "io/text.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

namespace foresight::command {

namespace {

struct CheckArguments {
    std::string conf;
    std::string slurm_conf;
    bool options = false;
    bool json = false;
};

struct Report {
    std::string conf;
    std::string slurm_conf;
    bool conf_is_there = false;
    bool conf_is_good = true;
    bool active_wanted = false;
    std::string install;
    Findings findings;

    [[nodiscard]] const char* mode() const {
        return !conf_is_good ? "unknown" : active_wanted ? "active" : "shadow";
    }
    [[nodiscard]] bool has(Level level) const {
        return std::any_of(findings.begin(), findings.end(),
                           [&](const Finding& finding) { return finding.level == level; });
    }
    /// What blocks active mode must change only where active mode is asked for.
    [[nodiscard]] bool good() const {
        return !has(Level::must) && !(active_wanted && has(Level::active));
    }
};

/// Text in lines of the terminal's width, each after `indent` spaces.
std::string wrapped(const std::string& text, int indent, int width) {
    std::string out(static_cast<std::size_t>(indent), ' ');
    int used = indent;
    for (const std::string& word : io::split(text, ' ')) {
        const int columns = columns_of(word);
        if (used > indent && used + 1 + columns > width) {
            out += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
            used = indent;
        } else if (used > indent) {
            out += " ";
            ++used;
        }
        out += word;
        used += columns;
    }
    return out + "\n";
}

void print_options() {
    const Terminal terminal = Terminal::of_stdout();
    const int width = std::min(terminal.width, 100);
    for (const io::OptionGroup& group : io::option_groups()) {
        std::cout << group.title << "\n\n";
        for (const io::Option* option : group.options) {
            std::cout << "  " << terminal.bold(option->key) << "=\n"
                      << wrapped(io::describe_type(*option) +
                                     (*option->initial == '\0'
                                          ? std::string("; no default")
                                          : std::string("; default ") + option->initial),
                                 6, width)
                      << wrapped(option->help, 6, width) << "\n";
        }
    }
}

io::Json options_json() {
    io::Json groups = io::json_list();
    for (const io::OptionGroup& group : io::option_groups()) {
        io::Json options = io::json_list();
        for (const io::Option* option : group.options) {
            io::Json item = io::json_map();
            io::put(item, "key", io::json_text(option->key));
            io::put(item, "type", io::json_text(io::describe_type(*option)));
            io::put(item, "default", io::json_text(option->initial));
            io::put(item, "help", io::json_text(option->help));
            io::append(options, std::move(item));
        }
        io::Json made = io::json_map();
        io::put(made, "title", io::json_text(group.title));
        io::put(made, "options", std::move(options));
        io::append(groups, std::move(made));
    }
    return groups;
}

std::string slurm_conf_path(const CheckArguments& arguments) {
    if (!arguments.slurm_conf.empty()) {
        return arguments.slurm_conf;
    }
    const char* set = std::getenv("SLURM_CONF");
    return set != nullptr && *set != '\0' ? set : "/etc/slurm/slurm.conf";
}

/// Reads foresight.conf; its problems become findings.
io::Settings read_settings(Report& report) {
    io::Settings settings = io::default_settings();
    report.conf_is_there = io::stamp_of(report.conf).exists;
    if (!report.conf_is_there) {
        report.findings.push_back({Level::note,
                                   io::shown_name(report.conf) +
                                       ": not there: all options are at their defaults (shadow "
                                       "mode)", ""});
        return settings;
    }
    const std::string text = io::read_file(report.conf);
    const std::vector<std::string> problems =
        io::settings_problems(text, io::shown_name(report.conf));
    report.conf_is_good = problems.empty();
    for (const std::string& problem : problems) {
        report.findings.push_back({Level::must, problem, ""});
    }
    return problems.empty() ? io::parse_settings(text, io::shown_name(report.conf)) : settings;
}

Report make_report(const CheckArguments& arguments) {
    Report report;
    report.slurm_conf = slurm_conf_path(arguments);
    report.conf = arguments.conf.empty()
                      ? io::directory_of(report.slurm_conf) + "/foresight.conf"
                      : arguments.conf;
    const SlurmConf slurm = SlurmConf::read(report.slurm_conf);
    const io::Settings settings = read_settings(report);
    report.active_wanted = settings.mode == static_cast<std::int64_t>(io::Mode::active);
    find_settings_problems(settings, report.conf, &slurm, report.findings);
    report.install = find_install(slurm, report.findings);
    find_active_blockers(slurm, report.findings);
    find_notes(settings, slurm, report.findings);
    return report;
}

void print_level(const Report& report, Level level, const std::string& title,
                 const Terminal& terminal) {
    if (!report.has(level)) {
        return;
    }
    std::cout << "\n" << terminal.bold(title) << "\n";
    for (const Finding& finding : report.findings) {
        if (finding.level == level) {
            std::cout << "  " << finding.text << "\n";
            if (!finding.change.empty()) {
                std::cout << "      " << terminal.bold(finding.change) << "\n";
            }
        }
    }
}

void print_report(const Report& report) {
    const Terminal terminal = Terminal::of_stdout();
    std::cout << "foresight.conf  " << io::shown_name(report.conf)
              << (report.conf_is_there ? "" : " (not there)") << "\n"
              << "slurm.conf      " << io::shown_name(report.slurm_conf) << "\n"
              << "installed       "
              << (report.install == "drop-in"         ? "as the drop-in sched_backfill.so"
                  : report.install == "SchedulerType" ? "as SchedulerType=sched/foresight"
                                                      : "no")
              << "\n"
              << "mode wanted     " << report.mode() << "\n"
              << "active mode     " << (report.has(Level::active) ? "not possible yet" : "possible")
              << "\n";
    print_level(report, Level::must, "Must change:", terminal);
    print_level(report, Level::active,
                report.active_wanted ? "Must change for Mode=active (until then it stays in "
                                       "shadow):"
                                     : "Before Mode=active, change:",
                terminal);
    print_level(report, Level::note, "Note:", terminal);
    std::cout << "\n" << (report.good() ? "Nothing has to change." : "Something must change.")
              << "\n";
}

io::Json report_json(const Report& report) {
    io::Json findings = io::json_list();
    for (const Finding& finding : report.findings) {
        io::Json item = io::json_map();
        const char* level = finding.level == Level::note     ? "note"
                            : finding.level == Level::active ? "active"
                                                             : "must";
        io::put(item, "level", io::json_text(level));
        io::put(item, "text", io::json_text(finding.text));
        io::put(item, "change", finding.change.empty() ? io::json_nothing()
                                                       : io::json_text(finding.change));
        io::append(findings, std::move(item));
    }
    io::Json made = io::json_map();
    io::put(made, "ok", io::json_truth(report.good()));
    io::put(made, "foresight_conf", io::json_text(report.conf));
    io::put(made, "slurm_conf", io::json_text(report.slurm_conf));
    io::put(made, "installed", io::json_text(report.install));
    io::put(made, "mode", io::json_text(report.mode()));
    io::put(made, "active_possible", io::json_truth(!report.has(Level::active)));
    io::put(made, "findings", std::move(findings));
    return made;
}

int run_check(const CheckArguments& arguments) {
    if (arguments.options) {
        if (arguments.json) {
            std::cout << io::to_text(options_json()) << "\n";
        } else {
            print_options();
        }
        return kDone;
    }
    const Report report = make_report(arguments);
    if (arguments.json) {
        std::cout << io::to_text(report_json(report)) << "\n";
    } else {
        print_report(report);
    }
    return report.good() ? kDone : kNo;
}

} // namespace

void add_check(CLI::App& app, int& status) {
    auto arguments = std::make_shared<CheckArguments>();
    CLI::App* verb = app.add_subcommand(
        "check", "Check foresight.conf and slurm.conf, before a restart of slurmctld");
    verb->add_option("--conf", arguments->conf, "foresight.conf (default: beside slurm.conf)")
        ->option_text("FILE");
    verb->add_option("--slurm-conf", arguments->slurm_conf,
                     "slurm.conf (default: $SLURM_CONF, then /etc/slurm/slurm.conf)")
        ->option_text("FILE");
    verb->add_flag("--options", arguments->options,
                   "List the options of foresight.conf with type, range and default");
    verb->add_flag("--json", arguments->json, "Print one JSON object, nothing else");
    verb->footer("Exit status: 0 nothing has to change, 1 something must, 2 a file is unreadable.");
    verb->callback([arguments, &status] { status = run_check(*arguments); });
}

} // namespace foresight::command
