# SPDX-License-Identifier: GPL-2.0-or-later
"""A real-time application in the pool: GPUs kept free for a QOS by a curve in a file."""

import os
import time

from bench import case, expect
from setups import ACCOUNTING, TOTAL_GPUS


def _curve(bench, *rows):
    """Puts a curve of (minutes from now, GPUs) in force for the QOS `service`."""
    now = int(time.time()) // 60 * 60
    path = os.path.join(bench.directory, "demand.csv")
    bench.cluster.write(path, "time,gpus\n" + "".join(
        f"{now + 60 * minutes},{gpus}\n" for minutes, gpus in rows))
    bench.foresight_conf(bench.original() + "Step=00:01:00\nHorizon=04:00:00\n"
                         f"Realtime=service QOS=service File={path}\n")
    bench.cluster.reconfigure()
    bench.settle()  # nothing is planned before there was a job
    wanted = [gpus for minutes, gpus in rows if minutes <= 0][-1]
    bench.wait(lambda: bench.metrics().get('foresight_realtime_demand_gpus{app="service"}')
               == wanted, "the application is planned for")


def _batch(bench, count, minutes, gpus=2):
    return [bench.submit("-A", "wide", f"--gres=gpu:{gpus}", minutes=minutes)
            for _ in range(count)]


def _service(bench, gpus):
    return bench.submit("-A", "wide", "-q", "service", f"--gres=gpu:{gpus}", minutes=60)


@case(ACCOUNTING)
def kept_free(bench):
    """Eight of 32 are kept; batch gets 24; the service's jobs start at once, and no more."""
    _curve(bench, (-60, 8))
    batch = _batch(bench, TOTAL_GPUS // 2, 30)
    bench.wait(lambda: len(bench.running(*batch)) == 12, "batch takes 24 GPUs")
    bench.settle()
    expect(len(bench.running(*batch)) == 12, f"{len(bench.running(*batch))} batch jobs run")
    before = time.time()
    jobs = [_service(bench, 4), _service(bench, 4)]
    bench.wait_running(*jobs, timeout=5)
    expect(time.time() - before < 5, "at once")
    bench.cancel(*jobs)
    bench.settle()
    expect(len(bench.running(*batch)) == 12, "they are kept again, not given to batch")


@case(ACCOUNTING)
def ramp_ahead(bench):
    """24 are wanted in 20 minutes: long jobs get what is left then, short ones the rest."""
    _curve(bench, (-60, 0), (20, 24))
    long = _batch(bench, TOTAL_GPUS // 2, 90)
    bench.wait(lambda: len(bench.running(*long)) == 4, "long jobs get eight GPUs")
    short = _batch(bench, TOTAL_GPUS // 2, 5)
    bench.wait(lambda: len(bench.running(*short)) == 12, "short ones get the other 24")
    bench.settle()
    expect(len(bench.running(*long)) == 4, f"{len(bench.running(*long))} long jobs run")


@case(ACCOUNTING)
def demand_falls(bench):
    """A new curve in the file counts without a restart."""
    _curve(bench, (-60, TOTAL_GPUS))
    job = bench.submit("-A", "wide", "--gres=gpu:1", minutes=5)
    bench.stays_pending(job)
    bench.cluster.write(os.path.join(bench.directory, "demand.csv"),
                        f"time,gpus\n{int(time.time()) - 3600},8\n")
    bench.wait_running(job, timeout=40)


@case(ACCOUNTING)
def bad_curve_keeps_the_last(bench):
    _curve(bench, (-60, 16))
    bench.cluster.write(os.path.join(bench.directory, "demand.csv"), "time,gpus\n0,banana\n")
    batch = _batch(bench, TOTAL_GPUS // 2, 5)
    bench.wait(lambda: len(bench.running(*batch)) == 8, "16 GPUs for batch")
    bench.wait(lambda: "demand.csv" in bench.log(), "the log names the file", 40)
    bench.stays_pending(*(set(batch) - set(bench.running(*batch))))
