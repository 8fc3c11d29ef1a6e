// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mip: a mixed-integer program and its answer as values, so that whoever has a solver can lend it.
 */
#pragma once

#include <functional>
#include <vector>

namespace foresight {

/// The least of Σ cost × column over columns and rows within their bounds.
struct Mip {
    struct Entry {
        int row = 0;
        double factor = 0;
    };
    struct Column {
        double low = 0;
        double high = 1;
        double cost = 0;
        bool whole = true;
        std::vector<Entry> entries;
    };
    struct Row {
        double low = 0;
        double high = 0;
    };
    std::vector<Column> columns;
    std::vector<Row> rows;
};

struct MipAnswer {
    std::vector<double> values; ///< by column; empty: none found that costs less than asked for
    bool proved = false;        ///< that nothing costs less than `values`, or than asked for
    double bound = 0;           ///< nothing costs less
};

/// Solves a program for something that costs less than `less_than`.
using MipSolver = std::function<MipAnswer(const Mip& mip, double less_than)>;

} // namespace foresight
