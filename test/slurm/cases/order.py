# SPDX-License-Identifier: GPL-2.0-or-later
"""When a job may run, and before whom."""

import random
import time

from bench import case, expect
from setups import ACTIVE, TOTAL_GPUS


def _fill(bench, seconds=600):
    """Every node full; their jobs."""
    jobs = [bench.submit("-w", f"g{i}", "--gres=gpu:8", seconds=seconds) for i in range(1, 5)]
    bench.wait_running(*jobs)
    return jobs


def _most_at_once(spans):
    edges = sorted([(span.start, 1) for span in spans]
                   + [(span.end, -1) for span in spans if span.end])
    now = most = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


@case(ACTIVE, stock=True)
def array(bench):
    job = bench.submit("--array=0-5", "--gres=gpu:4", seconds=1)
    bench.wait(lambda: len([1 for span in bench.spans() if span.end]) == 6, "six tasks end", 40)
    tasks = {span.task for span in bench.spans()}
    expect(tasks == set("012345"), f"every task once: {tasks}")
    bench.wait(lambda: not bench.queue(), f"array {job} leaves the queue")


@case(ACTIVE, stock=True)
def array_limit(bench):
    """%2: never three at once."""
    bench.submit("--array=0-5%2", "--gres=gpu:1", seconds=1)
    bench.wait(lambda: len([1 for span in bench.spans() if span.end]) == 6, "six tasks end", 60)
    expect(_most_at_once(bench.spans()) == 2,
           f"two at once, not {_most_at_once(bench.spans())}")


@case(ACTIVE, stock=True)
def dependency(bench):
    first = bench.submit("--gres=gpu:1", seconds=3)
    second = bench.submit("--gres=gpu:1", f"--dependency=afterok:{first}", seconds=0)
    failing = bench.submit(body="false", seconds=0)
    never = bench.submit("--gres=gpu:1", f"--dependency=afterok:{failing}", seconds=0)
    bench.wait_done(second)
    expect(bench.span(second).start >= bench.span(first).end, "the second began too early")
    expect(bench.state(never) == "PENDING", f"its dependency failed, yet: {bench.state(never)}")


@case(ACTIVE, stock=True)
def dependency_singleton(bench):
    jobs = [bench.submit("--dependency=singleton", "--gres=gpu:1", seconds=1, name="alone")
            for _ in range(3)]
    bench.wait_done(*jobs)
    expect(_most_at_once(bench.spans()) == 1, "one of a name at once")


@case(ACTIVE)
def begin(bench):
    due = time.time() + 6
    job = bench.submit("--begin=now+6", "--gres=gpu:1", seconds=0)
    bench.stays_pending(job)
    bench.wait_done(job)
    start = bench.span(job).start
    expect(start >= due - 1, f"began {due - start:.1f} s before its time")
    expect(start <= due + 5, f"began {start - due:.1f} s after its time")


@case(ACTIVE, stock=True)
def licences(bench):
    """Two licences: never three in use, and all get their turn."""
    jobs = [bench.submit("-L", "lic:1", "--gres=gpu:1", seconds=1) for _ in range(5)]
    both = bench.submit("-L", "lic:2", "--gres=gpu:1", seconds=0)
    bench.wait_done(*jobs, both, timeout=60)
    expect(_most_at_once(bench.spans()) <= 2, "a licence was used twice over")
    alone = bench.span(both)
    others = [span for span in bench.spans() if span.job != both]
    expect(all(span.end <= alone.start or span.start >= alone.end for span in others),
           "a job with both licences ran beside another")


@case(ACTIVE, stock=True)
def priority_tier(bench):
    """The urgent partition first, though it came last, whatever the jobs' priorities."""
    full = _fill(bench)
    low = bench.submit("--gres=gpu:8")
    high = bench.submit("-p", "urgent", "--gres=gpu:8")
    bench.scontrol("update", f"JobId={low}", "Priority=4294967000")
    bench.stays_pending(low, high)
    expect(len(bench.running(*full)) == 4, "a running job was interrupted")
    bench.cancel(full[1])
    bench.wait_running(high)
    bench.stays_pending(low)
    bench.cancel(full[2])
    bench.wait_running(low)


@case(ACTIVE, stock=True)
def top(bench):
    """`scontrol top` by an administrator goes first."""
    full = _fill(bench)
    first, second = bench.submit("--gres=gpu:8"), bench.submit("--gres=gpu:8")
    bench.stays_pending(first, second)
    bench.scontrol("top", second)
    bench.settle()
    bench.cancel(full[0])
    bench.wait_running(second)
    bench.stays_pending(first)


@case(ACTIVE, stock=True)
def priority_by_administrator(bench):
    full = _fill(bench)
    first, second = bench.submit("--gres=gpu:8"), bench.submit("--gres=gpu:8")
    bench.scontrol("update", f"JobId={second}", "Priority=4294967000")
    bench.settle()
    bench.cancel(full[3])
    bench.wait_running(second)
    bench.stays_pending(first)


@case(ACTIVE, stock=True)
def arrival(bench):
    """Equals in the order of their arrival."""
    _fill(bench, seconds=3)
    jobs = [bench.submit(f"--gpus={TOTAL_GPUS}", seconds=0) for _ in range(3)]
    bench.wait_done(*jobs, timeout=40)
    starts = [bench.span(job).start for job in jobs]
    expect(starts == sorted(starts), f"started in another order: {starts}")


@case(ACTIVE, stock=True)
def big_job_is_not_starved(bench):
    """A job for the whole cluster starts before the small ones that came after it."""
    small = [bench.submit("--gres=gpu:4", seconds=2 + i // 2, minutes=1) for i in range(8)]
    bench.wait_running(*small)
    big = bench.submit(f"--gpus={TOTAL_GPUS}", seconds=0, minutes=1)
    late = [bench.submit("--gres=gpu:4", seconds=2, minutes=1) for _ in range(16)]
    bench.wait_done(big, *late, timeout=60)
    start = bench.span(big).start
    early = [job for job in late if bench.span(job).start < start]
    expect(not early, f"{len(early)} small jobs that came later started before the big one")


@case(ACTIVE, stock=True)
def short_job_fills_the_gap(bench):
    """While a big job waits for a node, a short one may use what is free until then."""
    bench.wait_running(bench.submit("-w", "g1", "--gres=gpu:8", minutes=30))
    big = bench.submit(f"--gpus={TOTAL_GPUS}", minutes=30)
    long = bench.submit("--gres=gpu:8", minutes=90)
    short = bench.submit("--gres=gpu:8", minutes=10)
    bench.wait_running(short)
    bench.stays_pending(big, long)


@case(ACTIVE, stock=True)
def odd_job_keeps_its_place(bench):
    """An odd job is not overtaken by a later one that wants the same."""
    full = _fill(bench)
    odd = bench.submit("-N1-2", "--gpus=8", "--spread-job", minutes=10)
    later = bench.submit("--gpus=8", minutes=10)
    bench.stays_pending(odd, later)
    bench.cancel(full[0])
    bench.wait_running(odd)
    bench.stays_pending(later)


@case(ACTIVE, stock=True)
def held(bench):
    """A held job waits, holds nothing, and starts when it is released."""
    job = bench.submit("-H", f"--gpus={TOTAL_GPUS}", seconds=0)
    bench.wait_done(bench.submit(f"--gpus={TOTAL_GPUS}", seconds=0))
    bench.stays_pending(job)
    bench.scontrol("release", job)
    bench.wait_done(job)


@case(ACTIVE, stock=True)
def changed_while_planned(bench):
    """Jobs are held, cancelled and changed all the time while others start: each change counts."""
    seed = int(time.time())
    dice = random.Random(seed)
    jobs, held, gone, moved = [], {}, {}, {}
    for number in range(36):
        job = bench.submit("--gres=gpu:8", seconds=dice.choice((0, 1)), minutes=1)
        jobs.append(job)
        if number < 4:
            continue
        target = dice.choice(jobs[-4:])
        if target in held or target in gone or target in moved:
            continue
        action = dice.choice(("hold", "cancel", "move"))
        if action == "hold":
            bench.scontrol("hold", target, check=False)
            held[target] = time.time()
        elif action == "cancel":
            bench.run("scancel", target)
            gone[target] = time.time()
        else:
            out = bench.run("scontrol", "update", f"JobId={target}", "ReqNodeList=g4",
                            check=False)
            if bench.state(target) == "PENDING" and not out:
                moved[target] = time.time()
    bench.wait(lambda: not [line for line in bench.queue("%T %r %i")
                            if "RUNNING" in line or "COMPLETING" in line
                            or ("PENDING" in line and "JobHeld" not in line)],
               "all but the held end", 90)
    for span in bench.spans():
        for what, when in (("held", held), ("cancelled", gone)):
            expect(span.job not in when or span.start < when[span.job] + 0.5,
                   f"{span.job} was {what} and started after (seed {seed})")
        expect(span.job not in moved or span.nodes == "g4",
               f"{span.job} was moved to g4 and ran on {span.nodes} (seed {seed})")
    ran = {span.job for span in bench.spans()}
    lost = [job for job in jobs if job not in ran and job not in held and job not in gone]
    expect(not lost, f"jobs {lost} never ran (seed {seed})")


@case(ACTIVE, stock=True)
def deadline(bench):
    """A limit longer than the deadline allows: Slurm cuts it or refuses the job."""
    job = bench.submit("--deadline=now+10minutes", "--time-min=2", "--gres=gpu:1", minutes=5)
    bench.wait_running(job)


@case(ACTIVE, stock=True)
def time_min(bench):
    """--time-min: the job fits before the window with a shorter limit, never past it."""
    bench.cluster.reservation("window", "g[1-4]", start="now+30minutes", duration="60",
                              flags="maint")
    job = bench.submit("--time-min=5", "--gres=gpu:1", minutes=120)
    bench.settle()
    if bench.state(job) == "RUNNING":
        hours, minutes, _ = bench.job(job)["TimeLimit"].split(":")
        limit = 60 * int(hours) + int(minutes)
        expect(5 <= limit <= 31, f"its limit is {limit} min, the window is in 30")


@case(ACTIVE, stock=True)
def no_limit(bench):
    """Jobs without an end, and of Slurm's longest: others are planned around them."""
    endless = bench.submit("-w", "g1", "--gres=gpu:8", minutes="UNLIMITED")
    ages = bench.submit("-w", "g2", "--gres=gpu:8", minutes=61 * 365 * 24 * 60)
    bench.wait_running(endless, ages)
    waits = bench.submit("-w", "g1", "--gres=gpu:1")
    also = bench.submit("-w", "g2", "--gres=gpu:1", minutes="UNLIMITED")
    bench.wait_running(bench.submit("--gpus=16", minutes=61 * 365 * 24 * 60))
    bench.stays_pending(waits, also)
