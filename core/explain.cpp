// SPDX-License-Identifier: GPL-2.0-or-later
#include "explain.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace foresight {

namespace {

class Explainer {
public:
    Explainer(const Snapshot& snapshot, Decoder& decoder, const Plan& plan)
        : snapshot_(snapshot), decoder_(decoder), plan_(plan), running_(snapshot),
          limits_(running_) {
        if (decoder.base().gaps() != nullptr) {
            running_.index_gaps(block_sizes(snapshot), snapshot.block);
        }
        for (const Placement& place : plan.placements) {
            limits_.take_limits(job_of(place), place.start, place.end);
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
            const Seconds until = limits_.limits_allow(one, first, option.duration);
            if (until > first) {
                found.push_back({.kind = ReasonKind::limit, .until = until, .limit = use.limit});
            }
        }
    }

    /// The job without its limits, so that nodes alone decide.
    bool fits(const Profile& profile, const Option& option, Seconds at) {
        return decoder_.placer().earliest(profile, bare_, option, at, at).has_value();
    }

    void add_resources(const Job& job, const Option& option, Seconds first, Seconds start,
                       std::vector<Reason>& found) {
        if (!fits(running_, option, first)) {
            found.push_back(what_runs(option, first, start));
        } else if (!fits(decoder_.base(), option, first)) {
            found.push_back(
                {.kind = ReasonKind::realtime, .until = start, .app = app_in_the_way(job, option)});
        } else if (found.empty() || start >= kNever) {
            // It fits beside what runs and what is held: others of the plan come first.
            found.push_back(
                {.kind = ReasonKind::behind, .until = start, .job = job_ahead(option, first)});
        }
    }

    /// It does not fit beside what runs: which resource is it?
    Reason what_runs(const Option& option, Seconds first, Seconds start) {
        Reason reason{.kind = ReasonKind::gpus, .until = start};
        if (closed(option, first)) {
            reason.kind = ReasonKind::closed;
            return reason;
        }
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
        reason.job = last_to_end(option, start);
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

    [[nodiscard]] int app_in_the_way(const Job& job, const Option& option) const {
        const std::vector<int>& nodes =
            snapshot_.classes[static_cast<std::size_t>(option.node_class)].nodes;
        for (std::size_t app = 0; app < plan_.holds.size(); ++app) {
            for (const GpuSet& step : plan_.holds[app].steps) {
                for (const auto& [node, gpus] : step) {
                    if (static_cast<int>(app) != job.app &&
                        std::binary_search(nodes.begin(), nodes.end(), node)) {
                        return static_cast<int>(app);
                    }
                }
            }
        }
        return -1;
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
    Profile limits_; ///< as running_, with the plan's use of the limits
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
