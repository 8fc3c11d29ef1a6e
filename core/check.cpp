// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is wrong with a snapshot: the contract between those who build one and the planner.
 */
#include "planner.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace foresight {

namespace {

/// Collects the first problem; every test after it is skipped.
class Checker {
public:
    explicit Checker(const Snapshot& snapshot) : snapshot_(snapshot) {}

    std::string run() {
        grid();
        nodes();
        classes();
        for (const Limit& limit : snapshot_.limits) {
            require(limit.max >= 0, "limit " + limit.name + ": max is negative");
        }
        apps();
        for (const Running& job : snapshot_.running) {
            running(job);
        }
        for (const Job& job : snapshot_.jobs) {
            pending(job);
        }
        return problem_;
    }

private:
    void require(bool holds, const std::string& problem) {
        if (!holds && problem_.empty()) {
            problem_ = problem;
        }
    }

    static bool index_of(int index, std::size_t size) {
        return index >= 0 && static_cast<std::size_t>(index) < size;
    }

    static bool counts(const Amount& amount) {
        return amount.gpus >= 0 && amount.cpus >= 0 && amount.memory_mib >= 0 &&
               amount.cpus <= kUnlimited && amount.memory_mib <= kUnlimited;
    }

    void grid() {
        require(snapshot_.step > 0 && snapshot_.steps > 0, "step and steps must be positive");
        require(snapshot_.steps <= 1'000'000 && snapshot_.step <= kLongest,
                "the horizon is too long");
        require(snapshot_.now >= 0 && snapshot_.now < std::max<Seconds>(1, snapshot_.step),
                "now must lie in step 0");
        require(std::isfinite(snapshot_.value.decay_end) && snapshot_.value.decay_end >= 0 &&
                    std::isfinite(snapshot_.value.shortfall_weight) &&
                    snapshot_.value.shortfall_weight >= 0,
                "the value rule must be finite and not negative");
    }

    void nodes() {
        std::unordered_set<std::string> names;
        for (const Node& node : snapshot_.nodes) {
            require(node.gpus >= 0 && node.gpus <= kMaxGpusPerNode,
                    "node " + node.name + ": has " + std::to_string(node.gpus) +
                        " GPUs, at most 64 can be planned");
            require(node.cpus >= 0 && node.memory_mib >= 0,
                    "node " + node.name + ": negative CPUs or memory");
            require(names.insert(node.name).second, "node " + node.name + " stands twice");
        }
    }

    void classes() {
        for (const NodeClass& node_class : snapshot_.classes) {
            int before = -1;
            for (const int node : node_class.nodes) {
                require(index_of(node, snapshot_.nodes.size()) && node > before,
                        "a class's nodes must be ascending indices");
                before = node;
            }
            for (const Closure& closure : node_class.closures) {
                require(index_of(closure.node, snapshot_.nodes.size()), "a closure names no node");
            }
        }
    }

    void apps() {
        for (const App& app : snapshot_.apps) {
            require(app.demand.size() == static_cast<std::size_t>(snapshot_.steps),
                    "application " + app.id + ": needs a demand for each step");
            require(std::all_of(app.demand.begin(), app.demand.end(),
                                [](int demand) { return demand >= 0; }),
                    "application " + app.id + ": negative demand");
            require(app.max_swap >= 0 && std::isfinite(app.priority) && app.priority >= 0 &&
                        counts(app.per_gpu),
                    "application " + app.id + ": negative or non-finite number");
            require(app.node_class < 0 || index_of(app.node_class, snapshot_.classes.size()),
                    "application " + app.id + ": no such class");
            for (const auto& [node, gpus] : app.held.value_or(GpuSet{})) {
                require(index_of(node, snapshot_.nodes.size()),
                        "application " + app.id + ": holds on no node");
            }
        }
    }

    void uses(const std::string& id, const std::vector<LimitUse>& uses) {
        for (const LimitUse& use : uses) {
            require(index_of(use.limit, snapshot_.limits.size()) && use.amount >= 0,
                    "job " + id + ": no such limit");
        }
    }

    void running(const Running& job) {
        require(std::isfinite(job.priority) && job.priority >= 0,
                "job " + job.id + ": bad priority");
        require(job.end <= kNever && job.app < static_cast<int>(snapshot_.apps.size()),
                "job " + job.id + ": bad end or application");
        for (const Share& share : job.shares) {
            require(index_of(share.node, snapshot_.nodes.size()) && share.cpus >= 0 &&
                        share.memory_mib >= 0,
                    "job " + job.id + ": runs on no node of the snapshot");
        }
        uses(job.id, job.limits);
    }

    void pending(const Job& job) {
        require(std::isfinite(job.priority) && job.priority >= 0,
                "job " + job.id + ": bad priority");
        require(job.tasks >= 1 && job.app < static_cast<int>(snapshot_.apps.size()),
                "job " + job.id + ": bad tasks or application");
        require(job.begin <= kNever && job.submit <= kNever, "job " + job.id + ": bad time");
        require(!job.options.empty(), "job " + job.id + ": has no option");
        for (const Option& option : job.options) {
            const Request& request = option.request;
            require(index_of(option.node_class, snapshot_.classes.size()),
                    "job " + job.id + ": no such class");
            require(option.duration >= 0 && option.duration <= kNever,
                    "job " + job.id + ": bad duration");
            require(request.chunks >= 1 && request.chunks_per_node_max >= 1 &&
                        request.nodes_min >= 1 && request.nodes_max >= request.nodes_min &&
                        counts(request.chunk) && counts(request.per_node),
                    "job " + job.id + ": bad request");
            require(request.chunk.gpus <= 1'000'000 &&
                        static_cast<std::int64_t>(request.chunk.gpus) * request.chunks <=
                            1'000'000'000,
                    "job " + job.id + ": asks for too many GPUs");
            require(request.chunk.cpus <= 1'000'000'000 &&
                        request.chunk.memory_mib <= 1'000'000'000'000,
                    "job " + job.id + ": asks for too many CPUs or too much memory");
        }
        uses(job.id, job.limits);
    }

    const Snapshot& snapshot_;
    std::string problem_;
};

} // namespace

std::string check(const Snapshot& snapshot) {
    return Checker(snapshot).run();
}

} // namespace foresight
