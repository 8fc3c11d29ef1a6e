// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate.hpp"

#include "instance.hpp"

#include <algorithm>
#include <map>

using namespace foresight;

namespace {

/// What really comes, one step early: held before it is needed.
class Foreseen : public Expectation {
public:
    explicit Foreseen(const Workload& workload) : workload_(workload) {}

    std::vector<int> curve(std::size_t service, int step, int steps, int) override {
        const std::vector<int>& demand = workload_.services[service].demand;
        const auto at = [&](int i) {
            return demand[std::min(static_cast<std::size_t>(i), demand.size() - 1)];
        };
        std::vector<int> curve;
        for (int i = step; i < step + steps; ++i) {
            curve.push_back(std::max(at(i), at(i + 1)));
        }
        return curve;
    }

private:
    const Workload& workload_;
};

Workload random_workload(test::Draw& draw) {
    Workload workload;
    workload.step = 600;
    workload.horizon_steps = 36;
    workload.block = draw.chance(50) ? Block::any : Block::contiguous;
    const int nodes = draw.number(1, 12);
    for (int node = 0; node < nodes; ++node) {
        workload.nodes.push_back({.name = "g" + std::to_string(node), .gpus = 8});
    }
    const int services = draw.number(0, 2);
    for (int s = 0; s < services; ++s) {
        Service service{"s" + std::to_string(s), 5, draw.chance(50) ? kUnlimited : 4, {}};
        int level = draw.number(0, 3 * nodes);
        for (int step = 0; step < 60; ++step) {
            level = std::clamp(level + draw.number(-2, 2), 0, 3 * nodes);
            service.demand.push_back(level);
        }
        service.demand.push_back(0);
        workload.services.push_back(std::move(service));
    }
    Seconds submit = 0;
    const int jobs = draw.number(0, 60);
    for (int i = 0; i < jobs; ++i) {
        submit += draw.chance(50) ? 0 : draw.number(1, 900);
        const Seconds length = draw.number(1, 9000);
        workload.jobs.push_back({"j" + std::to_string(i), "",
                                 draw.chance(85) ? draw.number(1, 8) : draw.number(1, 8 * nodes),
                                 submit, length,
                                 draw.chance(50) ? length : length * draw.number(1, 4),
                                 static_cast<double>(draw.number(1, 8))});
    }
    return workload;
}

/// Whether no GPU serves two at a time, and every run is what the trace says.
bool is_sound(const Workload& workload, const SimulationLog& log) {
    std::vector<int> seen(workload.jobs.size(), 0);
    for (const Run& run : log.runs) {
        const TraceJob& job = workload.jobs[static_cast<std::size_t>(run.job)];
        int gpus = 0;
        for (const Share& share : run.shares) {
            gpus += std::popcount(share.gpus);
        }
        ++seen[static_cast<std::size_t>(run.job)];
        if (gpus != job.gpus || run.start < job.submit || run.end - run.start != job.length) {
            return false;
        }
    }
    // By step: what services hold; between steps of a second: what jobs do.
    std::map<Seconds, std::vector<std::pair<const Run*, bool>>> events;
    for (const Run& run : log.runs) {
        events[run.start].emplace_back(&run, true);
        events[run.end].emplace_back(&run, false);
    }
    for (std::size_t step = 0; !log.held.empty() && step < log.held[0].size(); ++step) {
        events[static_cast<Seconds>(step) * workload.step];
    }
    std::vector<GpuMask> taken(workload.nodes.size(), 0);
    for (const auto& [time, changes] : events) {
        for (const auto& [run, starts] : changes) {
            for (const Share& share : run->shares) {
                if (!starts) {
                    taken[static_cast<std::size_t>(share.node)] &= ~share.gpus;
                }
            }
        }
        for (const auto& [run, starts] : changes) {
            for (const Share& share : run->shares) {
                GpuMask& gpus = taken[static_cast<std::size_t>(share.node)];
                if (starts && (gpus & share.gpus) != 0) {
                    return false;
                }
                gpus |= starts ? share.gpus : 0;
            }
        }
        std::vector<GpuMask> all = taken;
        for (const auto& steps : log.held) {
            const auto step = static_cast<std::size_t>(time / workload.step);
            for (const auto& [node, gpus] : step < steps.size() ? steps[step] : GpuSet{}) {
                if ((all[static_cast<std::size_t>(node)] & gpus) != 0) {
                    return false;
                }
                all[static_cast<std::size_t>(node)] |= gpus;
            }
        }
    }
    return std::all_of(seen.begin(), seen.end(), [](int count) { return count <= 1; });
}

SimulationOptions quick(Seconds interval) {
    SimulationOptions options{.plan = {*find_policy("foresight")}, .interval = interval};
    options.plan.explained = false;
    return options;
}

void nothing_runs_twice_or_on_what_is_held() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 40; ++round) {
        const Workload workload = random_workload(draw);
        SimulationOptions options = quick(draw.chance(50) ? 60 : 600);
        options.remember = draw.chance(50);
        const char* names[] = {"foresight", "fifo", "easy", "easy-value", "conservative"};
        options.plan.policy = *find_policy(names[round % 5]);
        Foreseen expectation(workload);
        const SimulationLog log = simulate(workload, expectation, options);
        CHECK(log.complete);
        CHECK(is_sound(workload, log));
        CHECK_INT(static_cast<int>(log.runs.size()), static_cast<int>(workload.jobs.size()));
    }
}

bool same_runs(const SimulationLog& a, const SimulationLog& b) {
    return std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                      [](const Run& one, const Run& other) {
                          return one.job == other.job && one.start == other.start &&
                                 one.shares == other.shares;
                      });
}

/// A dispatcher starts what a plan of the whole queue would, job by job and GPU by GPU.
void a_dispatcher_starts_what_a_plan_would() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 100; ++round) {
        Workload workload = random_workload(draw);
        workload.services.clear();
        SimulationOptions options = quick(draw.chance(50) ? 60 : 1);
        options.remember = false;
        for (const char* name : {"fifo", "priority", "easy", "easy-value", "conservative"}) {
            options.plan.policy = *find_policy(name);
            options.plan.policy.holds =
                draw.chance(20) ? draw.number(0, 4) : options.plan.policy.holds;
            std::vector<SimulationLog> logs;
            for (const bool whole : {true, false}) {
                options.whole_plans = whole;
                Foreseen expectation(workload);
                logs.push_back(simulate(workload, expectation, options));
            }
            CHECK(is_sound(workload, logs[1]));
            if (!same_runs(logs[0], logs[1])) {
                CHECK(false);
                std::printf("%s, round %d, holds %d, block %d: the dispatcher differs\n", name,
                            round, options.plan.policy.holds, static_cast<int>(workload.block));
            }
        }
    }
}

void the_same_again() {
    test::Draw draw(test_seed());
    for (int round = 0; round < 5; ++round) {
        const Workload workload = random_workload(draw);
        std::vector<SimulationLog> logs;
        for (int i = 0; i < 2; ++i) {
            Foreseen expectation(workload);
            logs.push_back(simulate(workload, expectation, quick(60)));
        }
        CHECK_INT(logs[0].decisions, logs[1].decisions);
        CHECK(logs[0].held == logs[1].held);
        CHECK(same_runs(logs[0], logs[1]));
    }
}

Workload one_node(std::vector<int> demand, std::vector<TraceJob> jobs) {
    Workload workload;
    workload.step = 600;
    workload.horizon_steps = 12;
    workload.nodes.push_back({.name = "g", .gpus = 8});
    workload.services.push_back({"service", 5, kUnlimited, std::move(demand)});
    workload.jobs = std::move(jobs);
    return workload;
}

void a_loan_is_over_in_time() {
    // Wanted whole from step 4 to 7: what is over by then runs before, the other after.
    const Workload workload =
        one_node({0, 0, 0, 0, 8, 8, 8, 8, 0},
                 {{"long", "", 4, 0, 3000, 3000, 8}, {"short", "", 4, 0, 1500, 1700, 1}});
    Foreseen expectation(workload);
    const SimulationLog log = simulate(workload, expectation, quick(60));
    CHECK_INT(static_cast<int>(log.runs.size()), 2);
    CHECK_INT(log.runs[0].job, 1);
    CHECK(log.runs[0].start == 0 && log.runs[0].end == 1500);
    CHECK_INT(log.runs[1].job, 0);
    CHECK(log.runs[1].start == 8 * 600);
    CHECK_INT(static_cast<int>(log.held[0].size()), 14);
    CHECK(log.held[0][3] == (GpuSet{{0, 0xff}}));
    CHECK(log.held[0][8].empty());
}

void an_early_end_is_used_at_once() {
    const Workload workload =
        one_node({0}, {{"first", "", 8, 0, 700, 3600, 1}, {"second", "", 8, 10, 600, 600, 1}});
    Foreseen expectation(workload);
    const SimulationLog log = simulate(workload, expectation, quick(60));
    CHECK_INT(static_cast<int>(log.runs.size()), 2);
    CHECK(log.runs[1].start == 700);
}

void it_stops_when_nothing_can_start() {
    const Workload workload = one_node({1}, {{"whole", "", 8, 0, 60, 60, 1}});
    Foreseen expectation(workload);
    CHECK(simulate(workload, expectation, quick(60)).runs.empty());
}

void it_stops_at_its_end() {
    const Workload workload = one_node({0}, {{"a", "", 8, 0, 7000, 7000, 1},
                                             {"b", "", 8, 0, 7000, 7000, 1},
                                             {"c", "", 8, 90000, 60, 60, 1}});
    Foreseen expectation(workload);
    SimulationOptions options = quick(60);
    options.end = 3000;
    const SimulationLog log = simulate(workload, expectation, options);
    CHECK(log.end == 3000);
    CHECK_INT(static_cast<int>(log.runs.size()), 1);
}

} // namespace

TEST_SUITE("simulate",
           {"nothing runs twice, or on what is held", nothing_runs_twice_or_on_what_is_held},
           {"a dispatcher starts what a plan would", a_dispatcher_starts_what_a_plan_would},
           {"the same again", the_same_again}, {"a loan is over in time", a_loan_is_over_in_time},
           {"an early end is used at once", an_early_end_is_used_at_once},
           {"it stops when nothing can start", it_stops_when_nothing_can_start},
           {"it stops at its end", it_stops_at_its_end})
