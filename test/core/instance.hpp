// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random instances for the core's tests: small enough for a slow reference, rich enough to meet
 * every rule: types, CPUs, memory, classes, closures, limits, arrays, options, applications.
 */
#pragma once

#include "harness.h"
#include "model.hpp"

#include <random>

namespace foresight::test {

class Draw {
public:
    explicit Draw(std::uint64_t seed) : engine_(seed) {}

    /// Between low and high, both included.
    int number(int low, int high) {
        return static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1)) + low;
    }
    bool chance(int percent) { return number(1, 100) <= percent; }
    std::uint64_t bits() { return engine_(); }

private:
    std::mt19937_64 engine_;
};

struct Kinds {
    bool limits_of_nodes = false; ///< CPUs, memory, types, classes, closures
    bool limits_of_jobs = false;  ///< Snapshot::limits, arrays, refusals, several options
    bool apps = true;
    bool running = true;
    Block block = Block::any;
    Fit fit = Fit::within_horizon;
    int least_nodes = 1;
    int most_nodes = 4;
    int most_jobs = 9;
};

/// A scenario's kind of snapshot: one class with every node, `count` jobs of chunk {1 GPU}.
[[nodiscard]] Snapshot grid(int nodes, int gpus, int steps, Seconds step = 10);
/// A job of `gpus` GPUs for `duration` seconds on class 0.
[[nodiscard]] Job job(const std::string& id, int gpus, Seconds duration, double priority = 1.0);

[[nodiscard]] Snapshot random_snapshot(Draw& draw, const Kinds& kinds);

} // namespace foresight::test
