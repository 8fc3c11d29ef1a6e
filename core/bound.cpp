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
constexpr double kNoPrice = 1e100;
/// Where no application could fall short, a price that no job pays.
constexpr double kHighToll = 1e5;
/// Share of an application's penalty that tolls may take.
constexpr double kToll = 0.9;
/// On clusters of at most so many GPUs a job's width is looked at.
constexpr int kFewGpus = 64;
/// How much of the last direction is kept, and how many rounds without gain make steps smaller.
constexpr double kDeflection = 0.7;
constexpr int kPatience = 4;

/// Rounds of a plan without a budget, and of any.
constexpr std::uint64_t kFewRounds = 10;
/// … and without a budget where a round takes at most so many work units.
constexpr std::uint64_t kSmallRounds = 3;
constexpr std::uint64_t kSmallRound = 8;
constexpr std::uint64_t kMostRounds = 300;

/// How much of a mean start the last round is.
constexpr double kShareOfRound = 0.3;
constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};
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

Bound::Bound(const Snapshot& snapshot, Neighbours neighbours) : snapshot_(snapshot) {
    set_grid();
    largest_nodes();
    set_capacity();
    set_overruns();
    add_apps();
    set_widths();
    add_jobs();
    price_widths();
    if (neighbours == Neighbours::counted) {
        set_cuts();
    }
    merge_groups();
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
            merge_ * std::max(weights.of_step(step * merge_), weights.of_step(last));
    }
    use_.assign(steps + 2, 0.0);
    // Starts in the last step reach as far again beyond the horizon.
    gains_.assign(2 * steps + 2 * kLanes, 0.0);
    summed_.assign(2 * steps + 2 * kLanes, 0.0);
}

/// GPUs that nothing inherited holds.
void Bound::set_capacity() {
    const auto steps = static_cast<std::size_t>(steps_);
    int all = 0;
    for (const Node& node : snapshot_.nodes) {
        all += std::popcount(node.usable & lowest_gpus(node.gpus));
    }
    room_.assign(2 * steps + 1, 0.0);
    std::fill(room_.begin(), room_.begin() + steps_, all);
    room_[0] -= all * static_cast<double>(snapshot_.now) / static_cast<double>(length_);
    whole_capacity_.assign(steps + 2, all);
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
    if (running.empty()) {
        return;
    }
    // Two jobs may hold one GPU (a node that shrank): it is busy until the later ends.
    std::stable_sort(running.begin(), running.end(),
                     [](const Running* a, const Running* b) { return a->end > b->end; });
    std::vector<GpuMask> busy(snapshot_.nodes.size(), 0);
    std::vector<double> held(steps + 2, 0.0);
    std::vector<int> whole(steps + 2, 0);
    int inherited = 0;
    for (const Running* job : running) {
        const Seconds end = std::min(job->end, horizon_);
        if (end <= snapshot_.now) {
            break;
        }
        int gpus = 0;
        for (const Share& share : job->shares) {
            const auto index = static_cast<std::size_t>(share.node);
            const Node& node = snapshot_.nodes[index];
            const GpuMask more = share.gpus & node.usable & lowest_gpus(node.gpus) & ~busy[index];
            busy[index] |= more;
            gpus += std::popcount(more);
        }
        const auto step = static_cast<std::size_t>(end / length_);
        const double part = static_cast<double>(end % length_) / static_cast<double>(length_);
        inherited += gpus;
        held[step] -= gpus * (1 - part);
        held[step + 1] -= gpus * part;
        whole[step] -= gpus;
    }
    held[0] += inherited;
    whole[0] += inherited;
    std::partial_sum(held.begin(), held.end(), held.begin());
    std::partial_sum(whole.begin(), whole.end(), whole.begin());
    // Before `now` nobody can use them anyway.
    held[0] -= inherited * static_cast<double>(snapshot_.now) / static_cast<double>(length_);
    for (std::size_t step = 0; step < steps; ++step) {
        room_[step] = std::max(0.0, room_[step] - held[step]);
        whole_capacity_[step] -= whole[step];
    }
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
        choice.size = gpus;
        choice.least = request.gpus();
        choice.nodes = whole_neighbours(option);
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
    wide_ = std::any_of(choices_.begin(), choices_.end(),
                        [&](const Choice& choice) { return is_wide(choice); });
    if (!wide_) {
        std::fill(room_.begin() + steps_, room_.begin() + std::ptrdiff_t{2} * steps_, 0.0);
    }
}

void Bound::largest_nodes() {
    sizes_.resize(snapshot_.classes.size());
    for (std::size_t c = 0; c < sizes_.size(); ++c) {
        for (const int index : snapshot_.classes[c].nodes) {
            const Node& node = snapshot_.nodes[static_cast<std::size_t>(index)];
            const int gpus = std::popcount(node.usable & lowest_gpus(node.gpus));
            sizes_[c].gpus += gpus;
            sizes_[c].largest = std::max(sizes_[c].largest, gpus);
            sizes_[c].line = std::max(sizes_[c].line, node.gpus);
        }
    }
}

/// Jobs whose GPUs are worth the same in the same window are one.
void Bound::merge_groups() {
    const auto key = [&](const Group& group) {
        const Choice& choice = choices_[group.first];
        return std::tuple(-group.priority, group.last - group.first, own_price(choice),
                          choice.length, choice.from, choice.latest, choice.on_time);
    };
    std::stable_sort(groups_.begin(), groups_.end(),
                     [&](const Group& a, const Group& b) { return key(a) < key(b); });
    std::size_t kept = 0;
    group_of_.assign(snapshot_.jobs.size(), kNoGroup);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const Group group = groups_[i];
        if (kept > 0 && group.last - group.first == 1 && key(groups_[kept - 1]) == key(group)) {
            choices_[groups_[kept - 1].first].gpus += choices_[group.first].gpus;
        } else {
            groups_[kept++] = group;
        }
        group_of_[static_cast<std::size_t>(choices_[group.first].job)] =
            static_cast<std::uint32_t>(kept - 1);
    }
    groups_.resize(kept);
    mean_start_.assign(kept, -1.0);
}

/// What an application misses in each step beside what its own jobs hold or may come to hold;
/// and whether it has none.
std::vector<double> Bound::missing(int index, bool& alone) const {
    const App& app = snapshot_.apps[static_cast<std::size_t>(index)];
    std::vector<double> demand(app.demand.begin(), app.demand.end());
    for (const Running& job : snapshot_.running) {
        if (job.app != index) {
            continue;
        }
        alone = false;
        const int gpus = count_gpus(job.shares);
        for (std::size_t step = 0; step < demand.size(); ++step) {
            const Seconds begin =
                std::max(snapshot_.now, static_cast<Seconds>(step) * snapshot_.step);
            demand[step] -= job.end > begin ? gpus : 0;
        }
    }
    for (const Job& job : snapshot_.jobs) {
        if (job.app != index) {
            continue;
        }
        alone = false;
        // Whenever it runs, its GPUs count, and a few seconds may count for a step.
        double most = 0;
        for (const Option& option : job.options) {
            most = std::max<double>(most,
                                    option.request.whole_nodes ? kMostGpus : option.request.gpus());
        }
        for (double& wanted : demand) {
            wanted -= most * job.tasks;
        }
    }
    for (double& wanted : demand) {
        wanted = std::max(0.0, wanted);
    }
    return demand;
}

/// Each application's demand, and its cap where nothing can force it to lose GPUs faster.
void Bound::add_apps() {
    const auto steps = static_cast<std::size_t>(snapshot_.steps);
    if (!snapshot_.apps.empty()) {
        step_prices_.assign(steps, 0.0);
        relief_.assign(steps, 0.0);
    }
    shares_.assign(steps, 1.0 / merge_);
    shares_[0] *= 1 - static_cast<double>(snapshot_.now) / static_cast<double>(snapshot_.step);
    curves_.reserve(snapshot_.apps.size());
    for (std::size_t a = 0; a < snapshot_.apps.size(); ++a) {
        const App& app = snapshot_.apps[a];
        bool alone = true;
        std::vector<double> demand = missing(static_cast<int>(a), alone);
        Curve curve(std::move(demand), app.priority * snapshot_.value.shortfall_weight);
        if (alone && app.max_swap < kUnlimited && merge_ == 1) {
            const auto swap = static_cast<double>(
                std::min<std::int64_t>(app.max_swap, static_cast<std::int64_t>(kMostGpus)));
            curve.cap(swap, loses_nothing(app) ? swap : kMostGpus);
            if (app.held) {
                curve.start_at(count_gpus(*app.held));
            }
        }
        curves_.push_back(std::move(curve));
    }
}

/// What demand leaves in each step, and from how many GPUs on a job's width matters.
void Bound::set_widths() {
    const auto steps = static_cast<std::size_t>(steps_);
    const std::size_t all = 2 * steps + 1;
    highest_.assign(all, kNoPrice);
    int gpus = 0;
    for (const Node& node : snapshot_.nodes) {
        gpus += node.gpus;
    }
    width_matters_ = kMostGpus;
    if (gpus > kFewGpus || merge_ > 1) {
        return;
    }
    left_.assign(steps, 0.0);
    penalty_.assign(steps, kNoPrice);
    toll_ = excess_ = left_;
    for (std::size_t step = 0; step < steps; ++step) {
        double left = whole_capacity_[step];
        for (const Curve& curve : curves_) {
            left -= curve.demand()[step];
            if (curve.demand()[step] > 0) {
                penalty_[step] = std::min(penalty_[step], curve.penalty());
            }
        }
        left_[step] = std::max(0.0, left);
        width_matters_ = std::min(width_matters_, left_[step] / 2);
        room_[steps + step] = shares_[step] * scale(step);
    }
}

/// Of one place for wide jobs, as many as the job takes at a time; in units of scale(step).
double Bound::width(const Choice& choice, std::size_t step) const noexcept {
    const double left = left_[step];
    // Where demand leaves nothing there is no first place that costs nobody a GPU.
    const double first = left < 1 ? 0.0 : 1.0;
    return 2 * choice.least <= left
               ? 0.0
               : scale(step) * (first + too_many(choice, step) / second_[step]);
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
    const auto steps = static_cast<std::size_t>(steps_);
    double room = 0;
    for (std::size_t step = 0; step < steps; ++step) {
        double wanted = 0;
        for (const Curve& curve : curves_) {
            wanted += curve.demand()[step * static_cast<std::size_t>(merge_)];
        }
        room += std::max(0.0, room_[step] - wanted);
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
    point_.assign(room_.size(), 0.0);
    slack_ = direction_ = point_;
    for (std::size_t step = 0; step < steps; ++step) {
        point_[step] = price * weights_[step];
    }
    keep(evaluate());
}

/// What a GPU of such a job yields in each step, and up to each.
void Bound::set_gains(double priority, const Choice& choice) {
    double sum = 0;
    const auto steps = static_cast<std::size_t>(steps_);
    const bool wide = is_wide(choice);
    const double each = 1 / choice.size;
    for (std::size_t step = 0; step < steps; ++step) {
        summed_[step] = sum;
        gains_[step] = priority * weights_[step] - point_[step];
        for (std::size_t k = 0; k < cuts_.size() && choice.nodes >= cuts_[k].nodes; ++k) {
            gains_[step] -= point_[row(k) + step] * blocks(cuts_[k], choice) * each;
        }
        if (wide) {
            gains_[step] -= (point_[steps + step] * width(choice, step) +
                             toll_[step] * too_many(choice, step)) *
                            each;
        }
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
    gain -= start > choice.on_time ? overrun_price() : 0.0;
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
        overrun_price() > 0 && choice.on_time < choice.latest
            ? to_index(std::max<Seconds>(choice.on_time, -1) / length_) - (choice.on_time < 0)
            : last;
    see(largest_gain(summed + choice.whole, summed, choice.part, gains + choice.whole, first,
                     std::min(last, on_time)),
        0, 0);
    if (on_time < last) {
        see(largest_gain(summed + choice.whole, summed, choice.part, gains + choice.whole,
                         std::max(first, on_time + 1), last),
            overrun_price(), 0);
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
    const double tasks = choice.gpus / choice.size;
    const auto change = [&](Seconds time, double gpus) {
        const auto step = static_cast<std::size_t>(time / length_);
        const double part = static_cast<double>(time % length_) / static_cast<double>(length_);
        use_[step] += gpus * (1 - part);
        use_[step + 1] += gpus * part;
        double* cut_use = cut_use_.data() + step;
        for (std::size_t k = 0; k < cuts_.size() && choice.nodes >= cuts_[k].nodes; ++k) {
            const double taken = std::copysign(tasks * blocks(cuts_[k], choice), gpus);
            cut_use[k * use_.size()] += taken * (1 - part);
            cut_use[k * use_.size() + 1] += taken * part;
        }
    };
    change(start, choice.gpus);
    if (start + choice.length < horizon_) {
        change(start + choice.length, -choice.gpus);
    }
    if (snapshot_.fit == Fit::may_overrun && start > choice.on_time) {
        slack_.back() -= choice.gpus;
    }
    if (is_wide(choice)) {
        use_width(choice, start);
    }
}

void Bound::use_width(const Choice& choice, Seconds start) {
    const Seconds end = std::min(start + choice.length, horizon_);
    const auto steps = static_cast<std::size_t>(steps_);
    const double tasks = choice.gpus / choice.size;
    for (Seconds from = start; from < end;) {
        const auto step = static_cast<std::size_t>(from / length_);
        const Seconds until = std::min(end, static_cast<Seconds>(step + 1) * length_);
        const double share =
            tasks * static_cast<double>(until - from) / static_cast<double>(length_);
        slack_[steps + step] -= share * width(choice, step);
        excess_[step] += share * too_many(choice, step);
        from = until;
    }
}

/// A job with more GPUs than demand leaves makes the applications miss as many: it pays for them,
/// most of what keeps the applications from falling short anyway.
void Bound::set_tolls() {
    const auto steps = static_cast<std::size_t>(steps_);
    for (std::size_t step = 0; step < steps; ++step) {
        excess_[step] = 0;
        if (shares_[step] > 0) {
            const double rest = std::min(penalty_[step], kHighToll) / shares_[step] -
                                point_[steps + step] * scale(step) / second_[step] - point_[step];
            toll_[step] = std::max(0.0, kToll * rest);
        }
    }
}

/// Prices move the tolls, so what the tolls leave over is theirs too.
void Bound::follow_tolls() {
    const auto steps = static_cast<std::size_t>(steps_);
    for (std::size_t step = 0; step < steps; ++step) {
        if (toll_[step] > 0) {
            slack_[step] += kToll * excess_[step];
            slack_[steps + step] += kToll * scale(step) / second_[step] * excess_[step];
        }
    }
}

double Bound::jobs_profit() {
    double profit = 0;
    double priority = -1;
    OwnPrice of_size;
    for (const Group& group : groups_) {
        const Choice* best = nullptr;
        Found of_best;
        for (std::uint32_t i = group.first; i < group.last; ++i) {
            const Choice& choice = choices_[i];
            if (const OwnPrice own = own_price(choice);
                group.priority != priority || own != of_size) {
                priority = group.priority;
                of_size = own;
                set_gains(priority, choice);
            }
            const Found found = look(choice);
            if (best == nullptr || found.profit * choice.gpus > of_best.profit * best->gpus) {
                best = &choice;
                of_best = found;
            }
        }
        if (of_best.profit > 0) {
            profit += of_best.profit * best->gpus;
            use(*best, of_best.start);
        }
        const Seconds start = of_best.profit > 0 ? of_best.start : horizon_;
        double& mean = mean_start_[static_cast<std::size_t>(&group - groups_.data())];
        mean = mean < 0 ? static_cast<double>(start)
                        : mean + kShareOfRound * (static_cast<double>(start) - mean);
    }
    return profit;
}

double Bound::apps_cost() {
    const auto steps = static_cast<std::size_t>(steps_);
    const auto merge = static_cast<std::size_t>(merge_);
    for (std::size_t step = 0; step < step_prices_.size(); ++step) {
        step_prices_[step] = point_[step / merge] * shares_[step];
        if (wide_) {
            relief_[step] = point_[steps + step] * room_[steps + step] / second_[step] +
                            toll_[step] * shares_[step];
        }
    }
    double cost = 0;
    for (Curve& curve : curves_) {
        cost += curve.cheapest(step_prices_, relief_);
        for (std::size_t step = 0; step < step_prices_.size(); ++step) {
            const double held = curve.held()[step];
            slack_[step / merge] -= shares_[step] * held;
            if (wide_) {
                const double missing = std::max(0.0, curve.demand()[step] - held);
                slack_[steps + step] += room_[steps + step] / second_[step] * missing;
                excess_[step] -= shares_[step] * missing;
            }
        }
    }
    return cost;
}

/// The relaxation's value at point_; slack_ becomes its subgradient.
double Bound::evaluate() {
    const auto steps = static_cast<std::size_t>(steps_);
    slack_ = room_;
    std::fill(use_.begin(), use_.end(), 0.0);
    std::fill(cut_use_.begin(), cut_use_.end(), 0.0);
    if (wide_) {
        set_tolls();
    }
    double value = fixed_ + jobs_profit();
    double used = 0;
    for (std::size_t step = 0; step < steps; ++step) {
        used += use_[step];
        slack_[step] -= used;
    }
    take_cut_use();
    value -= apps_cost();
    if (wide_) {
        follow_tolls();
    }
    magnitude_ = std::abs(value);
    for (std::size_t i = 0; i < room_.size(); ++i) {
        const double worth = point_[i] * room_[i];
        value += worth;
        magnitude_ += worth;
    }
    work_ += 1 + choices_.size() * steps / kLooksOfWork;
    return value;
}

void Bound::keep(double value) {
    if (best_point_.empty() || value < best_value_) {
        best_value_ = value;
        best_magnitude_ = magnitude_;
        best_point_ = point_;
        best_slack_ = slack_;
        stuck_ = 0;
    } else {
        ++stuck_;
    }
}

/// One step of a deflected subgradient.  False when there is nowhere to go.
bool Bound::move_prices(double value, double reached) {
    double norm = 0;
    double old = 0;
    for (std::size_t i = 0; i < point_.size(); ++i) {
        if ((point_[i] <= 0 && slack_[i] > 0) || (point_[i] >= highest_[i] && slack_[i] < 0)) {
            slack_[i] = 0;
        }
        norm += slack_[i] * slack_[i];
        old += direction_[i] * direction_[i];
    }
    if (norm <= 0) {
        return false;
    }
    const double lean = old > 0 ? kDeflection * std::sqrt(norm / old) : 0;
    double length = 0;
    for (std::size_t i = 0; i < point_.size(); ++i) {
        direction_[i] = slack_[i] + lean * direction_[i];
        length += direction_[i] * direction_[i];
    }
    if (length <= 0) {
        return false;
    }
    const double pace = pace_ * (value - reached) / length;
    for (std::size_t i = 0; i < point_.size(); ++i) {
        point_[i] = std::clamp(point_[i] - pace * direction_[i], 0.0, highest_[i]);
    }
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
        if (stuck_ >= kPatience) {
            pace_ /= 2;
            stuck_ = 0;
            point_ = best_point_;
            slack_ = best_slack_;
            std::fill(direction_.begin(), direction_.end(), 0.0);
            value = best_value_;
        }
    }
}

double Bound::value() const noexcept {
    return best_value_ + kRounding * (std::abs(best_value_) + best_magnitude_);
}

std::vector<double> Bound::mean_starts() const {
    std::vector<double> starts(group_of_.size(), static_cast<double>(kNever));
    for (std::size_t job = 0; job < starts.size(); ++job) {
        if (group_of_[job] != kNoGroup) {
            starts[job] = mean_start_[group_of_[job]];
        }
    }
    return starts;
}

int rounds_of_bound(const Snapshot& snapshot, std::uint64_t budget) noexcept {
    const std::uint64_t round =
        1 + snapshot.jobs.size() *
                static_cast<std::uint64_t>(std::min(snapshot.steps, Bound::kMostPrices)) /
                kLooksOfWork;
    // A small plan takes some microseconds: a round of its bound is one.
    const std::uint64_t least = round <= kSmallRound ? kSmallRounds : kFewRounds;
    return static_cast<int>(std::clamp<std::uint64_t>(budget / 10 / round, least, kMostRounds));
}

} // namespace foresight
