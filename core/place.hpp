// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Place: the earliest legal start of a request in a profile, and where.
 *
 * The earliest start on one node is a walk over its segments: a window that fails moves on to the
 * next segment, since a window only gains at a segment's start.  Over several nodes each node's
 * carrying capacity becomes a step function of the start time, and one sweep over their steps
 * finds the first time at which enough nodes carry enough (serial schedule generation's inner
 * step; Kolisch 1996 for the scheme).  Where the profile keeps an index of gaps, one node's start
 * comes from it; whole neighbours from the times at which each node is free as a whole; and the
 * sweep meets a node only from the start of its gap on, and ends when enough carry enough.
 * Cost: O(nodes × segments), O(segments²) a node when several nodes are needed; with an index about
 * O(gaps that begin before the answer).
 */
#pragma once

#include "block.hpp"
#include "fit.hpp"
#include "profile.hpp"

#include <map>
#include <optional>

namespace foresight {

struct Place {
    Seconds start = 0;
    std::vector<Share> shares; ///< nodes ascending
};

class Placer {
public:
    Placer(const Snapshot& snapshot, Packing packing);

    /// The earliest place with from ≤ start ≤ latest, or none.  Adds to work().
    [[nodiscard]] std::optional<Place> earliest(const Profile& profile, const Job& job,
                                                const Option& option, Seconds from, Seconds latest);

    /// Whether the request would fit on an empty cluster without closures, every GPU healthy.
    [[nodiscard]] bool ever_fits(const Option& option);
    /// The same on the GPUs that are healthy now.
    [[nodiscard]] bool fits_what_is_up(const Option& option);

    /// Nodes of the option's class on which `planned` takes nothing in [from, until) that `running`
    /// does not: there the resource manager may choose for itself without breaking the plan.
    [[nodiscard]] std::vector<int> untouched(const Profile& running, const Profile& planned,
                                             const Option& option, Seconds from,
                                             Seconds until) const;

    [[nodiscard]] const Closures& closures() const noexcept { return closures_; }
    /// Windows looked at so far, and the like of them.
    [[nodiscard]] std::uint64_t work() const noexcept { return work_; }

private:
    struct Step {
        Seconds from = 0;
        int node = 0;
        int capacity = 0;
    };

    /// A node may carry another number of chunks from this time on.
    struct Change {
        Seconds at = 0;
        int node = 0;

        auto operator<=>(const Change&) const = default;
    };

    /// A sweep over start times for a request over nodes: what each node carries now.
    struct Sweep {
        std::vector<Change> changes;     ///< a heap, the first on top
        std::vector<int> nodes;          ///< that were looked at
        std::vector<Seconds> last_start; ///< by node: the last one inside its gap; -1: not in nodes
        std::int64_t total = 0;          ///< chunks
        int carrying = 0;                ///< nodes with capacity
    };

    [[nodiscard]] std::optional<Place>
    earliest_on_nodes(const Profile& profile, const Option& option, Seconds from, Seconds latest);
    [[nodiscard]] std::optional<Place> alone(const Profile& profile, const Option& option,
                                             Seconds from, Seconds latest);
    [[nodiscard]] std::optional<Place> alone_in_gaps(const Profile& profile, const Option& option,
                                                     Seconds from, Seconds latest);
    [[nodiscard]] Seconds alone_on(const Profile& profile, const Option& option, int node,
                                   Seconds from, Seconds latest, Window& window);
    [[nodiscard]] std::optional<Place>
    whole_neighbours(const Profile& profile, const Option& option, Seconds from, Seconds latest);
    void find_whole_from(const Profile& profile, const Option& option, Seconds from);
    [[nodiscard]] Seconds neighbours_from(const Profile& profile, const Option& option,
                                          std::size_t first, Seconds from, Seconds latest);
    [[nodiscard]] Seconds piece_on(const Profile& profile, const Option& option,
                                   const Request& piece, int node, Seconds from, Seconds latest);
    [[nodiscard]] std::optional<Place> spread(const Profile& profile, const Option& option,
                                              Seconds from, Seconds latest);
    void collect_steps(const Profile& profile, const Option& option, int node, Seconds from,
                       Seconds latest);
    [[nodiscard]] std::optional<Place> spread_in_gaps(const Profile& profile, const Option& option,
                                                      Seconds from, Seconds latest);
    void activate(const Profile& profile, const Option& option, Seconds from, Seconds after,
                  Seconds until, std::size_t most);
    void clear_sweep();
    void recount(const Profile& profile, const Option& option, int node, Seconds start);
    [[nodiscard]] Seconds next_change(const Profile& profile, const Option& option, int node,
                                      Seconds after) const;
    [[nodiscard]] std::optional<Place> over(const Profile& profile, const Option& option,
                                            Seconds start) const;
    [[nodiscard]] int capacity_at(const Profile& profile, const Option& option, int node,
                                  Seconds start);
    [[nodiscard]] std::vector<std::pair<int, int>> choose_nodes(const Option& option) const;
    [[nodiscard]] std::vector<std::pair<int, int>>
    choose_whole_neighbours(const Option& option) const;
    [[nodiscard]] std::vector<std::pair<int, int>> carrying_nodes(const Option& option) const;
    [[nodiscard]] bool fits_empty(const Option& option, bool repaired) const;
    [[nodiscard]] bool can_stand_alone(const Option& option) const noexcept;
    [[nodiscard]] bool must_stand_alone(const Option& option) const noexcept;
    [[nodiscard]] const NodeClass& class_of(const Option& option) const noexcept {
        return snapshot_.classes[static_cast<std::size_t>(option.node_class)];
    }
    [[nodiscard]] const Node& node_at(int index) const noexcept {
        return snapshot_.nodes[static_cast<std::size_t>(index)];
    }

    const Snapshot& snapshot_;
    Packing packing_;
    Closures closures_;
    std::vector<std::vector<bool>> member_;             ///< by class and node
    std::vector<int> largest_;                          ///< by class: GPUs of its largest node
    std::map<std::pair<int, Request>, bool> ever_fits_; ///< what ever_fits() found
    std::map<std::pair<int, Request>, bool> fits_up_;   ///< what fits_what_is_up() found
    std::vector<Step> steps_;                           ///< scratch of spread()
    Sweep sweep_;                                       ///< scratch of spread_in_gaps()
    std::vector<Seconds> whole_from_;                   ///< scratch of whole_neighbours()
    std::vector<int> capacity_;                         ///< scratch: chunks that each node carries
    std::uint64_t work_ = 0;
};

} // namespace foresight
