/*
 * Schedule: see schedule.hpp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "schedule.hpp"

#include "text.hpp"

#include <algorithm>
#include <tuple>

namespace foresight::io {

namespace {

/// A line of "jobs": running and placed ones alike.
struct Row {
    const std::string* id;
    Seconds start;
    Seconds end;
    const std::vector<Share>* shares;
    const std::vector<Reason>* waits; ///< nullptr for a running job

    [[nodiscard]] auto place() const {
        const Share none;
        const Share& first = shares->empty() ? none : shares->front();
        return std::tuple(start, first.node, std::countr_zero(first.gpus), std::string_view(*id));
    }
};

Json gpus_json(const std::string& node, GpuMask mask) {
    Json numbers = json_list();
    for (; mask != 0; mask &= mask - 1) {
        append(numbers, json_whole(std::countr_zero(mask)));
    }
    Json pair = json_list();
    append(pair, json_text(node));
    append(pair, std::move(numbers));
    return pair;
}

const std::string& node_name(const Snapshot& snapshot, int node) {
    return snapshot.nodes[static_cast<std::size_t>(node)].name;
}

Json shares_json(const Snapshot& snapshot, const std::vector<Share>& shares) {
    Json list = json_list();
    for (const Share& share : shares) {
        append(list, gpus_json(node_name(snapshot, share.node), share.gpus));
    }
    return list;
}

std::vector<Row> rows_of(const Snapshot& snapshot, const Plan& plan) {
    std::vector<Row> rows;
    rows.reserve(snapshot.running.size() + plan.placements.size());
    for (const Running& running : snapshot.running) {
        rows.push_back({&running.id, 0, running.end, &running.shares, nullptr});
    }
    for (std::size_t i = 0; i < plan.placements.size(); ++i) {
        const Placement& placed = plan.placements[i];
        const Job& job = snapshot.jobs[static_cast<std::size_t>(placed.job)];
        const auto* waits = i < plan.waits.size() ? &plan.waits[i] : nullptr;
        rows.push_back({&job.id, placed.start, placed.end, &placed.shares, waits});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.place() < b.place(); });
    return rows;
}

Json reasons_json(const std::vector<Reason>& reasons, const Snapshot& snapshot) {
    Json list = json_list();
    for (const Reason& reason : reasons) {
        append(list, reason_json(reason, snapshot, "until_s", 0));
    }
    return list;
}

Json jobs_json(const Snapshot& snapshot, const Plan& plan) {
    Json list = json_list();
    for (const Row& row : rows_of(snapshot, plan)) {
        Json item = json_map();
        put(item, "id", json_text(*row.id));
        put(item, "start_s", json_whole(row.start));
        put(item, "end_s", json_whole(row.end));
        put(item, "gpus", shares_json(snapshot, *row.shares));
        if (row.waits != nullptr && !row.waits->empty()) {
            put(item, "waits", reasons_json(*row.waits, snapshot));
        }
        append(list, std::move(item));
    }
    return list;
}

Json unplaced_json(const Snapshot& snapshot, const Plan& plan) {
    std::vector<const Unplaced*> sorted;
    sorted.reserve(plan.unplaced.size());
    for (const Unplaced& job : plan.unplaced) {
        sorted.push_back(&job);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Unplaced* a, const Unplaced* b) { return a->job < b->job; });
    Json list = json_list();
    for (const Unplaced* job : sorted) {
        Json item = json_map();
        put(item, "id", json_text(snapshot.jobs[static_cast<std::size_t>(job->job)].id));
        put(item, "reason", json_text(reasons_text(job->reasons, snapshot)));
        put(item, "kind",
            json_text(job->reasons.empty() ? "" : name_of(job->reasons.front().kind)));
        put(item, "reasons", reasons_json(job->reasons, snapshot));
        append(list, std::move(item));
    }
    return list;
}

Json realtime_json(const Snapshot& snapshot, const Plan& plan) {
    Json list = json_list();
    for (std::size_t i = 0; i < snapshot.apps.size() && i < plan.holds.size(); ++i) {
        Json steps = json_list();
        for (const GpuSet& held : plan.holds[i].steps) {
            Json step = json_list();
            for (const auto& [node, mask] : held) {
                append(step, gpus_json(node_name(snapshot, node), mask));
            }
            append(steps, std::move(step));
        }
        Json item = json_map();
        put(item, "id", json_text(snapshot.apps[i].id));
        put(item, "steps", std::move(steps));
        append(list, std::move(item));
    }
    return list;
}

Json metrics_json(const Metrics& metrics) {
    Json item = json_map();
    put(item, "utilisation", json_number(metrics.utilisation));
    put(item, "value", json_number(metrics.value));
    put(item, "objective", json_number(metrics.objective));
    put(item, "shortfall_gpu_steps", json_number(metrics.shortfall_gpu_steps));
    put(item, "swaps", json_number(metrics.swaps));
    put(item, "jobs_placed", json_whole(metrics.jobs_placed));
    put(item, "jobs_completed", json_whole(metrics.jobs_completed));
    put(item, "wait_mean_s", json_number(metrics.wait_mean_s));
    put(item, "wait_max_s", json_number(metrics.wait_max_s));
    put(item, "bounded_slowdown_mean", json_number(metrics.bounded_slowdown_mean));
    put(item, "bounded_slowdown_max", json_number(metrics.bounded_slowdown_max));
    put(item, "fragmentation", json_number(metrics.fragmentation));
    return item;
}

} // namespace

Json reason_json(const Reason& reason, const Snapshot& snapshot, const char* until_key,
                 Seconds origin) {
    Json item = json_map();
    put(item, "kind", json_text(name_of(reason.kind)));
    if (const char* resource = resource_of(reason.kind); resource != nullptr) {
        put(item, "resource", json_text(resource));
    }
    if (reason.until < kNever) {
        put(item, until_key, json_whole(origin + reason.until));
    }
    if (reason.app >= 0) {
        put(item, "app", json_text(snapshot.apps[static_cast<std::size_t>(reason.app)].id));
    }
    if (reason.limit >= 0) {
        put(item, "limit", json_text(snapshot.limits[static_cast<std::size_t>(reason.limit)].name));
    }
    if (!reason.job.empty()) {
        put(item, "job", json_text(reason.job));
    }
    put(item, "text", json_text(describe(reason, snapshot)));
    return item;
}

std::string reasons_text(const std::vector<Reason>& reasons, const Snapshot& snapshot) {
    std::string text;
    for (const Reason& reason : reasons) {
        text += (text.empty() ? "" : " ") + describe(reason, snapshot);
    }
    return text;
}

std::string schedule_text(const Snapshot& snapshot, const Plan& plan,
                          const ScheduleHeader& header) {
    Json top = json_map();
    put(top, "format", json_text("foresight-schedule/1"));
    put(top, "scenario", json_text(snapshot.name));
    put(top, "policy", json_text(header.policy));
    put(top, "mode", json_text(header.mode));
    put(top, "jobs", jobs_json(snapshot, plan));
    put(top, "unplaced", unplaced_json(snapshot, plan));
    put(top, "bound", plan.bound ? json_number(*plan.bound) : json_nothing());
    if (header.proved) {
        put(top, "proved", json_truth(*header.proved));
    }
    put(top, "realtime", realtime_json(snapshot, plan));
    put(top, "metrics", metrics_json(plan.metrics));
    put(top, "work", json_whole(static_cast<std::int64_t>(plan.work)));
    put(top, "budget", json_whole(static_cast<std::int64_t>(plan.budget)));
    put(top, "plan_us", json_whole(header.plan_us));
    return to_text(top) + "\n";
}

} // namespace foresight::io
