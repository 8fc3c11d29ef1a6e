# SPDX-License-Identifier: GPL-2.0-or-later
"""Demand that is measured: by a server of good and bad answers, by the application's own jobs."""

import contextlib
import os
import subprocess
import sys

from bench import case, expect
from setups import ACCOUNTING, TOTAL_GPUS

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(HERE, "..", "..", "io", "bad_server.py")
QUERY = "sum(x{a='b c'}) + 1"  # what it wants to be asked


@contextlib.contextmanager
def _server(bench):
    """A server whose answers are good until the file that is given exists."""
    switch = os.path.join(bench.directory, "spoil")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(switch)
    server = subprocess.Popen([sys.executable, SERVER, switch], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        yield int(server.stdout.readline()), switch
    finally:
        server.kill()
        server.wait()


def _in_force(bench, line):
    bench.foresight_conf(bench.original() + "Step=00:01:00\nHorizon=04:00:00\n" + line + "\n")
    bench.cluster.reconfigure()
    bench.settle()  # nothing is planned before there was a job


def _demand(bench):
    return bench.metrics().get('foresight_realtime_demand_gpus{app="service"}')


@case(ACCOUNTING)
def a_server_that_breaks(bench):
    """Seven GPUs by a flat demand; they stay when it breaks, then it is the static peak."""
    with _server(bench) as (port, switch):
        line = (f"Realtime=service QOS=service MaxGpus=20 UnitsPerGpu=0.5 HoldTime=0 Past=7-00 "
                f"FetchInterval=00:00:01 StaleAfter=00:00:25 Query=\"{QUERY}\" "
                f"Url=http://127.0.0.1:{port}/500-flat")
        _in_force(bench, line)
        bench.wait(lambda: _demand(bench) == 7, "the query is asked", 60)
        batch = [bench.submit("-A", "wide", "--gres=gpu:1", minutes=30) for _ in range(TOTAL_GPUS)]
        bench.wait(lambda: len(bench.running(*batch)) == TOTAL_GPUS - 7, "the rest is for batch")
        with open(switch, "w", encoding="ascii"):
            pass
        bench.wait(lambda: "HTTP 500" in bench.log(), "the log has why", 40)
        bench.cluster.reconfigure()  # nothing is forgotten, though nobody answers
        bench.settle()
        expect(_demand(bench) == 7, f"the present size stays, not {_demand(bench)}")
        bench.wait(lambda: _demand(bench) == 20, "the static peak", 90)
        expect(bench.log().count("back to the static peak") == 1, "told once")
        os.unlink(switch)
        bench.wait(lambda: _demand(bench) == 7, "it answers again", 60)
        expect(len(bench.running(*batch)) == TOTAL_GPUS - 7, "no job was stopped for any of it")


@case(ACCOUNTING)
def own_jobs(bench):
    """What its jobs hold now is kept, and a past that is broken is told."""
    path = os.path.join(bench.cluster.paths["state"], "foresight.history.service")
    bench.cluster.write(path, "{\"format\":")
    try:
        _in_force(bench, "Realtime=service QOS=service MaxGpus=20 MinGpus=2 HoldTime=0 "
                         "Demand=history")
        bench.wait(lambda: "the past of service begins anew" in bench.log(), "told", 20)
        bench.wait(lambda: _demand(bench) == 2, "MinGpus without jobs", 40)
        bench.submit("-A", "wide", "-q", "service", "--gres=gpu:4", minutes=10)
        bench.submit("-A", "wide", "-q", "service", "--gres=gpu:1", minutes=10)
        bench.wait(lambda: _demand(bench) == 5, "what its jobs hold", 60)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
