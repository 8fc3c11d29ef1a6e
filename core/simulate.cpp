// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate.hpp"

#include "value.hpp"

#include <algorithm>
#include <queue>

namespace foresight {

namespace {

class Simulation {
public:
    Simulation(const Workload& workload, Expectation& expectation,
               const SimulationOptions& options);

    SimulationLog run();

private:
    /// A job that runs, by the time when it is really over.
    struct Ending {
        Seconds at = 0;
        std::size_t run = 0;
        bool operator>(const Ending& other) const noexcept {
            return at != other.at ? at > other.at : run > other.run;
        }
    };

    [[nodiscard]] int step_at(Seconds time) const noexcept {
        return static_cast<int>(time / workload_.step);
    }
    [[nodiscard]] Seconds next_event() const;
    void pass_to(Seconds time);
    void begin_step(int step);
    void plan();
    void fill_jobs();
    void fill_running();
    void fill_apps();
    [[nodiscard]] bool is_held(const std::vector<Share>& shares) const noexcept;
    void start(const Plan& plan);
    [[nodiscard]] bool over() const noexcept;

    const Workload& workload_;
    Expectation& expectation_;
    const SimulationOptions& options_;
    SimulationLog log_;
    Seconds now_ = 0;
    Seconds services_end_ = 0;
    Seconds last_plan_ = -kNever;
    int step_ = -1;                    ///< that has begun
    bool changed_ = false;             ///< since the last plan
    bool holds_decided_ = false;       ///< in this step
    std::size_t submitted_ = 0;        ///< jobs before this one are known
    std::vector<int> waiting_;         ///< jobs, in order of submission
    std::vector<std::size_t> running_; ///< indices of runs, in order of start
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
    std::vector<std::vector<int>> curves_; ///< by service, from the present step on
    Snapshot snapshot_;
    Memory memory_;
    Seconds memory_origin_ = 0;
};

Simulation::Simulation(const Workload& workload, Expectation& expectation,
                       const SimulationOptions& options)
    : workload_(workload), expectation_(expectation), options_(options),
      curves_(workload.services.size()) {
    log_.held.resize(workload.services.size());
    log_.expected.resize(workload.services.size());
    for (const Service& service : workload.services) {
        services_end_ =
            std::max(services_end_, static_cast<Seconds>(service.demand.size()) * workload.step);
    }
    snapshot_.name = workload.name;
    snapshot_.step = workload.step;
    snapshot_.steps = workload.horizon_steps;
    snapshot_.block = workload.block;
    // A cluster goes on: jobs may run past what a plan looks at.
    snapshot_.fit = Fit::may_overrun;
    snapshot_.value = workload.value;
    snapshot_.nodes = workload.nodes;
    snapshot_.classes.emplace_back();
    for (std::size_t node = 0; node < workload.nodes.size(); ++node) {
        snapshot_.classes[0].nodes.push_back(static_cast<int>(node));
    }
}

bool Simulation::over() const noexcept {
    if (now_ >= options_.end) {
        return true;
    }
    if (now_ < services_end_ || submitted_ < workload_.jobs.size() || !running_.empty()) {
        return false;
    }
    // What still waits when demand has not changed for a horizon will wait for ever.
    return waiting_.empty() || (!changed_ && now_ >= services_end_ + snapshot_.horizon());
}

Seconds Simulation::next_event() const {
    Seconds next = (step_ + 1) * workload_.step;
    if (submitted_ < workload_.jobs.size()) {
        next = std::min(next, workload_.jobs[submitted_].submit);
    }
    if (!endings_.empty()) {
        next = std::min(next, endings_.top().at);
    }
    if (changed_) {
        next = std::min(next, std::max(now_, last_plan_ + options_.interval));
    }
    return std::min(std::max(next, now_), options_.end);
}

/// All that happens until then.
void Simulation::pass_to(Seconds time) {
    now_ = time;
    while (submitted_ < workload_.jobs.size() && workload_.jobs[submitted_].submit <= now_) {
        waiting_.push_back(static_cast<int>(submitted_++));
        changed_ = true;
    }
    bool ended = false;
    while (!endings_.empty() && endings_.top().at <= now_) {
        endings_.pop();
        ended = true;
    }
    if (ended) {
        std::erase_if(running_, [&](std::size_t run) { return log_.runs[run].end <= now_; });
        changed_ = true;
    }
    if (step_at(now_) > step_) {
        begin_step(step_at(now_));
    }
}

void Simulation::begin_step(int step) {
    step_ = step;
    changed_ = true;
    holds_decided_ = false;
    for (std::size_t s = 0; s < curves_.size(); ++s) {
        const int held = log_.held[s].empty() ? 0 : count_gpus(log_.held[s].back());
        curves_[s] = expectation_.curve(s, step, snapshot_.steps, held);
        log_.expected[s].push_back(curves_[s].front());
    }
}

void Simulation::fill_jobs() {
    snapshot_.jobs.resize(waiting_.size());
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        const TraceJob& from = workload_.jobs[static_cast<std::size_t>(waiting_[i])];
        Job& job = snapshot_.jobs[i];
        job.id = from.id;
        job.kind = from.kind;
        job.key = static_cast<std::uint32_t>(waiting_[i]);
        job.submit = from.submit - step_ * workload_.step;
        job.priority = from.priority;
        job.options.resize(1);
        job.options[0].request.chunks = from.gpus;
        job.options[0].duration = from.limit;
    }
}

void Simulation::fill_running() {
    const Seconds origin = step_ * workload_.step;
    snapshot_.running.resize(running_.size());
    for (std::size_t i = 0; i < running_.size(); ++i) {
        const Run& run = log_.runs[running_[i]];
        const TraceJob& from = workload_.jobs[static_cast<std::size_t>(run.job)];
        Running& job = snapshot_.running[i];
        job.id = from.id;
        job.kind = from.kind;
        job.priority = from.priority;
        // It is still there at its limit's moment when that is now: over in a second.
        job.start = std::min<Seconds>(0, run.start - origin);
        job.end = std::max(run.start + from.limit, now_ + 1) - origin;
        job.shares = run.shares;
    }
}

void Simulation::fill_apps() {
    snapshot_.apps.resize(workload_.services.size());
    for (std::size_t s = 0; s < snapshot_.apps.size(); ++s) {
        const Service& service = workload_.services[s];
        App& app = snapshot_.apps[s];
        app.id = service.id;
        app.priority = service.priority;
        app.max_swap = service.max_swap;
        app.demand = curves_[s];
        app.held.reset();
        const std::vector<GpuSet>& held = log_.held[s];
        if (!held.empty()) {
            app.held = held.back();
        }
        if (holds_decided_) {
            app.demand.front() = count_gpus(held.back());
        }
    }
}

bool Simulation::is_held(const std::vector<Share>& shares) const noexcept {
    return std::any_of(log_.held.begin(), log_.held.end(), [&](const auto& steps) {
        return std::any_of(steps.back().begin(), steps.back().end(), [&](const auto& held) {
            return std::any_of(shares.begin(), shares.end(), [&](const Share& share) {
                return share.node == held.first && (share.gpus & held.second) != 0;
            });
        });
    });
}

void Simulation::start(const Plan& plan) {
    const Seconds origin = step_ * workload_.step;
    std::vector<bool> started(waiting_.size(), false);
    for (const Placement& place : plan.placements) {
        // A later plan of a step may let held GPUs give way at once; services do not move now.
        if (place.start + origin > now_ || is_held(place.shares)) {
            continue;
        }
        const int job = waiting_[static_cast<std::size_t>(place.job)];
        const TraceJob& from = workload_.jobs[static_cast<std::size_t>(job)];
        const Seconds end = now_ + std::max<Seconds>(1, std::min(from.length, from.limit));
        started[static_cast<std::size_t>(place.job)] = true;
        running_.push_back(log_.runs.size());
        endings_.push({end, log_.runs.size()});
        log_.runs.push_back({job, now_, end, place.shares});
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        if (!started[i]) {
            waiting_[kept++] = waiting_[i];
        }
    }
    waiting_.resize(kept);
}

void Simulation::plan() {
    snapshot_.now = now_ - step_ * workload_.step;
    fill_jobs();
    fill_running();
    fill_apps();
    Plan plan;
    if (options_.remember) {
        memory_.shift(step_ * workload_.step - memory_origin_);
        memory_origin_ = step_ * workload_.step;
        plan = make_plan(snapshot_, options_.plan, memory_);
    } else {
        plan = make_plan(snapshot_, options_.plan);
    }
    if (!plan.complete) {
        log_.complete = false;
        return;
    }
    ++log_.plans;
    last_plan_ = now_;
    changed_ = false;
    for (std::size_t s = 0; !holds_decided_ && s < plan.holds.size(); ++s) {
        log_.held[s].push_back(plan.holds[s].steps.front());
    }
    holds_decided_ = true;
    start(plan);
}

SimulationLog Simulation::run() {
    pass_to(0);
    while (true) {
        // At the start of a step at once: services are waiting.
        if (changed_ && (!holds_decided_ || now_ >= last_plan_ + options_.interval)) {
            plan();
        }
        if (!log_.complete || over()) {
            break;
        }
        pass_to(next_event());
    }
    log_.end = now_;
    return std::move(log_);
}

} // namespace

SimulationLog simulate(const Workload& workload, Expectation& expectation,
                       const SimulationOptions& options) {
    return Simulation(workload, expectation, options).run();
}

} // namespace foresight
