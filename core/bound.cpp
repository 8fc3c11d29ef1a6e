// SPDX-License-Identifier: GPL-2.0-or-later
#include "bound.hpp"

#include "block.hpp"

#include "value.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>

// Two builds of the hot loop, chosen by the processor at load time: the same numbers, since AVX2
// alone fuses nothing.  Sanitizers do not go with the choice.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FORESIGHT_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define FORESIGHT_WIDE
#endif

namespace foresight {

namespace {

/// More GPUs than any application or job has.
constexpr double kMostGpus = 1e12;
/// Starts looked at in the time in which a place is tried on a node (planner.hpp).
constexpr std::size_t kLooksOfWork = 256;
/// A bound so near to what a plan reaches, as a share of it, is near enough.
constexpr double kCloseEnough = 1e-5;
/// Of all the terms that are added up, more than what rounding can take from their sum.
constexpr double kRounding = 1e-10;

/// Rounds of a plan without a budget, and of any.
constexpr std::uint64_t kFewRounds = 10;
constexpr std::uint64_t kMostRounds = 300;

constexpr int kLanes = 4;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using LaneFlags = std::int64_t __attribute__((vector_size(kLanes * sizeof(double))));

/// As many numbers at any address.
typedef double LooseLanes
    __attribute__((vector_size(kLanes * sizeof(double)), aligned(alignof(double)), may_alias));

/// The largest of a function of an index, and the first index that has it.
struct Largest {
    double value = 0;
    int index = -1;

    void see(double other, int at) noexcept {
        if (other > value) {
            value = other;
            index = at;
        }
    }
    void see(const Largest& other) noexcept {
        if (other.index >= 0 &&
            (other.value > value || (other.value == value && other.index < index))) {
            *this = other;
        }
    }
};

/// The largest of ahead[i] - here[i] + part × slope[i] over first ≤ i ≤ last, if it is above 0.
FORESIGHT_WIDE
Largest largest_gain(const double* ahead, const double* here, double part, const double* slope,
                     int first, int last) noexcept {
    Largest largest;
    int i = first;
    if (last - first >= kLanes) {
        Lanes best{};
        Lanes at{-1, -1, -1, -1};
        Lanes now = Lanes{0, 1, 2, 3} + static_cast<double>(first);
        for (; i + kLanes <= last + 1; i += kLanes) {
            const Lanes value = *reinterpret_cast<const LooseLanes*>(ahead + i) -
                                *reinterpret_cast<const LooseLanes*>(here + i) +
                                part * *reinterpret_cast<const LooseLanes*>(slope + i);
            const LaneFlags more = value > best;
            best = more ? value : best;
            at = more ? now : at;
            now += static_cast<double>(kLanes);
        }
        for (int lane = 0; lane < kLanes; ++lane) {
            largest.see(Largest{best[lane], static_cast<int>(at[lane])});
        }
    }
    for (; i <= last; ++i) {
        largest.see(ahead[i] - here[i] + part * slope[i], i);
    }
    return largest;
}

int to_index(Seconds value) noexcept {
    return static_cast<int>(value);
}

/// Division that rounds up, of numbers that may be negative.
Seconds divide_up(Seconds a, Seconds b) noexcept {
    return a <= 0 ? -(-a / b) : (a + b - 1) / b;
}

} // namespace

Bound::Bound(const Snapshot& snapshot) : snapshot_(snapshot) {
    set_grid();
    largest_nodes();
    set_capacity();
    set_overruns();
    add_jobs();
    add_apps();
    first_prices();
}

void Bound::set_grid() {
    merge_ = (snapshot_.steps + kMostPrices - 1) / kMostPrices;
    steps_ = (snapshot_.steps + merge_ - 1) / merge_;
    length_ = snapshot_.step * merge_;
    horizon_ = length_ * steps_;
    const Weights weights(snapshot_);
    const auto steps = static_cast<std::size_t>(steps_);
    weights_.resize(steps);
    for (int step = 0; step < steps_; ++step) {
        // Of steps with one price the largest weight: more than a plan gets, never less.
        const int last = std::min(snapshot_.steps, (step + 1) * merge_) - 1;
        weights_[static_cast<std::size_t>(step)] =
            std::max(weights.of_step(step * merge_), weights.of_step(last));
    }
    slack_.assign(steps + 2, 0.0);
    direction_.assign(steps, 0.0);
    prices_.assign(steps, 0.0);
    // Starts in the last step reach as far again beyond the horizon.
    gains_.assign(2 * steps + 2 * kLanes, 0.0);
    summed_.assign(2 * steps + 2 * kLanes, 0.0);
}

/// GPUs that nothing inherited holds.
void Bound::set_capacity() {
    const auto steps = static_cast<std::size_t>(steps_);
    double all = 0;
    for (const Node& node : snapshot_.nodes) {
        all += std::popcount(node.usable & lowest_gpus(node.gpus));
    }
    capacity_.assign(steps + 2, 0.0);
    std::fill(capacity_.begin(), capacity_.begin() + steps_, all);
    if (steps_ > 0) {
        capacity_[0] -= all * static_cast<double>(snapshot_.now) / static_cast<double>(length_);
    }
    std::vector<const Running*> running;
    running.reserve(snapshot_.running.size());
    const Weights weights(snapshot_);
    for (const Running& job : snapshot_.running) {
        running.push_back(&job);
        if (job.app < 0) {
            fixed_ += reward(weights, job.priority, count_gpus(job.shares), 0,
                             std::max<Seconds>(0, job.end));
        }
    }
    // Two jobs may hold one GPU (a node that shrank): it is busy until the later ends.
    std::stable_sort(running.begin(), running.end(),
                     [](const Running* a, const Running* b) { return a->end > b->end; });
    std::vector<GpuMask> busy(running.empty() ? 0 : snapshot_.nodes.size(), 0);
    std::vector<double> held(steps + 2, 0.0);
    for (const Running* job : running) {
        const Seconds end = std::min(job->end, horizon_);
        if (end <= snapshot_.now) {
            break;
        }
        double gpus = 0;
        for (const Share& share : job->shares) {
            const auto index = static_cast<std::size_t>(share.node);
            const Node& node = snapshot_.nodes[index];
            const GpuMask more = share.gpus & node.usable & lowest_gpus(node.gpus) & ~busy[index];
            busy[index] |= more;
            gpus += std::popcount(more);
        }
        const auto step = static_cast<std::size_t>(end / length_);
        const double part = static_cast<double>(end % length_) / static_cast<double>(length_);
        held[0] += gpus;
        held[step] -= gpus * (1 - part);
        held[step + 1] -= gpus * part;
    }
    if (running.empty() || steps_ == 0) {
        return;
    }
    std::partial_sum(held.begin(), held.end(), held.begin());
    const double inherited =
        std::accumulate(busy.begin(), busy.end(), 0.0,
                        [](double sum, GpuMask gpus) { return sum + std::popcount(gpus); });
    held[0] -= inherited * static_cast<double>(snapshot_.now) / static_cast<double>(length_);
    for (std::size_t step = 0; step < steps; ++step) {
        capacity_[step] = std::max(0.0, capacity_[step] - held[step]);
    }
}

/// Jobs that end past the horizon may together hold what the applications' peaks leave.
void Bound::set_overruns() {
    if (snapshot_.fit != Fit::may_overrun) {
        return;
    }
    overrun_room_ = 0;
    for (const Node& node : snapshot_.nodes) {
        overrun_room_ += node.gpus;
    }
    for (const App& app : snapshot_.apps) {
        overrun_room_ -=
            app.demand.empty() ? 0 : *std::max_element(app.demand.begin(), app.demand.end());
    }
    for (const Running& job : snapshot_.running) {
        if (job.end > snapshot_.horizon() && job.app < 0) {
            overrun_room_ -= count_gpus(job.shares);
        }
    }
    overrun_room_ = std::max(0.0, overrun_room_);
}

/// The ways to run a job, those left out that can never be.
void Bound::add_choices(int index, std::vector<Choice>& choices) const {
    const Job& job = snapshot_.jobs[static_cast<std::size_t>(index)];
    if (job.app >= 0 || job.priority <= 0 || (job.refusal && job.refusal->retry > snapshot_.now)) {
        return;
    }
    for (std::size_t i = 0; i < job.options.size(); ++i) {
        const Option& option = job.options[i];
        const Request& request = option.request;
        const ClassSize& size = sizes_[static_cast<std::size_t>(option.node_class)];
        double gpus = request.gpus();
        if (gpus > size.gpus || request.chunk.gpus > size.largest) {
            continue;
        }
        if (request.whole_nodes) {
            const double nodes =
                std::min(request.nodes_max, std::max(request.chunks, request.nodes_min));
            gpus = std::max(gpus, std::min<double>(size.gpus, nodes * size.largest));
        }
        Choice choice;
        choice.gpus = gpus * job.tasks;
        choice.from = std::max({snapshot_.now, job.submit, job.begin});
        choice.latest = snapshot_.fit == Fit::within_horizon ? snapshot_.horizon() - option.duration
                                                             : snapshot_.horizon() - 1;
        if (gpus <= 0 || option.duration <= 0 || choice.latest < choice.from) {
            continue;
        }
        choice.on_time = snapshot_.horizon() - option.duration;
        choice.length = std::min(option.duration, horizon_);
        choice.whole = to_index(choice.length / length_);
        choice.part = static_cast<double>(choice.length % length_) / static_cast<double>(length_);
        choice.job = index;
        choice.option = static_cast<int>(i);
        choices.push_back(choice);
    }
}

void Bound::add_jobs() {
    choices_.reserve(snapshot_.jobs.size());
    groups_.reserve(snapshot_.jobs.size());
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
        const auto first = static_cast<std::uint32_t>(choices_.size());
        add_choices(static_cast<int>(j), choices_);
        const auto last = static_cast<std::uint32_t>(choices_.size());
        if (last > first) {
            groups_.push_back({snapshot_.jobs[j].priority, first, last});
        }
    }
    merge_groups();
}

void Bound::largest_nodes() {
    sizes_.resize(snapshot_.classes.size());
    for (std::size_t c = 0; c < sizes_.size(); ++c) {
        for (const int index : snapshot_.classes[c].nodes) {
            const Node& node = snapshot_.nodes[static_cast<std::size_t>(index)];
            const int gpus = std::popcount(node.usable & lowest_gpus(node.gpus));
            sizes_[c].gpus += gpus;
            sizes_[c].largest = std::max(sizes_[c].largest, gpus);
        }
    }
}

/// Jobs whose GPUs are worth the same in the same window are one.
void Bound::merge_groups() {
    const auto key = [&](const Group& group) {
        const Choice& choice = choices_[group.first];
        return std::tuple(-group.priority, group.last - group.first, choice.length, choice.from,
                          choice.latest);
    };
    std::stable_sort(groups_.begin(), groups_.end(),
                     [&](const Group& a, const Group& b) { return key(a) < key(b); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const Group group = groups_[i];
        if (kept > 0 && group.last - group.first == 1 && key(groups_[kept - 1]) == key(group)) {
            choices_[groups_[kept - 1].first].gpus += choices_[group.first].gpus;
        } else {
            groups_[kept++] = group;
        }
    }
    groups_.resize(kept);
}

/// Each application's demand, less what its own jobs hold or may come to hold; its cap where
/// nothing can force it to lose GPUs.
void Bound::add_apps() {
    const auto steps = static_cast<std::size_t>(snapshot_.steps);
    if (!snapshot_.apps.empty()) {
        step_prices_.assign(steps, 0.0);
        shares_.assign(steps, 1.0 / merge_);
        shares_[0] *= 1 - static_cast<double>(snapshot_.now) / static_cast<double>(snapshot_.step);
    }
    for (std::size_t a = 0; a < snapshot_.apps.size(); ++a) {
        const App& app = snapshot_.apps[a];
        std::vector<double> demand(app.demand.begin(), app.demand.end());
        bool alone = true;
        for (const Running& job : snapshot_.running) {
            if (job.app != static_cast<int>(a)) {
                continue;
            }
            alone = false;
            const int gpus = count_gpus(job.shares);
            for (std::size_t step = 0; step < steps; ++step) {
                const Seconds begin =
                    std::max(snapshot_.now, static_cast<Seconds>(step) * snapshot_.step);
                demand[step] -= job.end > begin ? gpus : 0;
            }
        }
        for (const Job& job : snapshot_.jobs) {
            if (job.app == static_cast<int>(a)) {
                alone = false;
                // Whenever it runs, its GPUs count, and a few seconds may count for a step.
                double most = 0;
                for (const Option& option : job.options) {
                    most = std::max<double>(
                        most, option.request.whole_nodes ? kMostGpus : option.request.gpus());
                }
                for (double& wanted : demand) {
                    wanted -= most * job.tasks;
                }
            }
        }
        for (double& wanted : demand) {
            wanted = std::max(0.0, wanted);
        }
        Curve curve(std::move(demand), app.priority * snapshot_.value.shortfall_weight);
        if (alone && app.max_swap < kUnlimited && merge_ == 1) {
            const auto swap = static_cast<double>(std::min<std::int64_t>(app.max_swap, kMostGpus));
            if (loses_nothing(app)) {
                curve.cap(swap, swap);
            } else {
                curve.cap(swap, kMostGpus);
            }
            if (app.held) {
                curve.start_at(count_gpus(*app.held));
            }
        }
        curves_.push_back(std::move(curve));
    }
}

/// Whether no application can be made to give up GPUs faster than its cap says.
bool Bound::loses_nothing(const App& app) const {
    if (app.per_gpu.cpus > 0 || app.per_gpu.memory_mib > 0) {
        return false;
    }
    if (app.node_class >= 0 &&
        !snapshot_.classes[static_cast<std::size_t>(app.node_class)].closures.empty()) {
        return false;
    }
    for (const auto& [index, gpus] : app.held.value_or(GpuSet{})) {
        const Node& node = snapshot_.nodes[static_cast<std::size_t>(index)];
        if ((gpus & ~(node.usable & lowest_gpus(node.gpus))) != 0) {
            return false;
        }
        for (const Running& job : snapshot_.running) {
            for (const Share& share : job.shares) {
                if (share.node == index && (share.gpus & gpus) != 0) {
                    return false;
                }
            }
        }
    }
    return true;
}

/// A first guess: what the last job is worth that a liquid queue, best first, brings in.
void Bound::first_prices() {
    double room = 0;
    for (int step = 0; step < steps_; ++step) {
        double wanted = 0;
        for (const Curve& curve : curves_) {
            wanted += curve.demand()[static_cast<std::size_t>(step * merge_)];
        }
        room += std::max(0.0, capacity_[static_cast<std::size_t>(step)] - wanted);
    }
    double price = 0;
    for (const Group& group : groups_) {
        const Choice& choice = choices_[group.first];
        room -= choice.gpus * (choice.whole + choice.part);
        if (room < 0) {
            price = group.priority;
            break;
        }
    }
    for (int step = 0; step < steps_; ++step) {
        prices_[static_cast<std::size_t>(step)] = price * weights_[static_cast<std::size_t>(step)];
    }
    keep(evaluate());
}

/// What a GPU yields in each step to a job of this priority, and up to each.
void Bound::set_gains(double priority) {
    double sum = 0;
    const auto steps = static_cast<std::size_t>(steps_);
    for (std::size_t step = 0; step < steps; ++step) {
        summed_[step] = sum;
        gains_[step] = priority * weights_[step] - prices_[step];
        sum += gains_[step];
    }
    std::fill(summed_.begin() + steps_, summed_.end(), sum);
}

double Bound::gain_up_to(Seconds time) const noexcept {
    const Seconds clipped = std::min(time, horizon_);
    const auto step = static_cast<std::size_t>(clipped / length_);
    return summed_[step] +
           gains_[step] * static_cast<double>(clipped % length_) / static_cast<double>(length_);
}

void Bound::look_at(const Choice& choice, Seconds start, Found& found) const {
    double gain = gain_up_to(start + choice.length) - gain_up_to(start);
    gain -= start > choice.on_time ? overrun_price_ : 0.0;
    if (gain > found.profit) {
        found = {gain, start};
    }
}

/// The best start, looked for at every bend.
Bound::Found Bound::look(const Choice& choice) const {
    Found found;
    const double* summed = summed_.data();
    const double* gains = gains_.data();
    const auto see = [&](const Largest& largest, double less, Seconds shift) {
        if (largest.value - less > found.profit) {
            found = {largest.value - less, largest.index * length_ + shift};
        }
    };
    // Starts on an edge of a step.
    const int first = to_index(divide_up(choice.from, length_));
    const int last = to_index(choice.latest / length_);
    const int on_time =
        overrun_price_ > 0 && choice.on_time < choice.latest
            ? to_index(std::max<Seconds>(choice.on_time, -1) / length_) - (choice.on_time < 0)
            : last;
    see(largest_gain(summed + choice.whole, summed, choice.part, gains + choice.whole, first,
                     std::min(last, on_time)),
        0, 0);
    if (on_time < last) {
        see(largest_gain(summed + choice.whole, summed, choice.part, gains + choice.whole,
                         std::max(first, on_time + 1), last),
            overrun_price_, 0);
    }
    // Ends on one.
    if (choice.part > 0) {
        const Seconds rest = length_ - choice.length % length_;
        const int least = to_index(std::max<Seconds>(0, divide_up(choice.from - rest, length_)));
        const int most = choice.latest < rest ? -1
                                              : std::min(to_index((choice.latest - rest) / length_),
                                                         steps_ - choice.whole - 1);
        see(largest_gain(summed + choice.whole + 1, summed, choice.part - 1, gains, least, most), 0,
            rest);
    }
    if (choice.from % length_ != 0) {
        look_at(choice, choice.from, found);
    }
    if (snapshot_.fit == Fit::may_overrun || merge_ > 1) {
        look_at(choice, choice.latest, found);
        if (choice.on_time >= choice.from && choice.on_time < choice.latest) {
            look_at(choice, choice.on_time, found);
        }
    }
    return found;
}

void Bound::use(const Choice& choice, Seconds start) {
    const auto change = [&](Seconds time, double gpus) {
        const auto step = static_cast<std::size_t>(time / length_);
        const double part = static_cast<double>(time % length_) / static_cast<double>(length_);
        slack_[step] += gpus * (1 - part);
        slack_[step + 1] += gpus * part;
    };
    change(start, -choice.gpus);
    if (start + choice.length < horizon_) {
        change(start + choice.length, choice.gpus);
    }
    if (start > choice.on_time) {
        overrun_slack_ -= choice.gpus;
    }
}

double Bound::jobs_profit() {
    double profit = 0;
    double priority = -1;
    for (const Group& group : groups_) {
        if (group.priority != priority) {
            priority = group.priority;
            set_gains(priority);
        }
        const Choice* best = nullptr;
        Found of_best;
        for (std::uint32_t i = group.first; i < group.last; ++i) {
            const Found found = look(choices_[i]);
            if (best == nullptr || found.profit * choices_[i].gpus > of_best.profit * best->gpus) {
                best = &choices_[i];
                of_best = found;
            }
        }
        if (of_best.profit > 0) {
            profit += of_best.profit * best->gpus;
            use(*best, of_best.start);
        }
    }
    return profit;
}

double Bound::apps_cost() {
    double cost = 0;
    for (Curve& curve : curves_) {
        for (std::size_t step = 0; step < step_prices_.size(); ++step) {
            step_prices_[step] = prices_[step / static_cast<std::size_t>(merge_)] * shares_[step];
        }
        cost += curve.cheapest(step_prices_);
        for (std::size_t step = 0; step < step_prices_.size(); ++step) {
            slack_[step / static_cast<std::size_t>(merge_)] -= shares_[step] * curve.held()[step];
        }
    }
    return cost;
}

/// The relaxation's value at prices_; slack_ becomes its subgradient.
double Bound::evaluate() {
    std::fill(slack_.begin(), slack_.end(), 0.0);
    overrun_slack_ = std::max(0.0, overrun_room_);
    double value = fixed_ + overrun_price_ * overrun_slack_ + jobs_profit();
    std::partial_sum(slack_.begin(), slack_.end(), slack_.begin());
    value -= apps_cost();
    magnitude_ = std::abs(value);
    for (std::size_t step = 0; step < prices_.size(); ++step) {
        slack_[step] += capacity_[step];
        value += prices_[step] * capacity_[step];
        magnitude_ += prices_[step] * capacity_[step];
    }
    work_ += 1 + choices_.size() * prices_.size() / kLooksOfWork;
    return value;
}

void Bound::keep(double value) {
    if (best_prices_.empty() || value < best_value_) {
        best_value_ = value;
        best_prices_ = prices_;
        best_overrun_price_ = overrun_price_;
        stuck_ = 0;
    } else {
        ++stuck_;
    }
}

/// One step of a deflected subgradient.  False when there is nowhere to go.
bool Bound::move_prices(double value, double reached) {
    double norm = 0;
    double old = 0;
    for (std::size_t step = 0; step < prices_.size(); ++step) {
        if (prices_[step] <= 0 && slack_[step] > 0) {
            slack_[step] = 0;
        }
        norm += slack_[step] * slack_[step];
        old += direction_[step] * direction_[step];
    }
    if (overrun_price_ <= 0 && overrun_slack_ > 0) {
        overrun_slack_ = 0;
    }
    if (norm <= 0) {
        return false;
    }
    const double lean = old > 0 ? deflect_ * std::sqrt(norm / old) : 0;
    double length = 0;
    for (std::size_t step = 0; step < prices_.size(); ++step) {
        direction_[step] = slack_[step] + lean * direction_[step];
        length += direction_[step] * direction_[step];
    }
    overrun_direction_ = overrun_slack_ + lean * overrun_direction_;
    length += overrun_direction_ * overrun_direction_;
    if (length <= 0) {
        return false;
    }
    const double pace = pace_ * (value - reached) / length;
    for (std::size_t step = 0; step < prices_.size(); ++step) {
        prices_[step] = std::max(0.0, prices_[step] - pace * direction_[step]);
    }
    overrun_price_ = std::max(0.0, overrun_price_ - pace * overrun_direction_);
    return true;
}

void Bound::tighten(int rounds, double reached) {
    double value = best_value_;
    for (int round = 0; round < rounds; ++round) {
        if (best_value_ - reached <= kCloseEnough * std::abs(reached) ||
            !move_prices(value, reached)) {
            return;
        }
        value = evaluate();
        keep(value);
        if (stuck_ >= patience_) {
            pace_ /= 2;
            stuck_ = 0;
            prices_ = best_prices_;
            overrun_price_ = best_overrun_price_;
            std::fill(direction_.begin(), direction_.end(), 0.0);
            value = evaluate();
        }
    }
}

double Bound::value() const noexcept {
    return best_value_ + kRounding * (std::abs(best_value_) + magnitude_);
}

std::vector<Bound::Best> Bound::best() {
    prices_ = best_prices_;
    overrun_price_ = best_overrun_price_;
    std::vector<Best> best(snapshot_.jobs.size());
    std::vector<Choice> choices;
    double priority = -1;
    for (std::size_t j = 0; j < best.size(); ++j) {
        choices.clear();
        add_choices(static_cast<int>(j), choices);
        const Job& job = snapshot_.jobs[j];
        if (!choices.empty() && job.priority != priority) {
            priority = job.priority;
            set_gains(priority);
        }
        for (const Choice& choice : choices) {
            const Found found = look(choice);
            const double profit = found.profit * choice.gpus / job.tasks;
            if (profit > best[j].profit) {
                best[j] = {found.start, choice.option, profit};
            }
        }
    }
    return best;
}

int rounds_of_bound(const Snapshot& snapshot, std::uint64_t budget) noexcept {
    const std::uint64_t round =
        1 + snapshot.jobs.size() *
                static_cast<std::uint64_t>(std::min(snapshot.steps, Bound::kMostPrices)) /
                kLooksOfWork;
    return static_cast<int>(
        std::clamp<std::uint64_t>(budget / 10 / round, kFewRounds, kMostRounds));
}

} // namespace foresight
