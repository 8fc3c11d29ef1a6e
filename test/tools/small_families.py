# SPDX-License-Identifier: GPL-2.0-or-later
"""Random small planning problems in families, shaped like the published ones.

Hours, 24 steps, a day's curve for the application.  Some seeds have times to a quarter of an hour,
two or three applications, held GPUs, a swap cap of 1, running jobs, or another block rule.
"""
import math
import random

HOUR = 3600
# nodes, jobs (least, most), their GPUs, their hours, share of the GPUs that the peak wants
FAMILIES = {
    "training-heavy": (1, (7, 10), [1, 2, 2, 2, 4, 4, 4], [3, 4, 4, 6, 8, 16], 0.6),
    "realtime-heavy": (1, (7, 10), [1, 1, 1, 2, 4, 4], [3, 4, 8], 0.7),
    "batch-heavy": (1, (10, 14), [1, 2, 2, 4, 4], [2, 3, 3, 4, 6], 0.25),
    "fragmentation": (1, (9, 13), [1, 2, 3, 5, 6], [2, 3, 4, 5, 6], 0.3),
    "mixed": (1, (5, 9), [1, 2, 4, 4, 4], [1, 3, 3, 6, 8], 0.6),
    "two-nodes": (2, (12, 17), [1, 2, 4, 4, 8, 8], [2, 3, 4, 6, 8, 12], 0.25),
    "sixty-four": (8, (24, 30), [1, 2, 4, 8, 8, 16], [2, 4, 6, 8, 12], 0.4),
}
PRIORITIES = [1, 1, 2, 3, 5, 8]


def _curve(draw, peak, shift):
    """A day: low at night, the peak in the afternoon, a little noise."""
    low = max(0, round(peak * draw.uniform(0.2, 0.5)))
    demand = []
    for hour in range(24):
        level = (1 - math.cos((hour - shift) / 24 * 2 * math.pi)) / 2
        demand.append(max(0, min(peak, round(low + (peak - low) * level +
                                             draw.choice([0, 0, 0, 0, -0.5, 0.5])))))
    return demand


def _apps(draw, total, share):
    count = draw.choice([1, 1, 1, 1, 2, 3])
    apps, free = [], total
    for number in range(count):
        peak = max(1, round(total * share / count))
        demand = _curve(draw, peak, draw.randint(0, 6))
        app = {"id": f"app{number}", "priority": draw.choice([5, 5, 3]), "demand": demand,
               "max_swap": draw.choice([2, 2, 2, 1, max(2, total // 8)])}
        if draw.random() < 0.25:
            held = min(free, max(0, demand[0] + draw.randint(-1, 1)))
            numbers = range(free - held, free)
            nodes = {}
            for gpu in numbers:
                nodes.setdefault(gpu // 8, []).append(gpu % 8)
            app["held"] = [[f"gpu{node:02d}", gpus] for node, gpus in sorted(nodes.items())]
            free -= held
        apps.append(app)
    return apps, free


def make(family, seed):
    draw = random.Random(f"{family} {seed}")
    nodes, jobs, sizes, hours, share = FAMILIES[family]
    unit = HOUR if draw.random() < 0.7 else HOUR // 4
    apps, free = _apps(draw, 8 * nodes, share)
    queue = []
    for number in range(draw.randint(*jobs)):
        duration = draw.choice(hours) * HOUR
        if unit < HOUR:
            duration = max(unit, duration + draw.randint(-4, 4) * unit)
        submit = 0 if draw.random() < 0.7 else draw.randint(0, 10 * HOUR // unit) * unit
        queue.append({"id": f"job{number}", "class": "batch", "gpus": draw.choice(sizes),
                      "duration_s": duration, "submit_s": submit,
                      "priority": draw.choice(PRIORITIES)})
    if draw.random() < 0.2 and free >= 2:
        # The lowest GPUs: what is held lies at the high end.
        queue[0].update({"gpus": min(2, free), "submit_s": 0,
                         "running": {"start_s": -queue[0]["duration_s"] + 2 * HOUR,
                                     "gpus": [["gpu00", [0, 1]]]}})
        queue[0]["duration_s"] = max(queue[0]["duration_s"], 3 * HOUR)
        queue[0]["running"]["start_s"] = 2 * HOUR - queue[0]["duration_s"]
    return {"format": "foresight-scenario/1", "name": f"{family}-{seed}", "step_seconds": HOUR,
            "horizon_steps": 24,
            "nodes": [{"name": f"gpu{i:02d}", "gpus": 8} for i in range(nodes)],
            "block": draw.choice(["contiguous"] * 4 + ["any", "aligned"]),
            "fit": draw.choice(["within-horizon"] * 5 + ["may-overrun"]),
            "value": {"decay_end": 0.5, "shortfall_weight": 8}, "jobs": queue, "realtime": apps}
