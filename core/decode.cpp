// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode.hpp"

#include "realtime.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace foresight {

namespace {

/// From so many nodes on an index of gaps costs less than a walk over them.
constexpr int kIndexedNodes = 24;

} // namespace

std::vector<int> block_sizes(const Snapshot& snapshot) {
    std::array<bool, kMaxGpusPerNode + 1> asked{};
    for (const Job& job : snapshot.jobs) {
        for (const Option& option : job.options) {
            // A node takes part in a job over nodes when it has room for one chunk.
            for (const int gpus : {option.request.gpus(), option.request.chunk.gpus}) {
                if (gpus > 0 && gpus <= kMaxGpusPerNode &&
                    (gpus == option.request.gpus() || snapshot.block == Block::any)) {
                    asked[static_cast<std::size_t>(gpus)] = true;
                }
            }
        }
    }
    int largest = 0;
    for (const Node& node : snapshot.nodes) {
        largest = std::max(largest, node.gpus);
    }
    std::vector<int> sizes;
    for (int size = 1; size <= largest; ++size) {
        if (asked[static_cast<std::size_t>(size)]) {
            sizes.push_back(size);
        }
    }
    return sizes;
}

void Pinner::before_holds(Profile&, Placer&, std::vector<Placement>&) {}
void Pinner::after_holds(Profile&, Placer&, std::vector<Placement>&) {}

Decoder::Decoder(const Snapshot& snapshot, const Policy& policy, const std::atomic<bool>* cancel)
    : snapshot_(snapshot), policy_(policy), cancel_(cancel), weights_(snapshot),
      placer_(snapshot, policy.packing), base_(snapshot), profile_(base_),
      places_of_(snapshot.jobs.size()) {
    number_shapes();
    worth_.reserve(snapshot.jobs.size());
    for (const Job& job : snapshot.jobs) {
        worth_.push_back(aged_priority(snapshot, policy, job));
    }
}

void Decoder::number_shapes() {
    std::map<std::tuple<int, Request, Seconds>, int> shapes;
    shape_of_.resize(snapshot_.jobs.size());
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
        const Job& job = snapshot_.jobs[j];
        for (const Option& option : job.options) {
            // Limits, refusals and the rule on overruns make a job's places its own.
            const bool own = !job.limits.empty() || !option.refused_on.empty() || job.app >= 0;
            const int next = static_cast<int>(learnt_.size());
            const auto [entry, fresh] =
                own ? std::pair{shapes.end(), true}
                    : shapes.try_emplace({option.node_class, option.request, option.duration},
                                         next);
            if (fresh) {
                learnt_.push_back({});
            }
            shape_of_[j].push_back(fresh ? next : entry->second);
        }
    }
}

void Decoder::prepare(Pinner* pinner) {
    std::vector<Entry> queue = queue_of(snapshot_, policy_);
    std::erase_if(queue, [&](const Entry& entry) { return job_at(entry.job).app < 0; });
    std::stable_sort(queue.begin(), queue.end(), [&](const Entry& a, const Entry& b) {
        const auto priority = [&](const Entry& entry) {
            return snapshot_.apps[static_cast<std::size_t>(job_at(entry.job).app)].priority;
        };
        return priority(a) > priority(b);
    });
    Decoded decoded;
    for (const Entry& entry : queue) {
        place_entry(entry, decoded);
    }
    own_ = std::move(decoded.placements);
    base_ = profile_;
    if (pinner != nullptr) {
        pinner->before_holds(base_, placer_, pinned_);
    }
    holds_ = plan_holds(snapshot_, policy_.realtime, own_, base_);
    if (static_cast<int>(snapshot_.nodes.size()) >= kIndexedNodes) {
        base_.index_gaps(block_sizes(snapshot_), snapshot_.block);
    }
    if (pinner != nullptr) {
        pinner->after_holds(base_, placer_, pinned_);
    }
}

/// Places that the base has taken already.
void Decoder::give_first(const std::vector<Placement>& places, Decoded& decoded) {
    for (const Placement& given : places) {
        std::vector<std::size_t>& of_job = places_of_[static_cast<std::size_t>(given.job)];
        of_job.push_back(decoded.placements.size());
        decoded.placements.push_back(given);
        decoded.placements.back().task = static_cast<int>(of_job.size()) - 1;
    }
}

Decoded Decoder::decode(const std::vector<Entry>& order) {
    Decoded decoded;
    profile_ = base_;
    for (auto& places : places_of_) {
        places.clear();
    }
    std::fill(learnt_.begin(), learnt_.end(), Learnt{});
    give_first(own_, decoded);
    give_first(pinned_, decoded);
    if (policy_.holds == kHoldAll) {
        decode_all(order, decoded);
    } else {
        decode_by_event(order, decoded);
    }
    for (const Placement& place : decoded.placements) {
        if (job_at(place.job).app < 0) {
            // By the grown priority: no search may hold an old job back for ever.
            decoded.value += reward(weights_, worth_[static_cast<std::size_t>(place.job)],
                                    count_gpus(place.shares), place.start, place.end);
        }
    }
    return decoded;
}

void Decoder::decode_all(const std::vector<Entry>& order, Decoded& decoded) {
    for (const Entry& entry : order) {
        if (cancelled()) {
            return;
        }
        if (job_at(entry.job).app < 0) {
            place_entry(entry, decoded);
        }
    }
}

Seconds Decoder::first_start(const Job& job) const noexcept {
    return std::max({snapshot_.now, job.submit, job.begin});
}

Seconds Decoder::last_start(const Option& option) const noexcept {
    return snapshot_.fit == Fit::within_horizon ? snapshot_.horizon() - option.duration
                                                : snapshot_.horizon() - 1;
}

std::optional<Placement> Decoder::find(const Entry& entry, Seconds from, Seconds latest) {
    const Job& job = job_at(entry.job);
    const Option& option = job.options[static_cast<std::size_t>(entry.option)];
    if (job.refusal && job.refusal->retry > snapshot_.now) {
        return std::nullopt;
    }
    Learnt& learnt = learnt_[static_cast<std::size_t>(
        shape_of_[static_cast<std::size_t>(entry.job)][static_cast<std::size_t>(entry.option)])];
    std::optional<Place> place = learnt.look(from, latest, [&](Seconds begin) {
        return placer_.earliest(profile_, job, option, begin, latest);
    });
    if (!place) {
        return std::nullopt;
    }
    return Placement{entry.job,
                     0,
                     entry.option,
                     place->start,
                     place->start + option.duration,
                     std::move(place->shares)};
}

void Decoder::commit(Placement placement, Decoded& decoded) {
    std::vector<std::size_t>& places = places_of_[static_cast<std::size_t>(placement.job)];
    profile_.take(job_at(placement.job), placement.shares, placement.start, placement.end);
    placement.task = static_cast<int>(places.size());
    places.push_back(decoded.placements.size());
    decoded.placements.push_back(std::move(placement));
}

void Decoder::place_entry(const Entry& entry, Decoded& decoded) {
    const Job& job = job_at(entry.job);
    const Option& option = job.options[static_cast<std::size_t>(entry.option)];
    const Seconds from = first_start(job);
    const Seconds latest = last_start(option);
    std::vector<std::size_t>& places = places_of_[static_cast<std::size_t>(entry.job)];
    // A later option (another partition) takes over only what it can start sooner.
    for (const std::size_t index : std::vector<std::size_t>(places)) {
        Placement& old = decoded.placements[index];
        if (old.start <= from || old.option == entry.option) {
            continue;
        }
        profile_.give(job, old.shares, old.start, old.end);
        std::fill(learnt_.begin(), learnt_.end(), Learnt{}); // places opened up again
        std::optional<Placement> sooner = find(entry, from, std::min(latest, old.start - 1));
        if (sooner) {
            sooner->task = old.task;
            old = std::move(*sooner);
        }
        profile_.take(job, old.shares, old.start, old.end);
    }
    const int tasks = std::min(job.tasks, kMostTasks);
    while (static_cast<int>(places.size()) < tasks) {
        std::optional<Placement> placement = find(entry, from, latest);
        if (!placement) {
            return;
        }
        commit(std::move(*placement), decoded);
    }
}

Seconds Decoder::next_event(Seconds after) const {
    Seconds next = kNever;
    for (int node = 0; node < profile_.timeline().nodes(); ++node) {
        const std::vector<Segment>& list = profile_.timeline().segments(node);
        const std::size_t i = profile_.timeline().at(node, after) + 1;
        if (i < list.size()) {
            next = std::min(next, list[i].from);
        }
    }
    const auto consider = [&](Seconds time) {
        if (time > after) {
            next = std::min(next, time);
        }
    };
    for (const Job& job : snapshot_.jobs) {
        consider(first_start(job));
    }
    for (const NodeClass& node_class : snapshot_.classes) {
        for (const Closure& closure : node_class.closures) {
            consider(closure.until);
        }
    }
    for (const Running& job : snapshot_.running) {
        consider(job.end); // a limit may have room again
    }
    return next;
}

void Decoder::decode_by_event(const std::vector<Entry>& order, Decoded& decoded) {
    std::vector<int> left(snapshot_.jobs.size());
    for (std::size_t j = 0; j < left.size(); ++j) {
        const Job& job = snapshot_.jobs[j];
        left[j] = job.app >= 0 ? 0 : std::min(job.tasks, kMostTasks);
    }
    for (Seconds now = snapshot_.now; now < snapshot_.horizon(); now = next_event(now)) {
        if (cancelled() || !start_at(order, now, left, decoded)) {
            return;
        }
    }
}

/// One event: starts what may start.  False when no job is left.
bool Decoder::start_at(const std::vector<Entry>& order, Seconds now, std::vector<int>& left,
                       Decoded& decoded) {
    std::vector<Placement> held;
    std::vector<bool> holds(snapshot_.jobs.size(), false);
    bool any = false;
    for (const Entry& entry : order) {
        const Job& job = job_at(entry.job);
        int& tasks = left[static_cast<std::size_t>(entry.job)];
        any = any || tasks > 0;
        if (tasks == 0 || first_start(job) > now) {
            continue;
        }
        const Seconds latest = last_start(job.options[static_cast<std::size_t>(entry.option)]);
        std::fill(learnt_.begin(), learnt_.end(), Learnt{}); // holds come and go
        const bool may_hold = static_cast<int>(held.size()) < policy_.holds &&
                              !holds[static_cast<std::size_t>(entry.job)];
        while (tasks > 0) {
            std::optional<Placement> placement =
                find(entry, now, may_hold ? latest : std::min(now, latest));
            if (!placement) {
                break;
            }
            if (placement->start > now) {
                profile_.take(job, placement->shares, placement->start, placement->end);
                held.push_back(std::move(*placement));
                holds[static_cast<std::size_t>(entry.job)] = true;
                break;
            }
            commit(std::move(*placement), decoded);
            --tasks;
        }
    }
    for (const Placement& placement : held) {
        profile_.give(job_at(placement.job), placement.shares, placement.start, placement.end);
    }
    return any;
}

} // namespace foresight
