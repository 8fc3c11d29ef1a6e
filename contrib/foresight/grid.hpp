/*
 * Grid: a plan as a picture, a row a GPU, time to the right.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include "plan.hpp"
#include "terminal.hpp"

#include <string>
#include <vector>

namespace foresight::command {

/// What stands for a job in the picture, and where it runs; running jobs first.
struct Block {
    char symbol = '?';
    int colour = 0;
    std::string id;
    std::string kind;
    double priority = 0;
    Seconds start = 0;
    Seconds end = 0;
    bool running = false;
    const std::vector<Share>* shares = nullptr;
};

/// Every job with a place, in order of start and place.
[[nodiscard]] std::vector<Block> blocks_of(const Snapshot& snapshot, const Plan& plan);

/// The picture.  Where GPUs are many, a row a node, with how many of its GPUs are in use.
[[nodiscard]] std::string draw_grid(const Snapshot& snapshot, const Plan& plan,
                                    const std::vector<Block>& blocks, const Terminal& terminal);

/// g001:0-7+g002:0-3
[[nodiscard]] std::string place_text(const Snapshot& snapshot, const std::vector<Share>& shares);

} // namespace foresight::command
