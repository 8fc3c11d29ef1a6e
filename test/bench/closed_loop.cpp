// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The closed loop, measured: what real-time GPUs are lent, and what that costs.
 *
 *     closed_loop DIRECTORY [--days N] [--interval SECONDS] [--forget] [--row NAME]... [KIND]...
 *
 * KIND is saturated (the jobs of a week, all there from the start), october or november (weeks as
 * they arrived).  --interval: between plans; --forget: announced starts may move freely, as plans
 * have no memory; --row: only this way to foresee demand.
 *
 * DIRECTORY has philly-jobs.csv and servegen-m-large.csv.  A cluster of 64 nodes of 8 GPUs runs
 * the jobs of a week beside a service whose demand is the file's second week, scaled to a peak of
 * 154 GPUs; its first week is learnt.  Each way to foresee demand runs the same jobs with the same
 * planner.  A GPU serves a step's demand only if it was held all through the step before too.
 *
 *     shortfall  share of the demanded GPU-steps that no such GPU was there for
 *     lent       GPU-steps of batch jobs above what a static reservation of the peak leaves, as a
 *                share of what that leaves idle
 *     wait       mean, over all jobs; those that still wait at the end count until then
 */
#include "controller.hpp"
#include "io/series_file.hpp"
#include "simulate.hpp"
#include "value.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <stdexcept>

using namespace foresight;

namespace {

constexpr Seconds kDay = 86400;
constexpr Seconds kStep = 600;
constexpr int kLearnt = 7 * 144; ///< steps
constexpr int kNodes = 64;
constexpr int kGpus = 8 * kNodes;
constexpr int kPeak = 154;

struct Demand {
    Series requests;       ///< from the first learnt window on
    std::vector<int> gpus; ///< by step of the simulation
    double units_per_gpu = 1;
};

Demand read_demand(const std::string& directory, int days) {
    Demand demand;
    demand.requests = io::read_series(directory + "/servegen-m-large.csv").series;
    const std::vector<double>& values = demand.requests.values;
    double most = 0;
    for (const double value : values) {
        most = std::isfinite(value) ? std::max(most, value) : most;
    }
    demand.units_per_gpu = most / kPeak;
    const Conversion conversion{demand.units_per_gpu, 0, 0, kPeak};
    for (int step = 0; step <= days * 144; ++step) {
        const double value =
            values[std::min(static_cast<std::size_t>(kLearnt + step), values.size() - 1)];
        demand.gpus.push_back(conversion.gpus(value));
    }
    return demand;
}

Seconds parse_time(const std::string& text) {
    std::tm tm{};
    if (strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &tm) == nullptr) {
        throw std::runtime_error("philly-jobs.csv: not a time: " + text);
    }
    return timegm(&tm);
}

/// Jobs of the week from a day on, each asking for what it ran; priorities are drawn.
std::vector<TraceJob> read_jobs(const std::string& directory, const std::string& from, int days,
                                bool at_once) {
    std::ifstream file(directory + "/philly-jobs.csv");
    std::string line;
    if (!std::getline(file, line)) {
        throw std::runtime_error(directory + "/philly-jobs.csv: cannot be read");
    }
    const Seconds begin = parse_time(from + " 00:00:00");
    std::vector<TraceJob> jobs;
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string time, duration, gpus;
        std::getline(fields, time, ',');
        std::getline(fields, duration, ',');
        std::getline(fields, gpus, ',');
        if (time.empty() || duration.empty() || gpus.empty()) {
            continue; // a job that the trace knows too little of
        }
        const Seconds submit = parse_time(time) - begin;
        const auto length = static_cast<Seconds>(std::ceil(std::stod(duration)));
        if (submit >= 0 && submit < (at_once ? 7 : days) * kDay && length > 0 &&
            std::stoi(gpus) > 0) {
            jobs.push_back({"", "", std::stoi(gpus), submit, length, length, 1});
        }
    }
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
    constexpr std::array<int, 6> kPriorities{1, 1, 2, 3, 5, 8};
    std::mt19937_64 engine(1);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].id = "j" + std::to_string(i);
        jobs[i].submit = at_once ? 0 : jobs[i].submit;
        jobs[i].priority = kPriorities[engine() % kPriorities.size()];
    }
    return jobs;
}

/// A curve made anew each step by a function of (step, steps, held).
class Made : public Expectation {
public:
    using Function = std::function<std::vector<int>(int, int, int)>;
    explicit Made(Function function) : function_(std::move(function)) {}
    std::vector<int> curve(std::size_t, int step, int steps, int held) override {
        return function_(step, steps, held);
    }

private:
    Function function_;
};

Made::Function perfect(const Demand& demand) {
    return [&demand](int step, int steps, int) {
        std::vector<int> curve;
        const auto last = static_cast<int>(demand.gpus.size()) - 1;
        for (int i = step; i < step + steps; ++i) {
            curve.push_back(std::max(demand.gpus[static_cast<std::size_t>(std::min(i, last))],
                                     demand.gpus[static_cast<std::size_t>(std::min(i + 1, last))]));
        }
        return curve;
    };
}

Made::Function constant(int gpus) {
    return [gpus](int, int steps, int) {
        return std::vector<int>(static_cast<std::size_t>(steps), gpus);
    };
}

/// What is idle now but for a buffer goes to jobs that end within so many steps.
Made::Function fixed_loan(const Demand& demand, int loan, int buffer) {
    return [&demand, loan, buffer](int step, int steps, int) {
        const int now = demand.gpus[static_cast<std::size_t>(std::max(0, step - 1))];
        std::vector<int> curve(static_cast<std::size_t>(steps), kPeak);
        std::fill_n(curve.begin(), std::min(steps, loan), std::min(kPeak, now + buffer));
        return curve;
    };
}

Made::Function controlled(const Demand& demand, double quantile, Seconds hold_time) {
    ControlRule rule;
    rule.conversion = {demand.units_per_gpu, 0, 0, kPeak};
    rule.quantile = quantile;
    rule.lead_time = kStep;
    rule.hold_time = hold_time;
    rule.peak = kPeak;
    auto controller = std::make_shared<DemandController>(rule, kStep);
    Series past = demand.requests;
    past.values.resize(kLearnt);
    controller->learn(past);
    const Seconds start = past.origin + kLearnt * kStep;
    return [&demand, controller, start, seen = 0](int step, int steps, int held) mutable {
        double level = demand.requests.values[static_cast<std::size_t>(kLearnt + step - 1)];
        for (; seen < step; ++seen) {
            level = demand.requests.values[static_cast<std::size_t>(kLearnt + seen)];
            controller->observe(level);
        }
        const Seconds now = start + step * kStep;
        return controller->curve({DemandNow::State::known, level, held}, now, {now, kStep, steps});
    };
}

struct Result {
    double shortfall = 0;
    double lent = 0;
    double wait = 0;
    int changes = 0; ///< steps in which the service held another number of GPUs
};

int kept(const GpuSet& before, const GpuSet& now) {
    int gpus = 0;
    for (const auto& [node, mask] : before) {
        for (const auto& [other, more] : now) {
            gpus += node == other ? std::popcount(mask & more) : 0;
        }
    }
    return gpus;
}

Result score(const Workload& workload, const Demand& demand, const SimulationLog& log) {
    const auto steps = static_cast<std::size_t>(log.end / kStep);
    std::vector<double> batch(steps + 1, 0.0);
    std::vector<Seconds> started(workload.jobs.size(), log.end);
    for (const Run& run : log.runs) {
        started[static_cast<std::size_t>(run.job)] = run.start;
        for (Seconds at = run.start; at < std::min(run.end, log.end);) {
            const Seconds until = std::min({run.end, log.end, (at / kStep + 1) * kStep});
            batch[static_cast<std::size_t>(at / kStep)] +=
                count_gpus(run.shares) * static_cast<double>(until - at) / kStep;
            at = until;
        }
    }
    Result result;
    double missing = 0, wanted = 0, idle = 0, lent = 0;
    for (std::size_t step = 1; step < steps; ++step) {
        const int demanded = demand.gpus[step];
        const std::vector<GpuSet>& held = log.held[0];
        missing += std::max(0, demanded - kept(held[step - 1], held[step]));
        wanted += demanded;
        idle += kPeak - demanded;
        lent += std::max(0.0, batch[step] - (kGpus - kPeak));
        result.changes += count_gpus(held[step]) != count_gpus(held[step - 1]);
    }
    result.shortfall = missing / wanted;
    result.lent = lent / idle;
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        result.wait += static_cast<double>(started[i] - workload.jobs[i].submit) /
                       static_cast<double>(workload.jobs.size());
    }
    return result;
}

struct Arguments {
    std::string directory;
    std::vector<std::string> kinds;
    std::vector<std::string> rows; ///< empty: all
    Seconds interval = 60;
    int days = 7;
    bool remember = true;
};

Result run(const std::string& name, const Workload& workload, const Demand& demand,
           Made::Function function, const Arguments& arguments) {
    Made expectation(std::move(function));
    SimulationOptions options{.plan = {*find_policy("foresight")},
                              .interval = arguments.interval,
                              .remember = arguments.remember,
                              .end = arguments.days * kDay};
    options.plan.explained = false;
    options.plan.policy.age_doubles = kDay;
    const auto begin = std::chrono::steady_clock::now();
    const SimulationLog log = simulate(workload, expectation, options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const Result result = score(workload, demand, log);
    std::printf("%-22s %9.3f %9.2f %9.0f %8d %8d %7.1f\n", name.c_str(), 100 * result.shortfall,
                100 * result.lent, result.wait, result.changes, log.decisions, took.count());
    std::fflush(stdout);
    return result;
}

std::vector<std::pair<std::string, Made::Function>> ways(const Demand& demand) {
    std::vector<std::pair<std::string, Made::Function>> ways{
        {"perfect", perfect(demand)},
        {"static peak", constant(kPeak)},
        {"constant 92", constant(92)},
        {"fixed loan 4 h + 20", fixed_loan(demand, 24, 20)},
        {"fixed loan 2 h + 20", fixed_loan(demand, 12, 20)}};
    for (const char* quantile : {"0.95", "0.98", "0.985", "0.99", "0.995"}) {
        ways.emplace_back(std::string("Quantile ") + quantile,
                          controlled(demand, std::stod(quantile), 0));
    }
    ways.emplace_back("Quantile 0.98, 30 min", controlled(demand, 0.98, 1800));
    return ways;
}

Workload workload_of(const std::string& kind, const Demand& demand, const Arguments& arguments) {
    const bool saturated = kind == "saturated";
    Workload workload;
    workload.step = kStep;
    workload.horizon_steps = 144;
    workload.block = Block::contiguous;
    workload.value.decay_end = 0.5;
    for (int node = 0; node < kNodes; ++node) {
        workload.nodes.push_back({.name = "g" + std::to_string(node), .gpus = 8});
    }
    const char* from = saturated ? "2017-10-16" : kind == "october" ? "2017-10-02" : "2017-11-06";
    workload.jobs = read_jobs(arguments.directory, from, arguments.days, saturated);
    workload.services.push_back({"service", 5, kUnlimited, demand.gpus});
    return workload;
}

void compare(const std::string& kind, const Arguments& arguments) {
    const Demand demand = read_demand(arguments.directory, arguments.days);
    const Workload workload = workload_of(kind, demand, arguments);
    std::printf(
        "%s: %zu jobs, %d days, a plan each %lld s at most\n%-22s %9s %9s %9s %8s %8s %7s\n",
        kind.c_str(), workload.jobs.size(), arguments.days,
        static_cast<long long>(arguments.interval), "", "short %", "lent %", "wait s", "changes",
        "plans", "s");
    for (const auto& [name, function] : ways(demand)) {
        if (arguments.rows.empty() ||
            std::find(arguments.rows.begin(), arguments.rows.end(), name) != arguments.rows.end()) {
            run(name, workload, demand, function, arguments);
        }
    }
}

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&] {
            if (++i == argc) {
                throw std::runtime_error(word + ": a value is missing");
            }
            return std::string(argv[i]);
        };
        if (word == "--days") {
            arguments.days = std::stoi(value());
        } else if (word == "--interval") {
            arguments.interval = std::stol(value());
        } else if (word == "--row") {
            arguments.rows.push_back(value());
        } else if (word == "--forget") {
            arguments.remember = false;
        } else if (word == "saturated" || word == "october" || word == "november") {
            arguments.kinds.push_back(word);
        } else if (arguments.directory.empty() && word[0] != '-') {
            arguments.directory = word;
        } else {
            throw std::runtime_error(word + ": not an option, and no kind of jobs");
        }
    }
    if (arguments.directory.empty()) {
        throw std::runtime_error("the directory of the traces is missing");
    }
    if (arguments.kinds.empty()) {
        arguments.kinds = {"saturated", "october", "november"};
    }
    return arguments;
}

} // namespace

int main(int argc, char** argv) try {
    const Arguments arguments = parse(argc, argv);
    for (const std::string& kind : arguments.kinds) {
        compare(kind, arguments);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "closed_loop: %s\n", error.what());
    return 2;
}
