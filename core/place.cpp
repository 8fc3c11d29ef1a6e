// SPDX-License-Identifier: GPL-2.0-or-later
#include "place.hpp"

#include "value.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace foresight {

namespace {

bool refused(const Option& option, int node) noexcept {
    return !option.refused_on.empty() &&
           std::binary_search(option.refused_on.begin(), option.refused_on.end(), node);
}

/// What would be cut off on the node if the request took its share: the smaller, the tighter.
/// CPU-only work goes first to nodes without GPUs, then to those whose GPUs are in use.
int looseness(const Request& request, const Window& window) noexcept {
    return std::popcount(window.gpus) - request.gpus();
}

/// A sweep stops to look for nodes when so many were met and carry enough: of a large empty
/// cluster a part will do.
constexpr std::size_t kMostCarrying = 512;

/// What a query costs beside the windows that it looks at, the upkeep of the index included.
constexpr std::uint64_t kWorkOfPlace = 8;

} // namespace

Placer::Placer(const Snapshot& snapshot, Packing packing)
    : snapshot_(snapshot), packing_(packing), closures_(snapshot),
      capacity_(snapshot.nodes.size(), 0) {
    for (const NodeClass& node_class : snapshot.classes) {
        int most = 0;
        for (const int node : node_class.nodes) {
            most = std::max(most, node_at(node).gpus);
        }
        largest_.push_back(most);
        std::vector<bool>& member = member_.emplace_back(snapshot.nodes.size(), false);
        for (const int node : node_class.nodes) {
            member[static_cast<std::size_t>(node)] = true;
        }
    }
}

bool Placer::can_stand_alone(const Option& option) const noexcept {
    const Request& request = option.request;
    return request.nodes_min <= 1 && request.chunks <= request.chunks_per_node_max &&
           request.gpus() <= largest_[static_cast<std::size_t>(option.node_class)];
}

bool Placer::must_stand_alone(const Option& option) const noexcept {
    const Request& request = option.request;
    // A block that fits on one node of the line has to be on one node.
    return request.nodes_max <= 1 || request.chunks <= 1 ||
           (snapshot_.block != Block::any &&
            request.gpus() <= largest_[static_cast<std::size_t>(option.node_class)]);
}

std::optional<Place> Placer::earliest(const Profile& profile, const Job& job, const Option& option,
                                      Seconds from, Seconds latest) {
    work_ += kWorkOfPlace;
    const bool bounded = snapshot_.fit == Fit::may_overrun && job.app < 0;
    const Seconds last_inside = snapshot_.horizon() - option.duration;
    if (bounded && !profile.may_overrun(option.request.gpus())) {
        latest = std::min(latest, last_inside);
    }
    while (true) {
        from = profile.limits_allow(job, from, option.duration);
        if (from > latest) {
            return std::nullopt;
        }
        std::optional<Place> place = earliest_on_nodes(profile, option, from, latest);
        if (!place) {
            return place;
        }
        if (bounded && place->start > last_inside &&
            !profile.may_overrun(count_gpus(place->shares))) {
            latest = last_inside; // whole nodes hold more than the job asked for
        } else if (profile.limits_allow(job, place->start, option.duration) == place->start) {
            return place;
        } else {
            from = place->start; // a limit fills up in between: on from there
        }
    }
}

std::optional<Place> Placer::earliest_on_nodes(const Profile& profile, const Option& option,
                                               Seconds from, Seconds latest) {
    std::optional<Place> best;
    if (can_stand_alone(option)) {
        best = alone(profile, option, from, latest);
        if (best && (best->start == from || must_stand_alone(option))) {
            return best;
        }
    }
    if (!must_stand_alone(option)) {
        // Over several nodes only if that is sooner.
        std::optional<Place> wide = spread(profile, option, from, best ? best->start - 1 : latest);
        if (wide) {
            return wide;
        }
    }
    return best;
}

std::optional<Place> Placer::alone_in_gaps(const Profile& profile, const Option& option,
                                           Seconds from, Seconds latest) {
    const std::vector<bool>& member = member_[static_cast<std::size_t>(option.node_class)];
    int chosen = -1;
    Seconds start = kNever;
    Window window;
    int least = 0;
    profile.gaps()->earliest_first(
        option.request.gpus(), from, option.duration, [&](const Gap& gap) {
            const Seconds begin = std::max(gap.start, from);
            if (begin > latest || !member[static_cast<std::size_t>(gap.node)] ||
                refused(option, gap.node)) {
                return begin > latest ? std::min(start, begin) : start;
            }
            Window free;
            // The block is free; CPUs, memory, type and closures may still say later, or no.
            const Seconds found =
                alone_on(profile, option, gap.node, begin,
                         std::min({latest, gap.end - option.duration, start}), free);
            const int loose = looseness(option.request, free);
            if (found != kNever && (found < start || loose < least)) {
                chosen = gap.node;
                start = found;
                window = free;
                least = loose;
            }
            return start;
        });
    if (chosen < 0) {
        return std::nullopt;
    }
    if (packing_ == Packing::lowest) {
        // That was any node with the earliest start; all of them have a gap that begins by then.
        profile.gaps()->each_between(
            option.request.gpus(), -1, start, from, option.duration, [&](const Gap& gap) {
                Window free;
                if (gap.node < chosen && member[static_cast<std::size_t>(gap.node)] &&
                    !refused(option, gap.node) &&
                    alone_on(profile, option, gap.node, start, start, free) == start) {
                    chosen = gap.node;
                    window = free;
                }
                return true;
            });
    }
    return Place{start,
                 {share_of(option.request, chosen, node_at(chosen), window, option.request.chunks,
                           snapshot_.block, packing_)}};
}

std::optional<Place> Placer::alone(const Profile& profile, const Option& option, Seconds from,
                                   Seconds latest) {
    if (profile.gaps() != nullptr && profile.gaps()->knows(option.request.gpus())) {
        return alone_in_gaps(profile, option, from, latest);
    }
    int chosen = -1;
    Seconds start = latest + 1;
    Window window;
    int least = 0;
    for (const int node : class_of(option).nodes) {
        if (refused(option, node)) {
            continue;
        }
        Window free;
        const bool ties = packing_ == Packing::tight && chosen >= 0;
        const Seconds found = alone_on(profile, option, node, from, ties ? start : start - 1, free);
        if (found == kNever) {
            continue;
        }
        const int loose = looseness(option.request, free);
        if (found < start || loose < least) {
            chosen = node;
            start = found;
            window = free;
            least = loose;
        }
        if (start == from && (packing_ == Packing::lowest || least == 0)) {
            break;
        }
    }
    if (chosen < 0) {
        return std::nullopt;
    }
    return Place{start,
                 {share_of(option.request, chosen, node_at(chosen), window, option.request.chunks,
                           snapshot_.block, packing_)}};
}

Seconds Placer::alone_on(const Profile& profile, const Option& option, int node, Seconds from,
                         Seconds latest, Window& window) {
    if (from > latest) {
        return kNever;
    }
    const std::vector<Segment>& list = profile.timeline().segments(node);
    const Node& info = node_at(node);
    Seconds start = from;
    std::size_t first = profile.timeline().at(node, start);
    while (start <= latest) {
        ++work_;
        const Seconds until = start + option.duration;
        const Seconds clear = closures_.clear_of(option.node_class, node, start, until);
        if (clear > start) {
            start = clear;
            first = start <= latest ? profile.timeline().at(node, start) : first;
            continue;
        }
        window = list[first].free;
        std::size_t i = first;
        bool fits = fits_alone(option.request, info, window, snapshot_.block);
        while (fits && i + 1 < list.size() && list[i + 1].from < until) {
            window.narrow(list[++i].free);
            fits = fits_alone(option.request, info, window, snapshot_.block);
        }
        if (fits) {
            return start;
        }
        // Segment i broke the window.  If it does so by itself nothing before its end can work.
        if (!fits_alone(option.request, info, list[i].free, snapshot_.block)) {
            first = i;
        }
        if (++first >= list.size()) {
            return kNever;
        }
        start = list[first].from;
    }
    return kNever;
}

int Placer::capacity_at(const Profile& profile, const Option& option, int node, Seconds start) {
    ++work_;
    const Seconds until = start + option.duration;
    if (closures_.clear_of(option.node_class, node, start, until) > start) {
        return 0;
    }
    const Node& info = node_at(node);
    const Window window = profile.timeline().window(node, start, until);
    if (snapshot_.block == Block::any) {
        return chunks_in(option.request, info, window);
    }
    // Whole neighbours: what counts is the run from GPU 0 (the last node may be taken in part).
    return std::min(std::countr_one(window.gpus), chunks_in(option.request, info, window));
}

void Placer::collect_steps(const Profile& profile, const Option& option, int node, Seconds from,
                           Seconds latest) {
    // Capacity changes only where the window's left edge leaves a segment or its right edge
    // enters one, and at the edges of closures; those are found by looking, not listed.
    std::vector<Seconds> times{from};
    for (const Segment& segment : profile.timeline().segments(node)) {
        for (const Seconds time : {segment.from, segment.from - option.duration + 1}) {
            if (time > from && time <= latest) {
                times.push_back(time);
            }
        }
    }
    for (const Closure& closure : class_of(option).closures) {
        if (closure.node == node) {
            for (const Seconds time : {closure.until, closure.from - option.duration + 1}) {
                if (time > from && time <= latest) {
                    times.push_back(time);
                }
            }
        }
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    int before = 0;
    for (const Seconds time : times) {
        const int capacity = capacity_at(profile, option, node, time);
        if (capacity != before) {
            steps_.push_back({time, node, capacity});
            before = capacity;
        }
    }
}

std::optional<Place> Placer::spread(const Profile& profile, const Option& option, Seconds from,
                                    Seconds latest) {
    const Request& request = option.request;
    if (from > latest || !ever_fits(option)) {
        return std::nullopt;
    }
    if (snapshot_.block != Block::any && profile.gaps() != nullptr) {
        return whole_neighbours(profile, option, from, latest);
    }
    if (profile.gaps() != nullptr && profile.gaps()->knows(request.chunk.gpus)) {
        return spread_in_gaps(profile, option, from, latest);
    }
    steps_.clear();
    clear_sweep();
    for (const int node : class_of(option).nodes) {
        capacity_[static_cast<std::size_t>(node)] = 0;
        if (!refused(option, node)) {
            collect_steps(profile, option, node, from, latest);
        }
    }
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
        return a.from != b.from ? a.from < b.from : a.node < b.node;
    });
    std::int64_t total = 0;
    int carrying = 0;
    for (std::size_t i = 0; i < steps_.size();) {
        const Seconds start = steps_[i].from;
        for (; i < steps_.size() && steps_[i].from == start; ++i) {
            int& capacity = capacity_[static_cast<std::size_t>(steps_[i].node)];
            carrying += (steps_[i].capacity > 0) - (capacity > 0);
            total += steps_[i].capacity - capacity;
            capacity = steps_[i].capacity;
        }
        if (total < request.chunks || carrying < request.nodes_min) {
            continue;
        }
        if (std::optional<Place> place = over(profile, option, start)) {
            return place;
        }
    }
    return std::nullopt;
}

/// A place over the nodes that carry something now.
std::optional<Place> Placer::over(const Profile& profile, const Option& option,
                                  Seconds start) const {
    const std::vector<std::pair<int, int>> chosen = choose_nodes(option);
    if (chosen.empty()) {
        return std::nullopt;
    }
    Place place{start, {}};
    for (const auto& [node, chunks] : chosen) {
        const Window window = profile.timeline().window(node, start, start + option.duration);
        // Over nodes the parts of a block are whole nodes and a run from GPU 0: lowest.
        place.shares.push_back(share_of(option.request, node, node_at(node), window, chunks,
                                        Block::any, Packing::lowest));
    }
    return place;
}

/// Nodes whose gaps begin in (after, until] join the sweep, until there are `most` that carry it.
void Placer::activate(const Profile& profile, const Option& option, Seconds from, Seconds after,
                      Seconds until, std::size_t most) {
    const std::vector<bool>& member = member_[static_cast<std::size_t>(option.node_class)];
    profile.gaps()->each_between(
        option.request.chunk.gpus, after, until, from, option.duration, [&](const Gap& gap) {
            if (!member[static_cast<std::size_t>(gap.node)] || refused(option, gap.node)) {
                return true;
            }
            Seconds& last = sweep_.last_start[static_cast<std::size_t>(gap.node)];
            const bool fresh = last < 0;
            if (fresh) {
                sweep_.nodes.push_back(gap.node);
                capacity_[static_cast<std::size_t>(gap.node)] = 0;
            }
            last = std::max(last, gap.end - option.duration);
            if (gap.start > from) {
                sweep_.changes.push_back({gap.start, gap.node});
                std::push_heap(sweep_.changes.begin(), sweep_.changes.end(), std::greater<>());
            } else if (fresh) {
                recount(profile, option, gap.node, from);
            }
            return sweep_.nodes.size() < most || sweep_.total < option.request.chunks;
        });
}

/// What the node carries at this start, and when that may change.
void Placer::recount(const Profile& profile, const Option& option, int node, Seconds start) {
    int& capacity = capacity_[static_cast<std::size_t>(node)];
    const int now = capacity_at(profile, option, node, start);
    sweep_.carrying += (now > 0) - (capacity > 0);
    sweep_.total += now - capacity;
    capacity = now;
    const Seconds last = sweep_.last_start[static_cast<std::size_t>(node)];
    if (start <= last) {
        sweep_.changes.push_back(
            {std::min(next_change(profile, option, node, start), last + 1), node});
        std::push_heap(sweep_.changes.begin(), sweep_.changes.end(), std::greater<>());
    }
}

/// The next start at which the node may carry another number of chunks: the window's left edge
/// leaves a segment, its right edge enters one, or the same with a closure.
Seconds Placer::next_change(const Profile& profile, const Option& option, int node,
                            Seconds after) const {
    Seconds next = kNever;
    const auto consider = [&](Seconds time) { next = time > after ? std::min(next, time) : next; };
    const std::vector<Segment>& list = profile.timeline().segments(node);
    const std::size_t left = profile.timeline().at(node, after) + 1;
    if (left < list.size()) {
        consider(list[left].from);
        const std::size_t right = profile.timeline().at(node, after + option.duration - 1) + 1;
        if (right < list.size()) {
            consider(list[right].from - option.duration + 1);
        }
    }
    for (const Closure& closure : closures_.of(option.node_class, node)) {
        consider(closure.until);
        consider(closure.from - option.duration + 1);
    }
    return next;
}

void Placer::clear_sweep() {
    for (const int node : sweep_.nodes) {
        sweep_.last_start[static_cast<std::size_t>(node)] = -1;
    }
    sweep_.last_start.resize(snapshot_.nodes.size(), -1);
    sweep_.nodes.clear();
    sweep_.changes.clear();
    sweep_.total = 0;
    sweep_.carrying = 0;
}

std::optional<Place> Placer::spread_in_gaps(const Profile& profile, const Option& option,
                                            Seconds from, Seconds latest) {
    clear_sweep();
    const auto place_at = [&](Seconds start) -> std::optional<Place> {
        return sweep_.total < option.request.chunks || sweep_.carrying < option.request.nodes_min
                   ? std::nullopt
                   : over(profile, option, start);
    };
    // Every gap counts, also of nodes that carry already: they say until when.
    const std::size_t all = snapshot_.nodes.size() + 1;
    for (const std::size_t most : {kMostCarrying, all}) {
        activate(profile, option, from, -1, from, most);
        if (std::optional<Place> place = place_at(from)) {
            return place;
        }
        if (sweep_.nodes.size() < most) {
            break;
        }
    }
    // Gaps join in stretches of time that grow: most answers are near.
    Seconds joined = from;
    for (Seconds reach = std::max<Seconds>(60, (latest - from) / 256); joined < latest;
         reach *= 2) {
        const Seconds until = std::min(latest, joined + reach);
        activate(profile, option, from, joined, until, all);
        joined = until;
        while (!sweep_.changes.empty() && sweep_.changes.front().at <= joined) {
            const Seconds start = sweep_.changes.front().at;
            while (!sweep_.changes.empty() && sweep_.changes.front().at == start) {
                const int node = sweep_.changes.front().node;
                std::pop_heap(sweep_.changes.begin(), sweep_.changes.end(), std::greater<>());
                sweep_.changes.pop_back();
                recount(profile, option, node, start);
            }
            if (std::optional<Place> place = place_at(start)) {
                return place;
            }
        }
    }
    return std::nullopt;
}

Seconds Placer::neighbours_from(const Profile& profile, const Option& option, std::size_t first,
                                Seconds from, Seconds latest) {
    const std::vector<int>& nodes = class_of(option).nodes;
    const Request& request = option.request;
    Seconds start = from;
    // Each node may push the start past what another one allowed: round and round until none does.
    for (bool moved = true; moved;) {
        moved = false;
        int left = request.chunks;
        for (std::size_t i = first; left > 0; ++i) {
            if (i >= nodes.size() || (i > first && nodes[i] != nodes[i - 1] + 1) ||
                refused(option, nodes[i])) {
                return kNever;
            }
            ++work_;
            const int node = nodes[i];
            const int part = std::min(left, node_at(node).gpus);
            Request piece = request;
            piece.chunks = part;
            const Seconds found = piece_on(profile, option, piece, node, start, latest);
            if (found == kNever) {
                return kNever;
            }
            moved = moved || found > start;
            start = found;
            left -= part;
        }
    }
    return start;
}

/// The first start ≥ from at which the node gives `piece` from GPU 0 up.
Seconds Placer::piece_on(const Profile& profile, const Option& option, const Request& piece,
                         int node, Seconds from, Seconds latest) {
    const std::vector<Segment>& list = profile.timeline().segments(node);
    const Node& info = node_at(node);
    const GpuMask wanted = lowest_gpus(piece.chunks);
    const auto carries = [&](const Window& free) {
        return (free.gpus & wanted) == wanted && chunks_in(piece, info, free) >= piece.chunks;
    };
    std::size_t first = profile.timeline().at(node, from);
    while (from <= latest) {
        const Seconds until = from + option.duration;
        const Seconds clear = closures_.clear_of(option.node_class, node, from, until);
        if (clear > from) {
            from = clear;
            first = from <= latest ? profile.timeline().at(node, from) : first;
            continue;
        }
        std::size_t i = first;
        // All of a fixed set of GPUs: a segment that lacks one rules out every window over it.
        while (i < list.size() && (i == first || list[i].from < until) && carries(list[i].free)) {
            ++i;
        }
        if (i >= list.size() || (i > first && list[i].from >= until)) {
            return from;
        }
        if ((first = i + 1) >= list.size()) {
            return kNever;
        }
        from = list[first].from;
    }
    return kNever;
}

/// When each node of the class is free as a whole; refusals and limits of nodes left out.
void Placer::find_whole_from(const Profile& profile, const Option& option, Seconds from) {
    const std::vector<int>& nodes = class_of(option).nodes;
    whole_from_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        whole_from_[i] = profile.gaps()->whole_from(nodes[i], from, option.duration);
    }
    work_ += nodes.size() / 8;
}

std::optional<Place> Placer::whole_neighbours(const Profile& profile, const Option& option,
                                              Seconds from, Seconds latest) {
    const std::vector<int>& nodes = class_of(option).nodes;
    Seconds start = latest + 1;
    std::size_t chosen = nodes.size();
    find_whole_from(profile, option, from);
    for (std::size_t first = 0; first < nodes.size() && start > from; ++first) {
        // The latest of its whole nodes alone: no stretch that starts here can begin before.
        Seconds bound = from;
        int left = option.request.chunks;
        std::size_t i = first;
        for (; left > 0 && i < nodes.size(); ++i) {
            const int gpus = node_at(nodes[i]).gpus;
            bound = std::max(bound, gpus <= left ? whole_from_[i] : from);
            if (bound >= start || (i > first && nodes[i] != nodes[i - 1] + 1)) {
                break;
            }
            left -= gpus;
        }
        if (left > 0) {
            // A node that is too late for this stretch is so for those that begin up to it.
            first = i < nodes.size() && whole_from_[i] >= start ? i : first;
            continue;
        }
        const Seconds found = neighbours_from(profile, option, first, bound, start - 1);
        if (found != kNever && found < start) {
            start = found;
            chosen = first;
        }
    }
    if (chosen == nodes.size()) {
        return std::nullopt;
    }
    Place place{start, {}};
    int left = option.request.chunks;
    for (std::size_t i = chosen; left > 0; ++i) {
        const int node = nodes[i];
        const int part = std::min(left, node_at(node).gpus);
        const Window window = profile.timeline().window(node, start, start + option.duration);
        place.shares.push_back(share_of(option.request, node, node_at(node), window, part,
                                        Block::any, Packing::lowest));
        left -= part;
    }
    return place;
}

std::vector<std::pair<int, int>> Placer::choose_whole_neighbours(const Option& option) const {
    const std::vector<int>& nodes = class_of(option).nodes;
    for (std::size_t first = 0; first < nodes.size(); ++first) {
        std::vector<std::pair<int, int>> chosen;
        int left = option.request.chunks;
        for (std::size_t i = first; i < nodes.size() && left > 0; ++i) {
            const int node = nodes[i];
            const int capacity = capacity_[static_cast<std::size_t>(node)];
            const bool neighbour = i == first || node == nodes[i - 1] + 1;
            if (!neighbour || capacity < std::min(left, node_at(node).gpus)) {
                break;
            }
            chosen.emplace_back(node, std::min(left, capacity));
            left -= std::min(left, capacity);
        }
        if (left == 0) {
            return chosen;
        }
    }
    return {};
}

namespace {

/// Deals `chunks` over the nodes: one each, then as much as each carries, in order.
void deal(std::vector<std::pair<int, int>>& nodes, int chunks) {
    int left = chunks - static_cast<int>(nodes.size());
    for (auto& [node, part] : nodes) {
        const int most = part;
        part = 1 + std::min(left, most - 1);
        left -= part - 1;
    }
}

/// Two pointers over the carrying nodes: the shortest stretch of the line that carries it all, and
/// of those the one that leaves the least.
std::vector<std::pair<int, int>>
choose_neighbours(const Request& request, const std::vector<std::pair<int, int>>& carrying) {
    std::pair<std::int64_t, std::int64_t> best{kNever, kNever};
    std::size_t best_first = 0;
    std::size_t best_count = 0;
    std::int64_t sum = 0;
    for (std::size_t first = 0, last = 0; first < carrying.size(); ++first) {
        while (
            last < carrying.size() &&
            (sum < request.chunks || last - first < static_cast<std::size_t>(request.nodes_min))) {
            sum += carrying[last++].second;
        }
        const std::size_t count = last - first;
        if (sum < request.chunks || count < static_cast<std::size_t>(request.nodes_min)) {
            break;
        }
        const std::pair<std::int64_t, std::int64_t> score{
            carrying[last - 1].first - carrying[first].first, sum - request.chunks};
        if (count <= static_cast<std::size_t>(request.nodes_max) &&
            count <= static_cast<std::size_t>(request.chunks) && score < best) {
            best = score;
            best_first = first;
            best_count = count;
        }
        sum -= carrying[first].second;
    }
    std::vector<std::pair<int, int>> chosen;
    if (best_count > 0) {
        const auto begin = carrying.begin() + static_cast<std::ptrdiff_t>(best_first);
        chosen.assign(begin, begin + static_cast<std::ptrdiff_t>(best_count));
        deal(chosen, request.chunks);
    }
    return chosen;
}

/// The nodes that carry most: the fewest.
std::vector<std::pair<int, int>> choose_largest(const Request& request,
                                                std::vector<std::pair<int, int>> carrying) {
    std::stable_sort(carrying.begin(), carrying.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::int64_t sum = 0;
    std::size_t count = 0;
    while (count < carrying.size() &&
           (sum < request.chunks || count < static_cast<std::size_t>(request.nodes_min))) {
        sum += carrying[count++].second;
    }
    if (sum < request.chunks || count < static_cast<std::size_t>(request.nodes_min) ||
        count > static_cast<std::size_t>(request.nodes_max) ||
        count > static_cast<std::size_t>(request.chunks)) {
        return {};
    }
    carrying.resize(count);
    deal(carrying, request.chunks);
    std::sort(carrying.begin(), carrying.end());
    return carrying;
}

} // namespace

std::vector<std::pair<int, int>> Placer::choose_nodes(const Option& option) const {
    if (snapshot_.block != Block::any) {
        return choose_whole_neighbours(option);
    }
    std::vector<std::pair<int, int>> carrying = carrying_nodes(option);
    std::vector<std::pair<int, int>> chosen = choose_neighbours(option.request, carrying);
    return chosen.empty() ? choose_largest(option.request, std::move(carrying)) : chosen;
}

/// The nodes that carry something, with how much, in the line's order.
std::vector<std::pair<int, int>> Placer::carrying_nodes(const Option& option) const {
    std::vector<std::pair<int, int>> carrying;
    const bool swept = !sweep_.nodes.empty();
    for (const int node : swept ? sweep_.nodes : class_of(option).nodes) {
        if (const int capacity = capacity_[static_cast<std::size_t>(node)]; capacity > 0) {
            carrying.emplace_back(node, capacity);
        }
    }
    if (swept) {
        std::sort(carrying.begin(), carrying.end());
    }
    return carrying;
}

bool Placer::ever_fits(const Option& option) {
    const auto [known, fresh] = ever_fits_.try_emplace({option.node_class, option.request}, false);
    if (fresh) {
        known->second = fits_empty(option, true);
    }
    return known->second;
}

bool Placer::fits_what_is_up(const Option& option) {
    const auto [known, fresh] = fits_up_.try_emplace({option.node_class, option.request}, false);
    if (fresh) {
        known->second = fits_empty(option, false);
    }
    return known->second;
}

bool Placer::fits_empty(const Option& option, bool repaired) const {
    const Request& request = option.request;
    std::int64_t total = 0;
    int carrying = 0;
    bool one = false;
    for (const int node : class_of(option).nodes) {
        Node info = node_at(node);
        info.usable = repaired ? ~GpuMask{0} : info.usable;
        const Window window = whole_window(info);
        const int capacity = chunks_in(request, info, window);
        one =
            one || (can_stand_alone(option) && fits_alone(request, info, window, snapshot_.block));
        carrying += capacity > 0;
        total += capacity;
    }
    if (one || must_stand_alone(option)) {
        return one;
    }
    return total >= request.chunks && carrying >= request.nodes_min;
}

std::vector<int> Placer::untouched(const Profile& running, const Profile& planned,
                                   const Option& option, Seconds from, Seconds until) const {
    std::vector<int> nodes;
    for (const int node : class_of(option).nodes) {
        if (!refused(option, node) &&
            closures_.clear_of(option.node_class, node, from, until) <= from &&
            planned.timeline().window(node, from, until) ==
                running.timeline().window(node, from, until)) {
            nodes.push_back(node);
        }
    }
    return nodes;
}

} // namespace foresight
