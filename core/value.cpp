// SPDX-License-Identifier: GPL-2.0-or-later
#include "value.hpp"

#include "fragmentation.hpp"

#include <algorithm>
#include <bit>

namespace foresight {

Weights::Weights(const Snapshot& snapshot)
    : step_(snapshot.step), steps_(snapshot.steps),
      slope_((1.0 - snapshot.value.decay_end) / std::max(1, snapshot.steps - 1)) {}

double Weights::of_step(int step) const noexcept {
    return 1.0 - slope_ * step;
}

double Weights::up_to(Seconds time) const noexcept {
    const Seconds clipped = std::clamp<Seconds>(time, 0, step_ * steps_);
    const auto whole = static_cast<double>(clipped / step_);
    const double part = static_cast<double>(clipped % step_) / static_cast<double>(step_);
    // The sum of the weights of the whole steps, then the part of the next one.
    return whole - slope_ * whole * (whole - 1) / 2 + part * (1.0 - slope_ * whole);
}

int count_gpus(const std::vector<Share>& shares) noexcept {
    int count = 0;
    for (const Share& share : shares) {
        count += std::popcount(share.gpus);
    }
    return count;
}

int count_gpus(const GpuSet& set) noexcept {
    int count = 0;
    for (const auto& [node, gpus] : set) {
        count += std::popcount(gpus);
    }
    return count;
}

int count_changes(const GpuSet& before, const GpuSet& after) noexcept {
    int changes = 0;
    auto a = before.begin();
    auto b = after.begin();
    while (a != before.end() || b != after.end()) {
        if (b == after.end() || (a != before.end() && a->first < b->first)) {
            changes += std::popcount((a++)->second);
        } else if (a == before.end() || b->first < a->first) {
            changes += std::popcount((b++)->second);
        } else {
            changes += std::popcount((a++)->second ^ (b++)->second);
        }
    }
    return changes;
}

namespace {

/// Adds up what jobs contribute.
class Sum {
public:
    explicit Sum(const Snapshot& snapshot)
        : snapshot_(snapshot), weights_(snapshot), horizon_(snapshot.horizon()) {}

    void job(double priority, int gpus, bool serves_app, Seconds start, Seconds end) {
        // GPU time of an application's own jobs counts through what the application holds.
        if (!serves_app) {
            const Seconds inside = std::min(end, horizon_) - std::max<Seconds>(start, 0);
            used_ += static_cast<double>(gpus) * static_cast<double>(std::max<Seconds>(inside, 0)) /
                     static_cast<double>(snapshot_.step);
            metrics_.value += reward(weights_, priority, gpus, start, end);
        }
    }

    void app(const App& app, const Hold& hold) {
        const GpuSet* before = app.held ? &*app.held : nullptr;
        for (std::size_t step = 0; step < hold.steps.size(); ++step) {
            const GpuSet& now = hold.steps[step];
            if (before != nullptr) {
                metrics_.swaps += count_changes(*before, now);
            }
            before = &now;
            const int held = count_gpus(now);
            const int wanted = app.demand[step];
            used_ += std::min(held, wanted);
            const int missing = std::max(0, wanted - held);
            metrics_.shortfall_gpu_steps += missing;
            penalty_ += app.priority * missing;
        }
    }

    Metrics result(std::int64_t all_gpus) {
        const double all = static_cast<double>(all_gpus) * snapshot_.steps;
        metrics_.utilisation = all > 0 ? used_ / all : 0;
        metrics_.objective = metrics_.value - snapshot_.value.shortfall_weight * penalty_;
        return metrics_;
    }

private:
    const Snapshot& snapshot_;
    Weights weights_;
    Seconds horizon_;
    Metrics metrics_;
    double used_ = 0;
    double penalty_ = 0;
};

void add_waits(const Snapshot& snapshot, const Plan& plan, Metrics& metrics) {
    constexpr double kShortest = 10;
    int count = 0;
    for (const Placement& place : plan.placements) {
        const Job& job = snapshot.jobs[static_cast<std::size_t>(place.job)];
        if (job.app >= 0) {
            continue;
        }
        const auto wait = static_cast<double>(std::max<Seconds>(0, place.start - job.submit));
        const double length =
            std::max(kShortest, static_cast<double>(std::min(place.end, kNever) - place.start));
        const double slowdown = (wait + length) / length;
        ++count;
        metrics.wait_mean_s += wait;
        metrics.wait_max_s = std::max(metrics.wait_max_s, wait);
        metrics.bounded_slowdown_mean += slowdown;
        metrics.bounded_slowdown_max = std::max(metrics.bounded_slowdown_max, slowdown);
    }
    metrics.wait_mean_s /= std::max(1, count);
    metrics.bounded_slowdown_mean /= std::max(1, count);
}

} // namespace

Metrics measure(const Snapshot& snapshot, const Plan& plan) {
    Sum sum(snapshot);
    int placed = 0;
    int completed = 0;
    for (const Running& job : snapshot.running) {
        sum.job(job.priority, count_gpus(job.shares), job.app >= 0, 0,
                std::max<Seconds>(job.end, 0));
        ++placed;
        completed += job.end <= snapshot.horizon();
    }
    for (const Placement& place : plan.placements) {
        const Job& job = snapshot.jobs[static_cast<std::size_t>(place.job)];
        sum.job(job.priority, count_gpus(place.shares), job.app >= 0, place.start, place.end);
        ++placed;
        completed += place.end <= snapshot.horizon();
    }
    for (std::size_t app = 0; app < plan.holds.size(); ++app) {
        sum.app(snapshot.apps[app], plan.holds[app]);
    }
    std::int64_t gpus = 0;
    for (const Node& node : snapshot.nodes) {
        gpus += node.gpus;
    }
    Metrics metrics = sum.result(gpus);
    add_waits(snapshot, plan, metrics);
    metrics.fragmentation = fragmentation(snapshot, plan);
    metrics.jobs_placed = placed;
    metrics.jobs_completed = completed;
    return metrics;
}

} // namespace foresight
