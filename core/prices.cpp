// SPDX-License-Identifier: GPL-2.0-or-later
#include "prices.hpp"

#include "decode.hpp"
#include "place.hpp"
#include "value.hpp"

#include <algorithm>
#include <cmath>

namespace foresight {

namespace {

/// On smaller clusters a block's place is looked for by the search itself.
constexpr std::size_t kFewNodes = 24;

/// Shorter jobs do not come forward any more.
constexpr Seconds kBriefest = 60;

/// Of what jobs yield that are poured like water: what a plan of blocks makes of it.
constexpr double kPoured = 0.95;

/// The first time at which the job could start beside what runs; the horizon for none.
Seconds first_start(const Snapshot& snapshot, const Profile& running, Placer& placer,
                    const Job& job) {
    const Seconds from = std::max({snapshot.now, job.submit, job.begin});
    Seconds first = snapshot.horizon();
    for (const Option& option : job.options) {
        const Seconds latest = snapshot.fit == Fit::within_horizon
                                   ? snapshot.horizon() - option.duration
                                   : snapshot.horizon() - 1;
        if (option.request.gpus() <= 1) {
            return from; // one GPU is soon free somewhere: not worth a look
        }
        const std::optional<Place> place =
            placer.earliest(running, job, option, from, std::min(latest, first - 1));
        first = place ? place->start : first;
    }
    return first;
}

} // namespace

void Prices::look_at_starts() {
    if (looked_ || snapshot_.nodes.size() < kFewNodes) {
        return;
    }
    looked_ = true;
    Profile running(snapshot_);
    running.index_gaps(block_sizes(snapshot_), snapshot_.block);
    Placer placer(snapshot_, Packing::tight);
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
        const Job& job = snapshot_.jobs[j];
        if (job.app >= 0) {
            continue;
        }
        const Seconds first = first_start(snapshot_, running, placer, job);
        if (first > std::max({snapshot_.now, job.submit, job.begin})) {
            if (!later_) {
                later_ = snapshot_;
            }
            later_->jobs[j].begin = first;
        }
    }
}

Bound Prices::bound() {
    look_at_starts();
    return Bound(later_ ? *later_ : snapshot_);
}

Bound& Prices::ordering() {
    if (ordering_) {
        return *ordering_;
    }
    look_at_starts();
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
        const double priority = aged_priority(snapshot_, policy_, snapshot_.jobs[j]);
        if (priority != snapshot_.jobs[j].priority) {
            if (!aged_) {
                aged_ = later_ ? *later_ : snapshot_;
            }
            aged_->jobs[j].priority = priority;
        }
    }
    const Snapshot& known = later_ ? *later_ : snapshot_;
    return ordering_.emplace(aged_ ? *aged_ : known, Bound::Neighbours::ignored);
}

double Prices::guess(const std::vector<Entry>& queue) const {
    const Weights weights(snapshot_);
    double gpus = 0;
    for (const Node& node : snapshot_.nodes) {
        gpus += std::popcount(lowest_gpus(node.gpus) & node.usable);
    }
    double value = 0;
    double taken = 0; // GPU-seconds
    for (const Running& job : snapshot_.running) {
        const Seconds end = std::clamp<Seconds>(job.end, 0, snapshot_.horizon());
        taken += count_gpus(job.shares) * static_cast<double>(end);
        value += job.app < 0 ? reward(weights, job.priority, count_gpus(job.shares), 0, end) : 0;
    }
    for (const App& app : snapshot_.apps) {
        for (const int demand : app.demand) {
            taken += static_cast<double>(demand) * static_cast<double>(snapshot_.step);
        }
    }
    gpus = std::max(1.0, gpus - taken / static_cast<double>(snapshot_.horizon()));
    double poured = 0;
    for (const Entry& entry : queue) {
        const Job& job = snapshot_.jobs[static_cast<std::size_t>(entry.job)];
        const Option& option = job.options[static_cast<std::size_t>(entry.option)];
        const auto start = static_cast<Seconds>(poured / gpus);
        if (job.app >= 0 || entry.option > 0 || start + option.duration > snapshot_.horizon()) {
            continue;
        }
        const int wanted = option.request.gpus() * job.tasks;
        poured += wanted * static_cast<double>(option.duration);
        value += kPoured * reward(weights, entry.merit, wanted, start, start + option.duration);
    }
    return value;
}

std::vector<Entry> Prices::order(const std::vector<Entry>& queue, int rounds, double reached,
                                 const Forward& forward) {
    Bound& bound = ordering();
    bound.tighten(rounds, reached);
    const std::vector<double> starts = bound.mean_starts();
    const auto horizon = static_cast<double>(snapshot_.horizon());
    std::vector<std::pair<double, Entry>> keyed;
    keyed.reserve(queue.size());
    for (const Entry& entry : queue) {
        const Job& job = snapshot_.jobs[static_cast<std::size_t>(entry.job)];
        const Option& option = job.options[static_cast<std::size_t>(entry.option)];
        const double start = starts[static_cast<std::size_t>(entry.job)];
        const double length = static_cast<double>(std::max(kBriefest, option.duration));
        const double doublings = std::log2(std::max(1, option.request.gpus()));
        const double halvings = std::log2(std::max(1.0, horizon / length));
        keyed.emplace_back((start < static_cast<double>(kNever) ? start : 2 * horizon) -
                               horizon * (forward.wide * doublings + forward.brief * halvings),
                           entry);
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
        if (!same_class(a.second, b.second)) {
            return a.second.tier != b.second.tier ? a.second.tier > b.second.tier : a.second.on_top;
        }
        return a.first < b.first;
    });
    std::vector<Entry> order;
    order.reserve(queue.size());
    for (const auto& [key, entry] : keyed) {
        order.push_back(entry);
    }
    return order;
}

} // namespace foresight
