// SPDX-License-Identifier: GPL-2.0-or-later
#include "explain.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace foresight {

namespace {

/// So many jobs get the whole chain of causes; those behind them the first one.
constexpr std::size_t kMostChains = 2000;

class Explainer {
public:
    Explainer(const Snapshot& snapshot, Decoder& decoder, const Plan& plan)
        : snapshot_(snapshot), decoder_(decoder), plan_(plan), running_(snapshot) {
        if (!snapshot.limits.empty()) {
            limits_.emplace(running_);
            for (const Placement& place : plan.placements) {
                limits_->take_limits(job_of(place), place.start, place.end);
            }
        }
        if (decoder.base().gaps() != nullptr) {
            running_.index_gaps(block_sizes(snapshot), snapshot.block);
        }
    }

    /// Why `job` cannot start before `start` (kNever when it has no place at all).
    std::vector<Reason> reasons(int index, int option_index, Seconds start) {
        const Job& job = snapshot_.jobs[static_cast<std::size_t>(index)];
        const Option& option = job.options[static_cast<std::size_t>(option_index)];
        std::vector<Reason> found;
        if (job.refusal && job.refusal->retry > snapshot_.now) {
            found.push_back({.kind = ReasonKind::refused,
                             .until = job.refusal->retry,
                             .text = job.refusal->why});
            return found;
        }
        if (!decoder_.placer().ever_fits(option)) {
            found.push_back({.kind = ReasonKind::never_fits});
            return found;
        }
        if (!decoder_.placer().fits_what_is_up(option)) {
            found.push_back({.kind = ReasonKind::down});
            return found;
        }
        const Seconds first = std::max({snapshot_.now, job.submit, job.begin});
        if (first > snapshot_.now && job.begin > snapshot_.now) {
            found.push_back({.kind = ReasonKind::begin, .until = job.begin});
        }
        if (snapshot_.fit == Fit::within_horizon && first + option.duration > snapshot_.horizon()) {
            found.push_back({.kind = ReasonKind::beyond_horizon, .until = snapshot_.horizon()});
            return found;
        }
        add_limits(job, option, first, found);
        add_resources(job, option, first, start, found);
        if (start >= kNever) {
            found.push_back({.kind = ReasonKind::beyond_horizon, .until = snapshot_.horizon()});
        }
        return found;
    }

private:
    [[nodiscard]] const Job& job_of(const Placement& place) const {
        return snapshot_.jobs[static_cast<std::size_t>(place.job)];
    }

    void add_limits(const Job& job, const Option& option, Seconds first,
                    std::vector<Reason>& found) {
        for (const LimitUse& use : job.limits) {
            Job one;
            one.limits.push_back(use);
            const Seconds until = limits_->limits_allow(one, first, option.duration);
            if (until > first) {
                found.push_back({.kind = ReasonKind::limit,
                                 .until = until,
                                 .limit = use.limit,
                                 .job = user_of(use.limit, until)});
            }
        }
    }

    /// The first moment in [from, latest] for the job without its limits, so that nodes alone
    /// decide; kNever when there is none.  Beyond the first jobs only `from` itself is looked at.
    Seconds earliest(const Profile& profile, const Option& option, Seconds from, Seconds latest) {
        latest = explained_ <= kMostChains ? latest : std::min(latest, from);
        const auto place = decoder_.placer().earliest(profile, bare_, option, from, latest);
        return place ? place->start : kNever;
    }
    bool fits(const Profile& profile, const Option& option, Seconds at) {
        return decoder_.placer().earliest(profile, bare_, option, at, at).has_value();
    }

    /// The chain: until when what runs is in the way, then what is held, then what comes first.
    void add_resources(const Job& job, const Option& option, Seconds first, Seconds start,
                       std::vector<Reason>& found) {
        ++explained_;
        const Seconds horizon = snapshot_.fit == Fit::within_horizon
                                    ? snapshot_.horizon() - option.duration
                                    : snapshot_.horizon() - 1;
        const Seconds latest = std::min(start, horizon);
        const Seconds beside_running = earliest(running_, option, first, latest);
        if (beside_running > first) {
            found.push_back(what_runs(option, first, std::min(beside_running, start)));
            if (beside_running >= start) {
                return;
            }
        }
        const Seconds beside_held = earliest(decoder_.base(), option, beside_running, latest);
        if (beside_held > beside_running) {
            found.push_back({.kind = ReasonKind::realtime,
                             .until = std::min(beside_held, start),
                             .app = app_in_the_way(job, option, beside_running)});
        }
        const Seconds others = std::max(beside_held, last_until(found));
        if (beside_held < start && (others < start || start >= kNever)) {
            // It fits beside what runs and what is held: others of the plan come first.
            found.push_back({.kind = ReasonKind::behind,
                             .until = start,
                             .job = job_ahead(option, beside_held)});
        }
    }

    /// When the last of the limits and other causes ends.
    static Seconds last_until(const std::vector<Reason>& found) noexcept {
        Seconds last = 0;
        for (const Reason& reason : found) {
            last = std::max(last, reason.until);
        }
        return last;
    }

    /// It does not fit beside what runs until then: which resource is it, and whose?
    Reason what_runs(const Option& option, Seconds first, Seconds until) {
        Reason reason{.kind = ReasonKind::gpus, .until = until};
        if (closed(option, first)) {
            reason.kind = ReasonKind::closed;
            return reason;
        }
        reason.job = last_to_end(option, until);
        Option relaxed = option;
        relaxed.request.chunk.cpus = 0;
        relaxed.request.per_node.cpus = 0;
        if (fits(running_, relaxed, first)) {
            reason.kind = ReasonKind::cpus;
            return reason;
        }
        relaxed = option;
        relaxed.request.chunk.memory_mib = 0;
        relaxed.request.per_node.memory_mib = 0;
        if (fits(running_, relaxed, first)) {
            reason.kind = ReasonKind::memory;
            return reason;
        }
        if (free_gpus(option, first) >= option.request.gpus() && option.request.gpus() > 0) {
            reason.kind = ReasonKind::block;
        } else if (option.request.gpus() == 0) {
            reason.kind = ReasonKind::cpus;
        }
        return reason;
    }

    /// Whether closures alone keep it off: it would fit if its class had none.
    bool closed(const Option& option, Seconds first) {
        const NodeClass& node_class =
            snapshot_.classes[static_cast<std::size_t>(option.node_class)];
        if (node_class.closures.empty()) {
            return false;
        }
        int open = 0;
        std::int64_t chunks_open = 0;
        std::int64_t chunks_all = 0;
        const Seconds until = first + option.duration;
        for (const int node : node_class.nodes) {
            const Window window =
                running_.timeline().window(node, first, std::max(until, first + 1));
            const int chunks =
                chunks_in(option.request, snapshot_.nodes[static_cast<std::size_t>(node)], window);
            chunks_all += chunks;
            if (decoder_.placer().closures().clear_of(option.node_class, node, first, until) <=
                first) {
                chunks_open += chunks;
                open += chunks > 0;
            }
        }
        return chunks_all >= option.request.chunks &&
               (chunks_open < option.request.chunks || open < option.request.nodes_min);
    }

    /// GPUs of the class that nothing running holds at the moment.
    [[nodiscard]] int free_gpus(const Option& option, Seconds first) {
        const auto [entry, fresh] = free_.try_emplace({option.node_class, first}, 0);
        if (fresh) {
            for (const int node :
                 snapshot_.classes[static_cast<std::size_t>(option.node_class)].nodes) {
                entry->second +=
                    std::popcount(running_.timeline().window(node, first, first + 1).gpus);
            }
        }
        return entry->second;
    }

    /// The running job on the class's nodes that ends last before the start: what it waits for.
    [[nodiscard]] std::string last_to_end(const Option& option, Seconds start) {
        auto [entry, fresh] = ends_.try_emplace(option.node_class);
        std::vector<std::pair<Seconds, const Running*>>& ends = entry->second;
        if (fresh) {
            const std::vector<int>& nodes =
                snapshot_.classes[static_cast<std::size_t>(option.node_class)].nodes;
            for (const Running& job : snapshot_.running) {
                if (std::any_of(job.shares.begin(), job.shares.end(), [&](const Share& share) {
                        return std::binary_search(nodes.begin(), nodes.end(), share.node);
                    })) {
                    ends.emplace_back(job.end, &job);
                }
            }
            std::stable_sort(ends.begin(), ends.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
        }
        const auto after =
            std::upper_bound(ends.begin(), ends.end(), start,
                             [](Seconds time, const auto& end) { return time < end.first; });
        return after == ends.begin() ? std::string() : std::prev(after)->second->id;
    }

    /// The application that holds most of the class's GPUs while the job would run.
    [[nodiscard]] int app_in_the_way(const Job& job, const Option& option, Seconds at) {
        const std::vector<std::vector<int>>& held = held_on(option.node_class);
        const auto steps = static_cast<Seconds>(snapshot_.steps);
        const Seconds from = std::min(at / snapshot_.step, steps);
        const Seconds until = std::min((at + option.duration - 1) / snapshot_.step + 1, steps);
        int chosen = -1;
        int most = 0;
        for (std::size_t app = 0; app < held.size(); ++app) {
            for (Seconds step = from; step < until && static_cast<int>(app) != job.app; ++step) {
                if (const int gpus = held[app][static_cast<std::size_t>(step)]; gpus > most) {
                    chosen = static_cast<int>(app);
                    most = gpus;
                }
            }
        }
        return chosen;
    }

    /// By application and step: GPUs held on nodes of the class.
    const std::vector<std::vector<int>>& held_on(int node_class) {
        const auto [entry, fresh] = held_.try_emplace(node_class);
        if (fresh) {
            const std::vector<int>& nodes =
                snapshot_.classes[static_cast<std::size_t>(node_class)].nodes;
            for (const Hold& hold : plan_.holds) {
                std::vector<int>& counts = entry->second.emplace_back(snapshot_.steps, 0);
                for (std::size_t step = 0; step < hold.steps.size(); ++step) {
                    for (const auto& [node, gpus] : hold.steps[step]) {
                        counts[step] += std::binary_search(nodes.begin(), nodes.end(), node)
                                            ? count_gpus(gpus)
                                            : 0;
                    }
                }
            }
        }
        return entry->second;
    }

    /// The job that ends when the limit has room again.
    [[nodiscard]] std::string user_of(int limit, Seconds until) {
        if (users_.empty()) {
            const auto add = [&](const std::string& id, const std::vector<LimitUse>& uses,
                                 Seconds end) {
                for (const LimitUse& use : uses) {
                    users_.try_emplace({use.limit, end}, &id);
                }
            };
            for (const Running& job : snapshot_.running) {
                add(job.id, job.limits, job.end);
            }
            for (const Placement& place : plan_.placements) {
                add(job_of(place).id, job_of(place).limits, place.end);
            }
        }
        const auto user = users_.find({limit, until});
        return user == users_.end() ? std::string() : *user->second;
    }

    /// The first job of the plan whose place overlaps the moment on one of the class's nodes.
    [[nodiscard]] std::string job_ahead(const Option& option, Seconds first) const {
        const std::vector<int>& nodes =
            snapshot_.classes[static_cast<std::size_t>(option.node_class)].nodes;
        for (const Placement& place : plan_.placements) {
            const bool there =
                place.start < first + option.duration && place.end > first &&
                std::any_of(place.shares.begin(), place.shares.end(), [&](const Share& share) {
                    return std::binary_search(nodes.begin(), nodes.end(), share.node);
                });
            if (there) {
                return job_of(place).id;
            }
        }
        return {};
    }

    const Snapshot& snapshot_;
    Decoder& decoder_;
    const Plan& plan_;
    Profile running_;
    std::optional<Profile> limits_; ///< as running_, with the plan's use of the limits
    std::map<std::pair<int, Seconds>, const std::string*> users_; ///< by limit and end
    std::map<int, std::vector<std::vector<int>>> held_;           ///< by class
    std::size_t explained_ = 0;
    std::map<std::pair<int, Seconds>, int> free_;                         ///< by class and moment
    std::map<int, std::vector<std::pair<Seconds, const Running*>>> ends_; ///< by class, sorted
    Job bare_;                                                            ///< no limits
};

} // namespace

void explain(const Snapshot& snapshot, Decoder& decoder, Plan& plan) {
    Explainer explainer(snapshot, decoder, plan);
    std::vector<int> placed(snapshot.jobs.size(), 0);
    plan.waits.clear();
    for (const Placement& place : plan.placements) {
        ++placed[static_cast<std::size_t>(place.job)];
        plan.waits.push_back(place.start <= snapshot.now
                                 ? std::vector<Reason>{}
                                 : explainer.reasons(place.job, place.option, place.start));
    }
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        if (placed[j] >= snapshot.jobs[j].tasks) {
            continue;
        }
        if (placed[j] > 0 && placed[j] >= kMostTasks) {
            plan.unplaced.push_back({static_cast<int>(j), {{.kind = ReasonKind::not_reached}}});
            continue;
        }
        plan.unplaced.push_back(
            {static_cast<int>(j), explainer.reasons(static_cast<int>(j), 0, kNever)});
    }
}

} // namespace foresight
