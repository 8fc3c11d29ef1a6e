// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode.hpp"
#include "instance.hpp"
#include "place.hpp"

#include <bit>
#include <functional>

using namespace foresight;

namespace {

/// Whether the request fits when it starts at `start`, tried over every set of nodes.
bool fits_slowly(const Snapshot& snapshot, const Profile& profile, const Option& option,
                 Seconds start) {
    const Request& request = option.request;
    const NodeClass& node_class = snapshot.classes[static_cast<std::size_t>(option.node_class)];
    const Seconds until = start + option.duration;
    std::vector<int> open;
    int largest = 0;
    for (const int node : node_class.nodes) {
        bool closed = std::binary_search(option.refused_on.begin(), option.refused_on.end(), node);
        for (const Closure& closure : node_class.closures) {
            closed = closed || (closure.node == node && closure.from < closure.until &&
                                closure.from < until && closure.until > start);
        }
        if (!closed) {
            open.push_back(node);
        }
        largest = std::max(largest, snapshot.nodes[static_cast<std::size_t>(node)].gpus);
    }
    const auto free = [&](int node) { return profile.timeline().window(node, start, until); };
    const auto info = [&](int node) -> const Node& {
        return snapshot.nodes[static_cast<std::size_t>(node)];
    };
    if (snapshot.block != Block::any) {
        if (request.gpus() <= largest) {
            return std::any_of(open.begin(), open.end(), [&](int node) {
                return fits_alone(request, info(node), free(node), snapshot.block);
            });
        }
        for (std::size_t first = 0; first < open.size(); ++first) {
            int left = request.gpus();
            for (std::size_t i = first; i < open.size() && left > 0; ++i) {
                if (i > first && open[i] != open[i - 1] + 1) {
                    break;
                }
                const int want = std::min(left, info(open[i]).gpus);
                if ((free(open[i]).gpus & lowest_gpus(want)) != lowest_gpus(want)) {
                    break;
                }
                left -= want;
            }
            if (left == 0) {
                return true;
            }
        }
        return false;
    }
    for (unsigned set = 1; set < (1U << open.size()); ++set) {
        int carried = 0;
        int count = 0;
        bool all = true;
        for (std::size_t i = 0; i < open.size(); ++i) {
            if ((set >> i & 1) != 0) {
                const int chunks = chunks_in(request, info(open[i]), free(open[i]));
                all = all && chunks > 0;
                carried += chunks;
                ++count;
            }
        }
        if (all && carried >= request.chunks && count <= request.chunks &&
            count >= request.nodes_min && count <= request.nodes_max) {
            return true;
        }
    }
    return false;
}

void fill(test::Draw& draw, const Snapshot& snapshot, Profile& profile) {
    for (int i = draw.number(0, 12); i > 0; --i) {
        const int node = draw.number(0, static_cast<int>(snapshot.nodes.size()) - 1);
        const Seconds from = draw.number(0, 80);
        const Seconds until = from + draw.number(1, 40);
        const GpuMask gpus = draw.bits() & profile.timeline().window(node, from, until).gpus;
        profile.timeline().take({node, gpus, draw.number(0, 1), draw.number(0, 4)}, from, until);
    }
}

void check_earliest(const test::Kinds& kinds) {
    test::Draw draw(test_seed());
    for (int round = 0; round < 1500; ++round) {
        const Snapshot snapshot = test::random_snapshot(draw, kinds);
        Profile profile(snapshot);
        fill(draw, snapshot, profile);
        if (draw.chance(50)) {
            profile.index_gaps(block_sizes(snapshot), snapshot.block);
        }
        Placer placer(snapshot, draw.chance(50) ? Packing::lowest : Packing::tight);
        for (const Job& job : snapshot.jobs) {
            const Option& option = job.options[0];
            const Seconds from = draw.number(0, 50);
            const Seconds latest = from + draw.number(0, 60);
            Job free_of_limits = job;
            free_of_limits.limits.clear();
            const auto place = placer.earliest(profile, free_of_limits, option, from, latest);
            Seconds expected = from;
            while (expected <= latest && !fits_slowly(snapshot, profile, option, expected)) {
                ++expected;
            }
            CHECK_INT(place ? place->start : latest + 1, expected);
        }
    }
}

void earliest_matches_a_slow_reference_any() {
    check_earliest({.limits_of_nodes = true, .limits_of_jobs = true, .apps = false});
}

void earliest_matches_a_slow_reference_contiguous() {
    check_earliest({.apps = false, .block = Block::contiguous});
}

void earliest_matches_a_slow_reference_aligned() {
    check_earliest({.apps = false, .block = Block::aligned});
}

/// The baseline packs from the lowest node up, with an index of gaps or without.
void an_index_changes_no_lowest_place() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 1000; ++round) {
        const Snapshot snapshot =
            test::random_snapshot(draw, {.apps = false, .block = Block::contiguous});
        Profile plain(snapshot);
        fill(draw, snapshot, plain);
        Profile indexed = plain;
        indexed.index_gaps(block_sizes(snapshot), snapshot.block);
        Placer placer(snapshot, Packing::lowest);
        for (const Job& job : snapshot.jobs) {
            const Seconds from = draw.number(0, 50);
            const auto one = placer.earliest(plain, job, job.options[0], from, from + 60);
            const auto other = placer.earliest(indexed, job, job.options[0], from, from + 60);
            CHECK(one.has_value() == other.has_value());
            CHECK(!one || (one->start == other->start && one->shares == other->shares));
        }
    }
}

void neighbours_are_preferred() {
    Snapshot snapshot = test::grid(6, 8, 10);
    snapshot.block = Block::any;
    Profile profile(snapshot);
    for (const int node : {1, 3}) {
        profile.timeline().take({node, 1, 0, 0}, 0, kNever);
    }
    Job job = test::job("wide", 16, 10);
    Request& request = job.options[0].request;
    request.chunk.gpus = 8;
    request.chunks = 2;
    request.chunks_per_node_max = 1;
    request.nodes_min = 2;
    request.nodes_max = 2;
    const auto place =
        Placer(snapshot, Packing::tight).earliest(profile, job, job.options[0], 0, 50);
    REQUIRE(place.has_value());
    CHECK_INT(place->shares[0].node, 4);
    CHECK_INT(place->shares[1].node, 5);
}

void a_short_gap_counts_beside_a_long_one() {
    // Node 1 gives GPU 1 from 31 to 70 and GPU 4 from 32 on: with node 0 that is enough at 31.
    Snapshot snapshot = test::grid(2, 7, 20);
    snapshot.block = Block::any;
    Profile profile(snapshot);
    profile.timeline().take({1, 0b1101101, 0, 0}, 0, kNever);
    profile.timeline().take({1, 0b0000010, 0, 0}, 0, 31);
    profile.timeline().take({1, 0b0000010, 0, 0}, 70, kNever);
    profile.timeline().take({1, 0b0010000, 0, 0}, 0, 32);
    profile.index_gaps({1}, Block::any);
    Job job = test::job("two nodes", 2, 28);
    job.options[0].request.nodes_min = 2;
    job.options[0].request.nodes_max = 2;
    const auto place =
        Placer(snapshot, Packing::tight).earliest(profile, job, job.options[0], 27, 54);
    REQUIRE(place.has_value());
    CHECK_INT(place->start, 31);
}

void a_node_whose_cpus_are_gone_has_no_usable_gpus() {
    Snapshot snapshot = test::grid(1, 8, 10);
    snapshot.block = Block::any;
    snapshot.nodes[0].cpus = 4;
    Profile profile(snapshot);
    profile.timeline().take({0, 0, 4, 0}, 0, 30);
    Job job = test::job("j", 1, 10);
    job.options[0].request.chunk.cpus = 1;
    const auto place =
        Placer(snapshot, Packing::tight).earliest(profile, job, job.options[0], 0, 50);
    REQUIRE(place.has_value());
    CHECK_INT(place->start, 30);
}

void small_jobs_fill_used_nodes_first() {
    Snapshot snapshot = test::grid(3, 8, 10);
    snapshot.block = Block::any;
    Profile profile(snapshot);
    profile.timeline().take({1, 0b111111, 0, 0}, 0, kNever);
    const Job job = test::job("j", 2, 10);
    const auto place =
        Placer(snapshot, Packing::tight).earliest(profile, job, job.options[0], 0, 50);
    REQUIRE(place.has_value());
    CHECK_INT(place->shares[0].node, 1);
}

} // namespace

TEST_SUITE("place",
           {"earliest matches a slow reference, any block", earliest_matches_a_slow_reference_any},
           {"earliest matches a slow reference, contiguous",
            earliest_matches_a_slow_reference_contiguous},
           {"earliest matches a slow reference, aligned",
            earliest_matches_a_slow_reference_aligned},
           {"an index changes no lowest place", an_index_changes_no_lowest_place},
           {"neighbours are preferred", neighbours_are_preferred},
           {"a short gap counts beside a long one", a_short_gap_counts_beside_a_long_one},
           {"a node whose CPUs are gone has no usable GPUs",
            a_node_whose_cpus_are_gone_has_no_usable_gpus},
           {"small jobs fill used nodes first", small_jobs_fill_used_nodes_first})
