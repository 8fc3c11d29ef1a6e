// SPDX-License-Identifier: GPL-2.0-or-later
#include "search.hpp"

#include "moves.hpp"
#include "random.hpp"
#include "shortfall.hpp"
#include "strip.hpp"
#include "strip_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace foresight {

namespace {

/// Queues longer than this are decoded once before the budget is asked.
constexpr std::size_t kFewJobs = 64;

/// Rounds of the bound before a long queue's first decode, and between further ones.
constexpr int kFirstRounds = 16;
constexpr int kMoreRounds = 6;
/// How far wide and short jobs come forward (prices.hpp); the first is what a plan without a budget
/// takes.
constexpr std::array kForward{Forward{1.0 / 14, 1.0 / 32}, Forward{1.0 / 7, 1.0 / 32},
                              Forward{1.0 / 28, 0},        Forward{1.0 / 14, 0},
                              Forward{1.0 / 10, 1.0 / 64}, Forward{0, 0}};
/// So many decodes at ever better prices without a gain end them.
constexpr int kMostIdle = 12;

/// Re-sorts a queue inside its tiers by a key, larger first.
template <typename Key> std::vector<Entry> sorted_by(const std::vector<Entry>& queue, Key key) {
    std::vector<Entry> order = queue;
    std::stable_sort(order.begin(), order.end(), [&](const Entry& a, const Entry& b) {
        if (!same_class(a, b)) {
            return a.tier != b.tier ? a.tier > b.tier : a.on_top;
        }
        return key(a) > key(b);
    });
    return order;
}

/// Orders that do well on different families: priority alone, then leaning to long or wide jobs,
/// which fill badly later, and to short ones, which leave room.
std::vector<std::vector<Entry>> first_orders(const Snapshot& snapshot,
                                             const std::vector<Entry>& queue) {
    const auto option = [&](const Entry& entry) -> const Option& {
        return snapshot.jobs[static_cast<std::size_t>(entry.job)]
            .options[static_cast<std::size_t>(entry.option)];
    };
    const auto gpus = [&](const Entry& e) { return std::max(1, option(e).request.gpus()); };
    const auto length = [&](const Entry& e) {
        return static_cast<double>(std::max<Seconds>(1, option(e).duration));
    };
    return {
        sorted_by(queue, [&](const Entry& e) { return e.merit * gpus(e); }),
        sorted_by(queue, [&](const Entry& e) { return e.merit * std::sqrt(gpus(e) * length(e)); }),
        sorted_by(queue, [&](const Entry& e) { return e.merit * gpus(e) * length(e); }),
        sorted_by(queue, [&](const Entry& e) { return e.merit / std::sqrt(length(e)); }),
        sorted_by(queue, [&](const Entry& e) { return e.merit + 1e-3 * gpus(e); }),
    };
}

/// Moves one entry to another place of its tier.  False when the draw moves nothing.
bool move_one(std::vector<Entry>& order, Random& random) {
    const std::size_t from = random.below(order.size());
    const std::size_t to = random.below(order.size());
    if (from == to || !same_class(order[from], order[to])) {
        return false;
    }
    if ((random.next() & 1) != 0) {
        std::swap(order[from], order[to]);
    } else {
        move_element(order, from, to);
    }
    return true;
}

/// A long queue by the bound's prices: the first decode, and better ones within the budget.
/// `order` becomes the best one's.
Decoded decode_by_prices(const Snapshot& snapshot, Decoder& decoder, Prices& prices,
                         std::vector<Entry>& order, std::uint64_t budget) {
    const std::vector<Entry> queue = order;
    const bool shapes = snapshot.block != Block::any;
    const auto spent = [&] { return decoder.work() + prices.work(); };
    const std::uint64_t until = spent() + budget;
    const auto forward = [&](std::size_t i, double narrower) {
        const Forward& chosen = kForward[i % kForward.size()];
        return Forward{shapes ? chosen.wide : chosen.wide * narrower, chosen.brief};
    };
    order = prices.order(queue, kFirstRounds, prices.guess(queue), forward(0, 0));
    Decoded best = decoder.decode(order);
    int idle = 0;
    for (std::size_t i = 1; idle < kMostIdle && spent() < until && !decoder.cancelled(); ++i) {
        std::vector<Entry> trial =
            prices.order(queue, kMoreRounds, best.value, forward(i, 1.0 / 4));
        Decoded decoded = decoder.decode(trial);
        ++idle;
        if (decoded.value > best.value && !decoder.cancelled()) {
            best = std::move(decoded);
            order = std::move(trial);
            idle = 0;
        }
    }
    return best;
}

/// The general search: each trial is a decode from the start.
Decoded improve_order(const Snapshot& snapshot, Decoder& decoder, Prices& prices,
                      std::vector<Entry>& order, std::uint64_t budget) {
    const bool few = order.size() <= kFewJobs;
    const std::uint64_t until = decoder.work() + prices.work() + budget;
    const std::vector<Entry> queue = order;
    Decoded best = few ? decoder.decode(order)
                       : decode_by_prices(snapshot, decoder, prices, order, budget / 2);
    if (order.size() < 2 || (!few && budget == 0)) {
        return best;
    }
    const auto may_go_on = [&] {
        return !decoder.cancelled() && decoder.work() + prices.work() < until;
    };
    for (std::vector<Entry>& trial : first_orders(snapshot, queue)) {
        if (!few && !may_go_on()) {
            break;
        }
        Decoded decoded = decoder.decode(trial);
        if (decoded.value > best.value) {
            best = std::move(decoded);
            order = std::move(trial);
        }
    }
    Random random;
    std::vector<Entry> trial = order;
    // The draws are bounded too: a queue of tiers with one job each has no move at all.
    for (std::uint64_t draws = 0; may_go_on() && draws < budget; ++draws) {
        if (!move_one(trial, random)) {
            continue;
        }
        Decoded decoded = decoder.decode(trial);
        if (decoded.value >= best.value && !decoder.cancelled()) {
            best = std::move(decoded);
            order = trial;
        } else {
            trial = order;
        }
    }
    return best;
}

bool searches(const Policy& policy) noexcept {
    return policy.order == Order::value && policy.holds == kHoldAll;
}

Found found_on_strip(const Snapshot& snapshot, const Policy& policy, const Decoder& decoder,
                     StripPlan plan) {
    Found found{std::move(plan.placements), std::move(plan.holds), std::move(plan.order), 0,
                plan.work};
    for (const Placement& place : found.placements) {
        found.value += reward(
            decoder.weights(),
            aged_priority(snapshot, policy, snapshot.jobs[static_cast<std::size_t>(place.job)]),
            count_gpus(place.shares), place.start, place.end);
    }
    return found;
}

} // namespace

Found search_order(const Snapshot& snapshot, const Policy& policy, Decoder& decoder, Prices& prices,
                   std::uint64_t budget) {
    if (searches(policy) && Strip::suits(snapshot)) {
        return found_on_strip(
            snapshot, policy, decoder,
            policy.may_fall_short && !snapshot.apps.empty()
                ? search_shortfalls(snapshot, policy, decoder.holds(), budget, decoder.cancel())
                : search_strip(snapshot, policy, decoder.holds(), budget, decoder.cancel()));
    }
    std::vector<Entry> order = queue_of(snapshot, policy);
    if (!searches(policy)) {
        return decode_order(snapshot, policy, decoder, order);
    }
    const std::uint64_t before = decoder.work() + prices.work();
    Decoded best = improve_order(snapshot, decoder, prices, order, budget);
    return {std::move(best.placements), decoder.holds(), std::move(order), best.value,
            decoder.work() + prices.work() - before};
}

Found decode_order(const Snapshot& snapshot, const Policy& policy, Decoder& decoder,
                   const std::vector<Entry>& order) {
    if (searches(policy) && Strip::suits(snapshot)) {
        return found_on_strip(snapshot, policy, decoder,
                              decode_strip(snapshot, policy, decoder.holds(), order));
    }
    const std::uint64_t before = decoder.work();
    Decoded decoded = decoder.decode(order);
    return {std::move(decoded.placements), decoder.holds(), order, decoded.value,
            decoder.work() - before};
}

} // namespace foresight
