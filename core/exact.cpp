// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact.hpp"

#include "decode.hpp"
#include "explain.hpp"
#include "value.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace foresight {

namespace {

/// Largest models: what a solver can hope for in minutes.
constexpr std::size_t kMostEntries = 8'000'000;
constexpr Seconds kMostSlots = 20'000;
/// Better by less than this share is no better.
constexpr double kNoGain = 1e-9;

/// What is divided: one GPU, or all of them where only their number counts.
struct Line {
    int gpus = 1;
    int node = 0;
    GpuMask gpu = 0;
};

/// Lines that a job would take, and how many GPUs of each.
using Position = std::vector<std::pair<int, int>>;

/// Times on a common grid.
struct Slots {
    Seconds unit = 1;
    int count = 0;
    int per_step = 1;
};

Seconds first_start(const Snapshot& snapshot, const Job& job) {
    return std::max({snapshot.now, job.submit, job.begin});
}

Seconds last_start(const Snapshot& snapshot, const Option& option) {
    return snapshot.fit == Fit::within_horizon ? snapshot.horizon() - option.duration
                                               : snapshot.horizon() - 1;
}

bool can_run(const Snapshot& snapshot, const Job& job) {
    return job.priority > 0 && job.options[0].duration > 0 && job.options[0].request.gpus() > 0 &&
           first_start(snapshot, job) <= last_start(snapshot, job.options[0]);
}

Slots slots_of(const Snapshot& snapshot) {
    Seconds unit = snapshot.step;
    for (const Job& job : snapshot.jobs) {
        if (can_run(snapshot, job)) {
            unit = std::gcd(unit, job.options[0].duration);
            unit = std::gcd(unit, first_start(snapshot, job));
        }
    }
    for (const Running& job : snapshot.running) {
        unit = job.end > 0 && job.end < snapshot.horizon() ? std::gcd(unit, job.end) : unit;
    }
    const Seconds count = snapshot.horizon() / unit;
    return {unit, static_cast<int>(std::min(count, kMostSlots + 1)),
            static_cast<int>(snapshot.step / unit)};
}

/// Blocks of one GPU count, on lines that are GPUs.
std::vector<Position> positions_of(const Snapshot& snapshot, int gpus) {
    std::vector<Position> positions;
    int largest = 0;
    for (const Node& node : snapshot.nodes) {
        largest = std::max(largest, node.gpus);
    }
    int first_line = 0;
    const auto align = static_cast<int>(std::bit_ceil(static_cast<unsigned>(gpus)));
    for (std::size_t n = 0; n < snapshot.nodes.size(); ++n) {
        const int size = snapshot.nodes[n].gpus;
        if (gpus > largest) { // whole neighbours, the last in part
            Position position;
            int line = first_line;
            int left = gpus;
            for (std::size_t next = n; next < snapshot.nodes.size() && left > 0; ++next) {
                const int taken = std::min(left, snapshot.nodes[next].gpus);
                for (int i = 0; i < taken; ++i) {
                    position.emplace_back(line + i, 1);
                }
                line += snapshot.nodes[next].gpus;
                left -= taken;
            }
            if (left == 0 && size > 0) {
                positions.push_back(std::move(position));
            }
        } else {
            const int stride = snapshot.block == Block::aligned ? align : 1;
            for (int low = 0; low + gpus <= size; low += stride) {
                Position position;
                for (int i = 0; i < gpus; ++i) {
                    position.emplace_back(first_line + low + i, 1);
                }
                positions.push_back(std::move(position));
            }
        }
        first_line += size;
    }
    return positions;
}

/// One of the two programs, and how to read its answer.
class Model {
public:
    Model(const Snapshot& snapshot, bool positions)
        : snapshot_(snapshot), positions_(positions), slots_(slots_of(snapshot)),
          weights_(snapshot) {
        make_lines();
        make_capacity();
        add_jobs();
        add_apps();
        add_overruns();
        if (!positions_ && snapshot_.block != Block::any) {
            add_wide();
        }
    }

    [[nodiscard]] const Mip& mip() const noexcept { return mip_; }

    /// Placements and holds of an answer; GPUs are chosen here where they were only counted.
    [[nodiscard]] Plan read(const std::vector<double>& values) const {
        Plan plan;
        plan.holds.resize(snapshot_.apps.size());
        for (Hold& hold : plan.holds) {
            hold.steps.resize(static_cast<std::size_t>(snapshot_.steps));
        }
        std::vector<const Start*> chosen;
        for (const Start& start : starts_) {
            if (values[start.column] > 0.5) {
                chosen.push_back(&start);
            }
        }
        std::stable_sort(chosen.begin(), chosen.end(),
                         [](const Start* a, const Start* b) { return a->slot < b->slot; });
        if (positions_) {
            read_positions(values, chosen, plan);
        } else {
            read_counts(values, chosen, plan);
        }
        return plan;
    }

private:
    struct Start {
        std::size_t column = 0;
        int job = 0;
        int slot = 0;
        const Position* position = nullptr;
    };

    [[nodiscard]] int row(double low, double high) {
        mip_.rows.push_back({low, high});
        return static_cast<int>(mip_.rows.size()) - 1;
    }
    [[nodiscard]] int capacity_row(int line, int slot) const noexcept {
        return line * slots_.count + slot;
    }
    [[nodiscard]] int slot_after(Seconds time) const noexcept {
        return static_cast<int>(
            std::min<Seconds>(slots_.count, (time + slots_.unit - 1) / slots_.unit));
    }
    [[nodiscard]] std::size_t held_column(std::size_t app, std::size_t line, int step) const {
        return first_held_[app] + line * static_cast<std::size_t>(snapshot_.steps) +
               static_cast<std::size_t>(step);
    }

    void make_lines() {
        int all = 0;
        for (std::size_t n = 0; n < snapshot_.nodes.size(); ++n) {
            for (int gpu = 0; gpu < snapshot_.nodes[n].gpus; ++gpu, ++all) {
                if (positions_) {
                    lines_.push_back({1, static_cast<int>(n), GpuMask{1} << gpu});
                }
            }
        }
        if (!positions_) {
            lines_.push_back({all, 0, 0});
        }
    }

    [[nodiscard]] int gpus_on(const Line& line, const GpuSet& set) const {
        int count = 0;
        for (const auto& [node, gpus] : set) {
            count += !positions_         ? std::popcount(gpus)
                     : node == line.node ? std::popcount(gpus & line.gpu)
                                         : 0;
        }
        return count;
    }

    void make_capacity() {
        for (const Line& line : lines_) {
            for (int slot = 0; slot < slots_.count; ++slot) {
                static_cast<void>(row(-1e30, line.gpus));
            }
        }
        for (const Running& job : snapshot_.running) {
            GpuSet set;
            for (const Share& share : job.shares) {
                set.emplace_back(share.node, share.gpus);
            }
            for (std::size_t line = 0; line < lines_.size(); ++line) {
                const int gpus = gpus_on(lines_[line], set);
                for (int slot = 0; gpus > 0 && slot < slot_after(job.end); ++slot) {
                    mip_.rows[static_cast<std::size_t>(capacity_row(static_cast<int>(line), slot))]
                        .high -= gpus;
                }
            }
        }
    }

    void add_jobs() {
        int all = 0;
        for (const Node& node : snapshot_.nodes) {
            all += node.gpus;
        }
        places_.resize(snapshot_.jobs.size());
        for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
            const Job& job = snapshot_.jobs[j];
            const int gpus = job.options[0].request.gpus();
            if (!can_run(snapshot_, job) || gpus > all) {
                continue;
            }
            places_[j] =
                positions_ ? positions_of(snapshot_, gpus) : std::vector<Position>{{{0, gpus}}};
            const int once = row(-1e30, 1);
            const Seconds last = last_start(snapshot_, job.options[0]);
            for (int slot = slot_after(first_start(snapshot_, job));
                 static_cast<Seconds>(slot) * slots_.unit <= last; ++slot) {
                for (const Position& position : places_[j]) {
                    add_start(static_cast<int>(j), slot, position, once);
                }
            }
        }
    }

    void add_start(int index, int slot, const Position& position, int once) {
        const Job& job = snapshot_.jobs[static_cast<std::size_t>(index)];
        const Seconds start = slot * slots_.unit;
        const Seconds end = start + job.options[0].duration;
        Mip::Column column;
        column.cost = -reward(weights_, job.priority, job.options[0].request.gpus(), start, end);
        column.entries.push_back({once, 1});
        for (const auto& [line, gpus] : position) {
            for (int at = slot; at < slot_after(end); ++at) {
                column.entries.push_back({capacity_row(line, at), static_cast<double>(gpus)});
            }
        }
        starts_.push_back({mip_.columns.size(), index, slot, &position});
        mip_.columns.push_back(std::move(column));
    }

    /// What each application holds and misses, and how much it may change.
    void add_apps() {
        for (const App& app : snapshot_.apps) {
            first_held_.push_back(mip_.columns.size());
            std::vector<int> wanted;
            for (const int demand : app.demand) {
                wanted.push_back(row(demand, 1e30));
            }
            for (std::size_t line = 0; line < lines_.size(); ++line) {
                for (int step = 0; step < snapshot_.steps; ++step) {
                    Mip::Column held;
                    held.high = lines_[line].gpus;
                    held.entries.push_back({wanted[static_cast<std::size_t>(step)], 1});
                    for (int slot = step * slots_.per_step; slot < (step + 1) * slots_.per_step;
                         ++slot) {
                        held.entries.push_back({capacity_row(static_cast<int>(line), slot), 1});
                    }
                    mip_.columns.push_back(std::move(held));
                }
            }
            for (int step = 0; step < snapshot_.steps; ++step) {
                Mip::Column missing;
                missing.high = 1e30;
                missing.whole = false;
                missing.cost = app.priority * snapshot_.value.shortfall_weight;
                missing.entries.push_back({wanted[static_cast<std::size_t>(step)], 1});
                mip_.columns.push_back(std::move(missing));
            }
            if (app.max_swap < kUnlimited) {
                add_swaps(app, first_held_.size() - 1);
            }
        }
    }

    void add_swaps(const App& app, std::size_t index) {
        for (int step = app.held ? 0 : 1; step < snapshot_.steps; ++step) {
            const int all = row(-1e30, static_cast<double>(app.max_swap));
            for (std::size_t line = 0; line < lines_.size(); ++line) {
                const double before =
                    step == 0 ? static_cast<double>(gpus_on(lines_[line], *app.held)) : 0.0;
                const int gained = row(-1e30, before);
                const int lost = row(-1e30, -before);
                Mip::Column change;
                change.high = 1e30;
                change.whole = false;
                change.entries = {{all, 1}, {gained, -1}, {lost, -1}};
                mip_.columns.push_back(std::move(change));
                std::vector<Mip::Entry>& now = mip_.columns[held_column(index, line, step)].entries;
                now.insert(now.end(), {{gained, 1}, {lost, -1}});
                if (step > 0) {
                    std::vector<Mip::Entry>& last =
                        mip_.columns[held_column(index, line, step - 1)].entries;
                    last.insert(last.end(), {{gained, -1}, {lost, 1}});
                }
            }
        }
    }

    void add_overruns() {
        if (snapshot_.fit != Fit::may_overrun) {
            return;
        }
        double room = 0;
        for (const Node& node : snapshot_.nodes) {
            room += node.gpus;
        }
        for (const App& app : snapshot_.apps) {
            room -= *std::max_element(app.demand.begin(), app.demand.end());
        }
        for (const Running& job : snapshot_.running) {
            room -= job.end > snapshot_.horizon() ? count_gpus(job.shares) : 0;
        }
        const int late = row(-1e30, std::max(0.0, room));
        for (const Start& start : starts_) {
            const Option& option = snapshot_.jobs[static_cast<std::size_t>(start.job)].options[0];
            if (start.slot * slots_.unit + option.duration > snapshot_.horizon()) {
                mip_.columns[start.column].entries.push_back(
                    {late, static_cast<double>(option.request.gpus())});
            }
        }
    }

    /// On equal nodes: a block of more than half a node has its node's one place for such.
    void add_wide() {
        const int size = snapshot_.nodes.empty() ? 0 : snapshot_.nodes[0].gpus;
        for (const Node& node : snapshot_.nodes) {
            if (node.gpus != size || size == 0) {
                return;
            }
        }
        const int first = static_cast<int>(mip_.rows.size());
        for (int slot = 0; slot < slots_.count; ++slot) {
            static_cast<void>(row(-1e30, static_cast<double>(snapshot_.nodes.size())));
        }
        for (const Start& start : starts_) {
            const Option& option = snapshot_.jobs[static_cast<std::size_t>(start.job)].options[0];
            const int gpus = option.request.gpus();
            const int wide = gpus / size + (2 * (gpus % size) > size ? 1 : 0);
            const int end = slot_after(start.slot * slots_.unit + option.duration);
            for (int slot = start.slot; wide > 0 && slot < end; ++slot) {
                mip_.columns[start.column].entries.push_back(
                    {first + slot, static_cast<double>(wide)});
            }
        }
    }

    void place(const Start& start, const std::vector<Share>& shares, Plan& plan) const {
        const Option& option = snapshot_.jobs[static_cast<std::size_t>(start.job)].options[0];
        const Seconds from = start.slot * slots_.unit;
        plan.placements.push_back({start.job, 0, 0, from, from + option.duration, shares});
    }

    static void add_gpu(std::vector<Share>& shares, const Line& line) {
        if (shares.empty() || shares.back().node != line.node) {
            shares.push_back({line.node, 0, 0, 0});
        }
        shares.back().gpus |= line.gpu;
    }

    void read_positions(const std::vector<double>& values, const std::vector<const Start*>& chosen,
                        Plan& plan) const {
        for (const Start* start : chosen) {
            std::vector<Share> shares;
            for (const auto& [line, gpus] : *start->position) {
                add_gpu(shares, lines_[static_cast<std::size_t>(line)]);
            }
            place(*start, shares, plan);
        }
        for (std::size_t a = 0; a < snapshot_.apps.size(); ++a) {
            for (int step = 0; step < snapshot_.steps; ++step) {
                std::vector<Share> shares;
                for (std::size_t line = 0; line < lines_.size(); ++line) {
                    if (values[held_column(a, line, step)] > 0.5) {
                        add_gpu(shares, lines_[line]);
                    }
                }
                for (const Share& share : shares) {
                    plan.holds[a].steps[static_cast<std::size_t>(step)].emplace_back(share.node,
                                                                                     share.gpus);
                }
            }
        }
    }

    /// Any GPUs will do: each in turn takes what is free, held GPUs stay where they are.
    void read_counts(const std::vector<double>& values, const std::vector<const Start*>& chosen,
                     Plan& plan) const {
        Taken taken = taken_first();
        std::size_t next = 0;
        for (int slot = 0; slot < slots_.count; ++slot) {
            const int step = slot / slots_.per_step;
            if (slot % slots_.per_step == 0) {
                for (const int sign : {-1, 1}) { // first what is given up
                    for (std::size_t a = 0; a < snapshot_.apps.size(); ++a) {
                        change_hold(taken, a, slot, sign,
                                    static_cast<int>(std::lround(values[held_column(a, 0, step)])));
                    }
                }
                for (std::size_t a = 0; a < snapshot_.apps.size(); ++a) {
                    plan.holds[a].steps[static_cast<std::size_t>(step)] = taken.held(a, lines());
                }
            }
            for (; next < chosen.size() && chosen[next]->slot == slot; ++next) {
                const Option& option =
                    snapshot_.jobs[static_cast<std::size_t>(chosen[next]->job)].options[0];
                const int end = slot_after(slot * slots_.unit + option.duration);
                std::vector<Share> shares;
                int left = option.request.gpus();
                for (std::size_t gpu = 0; gpu < taken.until.size() && left > 0; ++gpu) {
                    if (taken.until[gpu] <= slot && taken.holder[gpu] < 0) {
                        taken.until[gpu] = end;
                        add_gpu(shares, lines()[gpu]);
                        --left;
                    }
                }
                place(*chosen[next], shares, plan);
            }
        }
    }

    /// By GPU: the slot in which a job leaves it, the application that holds it.
    struct Taken {
        std::vector<int> until;
        std::vector<int> holder;

        [[nodiscard]] GpuSet held(std::size_t app, const std::vector<Line>& lines) const {
            GpuSet set;
            for (std::size_t gpu = 0; gpu < holder.size(); ++gpu) {
                if (holder[gpu] == static_cast<int>(app)) {
                    if (set.empty() || set.back().first != lines[gpu].node) {
                        set.emplace_back(lines[gpu].node, 0);
                    }
                    set.back().second |= lines[gpu].gpu;
                }
            }
            return set;
        }
    };

    /// The GPUs one by one, also where the program only counts them.
    [[nodiscard]] const std::vector<Line>& lines() const {
        if (gpus_.empty()) {
            for (std::size_t n = 0; n < snapshot_.nodes.size(); ++n) {
                for (int gpu = 0; gpu < snapshot_.nodes[n].gpus; ++gpu) {
                    gpus_.push_back({1, static_cast<int>(n), GpuMask{1} << gpu});
                }
            }
        }
        return gpus_;
    }

    [[nodiscard]] Taken taken_first() const {
        Taken taken;
        for (const Line& line : lines()) {
            int until = 0;
            int holder = -1;
            for (const Running& job : snapshot_.running) {
                for (const Share& share : job.shares) {
                    if (share.node == line.node && (share.gpus & line.gpu) != 0) {
                        until = std::max(until, slot_after(job.end));
                    }
                }
            }
            for (std::size_t a = 0; a < snapshot_.apps.size(); ++a) {
                for (const auto& [node, gpus] : snapshot_.apps[a].held.value_or(GpuSet{})) {
                    if (node == line.node && (gpus & line.gpu) != 0) {
                        holder = static_cast<int>(a);
                    }
                }
            }
            taken.until.push_back(until);
            taken.holder.push_back(holder);
        }
        return taken;
    }

    void change_hold(Taken& taken, std::size_t app, int slot, int sign, int wanted) const {
        const auto mine = [&](std::size_t gpu) {
            return taken.holder[gpu] == static_cast<int>(app);
        };
        int held = 0;
        for (std::size_t gpu = 0; gpu < taken.holder.size(); ++gpu) {
            held += mine(gpu);
        }
        for (std::size_t gpu = 0; gpu < taken.holder.size(); ++gpu) {
            if (sign < 0 && held > wanted && mine(gpu)) {
                taken.holder[gpu] = -1;
                --held;
            } else if (sign > 0 && held < wanted && taken.holder[gpu] < 0 &&
                       taken.until[gpu] <= slot) {
                taken.holder[gpu] = static_cast<int>(app);
                ++held;
            }
        }
    }

    const Snapshot& snapshot_;
    bool positions_;
    Slots slots_;
    Weights weights_;
    Mip mip_;
    std::vector<Line> lines_;
    mutable std::vector<Line> gpus_;
    std::vector<std::vector<Position>> places_; ///< by job
    std::vector<Start> starts_;
    std::vector<std::size_t> first_held_; ///< by application: its column of line 0, step 0
};

/// What is inherited earns in any plan.
double inherited(const Snapshot& snapshot) {
    const Weights weights(snapshot);
    double value = 0;
    for (const Running& job : snapshot.running) {
        value +=
            reward(weights, job.priority, count_gpus(job.shares), 0, std::max<Seconds>(0, job.end));
    }
    return value;
}

void finish(const Snapshot& snapshot, Plan& plan) {
    const Policy policy;
    Decoder decoder(snapshot, policy, nullptr);
    decoder.prepare();
    explain(snapshot, decoder, plan);
    plan.metrics = measure(snapshot, plan);
}

/// Entries of the larger program, near enough.
std::size_t size_of(const Snapshot& snapshot, const Slots& slots) {
    std::size_t entries = 0;
    std::size_t all = 0;
    for (const Node& node : snapshot.nodes) {
        all += static_cast<std::size_t>(node.gpus);
    }
    for (const Job& job : snapshot.jobs) {
        if (!can_run(snapshot, job)) {
            continue;
        }
        const Option& option = job.options[0];
        const auto starts = static_cast<std::size_t>(
            (last_start(snapshot, option) - first_start(snapshot, job)) / slots.unit + 1);
        const auto length =
            static_cast<std::size_t>(std::min<Seconds>(slots.count, option.duration / slots.unit));
        const auto gpus = static_cast<std::size_t>(option.request.gpus());
        entries += snapshot.block == Block::any ? starts * length
                   : gpus <= all                ? starts * length * gpus * (all - gpus + 1)
                                                : 0;
    }
    return entries;
}

} // namespace

std::string no_exact_model(const Snapshot& snapshot) {
    for (const Job& job : snapshot.jobs) {
        if (job.options.size() != 1 || job.tasks != 1 || job.app >= 0 || !job.limits.empty() ||
            job.options[0].request.chunk != Amount{1, 0, 0} || job.options[0].request.whole_nodes) {
            return "job " + job.id + " asks for more than GPUs and time";
        }
    }
    const Slots slots = slots_of(snapshot);
    if (slots.count > kMostSlots) {
        return "its times have no common divisor above " + std::to_string(slots.unit) +
               " s, which makes more than " + std::to_string(kMostSlots) +
               " slots in the horizon; round durations and submits";
    }
    if (const std::size_t entries = size_of(snapshot, slots); entries > kMostEntries) {
        return "its program has about " + std::to_string(entries / 1'000'000) +
               " million entries, more than " + std::to_string(kMostEntries / 1'000'000) +
               "; round times to fewer slots, or leave out jobs";
    }
    return {};
}

ExactAnswer exact_plan(const Snapshot& snapshot, const Plan& known, const MipSolver& solve) {
    ExactAnswer answer{known, false};
    const double fixed = inherited(snapshot);
    double bound = known.bound.value_or(1e300);
    for (const bool positions : {false, true}) {
        const double gain = kNoGain * std::max(1.0, std::abs(answer.plan.metrics.objective));
        const Model model(snapshot, positions);
        const MipAnswer found = solve(model.mip(), fixed - answer.plan.metrics.objective - gain);
        bound = std::min(bound, std::max(answer.plan.metrics.objective, fixed - found.bound));
        const bool counts_alone = !positions && snapshot.block == Block::any;
        if (!found.values.empty() && (positions || counts_alone)) {
            Plan plan = model.read(found.values);
            plan.policy = known.policy;
            plan.work = known.work;
            finish(snapshot, plan);
            answer.plan = std::move(plan);
        }
        // Where counts allow nothing better, no position does.
        if (found.proved && (positions || counts_alone || found.values.empty())) {
            answer.proved = true;
            bound = answer.plan.metrics.objective;
            break;
        }
        if (counts_alone) {
            break;
        }
    }
    answer.plan.bound = bound;
    return answer;
}

} // namespace foresight
