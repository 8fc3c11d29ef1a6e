// SPDX-License-Identifier: GPL-2.0-or-later
#include "promise.hpp"

#include "decode.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace foresight {

namespace {

/// A start that moves by less is where it was, for its reader.
constexpr Seconds kUnmoved = 60;
/// Beyond so many doublings a promise is worth more than any plan.
constexpr int kMostDoublings = 32;

bool raised(const Remembered& before, const Job& job, const Option& option) noexcept {
    return option.tier > before.entry.tier || (job.on_top && !before.entry.on_top);
}

std::unordered_map<std::string_view, int> index_of(const std::vector<Job>& jobs) {
    std::unordered_map<std::string_view, int> index;
    index.reserve(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        index.emplace(jobs[j].id, static_cast<int>(j));
    }
    return index;
}

} // namespace

Promises::Promises(const Snapshot& snapshot, const Policy& policy, const Memory& memory)
    : snapshot_(snapshot), move_gain_(policy.move_gain), weights_(snapshot) {
    priority_.reserve(snapshot.jobs.size());
    for (const Job& job : snapshot.jobs) {
        priority_.push_back(aged_priority(snapshot, policy, job));
    }
    const auto index = index_of(snapshot.jobs);
    for (const Remembered& announced : memory.places) {
        if (const auto found = index.find(announced.job); found != index.end()) {
            add(announced, found->second);
        }
    }
    forget_started();
}

void Promises::add(const Remembered& announced, int index) {
    const Job& job = snapshot_.jobs[static_cast<std::size_t>(index)];
    const auto number = static_cast<std::size_t>(announced.place.option);
    if (job.app >= 0 || number >= job.options.size() ||
        (job.refusal && job.refusal->retry > snapshot_.now)) {
        return;
    }
    const Option& option = job.options[number];
    const Seconds start = std::max({announced.place.start, snapshot_.now, job.submit, job.begin});
    // A job without GPUs is worth nothing to a plan, and still was told a time.
    const int gpus = std::max(1, option.request.gpus());
    const double worth = reward(weights_, priority_[static_cast<std::size_t>(index)], gpus, start,
                                start + option.duration);
    promises_.push_back(
        {&announced, index, announced.place.option, start, worth, !raised(announced, job, option)});
}

/// Of an array's tasks those with the earliest starts have gone.
void Promises::forget_started() {
    const auto sooner = [&](std::size_t a, std::size_t b) {
        return std::tie(promises_[a].job, promises_[a].start) <
               std::tie(promises_[b].job, promises_[b].start);
    };
    std::vector<std::size_t> order(promises_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), sooner);
    std::vector<int> tasks(snapshot_.jobs.size(), 0);
    for (const Promise& promise : promises_) {
        ++tasks[static_cast<std::size_t>(promise.job)];
    }
    std::vector<bool> gone(promises_.size(), false);
    for (const std::size_t i : order) {
        int& count = tasks[static_cast<std::size_t>(promises_[i].job)];
        const Job& job = snapshot_.jobs[static_cast<std::size_t>(promises_[i].job)];
        gone[i] = count > std::min(job.tasks, kMostTasks);
        count -= gone[i] ? 1 : 0;
    }
    std::vector<Promise> left;
    left.reserve(promises_.size());
    for (std::size_t i = 0; i < promises_.size(); ++i) {
        if (!gone[i]) {
            left.push_back(promises_[i]);
        }
    }
    promises_ = std::move(left);
    by_job_.resize(promises_.size());
    std::iota(by_job_.begin(), by_job_.end(), std::size_t{0});
    std::stable_sort(by_job_.begin(), by_job_.end(), sooner);
}

template <typename Function>
void Promises::match(const std::vector<Placement>& placements, Function function) const {
    std::vector<std::size_t> order(placements.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(placements[a].job, placements[a].start) <
               std::tie(placements[b].job, placements[b].start);
    });
    auto place = order.begin();
    for (const std::size_t i : by_job_) {
        const int job = promises_[i].job;
        while (place != order.end() && placements[*place].job < job) {
            ++place;
        }
        if (place != order.end() && placements[*place].job == job) {
            function(i, static_cast<std::ptrdiff_t>(*place++));
        } else {
            function(i, std::ptrdiff_t{-1});
        }
    }
}

double Promises::missed(const Draft& draft) const {
    double missed = 0;
    for (std::size_t a = 0; a < draft.holds.size(); ++a) {
        const App& app = snapshot_.apps[a];
        for (std::size_t step = 0; step < draft.holds[a].steps.size(); ++step) {
            const int missing = app.demand[step] - count_gpus(draft.holds[a].steps[step]);
            missed += snapshot_.value.shortfall_weight * app.priority * std::max(0, missing);
        }
    }
    return missed;
}

double Promises::score(const Draft& draft) const {
    double score = 0;
    for (const Placement& place : draft.placements) {
        if (snapshot_.jobs[static_cast<std::size_t>(place.job)].app < 0) {
            score += reward(weights_, priority_[static_cast<std::size_t>(place.job)],
                            count_gpus(place.shares), place.start, place.end);
        }
    }
    score -= missed(draft);
    match(draft.placements, [&](std::size_t i, std::ptrdiff_t placed) {
        const Promise& promise = promises_[i];
        if (placed < 0 ||
            draft.placements[static_cast<std::size_t>(placed)].start > promise.start + kUnmoved) {
            const int doublings = std::min(promise.announced->delays, kMostDoublings);
            score -= move_gain_ * std::ldexp(promise.worth, doublings);
        }
    });
    return score;
}

std::vector<int> Promises::delays(const std::vector<Placement>& placements) const {
    std::vector<int> delays(placements.size(), 0);
    match(placements, [&](std::size_t i, std::ptrdiff_t placed) {
        if (placed >= 0) {
            const auto at = static_cast<std::size_t>(placed);
            const bool late = placements[at].start > promises_[i].start + kUnmoved;
            delays[at] = std::min(promises_[i].announced->delays + (late ? 1 : 0), kMostDoublings);
        }
    });
    return delays;
}

} // namespace foresight
