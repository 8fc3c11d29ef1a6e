/*
 * The foresight command: finds the verb, nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "io/text.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <iostream>
#include <new>
#include <string>

namespace {

using foresight::command::kBadInput;

int complain(std::string what) {
    std::replace(what.begin(), what.end(), '\n', ' ');
    std::cerr << "foresight: " << what << "\n";
    return kBadInput;
}

int run(int argc, char** argv) {
    CLI::App app{"Plans GPU work ahead: the planner of Slurm's sched/foresight at the command "
                 "line.",
                 "foresight"};
    app.set_version_flag("--version", "foresight " FORESIGHT_VERSION, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print help and exit");
    app.require_subcommand(1);
    app.get_formatter()->label("SUBCOMMAND", "VERB");
    app.get_formatter()->label("Subcommands", "Verbs");
    app.get_formatter()->column_width(28);
    app.footer("Exit status: 0 done, 1 the answer is \"no\", 2 bad usage or input.");
    int status = foresight::command::kDone;
    foresight::command::add_plan(app, status);
    foresight::command::add_check(app, status);
    foresight::command::add_forecast(app, status);
    foresight::command::add_restore(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
            app.exit(error); // help or version
            foresight::command::finish_output();
            return foresight::command::kDone;
        }
        const auto verbs = app.get_subcommands();
        if (verbs.empty() && argc < 2) {
            return complain("say what to do: a verb is missing (see foresight --help)");
        }
        if (verbs.empty() && argv[1][0] != '-') {
            return complain("no verb \"" + foresight::io::printable(argv[1]) +
                            "\" (see foresight --help)");
        }
        const std::string verb = verbs.empty() ? "" : " " + verbs.front()->get_name();
        return complain(std::string(error.what()) + " (see foresight" + verb + " --help)");
    }
    foresight::command::finish_output();
    return status;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::bad_alloc&) {
        return complain("out of memory");
    } catch (const std::exception& error) {
        return complain(error.what());
    }
}
