// SPDX-License-Identifier: GPL-2.0-or-later
#include "validate.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace foresight {

namespace {

/// Something that holds a share of a node for a while.
struct Tenant {
    Seconds from;
    Seconds until;
    Share share;
    std::string who;
};

class Validator {
public:
    Validator(const Snapshot& snapshot, const Plan& plan)
        : snapshot_(snapshot), plan_(plan), tenants_(snapshot.nodes.size()) {}

    std::vector<std::string> run() {
        for (const Running& job : snapshot_.running) {
            for (const Share& share : job.shares) {
                settle({0, job.end, share, job.id});
            }
        }
        for (const Placement& place : plan_.placements) {
            placement(place);
        }
        tasks();
        holds();
        for (std::size_t node = 0; node < tenants_.size(); ++node) {
            sweep(static_cast<int>(node));
        }
        limits();
        overruns();
        return std::move(problems_);
    }

private:
    [[nodiscard]] const Node& node_at(int index) const {
        return snapshot_.nodes[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] const Job& job_of(const Placement& place) const {
        return snapshot_.jobs[static_cast<std::size_t>(place.job)];
    }
    [[nodiscard]] const Option& option_of(const Placement& place) const {
        return job_of(place).options[static_cast<std::size_t>(place.option)];
    }

    void require(bool holds, const std::string& who, const std::string& problem) {
        if (!holds) {
            problems_.push_back(who + ": " + problem);
        }
    }

    void settle(Tenant tenant) {
        tenant.from = std::max<Seconds>(tenant.from, 0);
        if (tenant.until > tenant.from) {
            tenants_[static_cast<std::size_t>(tenant.share.node)].push_back(std::move(tenant));
        }
    }

    void placement(const Placement& place) {
        const Job& job = job_of(place);
        const Option& option = option_of(place);
        require(place.start >= snapshot_.now && place.start >= job.submit &&
                    place.start >= job.begin,
                job.id, "starts before it may");
        require(place.start < snapshot_.horizon(), job.id, "starts after the horizon");
        require(place.end - place.start == option.duration, job.id,
                "does not run for its duration");
        require(snapshot_.fit == Fit::may_overrun || place.end <= snapshot_.horizon(), job.id,
                "ends after the horizon");
        require(!job.refusal || job.refusal->retry <= snapshot_.now, job.id,
                "was refused and has a place");
        shares(place, job, option);
        for (const Share& share : place.shares) {
            settle({place.start, place.end, share, job.id});
        }
    }

    void shares(const Placement& place, const Job& job, const Option& option) {
        const NodeClass& node_class =
            snapshot_.classes[static_cast<std::size_t>(option.node_class)];
        const Request& request = option.request;
        std::int64_t gpus = 0;
        std::int64_t cpus = 0;
        std::set<int> seen;
        for (const Share& share : place.shares) {
            require(
                std::binary_search(node_class.nodes.begin(), node_class.nodes.end(), share.node),
                job.id, "is on a node that is not of its class");
            require(seen.insert(share.node).second, job.id, "names a node twice");
            require(
                !std::binary_search(option.refused_on.begin(), option.refused_on.end(), share.node),
                job.id, "is on a node that was refused");
            for (const Closure& closure : node_class.closures) {
                require(closure.node != share.node || closure.until <= closure.from ||
                            closure.until <= place.start || closure.from >= place.end,
                        job.id, "runs into a closure of " + node_at(share.node).name);
            }
            if (request.gpu_type >= 0 && !request.whole_nodes) {
                const Node& node = node_at(share.node);
                const auto type = static_cast<std::size_t>(request.gpu_type);
                const GpuMask of_type =
                    type < node.gpus_of_type.size() ? node.gpus_of_type[type] : 0;
                require((share.gpus & ~of_type) == 0, job.id, "has GPUs of another type");
            }
            gpus += std::popcount(share.gpus);
            cpus += share.cpus;
        }
        const auto count = static_cast<std::int64_t>(place.shares.size());
        require(count >= request.nodes_min && count <= request.nodes_max, job.id,
                "has a wrong number of nodes");
        require(request.whole_nodes ? gpus >= request.gpus() : gpus == request.gpus(), job.id,
                "holds a wrong number of GPUs");
        const std::int64_t wanted =
            request.chunk.cpus * request.chunks + request.per_node.cpus * count;
        require(request.whole_nodes || cpus == wanted, job.id, "holds a wrong number of CPUs");
        block(place, job);
    }

    void block(const Placement& place, const Job& job) {
        if (snapshot_.block == Block::any || place.shares.empty()) {
            return;
        }
        if (place.shares.size() == 1) {
            const GpuMask gpus = place.shares[0].gpus;
            const int count = std::popcount(gpus);
            const int lowest = std::countr_zero(gpus);
            require(count + lowest + std::countl_zero(gpus) == kMaxGpusPerNode, job.id,
                    "its GPUs are not consecutive");
            if (snapshot_.block == Block::aligned) {
                int size = 1;
                while (size < count) {
                    size *= 2;
                }
                require(lowest % size == 0, job.id, "its block is not aligned");
            }
            return;
        }
        for (std::size_t i = 0; i < place.shares.size(); ++i) {
            const Share& share = place.shares[i];
            const bool last = i + 1 == place.shares.size();
            require(i == 0 || share.node == place.shares[i - 1].node + 1, job.id,
                    "its nodes are no neighbours");
            require(last ? std::countr_one(share.gpus) == std::popcount(share.gpus)
                         : share.gpus == lowest_gpus(node_at(share.node).gpus),
                    job.id, "its nodes are not whole");
        }
    }

    void tasks() {
        std::map<int, int> placed;
        for (const Placement& place : plan_.placements) {
            ++placed[place.job];
        }
        std::set<int> explained;
        for (const Unplaced& unplaced : plan_.unplaced) {
            require(!unplaced.reasons.empty(), std::to_string(unplaced.job),
                    "is unplaced without a reason");
            require(explained.insert(unplaced.job).second, std::to_string(unplaced.job),
                    "is unplaced twice");
        }
        for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
            const int count = placed[static_cast<int>(j)];
            require(count <= snapshot_.jobs[j].tasks, snapshot_.jobs[j].id,
                    "has more places than tasks");
            require(count == snapshot_.jobs[j].tasks || explained.count(static_cast<int>(j)) > 0,
                    snapshot_.jobs[j].id, "is neither placed nor explained");
        }
    }

    void holds() {
        for (std::size_t a = 0; a < snapshot_.apps.size(); ++a) {
            const App& app = snapshot_.apps[a];
            require(a < plan_.holds.size() && plan_.holds[a].steps.size() == app.demand.size(),
                    app.id, "has no hold for each step");
            if (a >= plan_.holds.size()) {
                continue;
            }
            hold(static_cast<int>(a), app, plan_.holds[a]);
        }
    }

    /// GPUs of the application's own jobs are its to hold: not twice taken.
    [[nodiscard]] std::map<int, GpuMask> own_gpus(int app, Seconds at) const {
        std::map<int, GpuMask> own;
        const auto add = [&](const std::vector<Share>& shares) {
            for (const Share& share : shares) {
                own[share.node] |= share.gpus;
            }
        };
        for (const Running& job : snapshot_.running) {
            if (job.app == app && job.end > at) {
                add(job.shares);
            }
        }
        for (const Placement& place : plan_.placements) {
            if (job_of(place).app == app && place.start <= at && place.end > at) {
                add(place.shares);
            }
        }
        return own;
    }

    void hold(int index, const App& app, const Hold& hold) {
        for (std::size_t step = 0; step < hold.steps.size(); ++step) {
            const Seconds from =
                std::max(snapshot_.now, static_cast<Seconds>(step) * snapshot_.step);
            std::map<int, GpuMask> own = own_gpus(index, from);
            const bool alone = own.empty(); // its own jobs come and go as they must
            for (const auto& [node, gpus] : hold.steps[step]) {
                const GpuMask kept = gpus & ~own[node];
                const int count = std::popcount(kept);
                settle({from,
                        static_cast<Seconds>(step + 1) * snapshot_.step,
                        {node, kept, count * app.per_gpu.cpus, count * app.per_gpu.memory_mib},
                        app.id});
            }
            if (alone) {
                swaps(app, hold, step);
            }
        }
    }

    void swaps(const App& app, const Hold& hold, std::size_t step) {
        if (step == 0 && !app.held) {
            return;
        }
        std::map<int, GpuMask> change;
        for (const auto& [node, gpus] : step == 0 ? *app.held : hold.steps[step - 1]) {
            change[node] ^= gpus;
        }
        for (const auto& [node, gpus] : hold.steps[step]) {
            change[node] ^= gpus;
        }
        std::int64_t count = 0;
        for (const auto& [node, gpus] : change) {
            count += std::popcount(gpus);
        }
        require(count <= app.max_swap, app.id,
                "swaps too many GPUs into step " + std::to_string(step));
    }

    /// At every moment of a node: no GPU twice, no more CPUs and memory than there are.
    void sweep(int index) {
        std::vector<Tenant>& tenants = tenants_[static_cast<std::size_t>(index)];
        std::sort(tenants.begin(), tenants.end(),
                  [](const Tenant& a, const Tenant& b) { return a.from < b.from; });
        const Node& node = node_at(index);
        std::multimap<Seconds, const Tenant*> open;
        GpuMask busy = 0;
        std::int64_t cpus = 0;
        std::int64_t memory = 0;
        for (const Tenant& tenant : tenants) {
            while (!open.empty() && open.begin()->first <= tenant.from) {
                const Tenant& over = *open.begin()->second;
                busy &= ~over.share.gpus;
                cpus -= over.share.cpus;
                memory -= over.share.memory_mib;
                open.erase(open.begin());
            }
            require((busy & tenant.share.gpus) == 0, tenant.who,
                    "takes a GPU of " + node.name + " that is taken");
            busy |= tenant.share.gpus;
            cpus += tenant.share.cpus;
            memory += tenant.share.memory_mib;
            require((tenant.share.gpus & ~lowest_gpus(node.gpus)) == 0, tenant.who,
                    "takes a GPU that " + node.name + " lacks");
            require(cpus <= node.cpus, tenant.who, "takes more CPUs than " + node.name + " has");
            require(memory <= node.memory_mib, tenant.who,
                    "takes more memory than " + node.name + " has");
            open.emplace(tenant.until, &tenant);
        }
    }

    void limits() {
        std::vector<std::map<Seconds, std::int64_t>> changes(snapshot_.limits.size());
        const auto add = [&](const std::vector<LimitUse>& uses, Seconds from, Seconds until) {
            for (const LimitUse& use : uses) {
                changes[static_cast<std::size_t>(use.limit)][from] += use.amount;
                changes[static_cast<std::size_t>(use.limit)][until] -= use.amount;
            }
        };
        std::vector<std::int64_t> inherited(snapshot_.limits.size(), 0);
        for (const Running& job : snapshot_.running) {
            add(job.limits, 0, std::max<Seconds>(0, job.end));
            for (const LimitUse& use : job.limits) {
                inherited[static_cast<std::size_t>(use.limit)] += use.amount;
            }
        }
        for (const Placement& place : plan_.placements) {
            add(job_of(place).limits, place.start, place.end);
        }
        for (std::size_t i = 0; i < changes.size(); ++i) {
            // What runs may be over a limit that was lowered since; a plan may not add to it.
            const std::int64_t most = std::max(snapshot_.limits[i].max, inherited[i]);
            std::int64_t used = 0;
            for (const auto& [time, change] : changes[i]) {
                used += change;
                require(used <= most, snapshot_.limits[i].name, "is exceeded");
            }
        }
    }

    void overruns() {
        if (snapshot_.fit != Fit::may_overrun) {
            return;
        }
        std::int64_t room = 0;
        std::int64_t late = 0;
        std::int64_t planned = 0;
        for (const Node& node : snapshot_.nodes) {
            room += node.gpus;
        }
        for (const App& app : snapshot_.apps) {
            room -= *std::max_element(app.demand.begin(), app.demand.end());
        }
        const auto gpus = [](const std::vector<Share>& shares) {
            std::int64_t count = 0;
            for (const Share& share : shares) {
                count += std::popcount(share.gpus);
            }
            return count;
        };
        for (const Running& job : snapshot_.running) {
            late += job.end > snapshot_.horizon() && job.app < 0 ? gpus(job.shares) : 0;
        }
        for (const Placement& place : plan_.placements) {
            planned +=
                place.end > snapshot_.horizon() && job_of(place).app < 0 ? gpus(place.shares) : 0;
        }
        require(planned == 0 || late + planned <= room, "horizon",
                "jobs that end after it leave too little for the applications' peaks");
    }

    const Snapshot& snapshot_;
    const Plan& plan_;
    std::vector<std::vector<Tenant>> tenants_;
    std::vector<std::string> problems_;
};

} // namespace

std::vector<std::string> validate(const Snapshot& snapshot, const Plan& plan) {
    return Validator(snapshot, plan).run();
}

} // namespace foresight
