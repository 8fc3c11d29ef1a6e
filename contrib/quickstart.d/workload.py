# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo's workload: one day of a GPU cluster, drawn from a seed.  Pure: no clock, no cluster.

An hour of that day passes in `hour` real seconds (12: a day in 4:48).  Slurm's time limits are
whole minutes, so a minute stands for five hours; a job's limit is drawn first, and the job runs
for a part of it, as people ask for more time than they need.
"""

import math
import random
import textwrap
from dataclasses import dataclass

# GPUs that the service wants in each hour of the day: quiet at night, a plateau in office hours,
# a peak in the evening.  On 64 GPUs; other sizes are scaled.
SERVICE_DAY = (6, 4, 4, 4, 4, 4, 6, 8, 12, 14, 16, 16,
               18, 16, 16, 16, 16, 18, 20, 24, 24, 20, 14, 8)
SERVICE_GPUS = 64
REPLICA_GPUS = 2
SERVICE_PRIORITY = 8

# (class, share of the jobs, GPUs drawn from, limits drawn from, in minutes at 12 s an hour)
CLASSES = (
    ("training", 0.2, (4, 8, 8, 16), (2, 3)),
    ("batch", 0.5, (1, 2, 2, 4), (1, 1, 2)),
    ("quantisation", 0.3, (1, 1, 2), (1,)),
)
LIMIT_HOUR = 12
PRIORITIES = (1, 1, 2, 3, 5, 8)
RUNS_FOR = (0.5, 0.92)       # of its limit
SPARE_SECONDS = 4            # of a replica, from its end to its limit: it must not be cut short
LOAD = 1.25                  # GPU time asked for, over what the service leaves free
BACKLOG = 0.45               # share of the jobs that wait already when the day begins
LAST_ARRIVAL = 17.0          # hour after which none comes


@dataclass(frozen=True)
class Job:
    """A job as it is submitted; seconds are real ones, counted from the day's beginning."""

    name: str
    kind: str
    gpus: int
    priority: int
    submit: float
    seconds: int
    limit_minutes: int


def _minutes(seconds):
    return math.ceil((seconds + SPARE_SECONDS) / 60)


def service_curve(gpus):
    """GPUs that the service wants in each hour, for a cluster of so many GPUs."""
    scale = gpus / SERVICE_GPUS
    return [max(REPLICA_GPUS, REPLICA_GPUS * round(want * scale / REPLICA_GPUS))
            for want in SERVICE_DAY]


def service_jobs(curve, hour):
    """Replicas that follow the curve: replica r runs while the curve is above it."""
    jobs = []
    for rank in range(max(curve) // REPLICA_GPUS):
        start = None
        for step, want in enumerate([*curve, 0]):
            needed = want > rank * REPLICA_GPUS
            if needed and start is None:
                start = step
            elif not needed and start is not None:
                seconds = round((step - start) * hour)
                jobs.append(Job(f"chat-{rank + 1:02d}-{start:02d}h", "service", REPLICA_GPUS,
                                SERVICE_PRIORITY, start * hour, seconds,
                                _minutes(seconds)))
                start = None
    return sorted(jobs, key=lambda job: (job.submit, job.name))


def _draw(rng, number, node_gpus, hour):
    kind, _, sizes, limits = rng.choices(CLASSES, [share for _, share, _, _ in CLASSES])[0]
    gpus = rng.choice(sizes)
    if gpus > node_gpus:
        gpus -= gpus % node_gpus  # whole nodes
    limit = max(1, round(rng.choice(limits) * hour / LIMIT_HOUR))
    seconds = round(60 * limit * rng.uniform(*RUNS_FOR))
    submit = 0.0 if rng.random() < BACKLOG else rng.uniform(0, LAST_ARRIVAL) * hour
    return Job(f"{kind}-{number:02d}", kind, gpus, rng.choice(PRIORITIES), round(submit, 1),
               seconds, limit)


def batch_jobs(nodes, node_gpus, hour, seed):
    """Batch jobs in order of arrival, until the load is reached."""
    rng = random.Random(seed)
    room = nodes * node_gpus * len(SERVICE_DAY) - sum(service_curve(nodes * node_gpus))
    left = LOAD * room * hour
    jobs = []
    while left > 0:
        jobs.append(_draw(rng, len(jobs) + 1, node_gpus, hour))
        left -= jobs[-1].gpus * jobs[-1].seconds
    return sorted(jobs, key=lambda job: job.submit)


def describe(batch, curve, hour, gpus):
    """What the workload is, in plain lines."""
    kinds = {kind: sum(job.kind == kind for job in batch) for kind, *_ in CLASSES}
    asked = sum(job.gpus * job.seconds for job in batch) / hour
    waiting = sum(job.submit == 0 for job in batch)
    text = (f"{len(batch)} batch jobs ({kinds['training']} training, {kinds['batch']} batch "
            f"inference, {kinds['quantisation']} quantisation) ask for {asked:.0f} GPU-hours of "
            f"{gpus} GPUs; {waiting} of them wait at 00:00, the others come until "
            f"{LAST_ARRIVAL:.0f}:00. A real-time service wants {min(curve)} to {max(curve)} GPUs, "
            f"{sum(curve)} GPU-hours. An hour of this day takes {hour:g} s: the jobs only sleep, "
            "the scheduling is real.")
    return textwrap.wrap(text, 60)
