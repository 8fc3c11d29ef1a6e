# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of associations and QOS, counted in GPUs; and what sacct keeps."""

from bench import case, expect
from setups import ACCOUNTING, TOTAL_GPUS


@case(ACCOUNTING, stock=True)
def qos_gpus_a_user(bench):
    """MaxTRESPU gres/gpu=2: the third GPU waits, and nothing is held for it."""
    first = bench.submit("-A", "wide", "-q", "two", "--gres=gpu:2")
    bench.wait_running(first)
    blocked = bench.submit("-A", "wide", "-q", "two", "--gres=gpu:1")
    others = [bench.submit("-A", "wide", f"--gres=gpu:{gpus}") for gpus in (8, 8, 8, 6)]
    bench.wait_running(*others)
    bench.stays_pending(blocked)
    reason = bench.reason(blocked)
    expect("QOS" in reason or "limit" in reason.lower() or "two" in reason,
           f"the reason names the limit: {reason}")
    bench.cancel(first)
    bench.wait_running(blocked)


@case(ACCOUNTING, stock=True)
def qos_limit_at_the_head(bench):
    """A blocked job for the whole limit and more in front of the queue stops nobody."""
    never = bench.submit("-A", "wide", "-q", "two", "--gres=gpu:8")
    bench.wait_running(bench.submit("-A", "wide", f"--gpus={TOTAL_GPUS}"))
    bench.stays_pending(never)


@case(ACCOUNTING, stock=True)
def account_gpus(bench):
    """GrpTRES gres/gpu=4 of an account."""
    jobs = [bench.submit("-A", "tight", "--gres=gpu:2") for _ in range(4)]
    bench.wait(lambda: len(bench.running(*jobs)) == 2, "two jobs of two GPUs")
    others = [bench.submit("-A", "wide", f"--gres=gpu:{gpus}") for gpus in (8, 8, 8)]
    bench.wait_running(*others)
    bench.stays_pending(*(set(jobs) - set(bench.running(*jobs))))
    bench.cancel(bench.running(*jobs)[0])
    bench.wait(lambda: len(bench.running(*jobs)) == 2, "the third takes the first's place")


@case(ACCOUNTING, stock=True)
def account_array(bench):
    """An array meets the limit with its third task, and all of it ends."""
    job = bench.submit("-A", "tight", "--array=0-5", "--gres=gpu:2", seconds=1)
    bench.wait(lambda: len([1 for span in bench.spans() if span.end]) == 6, "six tasks end", 60)
    edges = sorted([(span.start, 1) for span in bench.spans()]
                   + [(span.end, -1) for span in bench.spans()])
    now = most = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    expect(most <= 2, f"{most} tasks of array {job} at once, the limit allows two")


@case(ACCOUNTING, stock=True)
def limit_raised(bench):
    """A raised limit counts without a job's submission or end."""
    jobs = [bench.submit("-A", "tight", "--gres=gpu:4") for _ in range(2)]
    bench.wait(lambda: len(bench.running(*jobs)) == 1, "one of two jobs of four GPUs")
    bench.stays_pending(*(set(jobs) - set(bench.running(*jobs))))
    bench.cluster.sacctmgr("modify", "account", "tight", "set", "GrpTRES=gres/gpu=8")
    try:
        bench.wait_running(*jobs, timeout=70)
    finally:
        bench.cluster.sacctmgr("modify", "account", "tight", "set", "GrpTRES=gres/gpu=4")


@case(ACCOUNTING, stock=True)
def sacct(bench):
    """What the database keeps of a job that the plugin started."""
    job = bench.submit("-A", "wide", "--gres=gpu:v100:2", "--comment=kept", seconds=1)
    bench.wait_done(job)

    def rows():
        return bench.cluster.sacct("-j", job, fields="JobID,State,Start,End,AllocTRES,Comment,"
                                   "NodeList,Flags")

    bench.wait(lambda: rows() and rows()[0]["State"] == "COMPLETED", "sacct has it")
    row = rows()[0]
    expect("gres/gpu=2" in row["AllocTRES"], f"AllocTRES: {row['AllocTRES']}")
    expect(row["Comment"] == "kept", f"Comment: {row['Comment']}")
    expect(row["Start"] != "Unknown" and row["NodeList"].startswith("g"), f"{row}")
