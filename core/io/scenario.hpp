/*
 * Scenario: a foresight-scenario/1 file to a Snapshot.
 *
 * Strict: an unknown `format`, a missing or wrong-typed field, a negative or non-finite number,
 * an id used twice, an unknown node, a GPU out of range or held twice are errors that name the
 * file and the place.  Unknown fields are ignored.  A job larger than the cluster is no error:
 * it never fits, and the plan says so.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "../model.hpp"

#include <string>

namespace foresight::io {

/// What a file may ask for at most; more is an error that says so.
struct ScenarioBounds {
    static constexpr std::int64_t nodes = 100'000;
    static constexpr std::int64_t jobs = 1'000'000;
    static constexpr std::int64_t apps = 1'000;
    static constexpr std::int64_t steps = 100'000;
    static constexpr std::int64_t demands = 10'000'000; ///< steps of all applications together
    static constexpr std::int64_t gpus = 1'000'000'000; ///< of one job or of one step's demand
    static constexpr double number = 1e12;              ///< a priority, a weight
};

/// Reads a file, "-" for standard input.  Throws InputError.
[[nodiscard]] Snapshot read_scenario(const std::string& path);

/// The same from text; `shown_file` stands in messages.
[[nodiscard]] Snapshot parse_scenario(const std::string& text, const std::string& shown_file);

} // namespace foresight::io
