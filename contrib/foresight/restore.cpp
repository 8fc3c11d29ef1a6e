/*
 * foresight restore: gives reservations back the nodes that administrators gave them.
 *
 * For the day when the plugin is gone for good; while it runs in shadow mode it does this itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "io/error.hpp"
#include "io/file.hpp"
#include "io/intent.hpp"
#include "io/text.hpp"
#include "scontrol.hpp"
#include "verbs.hpp"

#include <iostream>
#include <memory>

namespace foresight::command {

namespace {

struct RestoreArguments {
    std::string state_dir;
    bool dry_run = false;
};

/// StateSaveLocation, as slurmctld says.
std::string state_directory() {
    for (const std::string& line : io::split(scontrol({"show", "config"}), '\n')) {
        const std::size_t equals = line.find('=');
        if (line.rfind("StateSaveLocation", 0) == 0 && equals != std::string::npos) {
            const std::size_t first = line.find_first_not_of(' ', equals + 1);
            return first == std::string::npos ? "" : line.substr(first);
        }
    }
    throw io::InputError("scontrol show config names no StateSaveLocation: give --state-dir");
}

class Restorer {
public:
    explicit Restorer(bool dry_run) : dry_run_(dry_run), known_(reservations()) {}

    /// True when the reservation has its nodes, or is gone.
    bool restore(const std::string& name, const std::string& nodes) {
        const std::string prefix = "foresight_" + name + "_";
        bool good = true;
        for (const auto& [guard, guarded] : known_) {
            // A guard's name ends in the one node that it has.
            if (guard == prefix + guarded) {
                good = run({"delete", "ReservationName=" + guard}) && good;
            }
        }
        const auto now = known_.find(name);
        if (now == known_.end()) {
            std::cout << "# reservation " << name << " is gone: nothing to give back\n";
            return good;
        }
        if (now->second == nodes) {
            std::cout << "# reservation " << name << " has its nodes, " << nodes << "\n";
            return good;
        }
        return run({"update", "ReservationName=" + name, "Nodes=" + nodes}) && good;
    }

private:
    bool run(const std::vector<std::string>& arguments) {
        std::string line = "scontrol";
        for (const std::string& word : arguments) {
            line += " " + shell_word(word);
        }
        std::cout << line << "\n";
        if (dry_run_) {
            return true;
        }
        try {
            (void)scontrol(arguments);
            return true;
        } catch (const io::InputError& error) {
            std::cerr << "foresight: " << error.what()
                      << " (nodes that run other jobs come back when those end)\n";
            return false;
        }
    }

    bool dry_run_;
    std::map<std::string, std::string> known_;
};

int run_restore(const RestoreArguments& arguments) {
    const std::string directory =
        arguments.state_dir.empty() ? state_directory() : arguments.state_dir;
    if (!io::stamp_of(directory).exists) {
        throw io::InputError(directory + ": no such directory; --state-dir is Slurm's "
                                         "StateSaveLocation");
    }
    io::Intents left = io::read_intents(directory);
    if (left.empty()) {
        std::cout << "# nothing is lent: there is no reservation in " << io::intent_file(directory)
                  << "\n";
        return kDone;
    }
    Restorer restorer(arguments.dry_run);
    const io::Intents intents = left;
    for (const auto& [name, nodes] : intents) {
        if (restorer.restore(name, nodes)) {
            left.erase(name);
        }
    }
    if (!arguments.dry_run) {
        io::write_intents(directory, left);
    }
    return left.empty() ? kDone : kNo;
}

} // namespace

void add_restore(CLI::App& app, int& status) {
    auto arguments = std::make_shared<RestoreArguments>();
    CLI::App* verb = app.add_subcommand(
        "restore", "Give reservations back all nodes that are lent (see Reservation=)");
    verb->add_option("--state-dir", arguments->state_dir,
                     "Slurm's StateSaveLocation (default: ask scontrol)")
        ->option_text("DIR");
    verb->add_flag("--dry-run", arguments->dry_run, "Print the commands, run none");
    verb->footer("The plugin lends again while Mode=active has the line: take that out first.\n"
                 "Exit status: 0 all is back, 1 some could not be given back yet, 2 bad input.");
    verb->callback([arguments, &status] { status = run_restore(*arguments); });
}

} // namespace foresight::command
