// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workload: what a cluster had to do over days, to be simulated.
 *
 * Times are seconds from the workload's start; services count in steps of it.
 */
#pragma once

#include "model.hpp"

#include <string>
#include <vector>

namespace foresight {

/// A batch job of a trace.
struct TraceJob {
    std::string id;
    std::string kind;
    int gpus = 1;
    Seconds submit = 0;
    Seconds length = 0; ///< that it runs; cut at the limit
    Seconds limit = 0;  ///< that it asks for: all that a plan knows
    double priority = 1;
};

/// A real-time application, and what it really wants.
struct Service {
    std::string id;
    double priority = 1;
    std::int64_t max_swap = kUnlimited;
    std::vector<int> demand; ///< GPUs, by step; the last one stands for all after it
};

struct Workload {
    std::string name;
    std::vector<Node> nodes;
    Seconds step = 600;
    int horizon_steps = 144; ///< that a plan looks ahead
    Block block = Block::any;
    ValueRule value;
    std::vector<TraceJob> jobs; ///< in order of submission
    std::vector<Service> services;
};

} // namespace foresight
