/*
 * CBC: see cbc.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cbc.hpp"

#include <Cbc_C_Interface.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace foresight::command {

namespace {

using Clock = std::chrono::steady_clock;

struct Delete {
    void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};

/// CBC talks on standard output whatever it is told, and that is the command's own.
class Silence {
public:
    Silence() {
        std::fflush(stdout);
        kept_ = ::dup(STDOUT_FILENO);
        const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (kept_ >= 0 && nothing >= 0) {
            ::dup2(nothing, STDOUT_FILENO);
        }
        if (nothing >= 0) {
            ::close(nothing);
        }
    }
    ~Silence() {
        std::fflush(stdout);
        if (kept_ >= 0) {
            ::dup2(kept_, STDOUT_FILENO);
            ::close(kept_);
        }
    }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

private:
    int kept_ = -1;
};

void load(Cbc_Model* model, const Mip& mip) {
    std::vector<CoinBigIndex> begin{0};
    std::vector<int> index;
    std::vector<double> factor;
    std::vector<double> low;
    std::vector<double> high;
    std::vector<double> cost;
    for (const Mip::Column& column : mip.columns) {
        for (const Mip::Entry& entry : column.entries) {
            index.push_back(entry.row);
            factor.push_back(entry.factor);
        }
        begin.push_back(static_cast<CoinBigIndex>(index.size()));
        low.push_back(column.low);
        high.push_back(column.high);
        cost.push_back(column.cost);
    }
    std::vector<double> row_low;
    std::vector<double> row_high;
    for (const Mip::Row& row : mip.rows) {
        row_low.push_back(row.low);
        row_high.push_back(row.high);
    }
    Cbc_loadProblem(model, static_cast<int>(mip.columns.size()), static_cast<int>(mip.rows.size()),
                    begin.data(), index.data(), factor.data(), low.data(), high.data(), cost.data(),
                    row_low.data(), row_high.data());
    for (std::size_t i = 0; i < mip.columns.size(); ++i) {
        if (mip.columns[i].whole) {
            Cbc_setInteger(model, static_cast<int>(i));
        }
    }
}

MipAnswer solve(const Mip& mip, double less_than, double seconds) {
    const Silence silence;
    const std::unique_ptr<Cbc_Model, Delete> model(Cbc_newModel());
    load(model.get(), mip);
    Cbc_setObjSense(model.get(), 1);
    Cbc_setLogLevel(model.get(), 0);
    Cbc_setParameter(model.get(), "log", "0");
    Cbc_setParameter(model.get(), "timeMode", "elapsed");
    Cbc_setParameter(model.get(), "seconds", std::to_string(seconds).c_str());
    Cbc_setParameter(model.get(), "cutoff", std::to_string(less_than).c_str());
    Cbc_setParameter(model.get(), "ratioGap", "0");
    Cbc_setParameter(model.get(), "allowableGap", "0");
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(seconds));
    Cbc_solve(model.get());
    MipAnswer answer;
    const double* values = Cbc_bestSolution(model.get());
    const bool found = values != nullptr && Cbc_getObjValue(model.get()) < less_than;
    if (found) {
        answer.values.assign(values, values + mip.columns.size());
    }
    // Out of time, CBC has called programs infeasible that it had not finished, and its "best
    // possible" value was no bound: only what ended in time counts.
    const bool in_time = Clock::now() < until && Cbc_isSecondsLimitReached(model.get()) == 0 &&
                         Cbc_isAbandoned(model.get()) == 0 && Cbc_status(model.get()) == 0;
    answer.proved = in_time && (Cbc_isProvenInfeasible(model.get()) != 0 ||
                                Cbc_isProvenOptimal(model.get()) != 0);
    answer.bound = !answer.proved ? -std::numeric_limits<double>::infinity()
                   : found        ? Cbc_getObjValue(model.get())
                                  : less_than;
    return answer;
}

} // namespace

MipSolver cbc_solver(double seconds) {
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(seconds));
    return [until](const Mip& mip, double less_than) {
        const double left = std::chrono::duration<double>(until - Clock::now()).count();
        return solve(mip, less_than, std::max(0.1, left));
    };
}

} // namespace foresight::command
