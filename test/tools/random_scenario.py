# SPDX-License-Identifier: GPL-2.0-or-later
"""Random planning problems: every field of foresight-scenario/1, and its corners."""
import random


def _gpu_list(gpus):
    """{(node, number)} as the format writes it."""
    nodes = {}
    for node, number in sorted(gpus):
        nodes.setdefault(node, []).append(number)
    return [[node, numbers] for node, numbers in nodes.items()]


def _nodes(draw):
    equal = draw.random() < 0.6
    size = draw.choice([1, 2, 4, 8, 8, 8, 16, 64])
    count = draw.randint(1, 3 if size > 16 else 6)
    return [{"name": f"gpu{i:02d}", "gpus": size if equal else draw.randint(1, 10)}
            for i in range(count)]


def _duration(draw, step, horizon):
    kind = draw.random()
    if kind < 0.5:
        return step * draw.randint(1, max(1, horizon // step // 2))
    if kind < 0.9:
        return draw.randint(1, horizon)
    return draw.choice([1, horizon, horizon + 1, 61 * 365 * 86400])


def _job(draw, number, step, horizon, total):
    most = total if draw.random() < 0.15 else min(total, 8)
    job = {"id": f"job{number}", "class": draw.choice(["training", "batch", "quantization"]),
           "gpus": draw.randint(1, most), "duration_s": _duration(draw, step, horizon),
           "submit_s": 0 if draw.random() < 0.6 else draw.randint(0, horizon + step),
           "priority": draw.choice([0, 0.5, 1, 1, 2, 3, 5, 8])}
    if draw.random() < 0.05:
        job["gpus"] = total + draw.randint(1, 100)
    return job


def _running(draw, job, free, nodes):
    """Lets a job run on free GPUs of one node, any shape: it was started by somebody else."""
    node = draw.choice(nodes)["name"]
    mine = sorted(number for name, number in free if name == node)
    if not mine:
        return
    picked = draw.sample(mine, draw.randint(1, len(mine)))
    job["gpus"] = len(picked)
    job["duration_s"] = max(job["duration_s"], 2)
    start = -draw.randint(0, job["duration_s"] - 1)
    job["running"] = {"start_s": start, "gpus": [[node, sorted(picked)]]}
    job["submit_s"] = 0
    free -= {(node, number) for number in picked}


def _app(draw, number, steps, total, free):
    peak = draw.randint(0, max(1, total // 3))
    level, demand = draw.randint(0, peak), []
    for _ in range(steps):
        if draw.random() < 0.3:
            level = draw.randint(0, peak)
        demand.append(level)
    app = {"id": f"app{number}", "priority": draw.choice([1, 2, 5]), "demand": demand}
    if draw.random() < 0.6:
        app["max_swap"] = draw.randint(0, 4)
    if draw.random() < 0.5:
        held = set(draw.sample(sorted(free), min(len(free), draw.randint(0, peak))))
        app["held"] = _gpu_list(held)
        free -= held
    return app


def make(seed):
    draw = random.Random(seed)
    nodes = _nodes(draw)
    total = sum(node["gpus"] for node in nodes)
    step = draw.choice([1, 60, 900, 3600])
    steps = draw.randint(1, 30)
    jobs = [_job(draw, i, step, step * steps, total) for i in range(draw.randint(0, 25))]
    free = {(node["name"], number) for node in nodes for number in range(node["gpus"])}
    for job in jobs:
        if draw.random() < 0.15:
            _running(draw, job, free, nodes)
    scenario = {"format": "foresight-scenario/1", "name": f"random-{seed}", "step_seconds": step,
                "horizon_steps": steps, "nodes": nodes, "jobs": jobs,
                "block": draw.choice(["any", "contiguous", "aligned"]),
                "value": {"decay_end": draw.choice([0, 0.5, 1]),
                          "shortfall_weight": draw.choice([5, 8, 10])}}
    late = sum(job["gpus"] for job in jobs if "running" in job and
               job["running"]["start_s"] + job["duration_s"] > step * steps)
    if draw.random() < 0.7:
        scenario["realtime"] = [_app(draw, i, steps, total, free)
                                for i in range(draw.randint(0, 2))]
    peaks = sum(max(app["demand"]) for app in scenario.get("realtime", []))
    # Inherited jobs alone must leave the peaks their room, or no answer is legal.
    if draw.random() < 0.4 and late <= total - peaks:
        scenario["fit"] = "may-overrun"
    return scenario
