// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The C interface: translation and a fence for exceptions, nothing more.
 */
#include "capi.hpp"

#include "decode.hpp"
#include "lending.hpp"
#include "planner.hpp"
#include "value.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

using namespace foresight;

namespace {

/// How much longer a job is taken to hold its resources that should have ended (s).
constexpr Seconds kOverdue = 60;

} // namespace

struct fs_cancel_flag {
    std::atomic<bool> set{false};
};

Seconds fs_snapshot::relative(std::int64_t time) const noexcept {
    // Slurm's own times are far below; a wild one saturates instead of wrapping.
    if (time >= kNever) {
        return kNever;
    }
    return std::max<Seconds>(time, -kNever) - origin;
}

std::int64_t fs_snapshot::absolute(Seconds time) const noexcept {
    return time >= kNever - origin ? FS_NEVER : time + origin;
}

namespace {

std::int64_t count_of(std::int64_t amount) noexcept {
    return std::min(amount, kUnlimited);
}

Amount amount_of(const fs_amount& amount) noexcept {
    return {amount.gpus, count_of(amount.cpus), count_of(amount.memory_mib)};
}

/// FNV-1a over values in the order in which they are added.
class Hash {
public:
    explicit Hash(std::uint64_t& state) : state_(state) {}

    Hash& add(const void* data, std::size_t size) noexcept {
        const auto* bytes = static_cast<const unsigned char*>(data);
        for (std::size_t i = 0; i < size; ++i) {
            state_ = (state_ ^ bytes[i]) * 0x100000001b3ULL;
        }
        return *this;
    }
    Hash& add(std::int64_t value) noexcept { return add(&value, sizeof value); }
    Hash& add(double value) noexcept { return add(&value, sizeof value); }
    Hash& add(const char* text) noexcept {
        return text == nullptr ? add(std::int64_t{-1}) : add(text, std::strlen(text) + 1);
    }
    Hash& add(const fs_amount& amount) noexcept {
        return add(std::int64_t{amount.gpus}).add(amount.cpus).add(amount.memory_mib);
    }

private:
    std::uint64_t& state_;
};

/// Runs a function that may throw; -1 and the handle's error when it did.
template <typename Function>
std::int32_t fenced(fs_snapshot* snapshot, Function function) noexcept {
    try {
        return function();
    } catch (const std::exception& problem) {
        try {
            snapshot->error = problem.what();
        } catch (...) { // no memory for the message either
        }
    } catch (...) {
    }
    return -1;
}

template <typename T> std::int32_t last_of(const std::vector<T>& list) noexcept {
    return static_cast<std::int32_t>(list.size()) - 1;
}

std::vector<LimitUse> limits_of(const fs_limit_use* uses, std::size_t count) {
    std::vector<LimitUse> limits;
    for (std::size_t i = 0; i < count; ++i) {
        limits.push_back({uses[i].limit, uses[i].amount});
    }
    return limits;
}

Request request_of(const fs_request& from) noexcept {
    constexpr int most = std::numeric_limits<int>::max();
    Request request;
    request.chunk = amount_of(from.chunk);
    request.chunks = from.chunks;
    request.chunks_per_node_max = from.chunks_per_node_max > 0 ? from.chunks_per_node_max : most;
    request.nodes_min = from.nodes_min;
    request.nodes_max = from.nodes_max > 0 ? from.nodes_max : most;
    request.per_node = amount_of(from.per_node);
    request.per_node.gpus = 0;
    request.whole_nodes = from.whole_nodes;
    request.gpu_type = from.gpu_type;
    return request;
}

void hash_option(Hash& hash, const fs_option& option) noexcept {
    const fs_request& request = option.request;
    hash.add(std::int64_t{option.node_class}).add(request.chunk).add(std::int64_t{request.chunks});
    hash.add(std::int64_t{request.chunks_per_node_max}).add(std::int64_t{request.nodes_min});
    hash.add(std::int64_t{request.nodes_max})
        .add(request.per_node)
        .add(std::int64_t{request.whole_nodes});
    hash.add(std::int64_t{request.gpu_type})
        .add(option.duration)
        .add(std::int64_t{option.tier})
        .add(option.rank);
    for (std::size_t i = 0; i < option.refusals; ++i) {
        hash.add(std::int64_t{option.refused_on[i]});
    }
}

Option option_of(const fs_option& from) {
    Option option;
    option.node_class = from.node_class;
    option.request = request_of(from.request);
    option.duration = std::min(from.duration, kNever);
    option.tier = from.tier;
    option.rank = from.rank;
    option.refused_on.assign(from.refused_on, from.refused_on + from.refusals);
    option.cookie = from.cookie;
    return option;
}

std::string text_of(const char* text) {
    return text == nullptr ? std::string() : std::string(text);
}

/// The decisions that fs_plan_get() hands out, with what they point to.
class Views {
public:
    Views(const fs_snapshot& handle, fs_plan& out)
        : handle_(handle), snapshot_(handle.snapshot), out_(out) {}

    void make(const Policy& policy) {
        const Plan& plan = out_.plan;
        const bool selects = std::any_of(
            plan.placements.begin(), plan.placements.end(), [&](const Placement& place) {
                return snapshot_.jobs[static_cast<std::size_t>(place.job)].opaque &&
                       place.start <= snapshot_.now;
            });
        if (selects) {
            decoder_ = std::make_unique<Decoder>(snapshot_, policy, nullptr);
            decoder_->prepare();
            planned_ = std::make_unique<Profile>(holds_of_the_plan());
        }
        out_.decisions.resize(plan.placements.size() + plan.unplaced.size());
        for (std::size_t i = 0; i < plan.placements.size(); ++i) {
            placement(plan.placements[i], plan.waits[i], out_.decisions[i]);
        }
        for (std::size_t i = 0; i < plan.unplaced.size(); ++i) {
            unplaced(plan.unplaced[i], out_.decisions[plan.placements.size() + i]);
        }
    }

private:
    void placement(const Placement& place, const std::vector<Reason>& waits,
                   fs_plan::Decision& decision) {
        const Job& job = snapshot_.jobs[static_cast<std::size_t>(place.job)];
        const Option& option = job.options[static_cast<std::size_t>(place.option)];
        const bool now = place.start <= snapshot_.now;
        for (const Share& share : place.shares) {
            decision.nodes.push_back(share.node);
            decision.shares.push_back({share.node, share.gpus, share.cpus, share.memory_mib});
        }
        if (job.opaque && now) {
            widen(decision, decoder_->placer().untouched(Profile(snapshot_), *planned_, option,
                                                         place.start, place.end));
        }
        reasons(waits, decision);
        fs_decision view = view_of(job, place.job, decision);
        view.cookie = option.cookie;
        view.task = place.task;
        view.now = now;
        view.start = handle_.absolute(place.start);
        view.end = handle_.absolute(place.end);
        out_.views.push_back(view);
        if (now) {
            ++out_.starts_now;
        } else {
            out_.next_start = std::min(out_.next_start, view.start);
        }
    }

    /// The resource manager selects: it may use every node on which it cannot break the plan.
    static void widen(fs_plan::Decision& decision, const std::vector<int>& more) {
        for (const int node : more) {
            if (!std::binary_search(decision.nodes.begin(), decision.nodes.end(), node)) {
                decision.shares.push_back({node, 0, 0, 0});
            }
        }
        std::sort(decision.shares.begin(), decision.shares.end(),
                  [](const fs_share& a, const fs_share& b) { return a.node < b.node; });
        decision.nodes.clear();
        for (const fs_share& share : decision.shares) {
            decision.nodes.push_back(share.node);
        }
    }

    void unplaced(const Unplaced& unplaced, fs_plan::Decision& decision) {
        const Job& job = snapshot_.jobs[static_cast<std::size_t>(unplaced.job)];
        reasons(unplaced.reasons, decision);
        fs_decision view = view_of(job, unplaced.job, decision);
        view.cookie = job.options.front().cookie;
        out_.views.push_back(view);
    }

    void reasons(const std::vector<Reason>& reasons, fs_plan::Decision& decision) {
        if (reasons.empty()) {
            return;
        }
        decision.reason = brief(reasons.front(), snapshot_);
        decision.kind = name_of(reasons.front().kind);
        for (const Reason& reason : reasons) {
            decision.detail += (decision.detail.empty() ? "" : " ") + describe(reason, snapshot_);
        }
    }

    static fs_decision view_of(const Job& job, int index, const fs_plan::Decision& decision) {
        fs_decision view{};
        view.key = job.key;
        view.job = index;
        view.opaque = job.opaque;
        view.nodes = decision.nodes.data();
        view.shares = decision.shares.data();
        view.node_count = decision.nodes.size();
        view.reason = decision.reason.c_str();
        view.detail = decision.detail.c_str();
        view.kind = decision.kind;
        return view;
    }

    /// The plan's later places in a profile: what an opaque job must leave untouched.  What starts
    /// now runs by the time that it is tried.
    [[nodiscard]] Profile holds_of_the_plan() const {
        Profile profile = decoder_->base();
        for (const Placement& place : out_.plan.placements) {
            const Job& job = snapshot_.jobs[static_cast<std::size_t>(place.job)];
            if (job.app < 0 && place.start > snapshot_.now) {
                profile.take(job, place.shares, place.start, place.end);
            }
        }
        return profile;
    }

    const fs_snapshot& handle_;
    const Snapshot& snapshot_;
    fs_plan& out_;
    std::unique_ptr<Decoder> decoder_; ///< only where the resource manager selects
    std::unique_ptr<Profile> planned_;
};

} // namespace

extern "C" {

fs_snapshot* fs_snapshot_new(int64_t now, int64_t step, int32_t steps) {
    auto* handle = new (std::nothrow) fs_snapshot;
    if (handle == nullptr) {
        return nullptr;
    }
    step = std::max<int64_t>(step, 1);
    handle->now = now;
    handle->origin = now - (now % step + step) % step;
    handle->snapshot.step = step;
    handle->snapshot.steps = steps;
    handle->snapshot.now = now - handle->origin;
    handle->snapshot.block = Block::any;
    handle->snapshot.fit = Fit::may_overrun;
    handle->snapshot.value.decay_end = 0.5;
    handle->hash = 0xcbf29ce484222325ULL;
    return handle;
}

void fs_snapshot_free(fs_snapshot* snapshot) {
    delete snapshot;
}

int32_t fs_snapshot_add_type(fs_snapshot* snapshot, const char* name) {
    return fenced(snapshot, [&] {
        Hash(snapshot->hash).add(name);
        snapshot->snapshot.gpu_types.push_back(text_of(name));
        return last_of(snapshot->snapshot.gpu_types);
    });
}

int32_t fs_snapshot_add_node(fs_snapshot* snapshot, const fs_node* from) {
    return fenced(snapshot, [&] {
        Hash(snapshot->hash)
            .add(from->name)
            .add(std::int64_t{from->gpus})
            .add(from->cpus)
            .add(from->memory_mib)
            .add(static_cast<std::int64_t>(from->usable))
            .add(from->gpus_of_type, from->types * sizeof(std::uint64_t));
        Node node;
        node.name = text_of(from->name);
        node.gpus = from->gpus;
        node.cpus = count_of(from->cpus);
        node.memory_mib = count_of(from->memory_mib);
        node.usable = from->usable;
        node.gpus_of_type.assign(from->gpus_of_type, from->gpus_of_type + from->types);
        snapshot->snapshot.nodes.push_back(std::move(node));
        return last_of(snapshot->snapshot.nodes);
    });
}

int32_t fs_snapshot_add_class(fs_snapshot* snapshot, const int32_t* nodes, size_t count) {
    return fenced(snapshot, [&] {
        Hash(snapshot->hash)
            .add(nodes, count * sizeof *nodes)
            .add(static_cast<std::int64_t>(count));
        snapshot->snapshot.classes.push_back({std::vector<int>(nodes, nodes + count), {}});
        return last_of(snapshot->snapshot.classes);
    });
}

int32_t fs_snapshot_add_limit(fs_snapshot* snapshot, const char* name, int64_t max) {
    return fenced(snapshot, [&] {
        Hash(snapshot->hash).add(name).add(max);
        snapshot->snapshot.limits.push_back({text_of(name), count_of(max)});
        return last_of(snapshot->snapshot.limits);
    });
}

int32_t fs_snapshot_add_running(fs_snapshot* snapshot, const fs_running* from) {
    return fenced(snapshot, [&] {
        Hash hash(snapshot->hash);
        hash.add(from->id).add(from->priority).add(std::int64_t{from->app}).add(from->end);
        Running job;
        job.id = text_of(from->id);
        job.kind = text_of(from->kind);
        job.priority = from->priority;
        job.app = from->app;
        job.start = std::min<Seconds>(snapshot->relative(from->start), snapshot->snapshot.now);
        // A job past its end is about to go; until it has, its resources are not there.
        job.end = snapshot->relative(from->end);
        if (job.end <= snapshot->snapshot.now) {
            job.end = snapshot->snapshot.now + kOverdue;
        }
        for (std::size_t i = 0; i < from->share_count; ++i) {
            const fs_share& share = from->shares[i];
            hash.add(std::int64_t{share.node})
                .add(static_cast<std::int64_t>(share.gpus))
                .add(share.cpus)
                .add(share.memory_mib);
            job.shares.push_back(
                {share.node, share.gpus, count_of(share.cpus), count_of(share.memory_mib)});
        }
        job.limits = limits_of(from->limits, from->limit_count);
        snapshot->snapshot.running.push_back(std::move(job));
        return last_of(snapshot->snapshot.running);
    });
}

int32_t fs_snapshot_add_job(fs_snapshot* snapshot, const fs_job* from) {
    return fenced(snapshot, [&] {
        Hash hash(snapshot->hash);
        hash.add(from->id).add(from->begin).add(from->priority).add(std::int64_t{from->tasks});
        hash.add(std::int64_t{from->on_top})
            .add(std::int64_t{from->app})
            .add(from->refused)
            .add(from->retry);
        Job job;
        job.id = text_of(from->id);
        job.kind = text_of(from->kind);
        job.key = from->key;
        job.submit = std::min<Seconds>(snapshot->relative(from->submit), snapshot->snapshot.now);
        job.begin = from->begin > 0 ? snapshot->relative(from->begin) : 0;
        job.priority = from->priority;
        job.tasks = from->tasks;
        job.on_top = from->on_top;
        job.opaque = from->opaque;
        job.app = from->app;
        for (std::size_t i = 0; i < from->option_count; ++i) {
            hash_option(hash, from->options[i]);
            job.options.push_back(option_of(from->options[i]));
        }
        job.limits = limits_of(from->limits, from->limit_count);
        for (const LimitUse& use : job.limits) {
            hash.add(std::int64_t{use.limit}).add(use.amount);
        }
        if (from->refused != nullptr) {
            job.refusal = Refusal{from->refused, snapshot->relative(from->retry)};
        }
        snapshot->snapshot.jobs.push_back(std::move(job));
        return last_of(snapshot->snapshot.jobs);
    });
}

int32_t fs_snapshot_add_app(fs_snapshot* snapshot, const fs_app* from) {
    return fenced(snapshot, [&] {
        const auto steps = static_cast<std::size_t>(snapshot->snapshot.steps);
        App app;
        app.id = text_of(from->id);
        app.priority = from->priority;
        app.demand.assign(from->demand, from->demand + steps);
        app.max_swap = count_of(from->max_swap);
        app.node_class = from->node_class;
        app.per_gpu = amount_of(from->per_gpu);
        app.per_gpu.gpus = 0;
        // Only where the curve changes, and when: a step that went by changes nothing.
        Hash hash(snapshot->hash);
        hash.add(from->id).add(from->priority).add(from->max_swap).add(from->per_gpu);
        hash.add(std::int64_t{app.demand.empty() ? 0 : app.demand.front()});
        snapshot->snapshot.apps.push_back(std::move(app));
        return last_of(snapshot->snapshot.apps);
    });
}

int fs_snapshot_close(fs_snapshot* snapshot, int32_t node_class, int32_t node, int64_t from,
                      int64_t until) {
    return fenced(snapshot, [&] {
        Hash(snapshot->hash)
            .add(std::int64_t{node_class})
            .add(std::int64_t{node})
            .add(from > snapshot->now ? from : 0)
            .add(until);
        snapshot->snapshot.classes.at(static_cast<std::size_t>(node_class))
            .closures.push_back({node, snapshot->relative(from), snapshot->relative(until)});
        return 0;
    });
}

int64_t fs_snapshot_origin(const fs_snapshot* snapshot) {
    return snapshot->origin;
}

int32_t fs_snapshot_steps(const fs_snapshot* snapshot) {
    return snapshot->snapshot.steps;
}

uint64_t fs_snapshot_fingerprint(const fs_snapshot* snapshot) {
    return snapshot->hash;
}

int64_t fs_snapshot_next_edge(const fs_snapshot* handle) {
    const Snapshot& snapshot = handle->snapshot;
    Seconds next = kNever;
    const auto consider = [&](Seconds time) {
        if (time > snapshot.now) {
            next = std::min(next, time);
        }
    };
    for (const NodeClass& node_class : snapshot.classes) {
        for (const Closure& closure : node_class.closures) {
            consider(closure.from);
            consider(closure.until);
        }
    }
    for (const Job& job : snapshot.jobs) {
        consider(job.begin);
        if (job.refusal) {
            consider(job.refusal->retry);
        }
    }
    for (const App& app : snapshot.apps) {
        const auto change =
            std::adjacent_find(app.demand.begin(), app.demand.end(), std::not_equal_to<>());
        if (change != app.demand.end()) {
            consider((change - app.demand.begin() + 1) * snapshot.step);
        }
    }
    return handle->absolute(next);
}

const char* fs_snapshot_error(const fs_snapshot* snapshot) {
    return snapshot->error.c_str();
}

fs_cancel_flag* fs_cancel_new(void) {
    return new (std::nothrow) fs_cancel_flag;
}
void fs_cancel(fs_cancel_flag* flag) {
    flag->set.store(true);
}
void fs_cancel_reset(fs_cancel_flag* flag) {
    flag->set.store(false);
}
void fs_cancel_free(fs_cancel_flag* flag) {
    delete flag;
}

fs_memory* fs_memory_new(void) {
    return new (std::nothrow) fs_memory;
}
void fs_memory_free(fs_memory* memory) {
    delete memory;
}
int fs_memory_keep(fs_memory* memory, const fs_plan* plan) {
    try {
        *memory = plan->memory;
        return 0;
    } catch (const std::exception&) {
        memory->memory = {};
        return -1;
    }
}
void fs_memory_clear(fs_memory* memory) {
    memory->memory = {};
}
size_t fs_memory_count(const fs_memory* memory) {
    return memory->memory.places.size();
}

fs_plan* fs_plan_make(fs_snapshot* snapshot, const fs_plan_options* options,
                      const fs_memory* memory, const fs_cancel_flag* cancel) {
    fs_plan* made = nullptr;
    fenced(snapshot, [&] {
        snapshot->error = check(snapshot->snapshot);
        if (!snapshot->error.empty()) {
            return -1;
        }
        const char* name = options->policy == nullptr ? "rank" : options->policy;
        std::optional<Policy> policy = find_policy(name);
        if (!policy) {
            snapshot->error = std::string("no such policy: ") + name;
            return -1;
        }
        policy->age_doubles = options->age_doubles;
        policy->move_gain = options->move_gain;
        auto plan = std::make_unique<fs_plan>();
        const std::atomic<bool>* flag = cancel == nullptr ? nullptr : &cancel->set;
        if (memory != nullptr) {
            plan->memory = *memory;
            plan->memory.memory.shift(snapshot->origin - memory->origin);
        }
        plan->memory.origin = snapshot->origin;
        plan->plan =
            make_plan(snapshot->snapshot, {*policy, options->budget, flag}, plan->memory.memory);
        if (!plan->plan.complete) {
            snapshot->error = "cancelled";
            return -1;
        }
        Views(*snapshot, *plan).make(*policy);
        made = plan.release();
        return 0;
    });
    return made;
}

void fs_plan_free(fs_plan* plan) {
    delete plan;
}

size_t fs_plan_count(const fs_plan* plan) {
    return plan->views.size();
}

void fs_plan_get(const fs_plan* plan, size_t index, fs_decision* decision) {
    *decision = plan->views[index];
}

void fs_plan_get_stats(const fs_plan* plan, fs_plan_stats* stats) {
    const Metrics& metrics = plan->plan.metrics;
    *stats = {metrics.utilisation,
              metrics.value,
              metrics.objective,
              metrics.shortfall_gpu_steps,
              static_cast<std::int32_t>(plan->plan.placements.size()),
              static_cast<std::int32_t>(plan->plan.unplaced.size()),
              plan->starts_now,
              plan->plan.work,
              plan->plan.budget};
}

int32_t fs_plan_held(const fs_plan* plan, int32_t app, int32_t step) {
    const auto a = static_cast<std::size_t>(app);
    const auto s = static_cast<std::size_t>(step);
    if (app < 0 || step < 0 || a >= plan->plan.holds.size() ||
        s >= plan->plan.holds[a].steps.size()) {
        return 0;
    }
    return count_gpus(plan->plan.holds[a].steps[s]);
}

int64_t fs_plan_next_start(const fs_plan* plan) {
    return plan->next_start;
}

int32_t fs_lend(const fs_lending_node* nodes, size_t count, const int32_t* curve, int32_t steps,
                const fs_lending_terms* terms, int64_t* due) {
    try {
        std::vector<LendingNode> known;
        for (std::size_t i = 0; i < count; ++i) {
            const fs_lending_node& node = nodes[i];
            known.push_back({node.gpus, node.held, node.used, node.healthy,
                             std::min(node.busy_until, kNever), std::min(node.due, kNever)});
        }
        const Lending lending = lend(known, {curve, curve + std::max(0, steps)},
                                     {terms->now, terms->from, terms->step, terms->least_loan,
                                      std::min(terms->max_swap, kUnlimited)});
        std::copy(lending.due.begin(), lending.due.end(), due);
        return lending.missing;
    } catch (const std::exception&) {
        return -1;
    }
}

} // extern "C"
