// SPDX-License-Identifier: GPL-2.0-or-later
#include "lending.hpp"

#include "instance.hpp"

#include <algorithm>

using namespace foresight;

namespace {

constexpr Seconds kNow = 1'000'000;
constexpr Seconds kStep = 600;

LendingTerms terms() {
    return {.now = kNow, .from = kNow - 100, .step = kStep, .least_loan = 300};
}

Seconds start_of(int step) {
    return kNow - 100 + step * kStep;
}

std::vector<LendingNode> three_held() {
    return {{.gpus = 4, .held = true}, {.gpus = 4, .held = true}, {.gpus = 4, .held = true}};
}

void idle_nodes_are_lent_until_they_are_needed() {
    const Lending lending = lend(three_held(), {4, 4, 4, 8, 12, 4}, terms());
    CHECK(lending.due == (std::vector<Seconds>{0, start_of(3), start_of(4)}));
    CHECK_INT(lending.missing, 0);
}

void a_node_with_the_applications_jobs_stays() {
    std::vector<LendingNode> nodes = three_held();
    nodes[2].used = true;
    const Lending lending = lend(nodes, {4, 4, 8}, terms());
    CHECK(lending.due == (std::vector<Seconds>{start_of(2), start_of(3), 0}));
}

void lent_nodes_come_back_and_busy_ones_are_missed() {
    std::vector<LendingNode> nodes = three_held();
    nodes[1] = {.gpus = 4, .busy_until = kNow + 500, .due = kNow - 10};
    nodes[2] = {.gpus = 4, .busy_until = kNow - 5, .due = kNow + 400};
    Lending lending = lend(nodes, {8, 8, 8}, terms());
    CHECK(lending.due[2] == 0 && lending.due[0] == 0 && lending.due[1] > kNow);
    CHECK_INT(lending.missing, 0);
    lending = lend(nodes, {12, 12}, terms());
    CHECK_INT(lending.missing, 4);
    CHECK(lending.due[1] == kNow + 1);
}

void a_short_loan_is_none() {
    LendingTerms short_of = terms();
    short_of.now = start_of(1) - 200;
    const Lending lending = lend(three_held(), {4, 12, 12}, short_of);
    CHECK(lending.due == (std::vector<Seconds>{0, 0, 0}));
}

void one_node_is_always_held() {
    const Lending lending = lend(three_held(), std::vector<int>(6, 0), terms());
    CHECK_INT(static_cast<int>(std::count(lending.due.begin(), lending.due.end(), 0)), 1);
}

void a_node_that_fails_is_replaced_by_a_lent_one() {
    std::vector<LendingNode> nodes = three_held();
    nodes[0].healthy = false;
    nodes[2] = {.gpus = 4, .due = start_of(5)};
    const Lending lending = lend(nodes, std::vector<int>(6, 8), terms());
    CHECK(lending.due == (std::vector<Seconds>{0, 0, 0}));
}

void no_more_changes_hands_than_may() {
    LendingTerms capped = terms();
    capped.max_swap = 4;
    const Lending lending = lend(three_held(), std::vector<int>(6, 4), capped);
    CHECK_INT(static_cast<int>(std::count(lending.due.begin(), lending.due.end(), 0)), 2);
}

void a_flat_curve_changes_nothing_as_time_goes_on() {
    std::vector<LendingNode> nodes = three_held();
    const std::vector<int> curve(144, 4);
    std::vector<Seconds> due = lend(nodes, curve, terms()).due;
    int changes = 0;
    for (int step = 0; step < 140; ++step) {
        LendingTerms later = terms();
        later.now += step * kStep;
        later.from += step * kStep;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            nodes[i].held = due[i] == 0;
            nodes[i].due = due[i];
        }
        const std::vector<Seconds> next = lend(nodes, curve, later).due;
        changes += next != due;
        due = next;
    }
    CHECK(changes <= 2); // half a horizon ahead is enough
}

/// Whatever comes: nothing used is given up, nothing busy is taken, and the nodes held are enough
/// wherever free ones are there.
void sound_whatever_comes() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 3000; ++round) {
        std::vector<LendingNode> nodes;
        for (int i = draw.number(1, 8); i > 0; --i) {
            LendingNode node{.gpus = draw.number(1, 8), .held = draw.chance(50)};
            node.healthy = draw.chance(85);
            node.used = node.held && draw.chance(30);
            node.busy_until = !node.held && draw.chance(50) ? kNow + draw.number(-500, 3000) : 0;
            node.due = node.held ? 0 : kNow + draw.number(-500, 6000);
            nodes.push_back(node);
        }
        std::vector<int> curve;
        for (int step = 0; step < 12; ++step) {
            curve.push_back(draw.number(0, 30));
        }
        const Lending lending = lend(nodes, curve, terms());
        int held = 0;
        bool free_left = false;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const bool holds = lending.due[i] == 0;
            CHECK(holds || !nodes[i].used);
            CHECK(!holds || nodes[i].held || nodes[i].busy_until <= kNow);
            CHECK(holds || lending.due[i] > kNow);
            held += holds && nodes[i].healthy ? nodes[i].gpus : 0;
            free_left = free_left || (!holds && nodes[i].healthy &&
                                      (nodes[i].held || nodes[i].busy_until <= kNow));
        }
        CHECK(held >= curve[0] || !free_left);
        CHECK(held + lending.missing >= curve[0]);
        // No loan reaches into a step that needs it: at each step those back by then are enough,
        // or all healthy nodes are back.
        for (int step = 1; step < 12; ++step) {
            int back = 0;
            bool all = true;
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                const bool there = lending.due[i] <= start_of(step);
                back += there && nodes[i].healthy ? nodes[i].gpus : 0;
                all = all && (there || !nodes[i].healthy);
            }
            CHECK(all || back >= curve[static_cast<std::size_t>(step)]);
        }
    }
}

} // namespace

TEST_SUITE("lending",
           {"idle nodes are lent until they are needed", idle_nodes_are_lent_until_they_are_needed},
           {"a node with the application's jobs stays", a_node_with_the_applications_jobs_stays},
           {"lent nodes come back, and busy ones are missed",
            lent_nodes_come_back_and_busy_ones_are_missed},
           {"a short loan is none", a_short_loan_is_none},
           {"one node is always held", one_node_is_always_held},
           {"a node that fails is replaced by a lent one",
            a_node_that_fails_is_replaced_by_a_lent_one},
           {"no more changes hands than may", no_more_changes_hands_than_may},
           {"a flat curve changes nothing as time goes on",
            a_flat_curve_changes_nothing_as_time_goes_on},
           {"sound, whatever comes", sound_whatever_comes})
