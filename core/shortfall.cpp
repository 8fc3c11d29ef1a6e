// SPDX-License-Identifier: GPL-2.0-or-later
#include "shortfall.hpp"

#include "decode.hpp"
#include "value.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace foresight {

namespace {

/// GPUs wanted, by application and step.
using Demand = std::vector<std::vector<int>>;

/// Demand that is missed for a job's sake.
struct Bargain {
    int job = 0;
    Seconds start = 0; ///< of the window
    double gain = 0;   ///< the job's reward less what is missed, if nothing else changes
    Demand demand;
};

/// How hard bargains are looked for.
struct Effort {
    int rounds = 0;           ///< bargains taken at most
    std::size_t tries = 0;    ///< bargains searched in a round
    std::size_t windows = 0;  ///< of each job; the best one may be in the way of other jobs
    std::uint64_t budget = 0; ///< of a search
};
constexpr Effort kFast{.rounds = 2, .tries = 2, .windows = 1};
/// Each search of these may take this part of the budget; the rest is for the best solution.
constexpr Effort kNarrow{.rounds = 6, .tries = 8, .windows = 1};
constexpr Effort kBroad{.rounds = 6, .tries = 20, .windows = 3};
constexpr std::uint64_t kTryShare = 200;
constexpr double kNoGain = 1e-9;

bool better(const Bargain& a, const Bargain& b) noexcept {
    return a.gain > b.gain;
}

class Shortfalls {
public:
    Shortfalls(const Snapshot& snapshot, const Policy& policy, const std::atomic<bool>* cancel)
        : snapshot_(snapshot), policy_(policy), cancel_(cancel), weights_(snapshot),
          steps_(static_cast<std::size_t>(snapshot.steps)) {
        for (const Job& job : snapshot.jobs) {
            worth_.push_back(aged_priority(snapshot, policy, job) * job.options[0].request.gpus());
        }
        for (const App& app : snapshot.apps) {
            wanted_by_all_.push_back(app.demand);
            cost_.push_back(app.priority * snapshot.value.shortfall_weight);
        }
        cheapest_.resize(snapshot.apps.size());
        std::iota(cheapest_.begin(), cheapest_.end(), std::size_t{0});
        std::stable_sort(cheapest_.begin(), cheapest_.end(),
                         [&](std::size_t a, std::size_t b) { return cost_[a] < cost_[b]; });
        count_free();
    }

    StripPlan search(const std::vector<Hold>& holds, std::uint64_t budget);

private:
    struct Solution {
        StripPlan plan;
        Demand demand; ///< that it keeps GPUs for
        double objective = -std::numeric_limits<double>::infinity();
    };
    struct Window {
        std::size_t from = 0; ///< steps that a job touches …
        std::size_t until = 0;
        double reward = 0;
    };

    [[nodiscard]] double objective(const StripPlan& plan) const;
    void count_free();
    void sum_demand();
    void count_taken(const StripPlan& plan);
    [[nodiscard]] std::vector<Bargain> bargains(const StripPlan& plan, const Effort& effort) const;
    void best_windows(int job, double reached, const std::vector<int>& room, std::size_t windows,
                      std::vector<Bargain>& found) const;
    [[nodiscard]] Window window(const Option& option, double worth, Seconds start) const;
    [[nodiscard]] double least_cost(const Window& window, int gpus,
                                    const std::vector<int>& room) const;
    [[nodiscard]] double lower(const Window& window, int gpus, const std::vector<int>& room,
                               Demand& demand) const;
    [[nodiscard]] std::vector<Hold> holds_for(const Demand& demand) const;
    bool enter(StripPlan plan, Solution& best);
    [[nodiscard]] Solution bargain(Solution now, const std::vector<Hold>& holds,
                                   const Effort& effort);

    const Snapshot& snapshot_;
    const Policy& policy_;
    const std::atomic<bool>* cancel_;
    Weights weights_;
    std::size_t steps_;
    std::vector<double> worth_;         ///< by job: reward of a step
    std::vector<double> cost_;          ///< by application: of a GPU missing in a step
    std::vector<std::size_t> cheapest_; ///< applications, the cheapest first
    std::vector<int> wanted_;           ///< by step: of all applications
    std::vector<int> free_;             ///< by step: GPUs that nothing running takes
    std::vector<int> left_;             ///< … and that no placement takes
    Demand wanted_by_all_;
    Demand demand_; ///< what the solution looked at keeps GPUs for
    std::uint64_t work_ = 0;
};

double Shortfalls::objective(const StripPlan& plan) const {
    double sum = 0;
    for (const Placement& place : plan.placements) {
        sum +=
            worth_[static_cast<std::size_t>(place.job)] * weights_.between(place.start, place.end);
    }
    for (std::size_t a = 0; a < plan.holds.size(); ++a) {
        for (std::size_t step = 0; step < steps_; ++step) {
            const int missing =
                snapshot_.apps[a].demand[step] - count_gpus(plan.holds[a].steps[step]);
            sum -= cost_[a] * std::max(0, missing);
        }
    }
    return sum;
}

void Shortfalls::count_free() {
    int all = 0;
    for (const Node& node : snapshot_.nodes) {
        all += std::popcount(node.usable & lowest_gpus(node.gpus));
    }
    free_.assign(steps_, all);
    for (const Running& job : snapshot_.running) {
        const Seconds steps =
            (std::min(job.end, snapshot_.horizon()) + snapshot_.step - 1) / snapshot_.step;
        for (Seconds step = 0; step < steps; ++step) {
            free_[static_cast<std::size_t>(step)] -= count_gpus(job.shares);
        }
    }
}

void Shortfalls::sum_demand() {
    wanted_.assign(steps_, 0);
    for (const std::vector<int>& demand : demand_) {
        for (std::size_t step = 0; step < steps_; ++step) {
            wanted_[step] += demand[step];
        }
    }
}

void Shortfalls::count_taken(const StripPlan& plan) {
    left_ = free_;
    for (const Placement& place : plan.placements) {
        const Window taken =
            window(snapshot_.jobs[static_cast<std::size_t>(place.job)].options[0], 0, place.start);
        for (std::size_t step = taken.from; step < taken.until; ++step) {
            left_[step] -= count_gpus(place.shares);
        }
    }
}

Shortfalls::Window Shortfalls::window(const Option& option, double worth, Seconds start) const {
    const Seconds end = start + option.duration;
    const Seconds inside = std::min(end, snapshot_.horizon());
    return {static_cast<std::size_t>(start / snapshot_.step),
            static_cast<std::size_t>((inside + snapshot_.step - 1) / snapshot_.step),
            worth * weights_.between(start, end)};
}

/// What a window would cost at the least, whatever the caps; infinite where no demand is left.
double Shortfalls::least_cost(const Window& window, int gpus, const std::vector<int>& room) const {
    int missing = 0;
    for (std::size_t step = window.from; step < window.until; ++step) {
        if (gpus > room[step]) {
            return std::numeric_limits<double>::infinity();
        }
        missing += std::max(0, gpus + wanted_[step] - room[step]);
    }
    return missing * cost_[cheapest_.front()];
}

/// Lowers the demand, of the cheapest first, so far that the window has room; says what it costs.
double Shortfalls::lower(const Window& window, int gpus, const std::vector<int>& room,
                         Demand& demand) const {
    constexpr std::int64_t kNoLimit = kUnlimited;
    std::vector<std::vector<std::int64_t>> limit(demand_.size(),
                                                 std::vector<std::int64_t>(steps_, kNoLimit));
    for (std::size_t step = window.from; step < window.until; ++step) {
        int missing = gpus + wanted_[step] - room[step];
        for (const std::size_t app : cheapest_) {
            // What is left over may be held by the first.
            const int less = std::min(missing, demand_[app][step]);
            limit[app][step] = demand_[app][step] - less;
            missing -= std::max(less, std::min(missing, 0));
        }
    }
    double cost = 0;
    demand = demand_;
    for (std::size_t a = 0; a < demand.size(); ++a) {
        const std::int64_t swap = snapshot_.apps[a].max_swap;
        std::vector<std::int64_t>& most = limit[a];
        for (std::size_t step = 1; swap < kUnlimited && step < steps_; ++step) {
            most[step] = std::min(most[step], most[step - 1] + swap);
        }
        for (std::size_t step = steps_; swap < kUnlimited && step-- > 1;) {
            most[step - 1] = std::min(most[step - 1], most[step] + swap);
        }
        for (std::size_t step = 0; step < steps_; ++step) {
            const auto now = static_cast<int>(std::min<std::int64_t>(demand[a][step], most[step]));
            cost += cost_[a] * (demand[a][step] - now);
            demand[a][step] = now;
        }
    }
    return cost;
}

/// Adds the job's best bargains, where `reached` is its reward now: windows that are half its
/// length apart at least.
void Shortfalls::best_windows(int index, double reached, const std::vector<int>& room,
                              std::size_t windows, std::vector<Bargain>& found) const {
    const Job& job = snapshot_.jobs[static_cast<std::size_t>(index)];
    const Option& option = job.options[0];
    const int gpus = option.request.gpus();
    const double worth = worth_[static_cast<std::size_t>(index)];
    const Seconds first = std::max({snapshot_.now, job.submit, job.begin, Seconds{0}});
    const Seconds latest = snapshot_.fit == Fit::within_horizon
                               ? snapshot_.horizon() - option.duration
                               : snapshot_.horizon() - 1;
    if (window(option, worth, first).reward - reached <= cost_[cheapest_.front()]) {
        return; // not worth one GPU for a step
    }
    const std::size_t begin = found.size();
    Bargain bargain{index, 0, 0, {}};
    for (Seconds start = first; start <= latest;
         start = (start / snapshot_.step + 1) * snapshot_.step) {
        const Window at = window(option, worth, start);
        const double least = least_cost(at, gpus, room);
        if (at.reward - reached - least <= kNoGain || least <= 0) {
            continue;
        }
        bargain.start = start;
        bargain.gain = at.reward - reached - lower(at, gpus, room, bargain.demand);
        if (bargain.gain > kNoGain) {
            found.push_back(bargain);
        }
    }
    std::stable_sort(found.begin() + static_cast<std::ptrdiff_t>(begin), found.end(), better);
    std::size_t kept = begin;
    for (std::size_t i = begin; i < found.size() && kept < begin + windows; ++i) {
        const bool apart = std::all_of(
            found.begin() + static_cast<std::ptrdiff_t>(begin),
            found.begin() + static_cast<std::ptrdiff_t>(kept), [&](const Bargain& other) {
                return std::abs(other.start - found[i].start) >= option.duration / 2;
            });
        if (apart) {
            std::swap(found[kept++], found[i]);
        }
    }
    found.resize(kept);
}

/// The best bargains of jobs that lose by the demand, the best first.
std::vector<Bargain> Shortfalls::bargains(const StripPlan& plan, const Effort& effort) const {
    std::vector<double> reached(snapshot_.jobs.size(), 0.0);
    for (const Placement& place : plan.placements) {
        const auto job = static_cast<std::size_t>(place.job);
        reached[job] = worth_[job] * weights_.between(place.start, place.end);
    }
    std::vector<Bargain> found;
    for (std::size_t job = 0; job < snapshot_.jobs.size(); ++job) {
        best_windows(static_cast<int>(job), reached[job], free_, effort.windows, found);
        if (reached[job] <= 0) {
            best_windows(static_cast<int>(job), 0, left_, effort.windows, found);
        }
    }
    std::stable_sort(found.begin(), found.end(), better);
    found.resize(std::min(found.size(), effort.tries));
    return found;
}

/// What the applications would hold, had they this demand.
std::vector<Hold> Shortfalls::holds_for(const Demand& demand) const {
    Snapshot other;
    other.step = snapshot_.step;
    other.steps = snapshot_.steps;
    other.now = snapshot_.now;
    other.block = snapshot_.block;
    other.nodes = snapshot_.nodes;
    other.classes = snapshot_.classes;
    other.running = snapshot_.running;
    other.apps = snapshot_.apps;
    for (std::size_t a = 0; a < demand.size(); ++a) {
        other.apps[a].demand = demand[a];
    }
    for (Running& job : other.running) {
        job.limits.clear();
    }
    Decoder decoder(other, policy_, nullptr);
    decoder.prepare();
    return decoder.holds();
}

/// Replaces `best` when the plan is better.
bool Shortfalls::enter(StripPlan plan, Solution& best) {
    work_ += plan.work;
    const double reached = objective(plan);
    if (reached <= best.objective + kNoGain) {
        return false;
    }
    best.objective = reached;
    best.plan = std::move(plan);
    return true;
}

/// From a solution on takes the best bargain as long as one gains.
Shortfalls::Solution Shortfalls::bargain(Solution now, const std::vector<Hold>& holds,
                                         const Effort& effort) {
    for (int round = 0; round < effort.rounds; ++round) {
        demand_ = now.demand;
        sum_demand();
        count_taken(now.plan);
        bool gained = false;
        for (Bargain& chance : bargains(now.plan, effort)) {
            if (enter(search_strip(snapshot_, policy_, holds_for(chance.demand), effort.budget,
                                   cancel_, chance.job),
                      now)) {
                now.demand = std::move(chance.demand);
                gained = true;
            }
        }
        if (!gained) {
            break;
        }
        // The order may be what gained, and do as well without missing anything.
        if (enter(decode_strip(snapshot_, policy_, holds, now.plan.order), now)) {
            now.demand = wanted_by_all_;
        }
    }
    return now;
}

StripPlan Shortfalls::search(const std::vector<Hold>& holds, std::uint64_t budget) {
    Solution all_kept{{}, wanted_by_all_};
    enter(search_strip(snapshot_, policy_, holds, 0, cancel_), all_kept);
    Solution best = bargain(all_kept, holds, kFast);
    if (budget > 0) {
        for (Effort effort : {kNarrow, kBroad}) {
            effort.budget = budget / kTryShare;
            Solution other = bargain(all_kept, holds, effort);
            if (other.objective > best.objective) {
                best = std::move(other);
            }
        }
        const std::uint64_t left = budget - std::min(budget, work_);
        const bool misses = best.demand != wanted_by_all_;
        const std::uint64_t plain = misses ? left / 4 : left;
        enter(search_strip(snapshot_, policy_, holds, plain, cancel_), best);
        if (misses) {
            enter(search_strip(snapshot_, policy_, holds_for(best.demand), left - plain, cancel_),
                  best);
        }
    }
    best.plan.work = work_;
    return std::move(best.plan);
}

} // namespace

StripPlan search_shortfalls(const Snapshot& snapshot, const Policy& policy,
                            const std::vector<Hold>& holds, std::uint64_t budget,
                            const std::atomic<bool>* cancel) {
    return Shortfalls(snapshot, policy, cancel).search(holds, budget);
}

} // namespace foresight
