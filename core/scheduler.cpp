// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler.hpp"

#include "planner.hpp"
#include "value.hpp"

#include <algorithm>
#include <map>

namespace foresight {

Snapshot snapshot_of(const Workload& workload) {
    Snapshot snapshot;
    snapshot.name = workload.name;
    snapshot.step = workload.step;
    snapshot.steps = workload.horizon_steps;
    snapshot.block = workload.block;
    // A cluster goes on: jobs may run past what a plan looks at.
    snapshot.fit = Fit::may_overrun;
    snapshot.value = workload.value;
    snapshot.nodes = workload.nodes;
    snapshot.classes.emplace_back();
    for (std::size_t node = 0; node < workload.nodes.size(); ++node) {
        snapshot.classes[0].nodes.push_back(static_cast<int>(node));
    }
    for (const Service& service : workload.services) {
        App app;
        app.id = service.id;
        app.priority = service.priority;
        app.max_swap = service.max_swap;
        snapshot.apps.push_back(std::move(app));
    }
    return snapshot;
}

namespace {

class PlanningScheduler : public Scheduler {
public:
    PlanningScheduler(const Workload& workload, const PlanOptions& options, bool remember)
        : workload_(workload), options_(options), remember_(remember),
          snapshot_(snapshot_of(workload)) {}

    void submit(int job) override;
    void end(int job, Seconds now) override;
    void begin_step(int step, const std::vector<std::vector<int>>& curves) override;
    Decision decide(Seconds now) override;

private:
    struct Live {
        int job = 0;
        Seconds start = 0;
        std::vector<Share> shares;
    };

    void fill_jobs();
    void fill_running(Seconds now);
    void fill_apps();
    [[nodiscard]] Plan plan();
    [[nodiscard]] bool is_held(const std::vector<Share>& shares) const noexcept;
    void start(const Plan& plan, Seconds now, Decision& decision);

    const Workload& workload_;
    PlanOptions options_;
    bool remember_;
    Snapshot snapshot_;
    Memory memory_;
    Seconds memory_origin_ = 0;
    Seconds origin_ = 0;       ///< of the present step
    std::vector<int> waiting_; ///< jobs, in order of submission
    std::vector<Live> running_;
    std::vector<std::vector<int>> curves_; ///< by service, from the present step on
    std::vector<GpuSet> holds_;            ///< of the present step, once decided
    bool holds_decided_ = false;
};

void PlanningScheduler::submit(int job) {
    waiting_.push_back(job);
}

void PlanningScheduler::end(int job, Seconds) {
    std::erase_if(running_, [&](const Live& live) { return live.job == job; });
}

void PlanningScheduler::begin_step(int step, const std::vector<std::vector<int>>& curves) {
    origin_ = step * workload_.step;
    curves_ = curves;
    holds_decided_ = false;
}

void PlanningScheduler::fill_jobs() {
    snapshot_.jobs.resize(waiting_.size());
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        Job& job = snapshot_.jobs[i];
        const auto key = static_cast<std::uint32_t>(waiting_[i]);
        const TraceJob& from = workload_.jobs[key];
        if (job.options.empty() || job.key != key) {
            job.id = from.id;
            job.kind = from.kind;
            job.key = key;
            job.priority = from.priority;
            job.options.resize(1);
            job.options[0].request.chunks = from.gpus;
            job.options[0].duration = from.limit;
        }
        job.submit = from.submit - origin_;
    }
}

void PlanningScheduler::fill_running(Seconds now) {
    snapshot_.running.resize(running_.size());
    for (std::size_t i = 0; i < running_.size(); ++i) {
        const TraceJob& from = workload_.jobs[static_cast<std::size_t>(running_[i].job)];
        Running& job = snapshot_.running[i];
        job.id = from.id;
        job.kind = from.kind;
        job.priority = from.priority;
        // It is still there at its limit's moment when that is now: over in a second.
        job.start = std::min<Seconds>(0, running_[i].start - origin_);
        job.end = std::max(running_[i].start + from.limit, now + 1) - origin_;
        job.shares = running_[i].shares;
    }
}

void PlanningScheduler::fill_apps() {
    for (std::size_t s = 0; s < snapshot_.apps.size(); ++s) {
        App& app = snapshot_.apps[s];
        app.demand = curves_[s];
        if (!holds_.empty()) {
            app.held = holds_[s];
        }
        if (holds_decided_) {
            app.demand.front() = count_gpus(holds_[s]);
        }
    }
}

Plan PlanningScheduler::plan() {
    if (!remember_) {
        return make_plan(snapshot_, options_);
    }
    memory_.shift(origin_ - memory_origin_);
    memory_origin_ = origin_;
    return make_plan(snapshot_, options_, memory_);
}

bool PlanningScheduler::is_held(const std::vector<Share>& shares) const noexcept {
    return std::any_of(holds_.begin(), holds_.end(), [&](const GpuSet& set) {
        return std::any_of(set.begin(), set.end(), [&](const auto& held) {
            return std::any_of(shares.begin(), shares.end(), [&](const Share& share) {
                return share.node == held.first && (share.gpus & held.second) != 0;
            });
        });
    });
}

void PlanningScheduler::start(const Plan& plan, Seconds now, Decision& decision) {
    std::vector<bool> started(waiting_.size(), false);
    for (const Placement& place : plan.placements) {
        const auto index = static_cast<std::size_t>(place.job);
        const int job = waiting_[index];
        // A later plan of a step may let held GPUs give way at once; services do not move now.
        if (place.start + origin_ > now || is_held(place.shares)) {
            decision.announced.emplace_back(job, place.start + origin_);
            continue;
        }
        started[index] = true;
        running_.push_back({job, now, place.shares});
        decision.starts.push_back({job, place.shares});
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        if (!started[i]) {
            waiting_[kept++] = waiting_[i];
        }
    }
    waiting_.resize(kept);
}

Decision PlanningScheduler::decide(Seconds now) {
    snapshot_.now = now - origin_;
    fill_jobs();
    fill_running(now);
    fill_apps();
    const Plan made = plan();
    Decision decision;
    decision.complete = made.complete;
    if (!made.complete) {
        return decision;
    }
    if (!holds_decided_) {
        holds_.clear();
        for (const Hold& hold : made.holds) {
            holds_.push_back(hold.steps.front());
        }
        decision.held = holds_;
        holds_decided_ = true;
    }
    start(made, now, decision);
    return decision;
}

} // namespace

std::unique_ptr<Scheduler> planning_scheduler(const Workload& workload, const PlanOptions& options,
                                              bool remember) {
    return std::make_unique<PlanningScheduler>(workload, options, remember);
}

} // namespace foresight
