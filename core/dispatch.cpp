// SPDX-License-Identifier: GPL-2.0-or-later
#include "dispatch.hpp"

#include "free_now.hpp"
#include "place.hpp"
#include "realtime.hpp"

#include <algorithm>
#include <map>

namespace foresight {

namespace {

/// From so many nodes on an index of gaps costs less than walks over them, where many jobs hold
/// places ahead.
constexpr int kIndexedNodes = 24;

class Dispatcher : public Scheduler {
public:
    Dispatcher(const Workload& workload, const Policy& policy);

    void submit(int job) override;
    void end(int job, Seconds now) override;
    void begin_step(int step, const std::vector<std::vector<int>>& curves) override;
    Decision decide(Seconds now) override;

private:
    struct Waiting {
        double merit = 0;
        int job = 0;
        int gpus = 0;
        Seconds limit = 0;
    };
    /// A job that runs, by what its limit says.
    struct Live {
        Seconds start = 0;
        Seconds end = 0;
        std::vector<Share> shares;
    };

    [[nodiscard]] double merit(const TraceJob& job) const noexcept;
    /// Whether base_ itself is filled in an event, and places ahead given back after it.
    [[nodiscard]] bool fills_up() const noexcept { return policy_.holds != kHoldAll; }
    [[nodiscard]] std::vector<int> sizes() const;
    [[nodiscard]] std::size_t end_of_candidates(std::size_t first, std::size_t last) const;
    [[nodiscard]] std::optional<Place> find(const Waiting& waiting, Seconds latest);
    void look_at(std::size_t index, Decision& decision);
    void take(Profile& profile, const std::vector<Share>& shares, Seconds start, Seconds end);
    void give_back_held();

    const Workload& workload_;
    const Policy& policy_;
    Snapshot snapshot_;
    Placer placer_;
    Profile base_;    ///< what runs and is held
    Profile profile_; ///< the same with places ahead, where all hold one; else unused
    FreeNow free_;
    std::vector<int> block_sizes_; ///< on one node
    std::vector<Waiting> queue_;   ///< in the policy's order
    std::map<int, Live> running_;
    std::vector<std::pair<std::vector<Share>, std::pair<Seconds, Seconds>>> held_; ///< in base_
    std::vector<bool> started_; ///< by place in queue_
    Job job_;                   ///< scratch: the job that is looked at
    Seconds origin_ = 0;        ///< of the present step
    Seconds now_ = 0;           ///< from there
    std::vector<GpuSet> holds_; ///< of the present step
    bool holds_told_ = false;
};

Dispatcher::Dispatcher(const Workload& workload, const Policy& policy)
    : workload_(workload), policy_(policy), snapshot_(snapshot_of(workload)),
      placer_(snapshot_, policy.packing), base_(snapshot_), profile_(base_),
      free_(sizes(), workload.block) {
    job_.options.resize(1);
    int largest = 0;
    for (const Node& node : workload.nodes) {
        largest = std::max(largest, node.gpus);
    }
    for (const int size : sizes()) {
        if (size <= largest) {
            block_sizes_.push_back(size);
        }
    }
}

/// GPUs that jobs ask for.
std::vector<int> Dispatcher::sizes() const {
    std::vector<int> sizes;
    for (const TraceJob& job : workload_.jobs) {
        sizes.push_back(job.gpus);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

double Dispatcher::merit(const TraceJob& job) const noexcept {
    switch (policy_.order) {
    case Order::priority:
        return job.priority;
    case Order::priority_per_length:
        return job.priority / static_cast<double>(std::max<Seconds>(1, job.limit));
    default:
        return 0;
    }
}

void Dispatcher::submit(int job) {
    const TraceJob& from = workload_.jobs[static_cast<std::size_t>(job)];
    const Waiting waiting{merit(from), job, from.gpus, from.limit};
    queue_.insert(
        std::upper_bound(queue_.begin(), queue_.end(), waiting,
                         [](const Waiting& a, const Waiting& b) { return a.merit > b.merit; }),
        waiting);
}

void Dispatcher::end(int job, Seconds now) {
    const auto found = running_.find(job);
    const Live& live = found->second;
    if (now < live.end) {
        base_.give(Job{}, live.shares, now - origin_, live.end - origin_);
    }
    running_.erase(found);
}

void Dispatcher::begin_step(int step, const std::vector<std::vector<int>>& curves) {
    origin_ = step * workload_.step;
    for (std::size_t s = 0; s < curves.size(); ++s) {
        snapshot_.apps[s].demand = curves[s];
        if (!holds_.empty()) {
            snapshot_.apps[s].held = holds_[s];
        }
    }
    snapshot_.running.clear();
    for (const auto& [job, live] : running_) {
        Running running;
        running.start = std::min<Seconds>(0, live.start - origin_);
        running.end = live.end - origin_;
        running.shares = live.shares;
        snapshot_.running.push_back(std::move(running));
    }
    base_ = Profile(snapshot_);
    const std::vector<Hold> holds = plan_holds(snapshot_, policy_.realtime, {}, base_);
    holds_.clear();
    for (const Hold& hold : holds) {
        holds_.push_back(hold.steps.front());
    }
    holds_told_ = false;
}

void Dispatcher::take(Profile& profile, const std::vector<Share>& shares, Seconds start,
                      Seconds end) {
    profile.take(job_, shares, start, end);
    for (const Share& share : shares) {
        free_.update(profile.timeline(), share.node);
    }
}

/// The waiting job's earliest place that starts at `latest` or before.
std::optional<Place> Dispatcher::find(const Waiting& waiting, Seconds latest) {
    job_.submit = now_;
    Option& option = job_.options[0];
    option.request.chunks = waiting.gpus;
    option.duration = waiting.limit;
    return placer_.earliest(fills_up() ? base_ : profile_, job_, option, now_, latest);
}

/// The end of the part of [first, last) behind whose last job none may start as things are.
std::size_t Dispatcher::end_of_candidates(std::size_t first, std::size_t last) const {
    while (last > first && !free_.may_start(queue_[last - 1].gpus, queue_[last - 1].limit)) {
        --last;
    }
    return last;
}

/// A job's turn: it starts, or holds a place ahead if it may, or waits.
void Dispatcher::look_at(std::size_t index, Decision& decision) {
    const Waiting& waiting = queue_[index];
    const bool may_hold = static_cast<int>(held_.size()) < policy_.holds;
    const bool may_start = free_.may_start(waiting.gpus, waiting.limit);
    if (!may_start && !may_hold) {
        return;
    }
    std::optional<Place> place = find(waiting, may_hold ? snapshot_.horizon() - 1 : now_);
    if (!place || place->start > now_) {
        free_.failed(waiting.gpus, waiting.limit);
    }
    if (!place) {
        return;
    }
    const Seconds end = place->start + waiting.limit;
    take(fills_up() ? base_ : profile_, place->shares, place->start, end);
    if (place->start > now_) {
        decision.announced.emplace_back(waiting.job, origin_ + place->start);
        if (fills_up()) {
            held_.emplace_back(std::move(place->shares), std::pair{place->start, end});
        }
        return;
    }
    if (!fills_up()) {
        base_.take(job_, place->shares, place->start, end);
    }
    started_[index] = true;
    running_[waiting.job] = {origin_ + now_, origin_ + end, place->shares};
    decision.starts.push_back({waiting.job, std::move(place->shares)});
}

void Dispatcher::give_back_held() {
    for (const auto& [shares, time] : held_) {
        base_.give(job_, shares, time.first, time.second);
    }
    held_.clear();
}

Decision Dispatcher::decide(Seconds now) {
    now_ = now - origin_;
    Decision decision;
    if (!holds_told_) {
        decision.held = holds_;
        holds_told_ = true;
    }
    free_.reset(base_.timeline(), now_);
    std::size_t end = end_of_candidates(0, queue_.size());
    if (end == 0) {
        return decision;
    }
    if (!fills_up()) {
        profile_ = base_;
        if (static_cast<int>(snapshot_.nodes.size()) >= kIndexedNodes) {
            profile_.index_gaps(block_sizes_, snapshot_.block);
        }
    }
    started_.assign(queue_.size(), false);
    for (std::size_t i = 0; i < end; ++i) {
        const unsigned version = free_.version();
        look_at(i, decision);
        if (free_.version() != version) {
            end = end_of_candidates(i + 1, end);
        }
    }
    give_back_held();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        if (!started_[i]) {
            queue_[kept++] = queue_[i];
        }
    }
    queue_.resize(kept);
    return decision;
}

} // namespace

bool dispatches(const Policy& policy) noexcept {
    return policy.order != Order::value && policy.order != Order::rank && policy.age_doubles == 0;
}

std::unique_ptr<Scheduler> dispatching_scheduler(const Workload& workload, const Policy& policy) {
    return std::make_unique<Dispatcher>(workload, policy);
}

} // namespace foresight
