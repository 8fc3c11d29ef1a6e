// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bound: no plan of a snapshot is worth more.
 *
 * Lagrangian relaxation of the time-indexed formulation (Pritsker, Watters & Wolfe 1969; van den
 * Akker, Hurkens & Savelsbergh 2000): the cluster's GPUs get a price in each step, each job starts
 * where its reward exceeds the price by most, each application holds the cheapest curve that its
 * swap cap allows, and GPUs that nobody takes are worth their price.  The sum is above every plan
 * for any prices; a subgradient method with Polyak's step towards the value of a known plan lowers
 * it.  Reward and price are piecewise linear in a job's start, with bends where its start or end
 * lies on a step's edge or its window begins or ends: those are looked at, so the answer is exact
 * for times to the second.  Shapes of blocks, nodes, CPUs, memory and limits are left out, and so
 * is what the applications' own jobs take beside their holds: all of it can only lower a plan.
 *
 * On small clusters a second price in each step is for width (a cover inequality, lifted: Balas
 * 1975): of what the applications leave, c GPUs, one job of more than c/2 GPUs can run at a time,
 * and one of more than c only where they fall short by the rest, for which it pays a toll.
 *
 * On a line of nodes (blocks contiguous or aligned) a third family of prices is for neighbours: a
 * run of r free nodes takes floor(r/n) blocks of n at a time, and a job that holds m whole
 * neighbours is at least floor(m/n) of them (a Chvátal-Gomory cut).  Nodes with a running job are
 * not free; what applications hold may move and is.
 *
 * Its jobs' mean starts order a queue (list scheduling by a relaxation: Möhring, Schulz, Stork &
 * Uetz 2003).  At any one set of prices many jobs start where their gain is a tie, and a hair more
 * moves them by days; the mean over the rounds tends to a solution of the relaxation (the volume
 * algorithm: Barahona & Anbil 2000).
 *
 * Cost of a round: O(groups × steps), vectorised; jobs with equal GPU value, length and window are
 * one group.
 */
#pragma once

#include "curve.hpp"
#include "model.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace foresight {

class Bound {
public:
    /// Whether wide jobs pay for whole neighbours.  That lowers the bound; plans in the order of
    /// its starts came out worse with it.
    enum class Neighbours { counted, ignored };

    explicit Bound(const Snapshot& snapshot, Neighbours neighbours = Neighbours::counted);

    /// Lowers the bound for at most so many rounds.  `reached` is the objective of a known plan
    /// (or a guess): the closer, the better the steps; it never makes the bound wrong.
    void tighten(int rounds, double reached);

    /// The least found so far, a hair above rounding errors.
    [[nodiscard]] double value() const noexcept;

    /// For each job when it starts, as a mean over the rounds, the last ones weighing most; kNever
    /// for those that no round looks at.
    [[nodiscard]] std::vector<double> mean_starts() const;

    /// Work units spent (planner.hpp).
    [[nodiscard]] std::uint64_t work() const noexcept { return work_; }

    /// With more steps than this several share a price.
    static constexpr int kMostPrices = 1024;

private:
    /// One way to run a job, ready to be looked at.
    struct Choice {
        double gpus = 0;     ///< of all jobs and tasks of the group
        double size = 0;     ///< GPUs of one task …
        double least = 0;    ///< … and the fewest that it may have
        Seconds from = 0;    ///< first start
        Seconds latest = 0;  ///< last start
        Seconds on_time = 0; ///< last start that ends inside the horizon
        Seconds length = 0;  ///< inside the horizon
        int whole = 0;       ///< length in price steps, rounded down …
        double part = 0;     ///< … and the rest of it, as a share of a step
        int nodes = 0;       ///< whole neighbouring nodes that a task holds at least
        int job = 0;         ///< the first job of the group
        int option = 0;
    };
    struct Group {
        double priority = 0;
        std::uint32_t first = 0; ///< choices: one of them
        std::uint32_t last = 0;
    };
    using OwnPrice = std::tuple<double, double, int>; ///< size, least and nodes of a choice
    struct Found {
        double profit = 0; ///< of a GPU
        Seconds start = kNever;
    };

    struct ClassSize {
        int gpus = 0;    ///< healthy ones of all nodes of a class
        int largest = 0; ///< … of its largest node
        int line = 0;    ///< … of its largest, healthy or not
    };

    /// Blocks of neighbours: how many of them fit is limited in each step.
    struct Cut {
        int nodes = 0;    ///< of a block
        double scale = 0; ///< its GPUs, or about: the unit of its prices
    };

    void set_grid();
    void largest_nodes();
    void set_capacity();
    void set_overruns();
    void add_jobs();
    void add_choices(int index, std::vector<Choice>& choices) const;
    void merge_groups();
    void add_apps();
    [[nodiscard]] bool loses_nothing(const App& app) const;
    [[nodiscard]] std::vector<double> missing(int app, bool& alone) const;
    void set_widths();
    void price_widths();
    [[nodiscard]] int whole_neighbours(const Option& option) const noexcept;
    void set_cuts();
    [[nodiscard]] std::vector<std::pair<Seconds, int>> whole_from() const;
    void set_cut_room(const std::vector<std::pair<Seconds, int>>& freed);
    void first_prices();

    [[nodiscard]] double evaluate();
    [[nodiscard]] double jobs_profit();
    [[nodiscard]] double apps_cost();
    void set_gains(double priority, const Choice& choice);
    [[nodiscard]] bool is_wide(const Choice& choice) const noexcept {
        return choice.least > width_matters_;
    }
    /// What the price of a GPU depends on beside the step, for jobs that are wide or hold whole
    /// neighbours.
    [[nodiscard]] OwnPrice own_price(const Choice& choice) const noexcept {
        return is_wide(choice) || (choice.nodes > 0 && !cuts_.empty())
                   ? OwnPrice{choice.size, choice.least, choice.nodes}
                   : OwnPrice{};
    }
    /// Where the prices of a cut begin.
    [[nodiscard]] std::size_t row(std::size_t cut) const noexcept {
        return (2 + cut) * static_cast<std::size_t>(steps_);
    }
    [[nodiscard]] double scale(std::size_t step) const noexcept {
        return std::max(1.0, left_[step]);
    }
    [[nodiscard]] double width(const Choice& choice, std::size_t step) const noexcept;
    [[nodiscard]] Found look(const Choice& choice) const;
    void look_at(const Choice& choice, Seconds start, Found& found) const;
    void use(const Choice& choice, Seconds start);
    [[nodiscard]] double too_many(const Choice& choice, std::size_t step) const noexcept {
        return std::max(0.0, choice.least - left_[step]);
    }
    /// What a task takes of a cut, in its unit.
    [[nodiscard]] static double blocks(const Cut& cut, const Choice& choice) noexcept {
        return cut.scale * (choice.nodes / cut.nodes);
    }
    void take_cut_use();
    void set_tolls();
    void follow_tolls();
    void use_width(const Choice& choice, Seconds start);
    bool move_prices(double value, double reached);
    void keep(double value);
    [[nodiscard]] double gain_up_to(Seconds time) const noexcept;
    [[nodiscard]] double overrun_price() const noexcept { return point_.back(); }

    const Snapshot& snapshot_;
    int merge_ = 1;                   ///< steps that share a price
    int steps_ = 0;                   ///< price steps
    Seconds length_ = 0;              ///< of a price step
    Seconds horizon_ = 0;             ///< end of the last price step
    double fixed_ = 0;                ///< rewards of what runs
    double width_matters_ = 0;        ///< jobs of more GPUs are wide in some step
    double magnitude_ = 0;            ///< of the terms that make up the value
    std::vector<double> weights_;     ///< by price step: value of a GPU of priority 1
    std::vector<int> whole_capacity_; ///< by price step: GPUs at the best moment of it
    std::vector<double> left_;        ///< by price step: of those, what demand leaves
    std::vector<ClassSize> sizes_;    ///< by class
    std::vector<double> shares_;      ///< by step: of a price step's price
    std::vector<Cut> cuts_;
    std::vector<Group> groups_;           ///< by priority
    std::vector<double> mean_start_;      ///< by group
    std::vector<std::uint32_t> group_of_; ///< by job
    std::vector<Choice> choices_;
    std::vector<Curve> curves_;

    // What has a price: GPUs in each price step, where it matters their width in each, and GPUs
    // held past the horizon; before the last, the cuts' blocks in each price step.
    bool wide_ = false;
    std::vector<double> penalty_;   ///< by price step: the least that a missing GPU costs
    std::vector<double> toll_;      ///< by price step: price of a GPU that a job has too many
    std::vector<double> second_;    ///< by price step: GPUs missed for a second wide job
    std::vector<double> excess_;    ///< scratch, by price step: those less the GPUs missing
    std::vector<double> room_;      ///< how much of it there is
    std::vector<double> highest_;   ///< the highest price that makes sense
    std::vector<double> point_;     ///< the prices looked at
    std::vector<double> slack_;     ///< what they leave over: the subgradient
    std::vector<double> direction_; ///< of the last move
    std::vector<double> best_point_;
    std::vector<double> best_slack_;
    double best_value_ = 0;
    double best_magnitude_ = 0;
    double pace_ = 0.5;
    int stuck_ = 0;

    std::vector<double> use_;         ///< scratch: changes of use, by price step …
    std::vector<double> cut_use_;     ///< … and by cut and price step
    std::vector<double> step_prices_; ///< scratch: by step
    std::vector<double> relief_;      ///< scratch: by step
    std::vector<double> gains_;       ///< scratch: priority × weight less prices, by price step
    std::vector<double> summed_;      ///< scratch: sums of gains_
    std::uint64_t work_ = 0;
};

/// Rounds that a plan of this budget (planner.hpp) spends on its bound.
[[nodiscard]] int rounds_of_bound(const Snapshot& snapshot, std::uint64_t budget) noexcept;

} // namespace foresight
