/*
 * Intent: the nodes that administrators gave the reservations which are lent from.
 *
 * One file, foresight.intent.json in the state directory, written whole and to the disk before a
 * reservation is made smaller for the first time, and read when the daemon starts:
 *
 *     {"format": "foresight-intent/1", "reservations": [{"name": "rt-chat", "nodes": "n[1-3]"}]}
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <map>
#include <string>

namespace foresight::io {

/// Node lists, in the resource manager's own notation, by reservation.
using Intents = std::map<std::string, std::string>;

/// Nothing where there is no file.  Throws InputError for one that is no intent.
[[nodiscard]] Intents read_intents(const std::string& state_dir);
/// Throws InputError; the old file then still stands.
void write_intents(const std::string& state_dir, const Intents& intents);

[[nodiscard]] std::string intent_file(const std::string& state_dir);

} // namespace foresight::io
