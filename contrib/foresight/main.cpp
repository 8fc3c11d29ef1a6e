/*
 * The foresight command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
    CLI::App app{"Plans GPU work ahead; see foresight VERB --help", "foresight"};
    app.set_version_flag("--version", FORESIGHT_VERSION);
    CLI11_PARSE(app, argc, argv);
    return 0;
}
