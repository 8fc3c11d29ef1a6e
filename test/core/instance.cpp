// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.hpp"

#include <algorithm>
#include <bit>

namespace foresight::test {

Snapshot grid(int nodes, int gpus, int steps, Seconds step) {
    Snapshot snapshot;
    snapshot.name = "test";
    snapshot.step = step;
    snapshot.steps = steps;
    snapshot.classes.emplace_back();
    for (int i = 0; i < nodes; ++i) {
        Node node;
        node.name = "n" + std::to_string(i);
        node.gpus = gpus;
        snapshot.nodes.push_back(node);
        snapshot.classes[0].nodes.push_back(i);
    }
    return snapshot;
}

Job job(const std::string& id, int gpus, Seconds duration, double priority) {
    Job made;
    made.id = id;
    made.priority = priority;
    Option option;
    option.duration = duration;
    if (gpus > 0) {
        option.request.chunk = {1, 0, 0};
        option.request.chunks = gpus;
    } else {
        option.request.chunk = {0, 1, 0};
    }
    made.options.push_back(option);
    return made;
}

namespace {

void add_node_limits(Draw& draw, Snapshot& snapshot) {
    snapshot.gpu_types = {"a", "b"};
    for (Node& node : snapshot.nodes) {
        node.cpus = draw.number(2, 12);
        node.memory_mib = draw.number(10, 80);
        const GpuMask of_a = draw.bits() & lowest_gpus(node.gpus);
        node.gpus_of_type = {of_a, lowest_gpus(node.gpus) & ~of_a};
        if (draw.chance(15)) {
            node.usable = draw.bits();
        }
    }
    for (int extra = draw.number(0, 2); extra > 0; --extra) {
        NodeClass node_class;
        for (int node = 0; node < static_cast<int>(snapshot.nodes.size()); ++node) {
            if (draw.chance(60)) {
                node_class.nodes.push_back(node);
            }
        }
        for (const int node : node_class.nodes) {
            if (draw.chance(30)) {
                const Seconds from = draw.number(0, 60);
                node_class.closures.push_back({node, from, from + draw.number(0, 50)});
            }
        }
        snapshot.classes.push_back(node_class);
    }
}

Request random_request(Draw& draw, const Kinds& kinds, int nodes, int gpus) {
    Request request;
    request.chunks = draw.number(1, std::max(1, draw.chance(25) ? nodes * gpus : gpus));
    if (!kinds.limits_of_nodes) {
        return request;
    }
    request.chunk.cpus = draw.number(0, 2);
    request.chunk.memory_mib = draw.number(0, 8);
    request.per_node = {0, draw.number(0, 1), draw.number(0, 4)};
    request.gpu_type = draw.chance(25) ? draw.number(0, 1) : -1;
    if (draw.chance(30) && kinds.block == Block::any) {
        request.chunk.gpus = draw.number(0, 3);
        request.chunks_per_node_max = draw.number(1, 2);
        request.nodes_min = draw.number(1, std::min(3, request.chunks));
        request.nodes_max =
            draw.chance(50) ? request.nodes_min : std::max(request.nodes_min, nodes);
        request.whole_nodes = draw.chance(15);
    }
    return request;
}

void add_running(Draw& draw, Snapshot& snapshot) {
    for (int node = 0; node < static_cast<int>(snapshot.nodes.size()); ++node) {
        const Node& info = snapshot.nodes[static_cast<std::size_t>(node)];
        const GpuMask gpus = draw.bits() & draw.bits() & lowest_gpus(info.gpus) & info.usable;
        if (draw.chance(50) && gpus != 0) {
            Running running;
            running.id = "r" + std::to_string(node);
            running.start = -draw.number(0, 20);
            running.end = draw.chance(10) ? kNever : draw.number(1, 90);
            running.shares.push_back({node, gpus, info.cpus < kUnlimited ? 1 : 0, 0});
            snapshot.running.push_back(running);
        }
    }
}

void add_job_limits(Draw& draw, Snapshot& snapshot, Job& job) {
    if (draw.chance(30)) {
        job.limits.push_back({0, job.options[0].request.gpus()});
    }
    if (draw.chance(15)) {
        job.limits.push_back({1, 1});
    }
    job.tasks = draw.chance(20) ? draw.number(2, 4) : 1;
    job.on_top = draw.chance(5);
    if (draw.chance(10)) {
        job.refusal = Refusal{"no", draw.number(0, 40)};
    }
    if (draw.chance(30)) {
        Option other = job.options[0];
        other.node_class = draw.number(0, static_cast<int>(snapshot.classes.size()) - 1);
        other.tier = draw.number(0, 2);
        job.options.push_back(other);
    }
}

void add_app(Draw& draw, Snapshot& snapshot, int all_gpus) {
    App app;
    app.id = "app" + std::to_string(snapshot.apps.size());
    app.priority = draw.number(1, 5);
    int level = draw.number(0, 2);
    for (int step = 0; step < snapshot.steps; ++step) {
        level = std::clamp(level + draw.number(-1, 1), 0, std::max(1, all_gpus / 3));
        app.demand.push_back(draw.chance(5) ? 0 : level);
    }
    app.max_swap = draw.chance(60) ? draw.number(1, 3) : kUnlimited;
    snapshot.apps.push_back(app);
}

/// Lets the first application hold some GPUs that nothing runs on.
void add_held(Draw& draw, Snapshot& snapshot) {
    GpuSet held;
    for (int node = 0; node < static_cast<int>(snapshot.nodes.size()); ++node) {
        GpuMask gpus = draw.bits() & draw.bits() &
                       lowest_gpus(snapshot.nodes[static_cast<std::size_t>(node)].gpus);
        gpus &= snapshot.nodes[static_cast<std::size_t>(node)].usable;
        for (const Running& running : snapshot.running) {
            for (const Share& share : running.shares) {
                gpus &= share.node == node ? ~share.gpus : ~GpuMask{0};
            }
        }
        if (gpus != 0) {
            held.emplace_back(node, gpus);
        }
    }
    snapshot.apps[0].held = held;
}

} // namespace

Snapshot random_snapshot(Draw& draw, const Kinds& kinds) {
    const int nodes = draw.number(kinds.least_nodes, kinds.most_nodes);
    const int gpus = draw.number(1, 8);
    Snapshot snapshot = grid(nodes, gpus, draw.number(4, 10));
    snapshot.block = kinds.block;
    snapshot.fit = kinds.fit;
    snapshot.value = {draw.number(0, 10) / 10.0, 8};
    snapshot.limits = {{"gpus", draw.number(1, 6)}, {"jobs", draw.number(1, 3)}};
    if (kinds.limits_of_nodes) {
        add_node_limits(draw, snapshot);
    }
    if (kinds.running) {
        add_running(draw, snapshot);
    }
    for (int app = kinds.apps ? draw.number(0, 2) : 0; app > 0; --app) {
        add_app(draw, snapshot, nodes * gpus);
    }
    if (!snapshot.apps.empty() && draw.chance(40)) {
        add_held(draw, snapshot);
    }
    for (int i = draw.number(0, kinds.most_jobs); i > 0; --i) {
        Job made = job("j" + std::to_string(i), 1, draw.number(1, 60), draw.number(0, 8));
        made.options[0].request = random_request(draw, kinds, nodes, gpus);
        made.options[0].node_class = draw.number(0, static_cast<int>(snapshot.classes.size()) - 1);
        made.options[0].rank = draw.number(0, 100);
        made.submit = draw.chance(30) ? draw.number(0, 60) : -draw.number(0, 100);
        if (kinds.limits_of_jobs) {
            add_job_limits(draw, snapshot, made);
        }
        snapshot.jobs.push_back(made);
    }
    return snapshot;
}

} // namespace foresight::test
