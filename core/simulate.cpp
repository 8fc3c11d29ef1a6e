// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate.hpp"

#include "dispatch.hpp"
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
        int job = 0;
        bool operator>(const Ending& other) const noexcept {
            return at != other.at ? at > other.at : job > other.job;
        }
    };

    [[nodiscard]] int step_at(Seconds time) const noexcept {
        return static_cast<int>(time / workload_.step);
    }
    [[nodiscard]] Seconds next_event() const;
    void pass_to(Seconds time);
    void begin_step(int step);
    void decide();
    void start(Start start);
    [[nodiscard]] bool over() const noexcept;
    [[nodiscard]] bool cancelled() const noexcept {
        return options_.plan.cancel != nullptr && options_.plan.cancel->load();
    }

    const Workload& workload_;
    Expectation& expectation_;
    const SimulationOptions& options_;
    std::unique_ptr<Scheduler> scheduler_;
    SimulationLog log_;
    Seconds now_ = 0;
    Seconds services_end_ = 0;
    Seconds last_decision_ = -kNever;
    int step_ = -1;                  ///< that has begun
    bool changed_ = false;           ///< since the last decision
    bool step_decided_ = false;      ///< this step's first decision is made
    std::size_t submitted_ = 0;      ///< jobs before this one are known
    int waiting_ = 0;                ///< jobs
    std::vector<Seconds> announced_; ///< by job
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
};

Simulation::Simulation(const Workload& workload, Expectation& expectation,
                       const SimulationOptions& options)
    : workload_(workload), expectation_(expectation), options_(options),
      scheduler_(dispatches(options.plan.policy) && !options.whole_plans
                     ? dispatching_scheduler(workload, options.plan.policy)
                     : planning_scheduler(workload, options.plan, options.remember)),
      announced_(workload.jobs.size(), kNever) {
    log_.held.resize(workload.services.size());
    log_.expected.resize(workload.services.size());
    for (const Service& service : workload.services) {
        services_end_ =
            std::max(services_end_, static_cast<Seconds>(service.demand.size()) * workload.step);
    }
}

bool Simulation::over() const noexcept {
    if (now_ >= options_.end || !log_.complete) {
        return true;
    }
    if (now_ < services_end_ || submitted_ < workload_.jobs.size() || !endings_.empty()) {
        return false;
    }
    // What still waits when demand has not changed for a horizon will wait for ever.
    return waiting_ == 0 ||
           (!changed_ && now_ >= services_end_ + workload_.step * workload_.horizon_steps);
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
        next = std::min(next, std::max(now_, last_decision_ + options_.interval));
    }
    return std::min(std::max(next, now_), options_.end);
}

/// All that happens until then.
void Simulation::pass_to(Seconds time) {
    now_ = time;
    while (!endings_.empty() && endings_.top().at <= now_) {
        scheduler_->end(endings_.top().job, now_);
        endings_.pop();
        changed_ = true;
        ++log_.events;
    }
    while (submitted_ < workload_.jobs.size() && workload_.jobs[submitted_].submit <= now_) {
        scheduler_->submit(static_cast<int>(submitted_++));
        log_.most_waiting = std::max(log_.most_waiting, ++waiting_);
        changed_ = true;
        ++log_.events;
    }
    if (step_at(now_) > step_) {
        begin_step(step_at(now_));
    }
}

void Simulation::begin_step(int step) {
    step_ = step;
    changed_ = true;
    step_decided_ = false;
    ++log_.events;
    std::vector<std::vector<int>> curves(workload_.services.size());
    for (std::size_t s = 0; s < curves.size(); ++s) {
        const int held = log_.held[s].empty() ? 0 : count_gpus(log_.held[s].back());
        curves[s] = expectation_.curve(s, step, workload_.horizon_steps, held);
        log_.expected[s].push_back(curves[s].front());
    }
    scheduler_->begin_step(step, curves);
    if (options_.progress) {
        options_.progress(now_, log_);
    }
}

void Simulation::start(Start start) {
    const auto job = static_cast<std::size_t>(start.job);
    const TraceJob& from = workload_.jobs[job];
    const Seconds end = now_ + std::max<Seconds>(1, std::min(from.length, from.limit));
    endings_.push({end, start.job});
    log_.runs.push_back({start.job, now_, end, std::move(start.shares), announced_[job]});
    --waiting_;
}

void Simulation::decide() {
    Decision decision = scheduler_->decide(now_);
    if (!decision.complete) {
        log_.complete = false;
        return;
    }
    ++log_.decisions;
    last_decision_ = now_;
    changed_ = false;
    step_decided_ = true;
    for (std::size_t s = 0; s < decision.held.size(); ++s) {
        log_.held[s].push_back(std::move(decision.held[s]));
    }
    for (const auto& [job, at] : decision.announced) {
        Seconds& announced = announced_[static_cast<std::size_t>(job)];
        announced = announced == kNever ? at : announced;
    }
    for (Start& started : decision.starts) {
        start(std::move(started));
    }
}

SimulationLog Simulation::run() {
    pass_to(0);
    while (true) {
        // At the start of a step at once: services are waiting.
        if (changed_ && (!step_decided_ || now_ >= last_decision_ + options_.interval)) {
            decide();
        }
        log_.complete = log_.complete && !cancelled();
        if (over()) {
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
