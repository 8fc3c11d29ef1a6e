/*
 * foresight plan: one planning problem from a file, and what the planner makes of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cbc.hpp"
#include "exact.hpp"
#include "grid.hpp"
#include "io/error.hpp"
#include "io/file.hpp"
#include "io/scenario.hpp"
#include "io/schedule.hpp"
#include "io/text.hpp"
#include "planner.hpp"
#include "terminal.hpp"
#include "validate.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include <sys/stat.h>

namespace foresight::command {

namespace {

/// Work units in a millisecond of --budget-ms.  Fixed, not measured on the spot: the same command
/// gives the same plan on every machine.  A core of a small virtual machine did 2,000 to 4,000 a
/// millisecond on the published scenarios; plan_us has the time that it really took.
constexpr std::uint64_t kWorkPerMs = 3'000;
constexpr std::int64_t kFullMs = 200;
constexpr std::size_t kMostListed = 60;

struct PlanArguments {
    std::string file;
    std::string policy = "foresight";
    std::string mode = "fast";
    std::string realtime;
    std::string out;
    std::int64_t budget_ms = -1;
    int repeat = 1;
    double limit_s = 60;
    bool json = false;
};

struct Result {
    Plan plan;
    std::int64_t plan_us = 0;
    std::optional<bool> proved; ///< by exact mode
};

PlanOptions options_of(const PlanArguments& arguments) {
    PlanOptions options;
    const auto policy = find_policy(arguments.policy);
    if (!policy) {
        std::string all;
        for (const std::string& name : policy_names()) {
            all += (all.empty() ? "" : ", ") + name;
        }
        throw io::InputError("--policy: must be one of " + all + "; is \"" +
                             io::printable(arguments.policy) + "\"");
    }
    options.policy = *policy;
    options.policy.may_fall_short = true;
    if (!arguments.realtime.empty()) {
        options.policy.realtime =
            arguments.realtime == "static" ? Realtime::static_peak : Realtime::elastic;
    }
    const std::int64_t usual = arguments.mode == "fast" ? 0 : kFullMs;
    const std::int64_t ms = arguments.budget_ms >= 0 ? arguments.budget_ms : usual;
    options.budget = static_cast<std::uint64_t>(ms) * kWorkPerMs;
    return options;
}

/// Plans as often as asked: the same input gives the same plan, only the time differs.
Result plan_repeatedly(const Snapshot& snapshot, const PlanOptions& options, int repeat) {
    using Clock = std::chrono::steady_clock;
    Result result;
    std::vector<std::int64_t> times;
    for (int i = 0; i < repeat; ++i) {
        const auto start = Clock::now();
        result.plan = make_plan(snapshot, options);
        const auto spent = Clock::now() - start;
        times.push_back(std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    result.plan_us = *middle;
    if (times.size() % 2 == 0) {
        result.plan_us = (result.plan_us + *std::max_element(times.begin(), middle)) / 2;
    }
    return result;
}

/// The best plan that there is, if the solver finds it in time.
Result plan_exactly(const Snapshot& snapshot, const PlanOptions& options,
                    const PlanArguments& arguments) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const MipSolver solver = cbc_solver(arguments.limit_s);
    if (!solver) {
        throw io::InputError("--mode exact: this build lacks COIN-OR CBC (Debian package "
                             "coinor-libcbc-dev); install it, then configure and build again");
    }
    if (options.policy.name != "foresight" || options.policy.realtime != Realtime::elastic) {
        throw io::InputError("--mode exact: plans for the most value, so it takes --policy "
                             "foresight and --realtime elastic alone");
    }
    if (const std::string why = no_exact_model(snapshot); !why.empty()) {
        throw io::InputError(io::shown_name(arguments.file) +
                             ": --mode exact: " + io::printable(why, 300));
    }
    ExactAnswer answer = exact_plan(snapshot, make_plan(snapshot, options), solver);
    const auto spent = Clock::now() - start;
    return {std::move(answer.plan),
            std::chrono::duration_cast<std::chrono::microseconds>(spent).count(), answer.proved};
}

/// How far from the best possible, in words.
std::string gap_text(const Result& result) {
    if (result.proved.value_or(false)) {
        return "   (proved: no plan is better)";
    }
    if (!result.plan.bound) {
        return "";
    }
    const double objective = result.plan.metrics.objective;
    const double gap = std::max(0.0, *result.plan.bound - objective);
    if (objective <= 0) {
        return "   (at most " + io::format_number(gap, 4) + " below the best possible)";
    }
    const double percent = 100 * gap / objective;
    return percent < 0.01
               ? "   (the best possible, within 0.01 %)"
               : "   (at most " + io::format_number(percent, 2) + " % below the best possible)";
}

std::string metrics_lines(const Snapshot& snapshot, const Result& result) {
    const Metrics& metrics = result.plan.metrics;
    const auto jobs = snapshot.jobs.size() + snapshot.running.size();
    std::string text = "utilisation " + io::format_number(metrics.utilisation * 100, 4) +
                       " %   value " + io::format_number(metrics.value, 7) + "   objective " +
                       io::format_number(metrics.objective, 7) + gap_text(result) + "\n";
    text += "jobs " + std::to_string(metrics.jobs_placed) + " of " + std::to_string(jobs) +
            " placed, " + std::to_string(metrics.jobs_completed) + " end in the horizon\n";
    text += "wait mean " + io::format_duration(static_cast<Seconds>(metrics.wait_mean_s)) +
            ", worst " + io::format_duration(static_cast<Seconds>(metrics.wait_max_s)) +
            "; slowdown mean " + io::format_number(metrics.bounded_slowdown_mean, 3) +
            ", worst " + io::format_number(metrics.bounded_slowdown_max, 3) + "; " +
            io::format_number(metrics.fragmentation * 100, 3) + " % of free GPUs in fragments\n";
    if (!snapshot.apps.empty()) {
        text += "real time: " + io::format_number(metrics.shortfall_gpu_steps) +
                " GPU steps short, " + io::format_number(metrics.swaps) + " GPUs swapped\n";
    }
    return text + "planned in " + std::to_string(result.plan_us) + " us\n";
}

std::string jobs_table(const Snapshot& snapshot, const std::vector<Block>& blocks,
                       const Terminal& terminal) {
    std::vector<std::vector<std::string>> rows{
        {"", "JOB", "CLASS", "GPUS", "PRIORITY", "START", "END", "PLACE"}};
    for (const Block& block : blocks) {
        if (rows.size() > kMostListed) {
            break;
        }
        int gpus = 0;
        for (const Share& share : *block.shares) {
            gpus += std::popcount(share.gpus);
        }
        rows.push_back({std::string(1, block.symbol), io::printable(block.id, 30),
                        io::printable(block.kind, 16), std::to_string(gpus),
                        io::format_number(block.priority),
                        block.running ? "running" : io::format_duration(block.start),
                        io::format_duration(block.end), place_text(snapshot, *block.shares)});
    }
    std::string text = blocks.empty() ? "" : table(rows, terminal);
    if (blocks.size() > kMostListed) {
        text += "... " + std::to_string(blocks.size() - kMostListed) +
                " more (all of them with --json)\n";
    }
    return text;
}

std::string unplaced_table(const Snapshot& snapshot, const Plan& plan, const Terminal& terminal) {
    std::vector<std::vector<std::string>> rows{{"UNPLACED", "GPUS", "TIME", "WHY"}};
    for (const Unplaced& unplaced : plan.unplaced) {
        if (rows.size() > kMostListed) {
            break;
        }
        const Job& job = snapshot.jobs[static_cast<std::size_t>(unplaced.job)];
        rows.push_back({io::printable(job.id, 30),
                        std::to_string(job.options.front().request.gpus()),
                        io::format_duration(job.options.front().duration),
                        io::printable(io::reasons_text(unplaced.reasons, snapshot), 400)});
    }
    std::string text = plan.unplaced.empty() ? "" : "\n" + table(rows, terminal);
    if (plan.unplaced.size() > kMostListed) {
        text += "... " + std::to_string(plan.unplaced.size() - kMostListed) +
                " more (all of them with --json)\n";
    }
    return text;
}

std::string legend(const Snapshot& snapshot, const Terminal& terminal) {
    if (snapshot.apps.empty()) {
        return ". idle\n";
    }
    constexpr int wide = 52;
    const char* gap = terminal.width < wide ? "\n" : "   ";
    return std::string(". idle") + gap + "# held for real time" + gap + "- held above demand\n";
}

void print_for_people(const Snapshot& snapshot, const Result& result) {
    const Terminal terminal = Terminal::of_stdout();
    const std::vector<Block> blocks = blocks_of(snapshot, result.plan);
    int gpus = 0;
    for (const Node& node : snapshot.nodes) {
        gpus += node.gpus;
    }
    std::cout << terminal.bold(io::printable(snapshot.name)) << ": " << gpus << " GPUs, "
              << snapshot.steps << " steps of " << io::format_duration(snapshot.step) << ", policy "
              << result.plan.policy << "\n\n"
              << draw_grid(snapshot, result.plan, blocks, terminal);
    std::cout << legend(snapshot, terminal) << "\n"
              << metrics_lines(snapshot, result) << (blocks.empty() ? "" : "\n")
              << jobs_table(snapshot, blocks, terminal)
              << unplaced_table(snapshot, result.plan, terminal);
}

/// The planner must never print an illegal plan as if it were one.
bool is_legal(const Snapshot& snapshot, const Plan& plan) {
    const std::vector<std::string> violations = validate(snapshot, plan);
    for (const std::string& violation : violations) {
        std::cerr << "foresight: illegal plan, please report it: " << io::printable(violation, 300)
                  << "\n";
    }
    return violations.empty();
}

int run_plan(const PlanArguments& arguments) {
    const PlanOptions options = options_of(arguments);
    const Snapshot snapshot = io::read_scenario(arguments.file);
    if (const std::string problem = check(snapshot); !problem.empty()) {
        throw io::InputError(io::shown_name(arguments.file) + ": " + io::printable(problem, 300));
    }
    const Result result = arguments.mode == "exact"
                              ? plan_exactly(snapshot, options, arguments)
                              : plan_repeatedly(snapshot, options, arguments.repeat);
    if (!is_legal(snapshot, result.plan)) {
        return kNo;
    }
    if (!arguments.json && arguments.out.empty()) {
        print_for_people(snapshot, result);
        return kDone;
    }
    const std::string text =
        io::schedule_text(snapshot, result.plan,
                          {options.policy.name, arguments.mode, result.plan_us, result.proved});
    if (!arguments.out.empty()) {
        const mode_t mask = ::umask(0);
        ::umask(mask);
        io::write_file(arguments.out, text, 0666 & ~mask, io::Sync::no);
    }
    if (arguments.json) {
        std::cout << text;
    }
    return kDone;
}

std::string policies_help() {
    std::string text = "One of";
    for (const std::string& name : policy_names()) {
        text += " " + name;
    }
    return text + " (default)";
}

} // namespace

void add_plan(CLI::App& app, int& status) {
    auto arguments = std::make_shared<PlanArguments>();
    CLI::App* verb = app.add_subcommand("plan", "Plan a scenario: which job runs when and where");
    verb->add_option("FILE", arguments->file, "A foresight-scenario/1 file, - for standard input")
        ->required()
        ->option_text(" ");
    verb->add_option("--policy", arguments->policy, policies_help())->option_text("NAME");
    verb->add_option("--mode", arguments->mode,
                     "fast (default): a first plan; full: search for better ones as long as the "
                     "budget lasts; exact: the best plan of a small scenario, with COIN-OR CBC")
        ->check(CLI::IsMember({"fast", "full", "exact"}))
        ->option_text("fast|full|exact");
    verb->add_option("--limit-s", arguments->limit_s,
                     "exact: stop after so many seconds with the best plan found (60)")
        ->check(CLI::Range(0.1, 1e6))
        ->option_text("N");
    verb->add_option("--budget-ms", arguments->budget_ms,
                     "Search budget, as work of so many milliseconds (fast 0, else 200)")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{3'600'000}))
        ->option_text("N");
    verb->add_option("--realtime", arguments->realtime,
                     "Real-time applications keep their peak or follow their demand, whatever the "
                     "policy says")
        ->check(CLI::IsMember({"static", "elastic"}))
        ->option_text("static|elastic");
    verb->add_option("--repeat", arguments->repeat, "Plan N times; plan_us is the median")
        ->check(CLI::Range(1, 100'000))
        ->option_text("N");
    verb->add_option("--out", arguments->out, "Write the foresight-schedule/1 to this file")
        ->option_text("FILE");
    verb->add_flag("--json", arguments->json, "Print the foresight-schedule/1, nothing else");
    verb->footer("Without --json and --out: the plan as a picture and tables.");
    verb->callback([arguments, &status] { status = run_plan(*arguments); });
}

} // namespace foresight::command
