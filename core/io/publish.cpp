/*
 * Publishing: see publish.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "publish.hpp"

#include "file.hpp"
#include "openmetrics.hpp"
#include "schedule.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace foresight::io {

namespace {

#ifdef FORESIGHT_VERSION
constexpr const char* kVersion = FORESIGHT_VERSION;
#else
constexpr const char* kVersion = "unknown";
#endif

template <class T> const T& at(const std::vector<T>& list, int index) {
    return list[static_cast<std::size_t>(index)];
}

/// How many GPUs there are, are healthy, and are held by running jobs.
struct GpuCounts {
    int total = 0;
    int usable = 0;
    int busy = 0;
};

struct JobCounts {
    int running = 0;
    int starting = 0;
    int planned = 0;
    int waiting = 0;
};

bool starts_now(const Snapshot& snapshot, const Placement& placed) {
    return placed.start <= snapshot.now;
}

GpuCounts count_gpus_of(const Snapshot& snapshot) {
    GpuCounts counts;
    for (const Node& node : snapshot.nodes) {
        counts.total += node.gpus;
        counts.usable += std::popcount(node.usable & lowest_gpus(node.gpus));
    }
    for (const Running& running : snapshot.running) {
        for (const Share& share : running.shares) {
            counts.busy += std::popcount(share.gpus);
        }
    }
    return counts;
}

JobCounts count_jobs(const Published& published) {
    JobCounts counts;
    counts.running = static_cast<int>(published.snapshot.running.size());
    for (const Placement& placed : published.plan.placements) {
        ++(starts_now(published.snapshot, placed) ? counts.starting : counts.planned);
    }
    counts.waiting = static_cast<int>(published.plan.unplaced.size());
    return counts;
}

int held_gpus(const GpuSet& set) {
    int count = 0;
    for (const auto& [node, mask] : set) {
        count += std::popcount(mask);
    }
    return count;
}

Json realtime_json(const Published& published) {
    Json list = json_list();
    for (std::size_t i = 0; i < published.snapshot.apps.size(); ++i) {
        const App& app = published.snapshot.apps[i];
        Json item = json_map();
        Json demand = json_list();
        for (const int gpus : app.demand) {
            append(demand, json_whole(gpus));
        }
        Json held = json_list();
        if (i < published.plan.holds.size()) {
            for (const GpuSet& set : published.plan.holds[i].steps) {
                append(held, json_whole(held_gpus(set)));
            }
        }
        put(item, "id", json_text(app.id));
        put(item, "demand", std::move(demand));
        put(item, "held", std::move(held));
        append(list, std::move(item));
    }
    return list;
}

Json header_json(const Published& published, const std::string& mode) {
    const Snapshot& snapshot = published.snapshot;
    const GpuCounts gpus = count_gpus_of(snapshot);
    const JobCounts jobs = count_jobs(published);
    const Metrics& metrics = published.plan.metrics;
    Json item = json_map();
    put(item, "format", json_text("foresight-plan/1"));
    put(item, "time", json_whole(published.origin + snapshot.now));
    put(item, "mode", json_text(mode));
    put(item, "policy", json_text(published.plan.policy));
    put(item, "origin", json_whole(published.origin));
    put(item, "step_seconds", json_whole(snapshot.step));
    put(item, "horizon_steps", json_whole(snapshot.steps));
    put(item, "nodes", json_whole(static_cast<std::int64_t>(snapshot.nodes.size())));
    put(item, "gpus", json_whole(gpus.total));
    put(item, "gpus_usable", json_whole(gpus.usable));
    put(item, "gpus_busy", json_whole(gpus.busy));
    put(item, "jobs_running", json_whole(jobs.running));
    put(item, "jobs_starting", json_whole(jobs.starting));
    put(item, "jobs_planned", json_whole(jobs.planned));
    put(item, "jobs_waiting", json_whole(jobs.waiting));
    put(item, "utilisation", json_number(metrics.utilisation));
    put(item, "value", json_number(metrics.value));
    put(item, "objective", json_number(metrics.objective));
    put(item, "shortfall_gpu_steps", json_number(metrics.shortfall_gpu_steps));
    put(item, "wait_mean_s", json_number(metrics.wait_mean_s));
    put(item, "wait_max_s", json_number(metrics.wait_max_s));
    put(item, "bounded_slowdown_mean", json_number(metrics.bounded_slowdown_mean));
    put(item, "bounded_slowdown_max", json_number(metrics.bounded_slowdown_max));
    put(item, "fragmentation", json_number(metrics.fragmentation));
    put(item, "work", json_whole(static_cast<std::int64_t>(published.plan.work)));
    put(item, "budget", json_whole(static_cast<std::int64_t>(published.plan.budget)));
    put(item, "realtime", realtime_json(published));
    return item;
}

Json job_json(const std::string& id, const char* state, const std::string& kind,
              double priority) {
    Json item = json_map();
    put(item, "id", json_text(id));
    put(item, "state", json_text(state));
    if (!kind.empty()) {
        put(item, "kind", json_text(kind));
    }
    put(item, "priority", json_number(priority));
    return item;
}

void put_time(const Json& item, const char* key, std::int64_t origin, Seconds time) {
    put(item, key, time >= kNever ? json_nothing() : json_whole(origin + time));
}

void put_shares(const Json& item, const Snapshot& snapshot, const std::vector<Share>& shares) {
    Json nodes = json_list();
    Json gpus = json_list();
    for (const Share& share : shares) {
        append(nodes, json_text(at(snapshot.nodes, share.node).name));
        append(gpus, json_whole(std::popcount(share.gpus)));
    }
    put(item, "nodes", std::move(nodes));
    put(item, "gpus", std::move(gpus));
}

void put_reasons(const Json& item, const Published& published,
                 const std::vector<Reason>& reasons) {
    Json list = json_list();
    for (const Reason& reason : reasons) {
        append(list, reason_json(reason, published.snapshot, "until", published.origin));
    }
    put(item, "reasons", std::move(list));
}

Json running_json(const Published& published, const Running& running) {
    Json item = job_json(running.id, "running", running.kind, running.priority);
    put_time(item, "start", published.origin, running.start);
    put_time(item, "end", published.origin, running.end);
    put_shares(item, published.snapshot, running.shares);
    if (running.app >= 0) {
        put(item, "app", json_text(at(published.snapshot.apps, running.app).id));
    }
    return item;
}

Json placed_json(const Published& published, std::size_t index) {
    const Placement& placed = published.plan.placements[index];
    const Job& job = at(published.snapshot.jobs, placed.job);
    const bool now = starts_now(published.snapshot, placed);
    Json item = job_json(job.id, now ? "starting" : "planned", job.kind, job.priority);
    if (job.tasks > 1) {
        put(item, "task", json_whole(placed.task));
    }
    put_time(item, "start", published.origin, placed.start);
    put_time(item, "end", published.origin, placed.end);
    put_shares(item, published.snapshot, placed.shares);
    if (index < published.plan.waits.size() && !published.plan.waits[index].empty()) {
        put_reasons(item, published, published.plan.waits[index]);
    }
    return item;
}

Json waiting_json(const Published& published, const Unplaced& unplaced) {
    const Job& job = at(published.snapshot.jobs, unplaced.job);
    Json item = job_json(job.id, "waiting", job.kind, job.priority);
    if (!job.options.empty()) {
        put(item, "gpus_asked", json_whole(job.options.front().request.gpus()));
    }
    put_reasons(item, published, unplaced.reasons);
    return item;
}

void write_counters(OpenMetrics& text, const fs_counters& counters) {
    text.counter("foresight_plans", "Plans made", counters.cycles);
    text.counter("foresight_idle_looks", "Looks at the cluster that found nothing changed",
                 counters.idle_looks);
    text.counter("foresight_plan_failures", "Plans that failed or overran", counters.failures);
    text.counter("foresight_handovers", "Times that Slurm's backfill took over",
                 counters.handovers);
    text.counter("foresight_starts", "Jobs started", counters.starts);
    text.counter("foresight_refusals", "Starts that Slurm refused", counters.refusals);
    text.counter("foresight_settings_errors", "Times that foresight.conf could not be used",
                 counters.settings_errors);
    text.family("foresight_observe_seconds", "gauge", "seconds",
                "Time that the last look at Slurm's records took");
    text.sample("foresight_observe_seconds", {}, counters.observe_seconds);
    text.family("foresight_plan_seconds", "gauge", "seconds", "Time that the last plan took");
    text.sample("foresight_plan_seconds", {}, counters.plan_seconds);
    text.family("foresight_apply_seconds", "gauge", "seconds",
                "Time that carrying out the last plan took");
    text.sample("foresight_apply_seconds", {}, counters.apply_seconds);
}

void write_mode(OpenMetrics& text, const std::string& mode) {
    text.family("foresight_build", "info", "", "Version of the plugin");
    text.sample("foresight_build_info", {{"version", kVersion}}, 1);
    text.family("foresight_mode", "stateset", "",
                "Who schedules: the plan, or Slurm's backfill with the plan only published "
                "(shadow) or after failures (backfill)");
    for (const char* state : {"active", "shadow", "backfill", "wait"}) {
        text.sample("foresight_mode", {{"foresight_mode", state}}, mode == state ? 1 : 0);
    }
}

void write_queue(OpenMetrics& text, const Published& published) {
    const JobCounts jobs = count_jobs(published);
    text.family("foresight_jobs", "gauge", "", "Jobs by what the plan says of them");
    text.sample("foresight_jobs", {{"state", "running"}}, jobs.running);
    text.sample("foresight_jobs", {{"state", "starting"}}, jobs.starting);
    text.sample("foresight_jobs", {{"state", "planned"}}, jobs.planned);
    text.sample("foresight_jobs", {{"state", "waiting"}}, jobs.waiting);
    std::map<std::string, int> by_reason;
    for (const Unplaced& unplaced : published.plan.unplaced) {
        if (!unplaced.reasons.empty()) {
            ++by_reason[name_of(unplaced.reasons.front().kind)];
        }
    }
    text.family("foresight_unplaced_jobs", "gauge", "",
                "Jobs without a place in the plan, by the main reason");
    for (const auto& [reason, count] : by_reason) {
        text.sample("foresight_unplaced_jobs", {{"reason", reason}}, count);
    }
}

void write_gpus(OpenMetrics& text, const Published& published) {
    const GpuCounts gpus = count_gpus_of(published.snapshot);
    text.family("foresight_gpus", "gauge", "", "GPUs of the cluster: all, healthy, in use by jobs");
    text.sample("foresight_gpus", {{"state", "all"}}, gpus.total);
    text.sample("foresight_gpus", {{"state", "usable"}}, gpus.usable);
    text.sample("foresight_gpus", {{"state", "busy"}}, gpus.busy);
}

void write_plan(OpenMetrics& text, const Published& published) {
    const Metrics& metrics = published.plan.metrics;
    text.family("foresight_plan_time_seconds", "gauge", "seconds",
                "When the plan in force was made, since the epoch");
    text.sample("foresight_plan_time_seconds", {},
                static_cast<double>(published.origin + published.snapshot.now));
    text.family("foresight_plan_utilisation_ratio", "gauge", "ratio",
                "GPU time of the horizon in use by plan");
    text.sample("foresight_plan_utilisation_ratio", {}, metrics.utilisation);
    text.family("foresight_plan_value", "gauge", "", "Weighted GPU steps of the plan");
    text.sample("foresight_plan_value", {}, metrics.value);
    text.family("foresight_plan_shortfall_gpu_steps", "gauge", "",
                "GPU steps of real-time demand that the plan leaves unmet");
    text.sample("foresight_plan_shortfall_gpu_steps", {}, metrics.shortfall_gpu_steps);
    text.family("foresight_plan_wait_seconds", "gauge", "seconds",
                "Wait from submission to start of the jobs that have a place in the plan");
    text.sample("foresight_plan_wait_seconds", {{"of", "mean"}}, metrics.wait_mean_s);
    text.sample("foresight_plan_wait_seconds", {{"of", "max"}}, metrics.wait_max_s);
    text.family("foresight_plan_bounded_slowdown", "gauge", "",
                "Wait and limit of a job by its limit, at least ten seconds");
    text.sample("foresight_plan_bounded_slowdown", {{"of", "mean"}},
                metrics.bounded_slowdown_mean);
    text.sample("foresight_plan_bounded_slowdown", {{"of", "max"}}, metrics.bounded_slowdown_max);
    text.family("foresight_plan_fragmentation_ratio", "gauge", "ratio",
                "Free GPUs that waiting jobs cannot use for the shape of their blocks");
    text.sample("foresight_plan_fragmentation_ratio", {}, metrics.fragmentation);
    text.family("foresight_plan_work", "gauge", "", "Work units that the plan took");
    text.sample("foresight_plan_work", {}, static_cast<double>(published.plan.work));
}

void write_realtime(OpenMetrics& text, const Published& published) {
    const auto now = static_cast<std::size_t>(published.snapshot.now / published.snapshot.step);
    const std::vector<App>& apps = published.snapshot.apps;
    text.family("foresight_realtime_demand_gpus", "gauge", "gpus",
                "GPUs that a real-time application wants in this step");
    for (const App& app : apps) {
        if (now < app.demand.size()) {
            text.sample("foresight_realtime_demand_gpus", {{"app", app.id}}, app.demand[now]);
        }
    }
    text.family("foresight_realtime_held_gpus", "gauge", "gpus",
                "GPUs that the plan keeps for it in this step");
    for (std::size_t i = 0; i < apps.size() && i < published.plan.holds.size(); ++i) {
        if (now < published.plan.holds[i].steps.size()) {
            text.sample("foresight_realtime_held_gpus", {{"app", apps[i].id}},
                        held_gpus(published.plan.holds[i].steps[now]));
        }
    }
}

} // namespace

std::string plan_lines(const Published& published, const std::string& mode) {
    std::string text = to_text(header_json(published, mode)) + "\n";
    for (const Running& running : published.snapshot.running) {
        text += to_text(running_json(published, running)) + "\n";
    }
    for (std::size_t i = 0; i < published.plan.placements.size(); ++i) {
        text += to_text(placed_json(published, i)) + "\n";
    }
    for (const Unplaced& unplaced : published.plan.unplaced) {
        text += to_text(waiting_json(published, unplaced)) + "\n";
    }
    return text;
}

std::string metrics_text(const Published* published, const fs_counters& counters) {
    OpenMetrics text;
    write_mode(text, counters.mode == nullptr ? "" : counters.mode);
    write_counters(text, counters);
    if (published != nullptr) {
        write_queue(text, *published);
        write_gpus(text, *published);
        write_plan(text, *published);
        write_realtime(text, *published);
    }
    return text.finish();
}

void publish(const std::string& directory, const Published* published,
             const fs_counters& counters, bool private_jobs) {
    constexpr mode_t everyone = 0644;
    constexpr mode_t owner = 0600;
    make_directory(directory, 0755);
    if (published != nullptr) {
        const std::string mode = counters.mode == nullptr ? "" : counters.mode;
        write_file(directory + "/plan.jsonl", plan_lines(*published, mode),
                   private_jobs ? owner : everyone, Sync::no);
    }
    write_file(directory + "/metrics.prom", metrics_text(published, counters), everyone, Sync::no);
}

} // namespace foresight::io
