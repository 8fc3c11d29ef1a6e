# SPDX-License-Identifier: GPL-2.0-or-later
"""How the plugin behaves towards users and administrators: latency, rest, what it shows."""

import re
import time
from datetime import datetime

from bench import case, expect
from openmetrics import parse_openmetrics
from setups import ACTIVE, TOTAL_GPUS

LATENCY_S = 2.5  # on a busy machine; a second is the aim
# What Slurm's own scheduler sets; a reason of the plugin's says more than that.
PLAIN = ("None", "Resources", "Priority")


def _full(bench, minutes=20):
    jobs = [bench.submit("-w", f"g{i}", "--gres=gpu:8", minutes=minutes) for i in range(1, 5)]
    bench.wait_running(*jobs)
    return jobs


@case(ACTIVE)
def starts_at_once(bench):
    """Submission to start, five times."""
    waits = []
    for _ in range(5):
        before = time.time()
        job = bench.submit("--gres=gpu:8", seconds=0)
        bench.wait(lambda job=job: bench.span(job), "the job's script runs")
        waits.append(bench.span(job).start - before)
    expect(sorted(waits)[3] < LATENCY_S and max(waits) < 2 * LATENCY_S, f"waits: {waits}")


@case(ACTIVE)
def starts_when_another_ends(bench):
    _full(bench)
    bench.cancel("-w", "g1")
    first = bench.submit("-w", "g1", "--gres=gpu:8", seconds=2)
    second = bench.submit("-w", "g1", "--gres=gpu:8", seconds=0)
    bench.wait_done(first, second)
    wait = bench.span(second).start - bench.span(first).end
    expect(wait < LATENCY_S, f"{wait:.1f} s from an end to the next start")


@case(ACTIVE)
def rests(bench):
    """Nothing changes: it looks now and then, and makes no plan; nor does Slurm see a change."""
    _full(bench)
    bench.stays_pending(bench.submit("--gres=gpu:8"))

    def counts():
        metrics = bench.metrics()
        return (metrics.get("foresight_plans_total"), metrics.get("foresight_idle_looks_total"))

    bench.wait(lambda: (before := counts()) == (time.sleep(4), counts())[1] or
               (before[0] == counts()[0] and before[1] is not None), "it comes to rest", 40)
    plans, looks = counts()
    bench.wait(lambda: counts()[1] >= looks + 2, "it looks twice more", 30)
    expect(counts()[0] == plans, f"{counts()[0] - plans:.0f} plans although nothing changed")


@case(ACTIVE)
def announced_starts(bench):
    """squeue --start: when and where, near the end of the limit of the job that is in the way."""
    full = _full(bench, minutes=20)
    first, second = bench.submit("--gres=gpu:8"), bench.submit("-w", "g2", "--gres=gpu:8")
    bench.settle()

    def shown(job):
        line = bench.run("squeue", "--start", "-h", "-j", job, "-o", "%S|%Y").strip()
        when, _, nodes = line.partition("|")
        return (datetime.fromisoformat(when).timestamp(), nodes) if when[:1] == "2" else None

    for job in (first, second):
        bench.wait(lambda job=job: shown(job) and shown(job)[1] not in ("", "(null)"),
                   f"squeue --start shows a time and nodes for {job}")
        ahead = shown(job)[0] - time.time()
        expect(18 * 60 < ahead < 26 * 60, f"{job} is announced in {ahead:.0f} s, the limit is "
               "20 minutes")
    expect(shown(second)[1] == "g2", f"announced on {shown(second)[1]}, asked for g2")
    # A node comes free: the announcement holds no more, the job runs.
    bench.cancel(full[0])
    bench.wait_running(first)


@case(ACTIVE)
def announced_starts_stay(bench):
    """A stream of jobs, half of them worth more, moves no announced start back."""
    bench.foresight_conf(bench.original() + "Weight=1.3 Partition=left\nWeight=1\n")
    bench.cluster.reconfigure()
    _full(bench, minutes=20)
    early = [bench.submit("--gres=gpu:8", minutes=30 + i) for i in range(6)]
    early += [bench.submit(f"--gpus={TOTAL_GPUS}", minutes=20)]
    bench.settle()

    def shown():
        """Announced starts by job, all of them at once."""
        lines = [line.split() for line in bench.queue("%i %S") if line.split()[0] in early]
        return {job: datetime.fromisoformat(when).timestamp() for job, when in lines
                if when[:1] == "2"}

    bench.wait(lambda: len(shown()) == len(early), "every job is told a start")
    expect(bench.plan()[0]["policy"] == "foresight", "Weight= lines order by value")
    before = first = shown()
    for i in range(12):
        bench.submit(f"--gres=gpu:{1 + i % 8}", "-p", "left" if i % 2 else "main",
                     minutes=5 + 7 * i)
        bench.settle()
        now = shown()
        late = {job: now[job] - before[job] for job in early if now[job] > before[job] + 60}
        expect(not late, f"announced starts moved back after {i + 1} more jobs, by (s) {late}")
        before = now
    expect(all(before[job] <= first[job] + 60 for job in early), "starts creep back")


@case(ACTIVE)
def reasons(bench):
    """Waiting jobs say what they wait for, in words that a queue listing can hold."""
    full = _full(bench)
    waits = bench.submit("--gres=gpu:8")
    behind = bench.submit(f"--gpus={TOTAL_GPUS}")
    later = bench.submit("--begin=now+1hour")
    after = bench.submit(f"--dependency=afterok:{full[0]}")
    bench.settle()
    bench.wait(lambda: bench.reason(waits) not in PLAIN, "a reason of the plan's own")
    for job in (waits, behind):
        reason = bench.reason(job)
        expect(reason not in PLAIN and "|" not in reason and len(reason) < 64,
               f"the reason of {job} is {reason!r}")
    expect(bench.reason(later) == "BeginTime", f"Slurm's own stays: {bench.reason(later)}")
    expect(bench.reason(after) == "Dependency", f"Slurm's own stays: {bench.reason(after)}")
    bench.scontrol("hold", waits)
    bench.wait(lambda: bench.reason(waits).startswith("JobHeld"), "held shows as held")
    bench.scontrol("release", waits)
    bench.cancel(full[1])
    bench.wait_running(waits)
    expect(bench.job(waits)["Reason"] == "None", "a running job has no reason")


@case(ACTIVE)
def plan_file(bench):
    """plan.jsonl: a header, then every job that runs or waits, each line an object."""
    full = _full(bench)
    waits = bench.submit("--gres=gpu:8")
    bench.settle()
    bench.wait(lambda: {row.get("id") for row in bench.plan()} >= {*full, waits},
               "plan.jsonl names all jobs")
    header, *rows = bench.plan()
    expect(header["format"] == "foresight-plan/1" and header["mode"] == "active", f"{header}")
    states = {row["id"]: row for row in rows}
    expect(all(states[job]["state"] == "running" for job in full), "they run")
    row = states[waits]
    expect(row["state"] == "planned" and row["reasons"], f"it is planned, with a reason: {row}")
    expect(row["start"] > time.time() and sum(row["gpus"]) == 8, f"where and when: {row}")


@case(ACTIVE)
def metrics_file(bench):
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0))
    bench.settle()
    bench.wait(bench.metrics, "metrics.prom is there")
    text = bench.published("metrics.prom").decode("utf-8")
    samples = parse_openmetrics(text)
    expect(samples['foresight_mode{foresight_mode="active"}'] == 1, "the mode is active")
    expect(samples["foresight_starts_total"] >= 1, "starts are counted")
    expect(samples["foresight_plans_total"] >= 1, "plans are counted")
    expect(samples['foresight_gpus{state="all"}'] == TOTAL_GPUS, "the cluster's GPUs")


@case(ACTIVE)
def published_files_are_readable(bench):
    """A user who is not root can read both (no PrivateData here)."""
    bench.settle()
    bench.wait(bench.metrics, "metrics.prom is there")
    for name in ("plan.jsonl", "metrics.prom"):
        out = bench.cluster.run(["cat", f"{bench.publish}/{name}"], user="nobody").stdout
        expect(out, f"{name} is empty for a user")


@case(ACTIVE, stock=True)
def sdiag(bench):
    """The figures of backfill move, as administrators' tools expect."""
    def figures():
        out = bench.run("sdiag")
        part = out[out.index("Backfilling stats"):]
        return {name.strip(): int(value) for name, value in
                re.findall(r"^\s*([A-Z][^:\n]*): +(\d+)", part, re.M)}

    before = figures()
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0))
    bench.settle()
    bench.wait(lambda: figures()["Total cycles"] > before["Total cycles"], "cycles are counted")
    after = figures()
    name = next(name for name in after if name.startswith("Total backfilled jobs (since last sl"))
    expect(after[name] > before[name], f"backfilled jobs: {before[name]} → {after[name]}")
    expect(after["Last cycle"] >= 0, "a last cycle")
    expect(abs(_last_cycle(bench.run("sdiag")) - time.time()) < 30, "when the last cycle was")


def _last_cycle(text):
    part = text[text.index("Backfilling stats"):]
    return int(re.search(r"Last cycle when: .*\((\d+)\)", part).group(1))


@case(ACTIVE, stock=True)
def never_preempts(bench):
    """Whatever waits, a running job is left alone."""
    full = _full(bench)
    urgent = [bench.submit("-p", "urgent", *options) for options in
              (["--gres=gpu:8"], [f"--gpus={TOTAL_GPUS}"], ["-N2", "--exclusive"])]
    bench.scontrol("top", urgent[0])
    bench.stays_pending(*urgent)
    expect(len(bench.running(*full)) == 4, "a running job was interrupted")
    for word in ("preempt", "requeue"):
        expect(word not in bench.log().lower(), f"the log speaks of {word}")


@case(ACTIVE, stock=True)
def strange_names(bench):
    """Names that users may write: the job runs, and what is published stays well formed."""
    names = [b'quote"s\'', b"pi|pe", b"new\nline", b"\xff\xfe\x80", "é→\u202e".encode(),
             b"back\\slash{}", b"=cmd|' /C calc'!A0", b"a" * 1000, b"%s%n%p", b"\x1b[31m\x07"]
    for minutes, gpus in ((1, 1), (60, TOTAL_GPUS)):
        jobs = [bench.submit(f"--gpus={gpus}", b"--comment=" + name, seconds=0, minutes=minutes,
                             name=name) for name in names]
        if gpus == 1:
            bench.wait_done(*jobs)
            bench.wait_running(bench.submit("-w", "g1", "--gres=gpu:8"))  # the rest waits
        else:
            bench.stays_pending(*jobs)
    if bench.cluster.scheduler != "backfill":
        bench.wait(lambda: len(bench.plan()) > len(names), "the plan names them")
        parse_openmetrics(bench.published("metrics.prom").decode("utf-8"))


@case(ACTIVE)
def refusal_is_remembered(bench):
    """A job whose licences are out is not tried again and again, and holds no GPU meanwhile."""
    holder = bench.submit("-L", "lic:2", "--gres=gpu:1")
    bench.wait_running(holder)
    before = bench.metrics().get("foresight_refusals_total", 0)
    waiting = bench.submit("-L", "lic:2", f"--gpus={TOTAL_GPUS - 1}")
    bench.wait(lambda: bench.metrics().get("foresight_refusals_total", 0) > before,
               "Slurm refuses it for its licences")
    time.sleep(6)
    refusals = bench.metrics()["foresight_refusals_total"] - before
    expect(refusals <= 2, f"{refusals:.0f} refusals in six seconds")
    bench.wait_running(bench.submit("--nice=1000", "--gpus=16"))
    bench.cancel(holder)
    expect(bench.state(waiting) == "PENDING", "its GPUs are in use")


@case(ACTIVE)
def refusal_is_not_repeated(bench):
    """What Slurm refuses is not tried every second, and is tried again in the end."""
    bench.scontrol("update", "PartitionName=left", "MaxNodes=1")
    try:
        job = bench.submit("-p", "left", "-N2", "--gres=gpu:1")
        bench.settle()
        before = bench.metrics().get("foresight_refusals_total", 0)
        bench.settle()
        bench.settle()
        bench.settle()
        after = bench.metrics().get("foresight_refusals_total", 0)
        expect(after - before <= 2, f"{after - before:.0f} refusals in a few seconds")
    finally:
        bench.scontrol("update", "PartitionName=left", "MaxNodes=UNLIMITED")
    bench.wait_running(job, timeout=70)
