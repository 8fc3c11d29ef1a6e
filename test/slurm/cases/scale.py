# SPDX-License-Identifier: GPL-2.0-or-later
"""Many jobs on many nodes: nothing crashes, slurmctld answers all the while."""

import random
import time

from bench import case, expect
from setups import CLOUD

JOBS = 1000
ANSWER_S = 1.0


@case(CLOUD, stock=True)
def burst(bench):
    """A thousand jobs at once on 64 nodes of 8 GPUs."""
    dice = random.Random(7)
    lines = [f"sbatch -Q -H -o /dev/null -t {dice.choice((10, 60, 600, 2880))} "
             f"--gpus={dice.choice((1, 1, 1, 2, 4, 8, 8, 16, 32))} --wrap=true"
             for _ in range(JOBS)]
    bench.run("sh", stdin="\n".join(lines).encode(), timeout=120)
    jobs = bench.queue("%i")
    expect(len(jobs) == JOBS, f"{len(jobs)} of {JOBS} jobs are queued")
    bench.scontrol("release", ",".join(jobs))
    slowest, until = 0.0, time.monotonic() + 15
    while time.monotonic() < until:
        before = time.monotonic()
        bench.run("scontrol", "-o", "show", "job", jobs[0])
        slowest = max(slowest, time.monotonic() - before)
        time.sleep(0.05)
    expect(slowest <= ANSWER_S, f"slurmctld took {slowest:.2f} s to answer")
    states = [line.split()[1] for line in bench.queue()]
    started = sum(state in ("CONFIGURING", "RUNNING") for state in states)
    expect(started > 50, f"{started} jobs started")
    nodes = bench.run("sinfo", "-h", "-p", "main", "-o", "%A").strip()
    used = sum(int(line.rpartition(":")[2].partition("(")[0]) for line in
               bench.run("sinfo", "-h", "-N", "-p", "main", "-O", "GresUsed:40").split()
               if line.startswith("gpu"))
    expect(used > 0.9 * 512, f"{used} of 512 GPUs are in use while hundreds wait ({nodes})")
