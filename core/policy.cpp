// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy.hpp"

#include <algorithm>
#include <array>

namespace foresight {

namespace {

const std::array<Policy, 7>& table() {
    using enum Order;
    using enum Realtime;
    static const std::array<Policy, 7> policies{{
        {.name = "fifo", .order = arrival, .realtime = static_peak, .packing = Packing::lowest},
        {.name = "priority", .order = priority, .realtime = static_peak},
        {.name = "easy", .order = priority, .holds = 1},
        {.name = "easy-value", .order = priority_per_length, .holds = 1},
        {.name = "conservative", .order = priority},
        {.name = "rank", .order = rank},
        {.name = "foresight", .order = value},
    }};
    return policies;
}

/// What a policy sorts by, the larger the earlier.
double merit(const Snapshot& snapshot, const Policy& policy, const Job& job, const Option& option) {
    switch (policy.order) {
    case Order::arrival:
        return 0;
    case Order::priority:
        return aged_priority(snapshot, policy, job);
    case Order::priority_per_length:
        return job.priority / static_cast<double>(std::max<Seconds>(1, option.duration));
    case Order::rank:
        return -static_cast<double>(option.rank);
    case Order::value:
        return aged_priority(snapshot, policy, job);
    }
    return 0;
}

} // namespace

std::optional<Policy> find_policy(std::string_view name) {
    const auto& policies = table();
    const auto found = std::find_if(policies.begin(), policies.end(),
                                    [&](const Policy& policy) { return policy.name == name; });
    return found == policies.end() ? std::nullopt : std::optional<Policy>(*found);
}

std::vector<std::string> policy_names() {
    std::vector<std::string> names;
    for (const Policy& policy : table()) {
        names.push_back(policy.name);
    }
    return names;
}

double aged_priority(const Snapshot& snapshot, const Policy& policy, const Job& job) noexcept {
    const auto waited = static_cast<double>(std::max<Seconds>(0, snapshot.now - job.submit));
    return policy.age_doubles <= 0
               ? job.priority
               : job.priority * (1.0 + waited / static_cast<double>(policy.age_doubles));
}

std::vector<Entry> queue_of(const Snapshot& snapshot, const Policy& policy) {
    std::vector<Entry> queue;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        for (std::size_t o = 0; o < job.options.size(); ++o) {
            queue.push_back({static_cast<int>(j), static_cast<int>(o), job.options[o].tier,
                             job.on_top, merit(snapshot, policy, job, job.options[o])});
        }
    }
    std::stable_sort(queue.begin(), queue.end(), [](const Entry& a, const Entry& b) {
        if (!same_class(a, b)) {
            return a.tier != b.tier ? a.tier > b.tier : a.on_top;
        }
        return a.merit > b.merit;
    });
    return queue;
}

} // namespace foresight
