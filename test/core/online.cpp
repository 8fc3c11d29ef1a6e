// SPDX-License-Identifier: GPL-2.0-or-later
#include "online.hpp"

#include "validate.hpp"

#include <algorithm>

namespace foresight::test {

Snapshot Online::look() const {
    Snapshot snapshot = cluster_;
    snapshot.jobs.clear();
    snapshot.running.clear();
    const Seconds origin = now_ - now_ % snapshot.step;
    snapshot.now = now_ - origin;
    for (const Arrival& arrival : arrivals_) {
        if (arrival.job.submit <= now_) {
            snapshot.jobs.push_back(arrival.job);
            snapshot.jobs.back().submit -= origin;
        }
    }
    for (const Active& active : active_) {
        snapshot.running.push_back({active.job.id, "", active.job.priority, -1,
                                    active.start - origin, active.limit - origin, active.shares,
                                    active.job.limits});
    }
    return snapshot;
}

void Online::plan() {
    const Snapshot snapshot = look();
    const Seconds origin = now_ - snapshot.now;
    memory_.shift(origin - origin_);
    origin_ = origin;
    const Plan plan = make_plan(snapshot, options_, memory_);
    ++plans_;
    for (const std::string& problem : validate(snapshot, plan)) {
        FAIL("at %lld: %s", static_cast<long long>(now_), problem.c_str());
    }
    std::map<std::string, Seconds> fresh;
    for (const Placement& place : plan.placements) {
        const Job& job = snapshot.jobs[static_cast<std::size_t>(place.job)];
        const Seconds start = origin + place.start;
        const auto before = announced_.find(job.id);
        moved_back_ += before != announced_.end() && start > before->second + 60;
        fresh[job.id] = start;
        if (start > now_) {
            continue;
        }
        const auto arrival =
            std::find_if(arrivals_.begin(), arrivals_.end(),
                         [&](const Arrival& other) { return other.job.id == job.id; });
        active_.push_back({arrival->job, now_, origin + place.end,
                           std::min(now_ + arrival->runs, origin + place.end), place.shares});
        started_[job.id] = now_;
        arrivals_.erase(arrival);
    }
    announced_ = std::move(fresh);
}

Seconds Online::next_event() const {
    Seconds next = kNever;
    for (const Arrival& arrival : arrivals_) {
        next = arrival.job.submit > now_ ? std::min(next, arrival.job.submit) : next;
    }
    for (const Active& active : active_) {
        next = std::min(next, active.end);
    }
    for (const auto& [id, start] : announced_) {
        next = start > now_ ? std::min(next, start) : next;
    }
    return std::max(next, now_ + 1);
}

void Online::run_until(Seconds until) {
    while (now_ < until) {
        std::erase_if(active_, [&](const Active& active) { return active.end <= now_; });
        plan();
        now_ = std::min(until, next_event());
    }
}

Seconds Online::started(const std::string& id) const {
    const auto found = started_.find(id);
    return found == started_.end() ? -1 : found->second;
}

Seconds Online::announced(const std::string& id) const {
    const auto found = announced_.find(id);
    return found == announced_.end() ? -1 : found->second;
}

} // namespace foresight::test
