# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold when something goes wrong: configuration, failures, kills, nodes."""

import glob
import os
import re
import shutil
import subprocess
import time

from bench import case, expect
from setups import SAFETY, TOTAL_GPUS

PLAIN = {"None", "Resources", "Priority"}


def _mode(bench):
    metrics = bench.metrics()
    return next((mode for mode in ("active", "shadow", "backfill", "wait")
                 if metrics.get(f'foresight_mode{{foresight_mode="{mode}"}}') == 1), None)


def _wait_mode(bench, mode, timeout=20):
    bench.wait(lambda: _mode(bench) == mode, f"the mode is {mode} (it is {_mode(bench)})", timeout)


def _restart_fresh(bench, **env):
    """Restarts and forgets what was published, so that what is read next is new."""
    bench.cluster.stop_ctld()
    shutil.rmtree(bench.publish, ignore_errors=True)
    bench.restart(**env)


def _logged(bench, pattern):
    return len(re.findall(pattern, bench.log()))


def _full(bench):
    jobs = [bench.submit("-w", f"g{i}", "--gres=gpu:8") for i in range(1, 5)]
    bench.wait_running(*jobs)
    return jobs


# ---- modes ----------------------------------------------------------------------------------


@case(SAFETY)
def shadow_is_the_default(bench):
    """Without Mode=: backfill starts jobs, the plan is published, job records stay Slurm's."""
    bench.foresight_conf(bench.original().replace("Mode=active\n", ""))
    bench.set_conf("SchedulerParameters", "bf_interval=1")
    _restart_fresh(bench)
    full = _full(bench)
    waits, behind = bench.submit("--gres=gpu:8"), bench.submit(f"--gpus={TOTAL_GPUS}")
    bench.stays_pending(waits, behind)
    _wait_mode(bench, "shadow")
    bench.wait(lambda: {row.get("id") for row in bench.plan()} >= {*full, waits, behind},
               "the plan is published")
    for job in (waits, behind):
        expect(bench.reason(job) in PLAIN, f"a reason of the plugin's: {bench.reason(job)}")
    expect(bench.metrics()["foresight_starts_total"] == 0, "the plugin started something")
    expect(bench.job(full[0])["JobState"] == "RUNNING", "backfill started it")


@case(SAFETY)
def shadow_with_the_loop_off(bench):
    """Shadow mode and sched_interval=-1,defer: backfill alone starts jobs."""
    bench.foresight_conf(bench.original().replace("Mode=active", "Mode=shadow"))
    bench.set_conf("SchedulerParameters", "sched_interval=-1,defer,bf_interval=1")
    _restart_fresh(bench)
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0))
    bench.wait_done(bench.submit("--array=0-2", "--gpus=12", seconds=0))
    _wait_mode(bench, "shadow")


@case(SAFETY)
def shadow_and_back(bench):
    """reconfigure switches modes both ways, with jobs running and waiting."""
    bench.set_conf("SchedulerParameters", "sched_interval=-1,defer,bf_interval=1")
    bench.restart()
    full = _full(bench)
    waits = bench.submit("--gres=gpu:8")
    bench.wait(lambda: bench.reason(waits) not in PLAIN, "the plan's reason")
    bench.foresight_conf(bench.original().replace("Mode=active", "Mode=shadow"))
    bench.cluster.reconfigure()
    _wait_mode(bench, "shadow")
    bench.wait(lambda: bench.reason(waits) in PLAIN, "the plan's reason is taken back")
    bench.cancel(full[0])
    bench.wait_running(waits)
    bench.foresight_conf(bench.original())
    bench.cluster.reconfigure()
    _wait_mode(bench, "active")
    bench.wait_running(bench.submit("-w", "m1", "-p", "marker"))
    bench.cancel(full[1])
    bench.wait_running(bench.submit("--gres=gpu:8"))


def _stays_in_shadow(bench, line):
    _restart_fresh(bench)
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0), timeout=40)
    _wait_mode(bench, "shadow")
    expect(_logged(bench, re.escape(line)) >= 1, f"the log should say: {line}")


@case(SAFETY)
def active_needs_the_loop_off(bench):
    bench.set_conf("SchedulerParameters", "bf_interval=1")
    _stays_in_shadow(bench, "SchedulerParameters=bf_interval=1,sched_interval=-1,defer")


@case(SAFETY)
def active_needs_defer(bench):
    bench.set_conf("SchedulerParameters", "sched_interval=-1,bf_interval=1")
    _stays_in_shadow(bench, "SchedulerParameters=bf_interval=1,sched_interval=-1,defer")


@case(SAFETY)
def active_refuses_preemption(bench):
    bench.set_conf("PreemptType", "preempt/partition_prio")
    bench.set_conf("PreemptMode", "REQUEUE")
    bench.set_conf("SchedulerParameters", "sched_interval=-1,defer,bf_interval=1")
    _stays_in_shadow(bench, "PreemptType=preempt/none")


# ---- foresight.conf -------------------------------------------------------------------------


def _bad(bench, text, *words):
    """A bad foresight.conf: the log names file, line and key, and the mode stays."""
    before = bench.metrics().get("foresight_settings_errors_total", 0)
    bench.foresight_conf(text)
    bench.cluster.reconfigure()
    for word in words:
        bench.wait(lambda word=word: word in bench.log(), f"the log says {word!r}")
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0))
    bench.settle()
    expect(_mode(bench) == "active", f"the mode is {_mode(bench)}")
    bench.wait(lambda: bench.metrics()["foresight_settings_errors_total"] > before,
               "the error is counted")


@case(SAFETY)
def bad_key_keeps_the_mode(bench):
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0))
    _bad(bench, "# one\nMoed=shadow\n", "foresight.conf:2", "Moed")


@case(SAFETY)
def bad_number_keeps_the_mode(bench):
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0))
    _bad(bench, "Mode=shadow\nMaxFailures=3x\n", "foresight.conf:2", "MaxFailures")


@case(SAFETY)
def bad_file_over_a_restart(bench):
    """The last good settings are on disk: still active after a restart."""
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0))
    bench.foresight_conf("Mode=shadow\nHorizon=\n")
    _restart_fresh(bench)
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0), timeout=40)
    bench.wait(lambda: os.path.exists(f"{bench.publish}/metrics.prom"),
               "PublishDir is the last good one's")
    _wait_mode(bench, "active")


@case(SAFETY)
def first_start_with_a_bad_file(bench):
    """Nothing to fall back on: shadow, and jobs start all the same."""
    bench.set_conf("SchedulerParameters", "sched_interval=-1,defer,bf_interval=1")
    bench.foresight_conf("Mode=active\nHorizn=1-00\n")
    bench.cluster.stop_ctld()
    state = bench.cluster.paths["state"]
    for path in glob.glob(f"{state}/foresight*"):
        shutil.rmtree(path, ignore_errors=True)
        if os.path.exists(path):
            os.unlink(path)
    bench.cluster.start_ctld()
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0), timeout=40)
    expect("Horizn" in bench.log(), "the log names the key")
    bench.publish, ours = f"{state}/foresight", bench.publish
    try:
        _wait_mode(bench, "shadow")
    finally:
        bench.publish = ours


# ---- failures of the planner ----------------------------------------------------------------


def _fails(bench, fault, timeout):
    bench.foresight_conf(bench.original() + "MaxFailures=2\nPlanBudget=100\nPlanOverrun=300\n")
    bench.set_conf("SchedulerParameters", "sched_interval=-1,defer,bf_interval=1")
    _restart_fresh(bench, FORESIGHT_TEST_FAIL=fault)
    jobs = [bench.submit("--gres=gpu:1", seconds=0) for _ in range(3)]
    bench.wait_done(*jobs, timeout=timeout)
    for _ in range(40):
        if bench.metrics().get("foresight_handovers_total") and _mode(bench) == "active":
            break
        bench.wait_done(bench.submit("--gres=gpu:1", seconds=0), timeout=timeout)
    _wait_mode(bench, "active", 40)
    bench.wait_done(bench.submit("--gpus=12", seconds=0))
    metrics = bench.metrics()
    expect(metrics["foresight_handovers_total"] == 1,
           f"one handover, not {metrics['foresight_handovers_total']:.0f}")
    expect(metrics["foresight_plan_failures_total"] >= 2, "the failures are counted")
    lines = [line for line in bench.log().splitlines() if "backfill" in line.lower()
             and "foresight" in line.lower() and re.search(r"take|took|hand|back", line)]
    expect(2 <= len(lines) <= 3, "one line each way:\n" + "\n".join(lines))


@case(SAFETY)
def failing_planner(bench):
    """Two failures hand over to backfill, jobs start, a good plan takes the cycles back."""
    _fails(bench, "error:4", 40)


@case(SAFETY)
def hanging_planner(bench):
    """Plans that never end are cancelled, and count as failures."""
    _fails(bench, "overrun:3", 40)


@case(SAFETY)
def failing_planner_waits(bench):
    """OnFailure=wait: nobody starts a job until planning works, then the plan does."""
    bench.foresight_conf(bench.original() + "MaxFailures=2\nPlanBudget=100\n"
                         "Realtime=chat QOS=chat Gpus=1 OnFailure=wait\n")
    bench.set_conf("SchedulerParameters", "sched_interval=-1,defer,bf_interval=1")
    _restart_fresh(bench, FORESIGHT_TEST_FAIL="error:5")
    job = bench.submit("--gres=gpu:1", seconds=0)
    _wait_mode(bench, "wait", 20)
    expect(bench.state(job) == "PENDING", f"nobody schedules, yet: {bench.state(job)}")
    bench.wait_done(job, timeout=60)
    _wait_mode(bench, "active", 20)
    expect("OnFailure=wait" in bench.log(), "the log says that nobody schedules")


@case(SAFETY)
def one_failure_is_nothing(bench):
    """One failed plan: the next one starts the jobs, nobody hands over."""
    _restart_fresh(bench, FORESIGHT_TEST_FAIL="error:1")
    bench.wait_done(bench.submit("--gres=gpu:1", seconds=0))
    bench.settle()
    bench.wait(bench.metrics, "metrics.prom is there")
    expect(bench.metrics()["foresight_handovers_total"] == 0, "handed over after one failure")
    _wait_mode(bench, "active")


@case(SAFETY)
def terminate_in_mid_plan(bench):
    """SIGTERM while a plan is under way (it hangs for a minute): slurmctld ends at once."""
    bench.foresight_conf(bench.original() + "PlanBudget=50000\nPlanOverrun=60000\n")
    _restart_fresh(bench, FORESIGHT_TEST_FAIL="overrun:99")
    bench.submit("--gres=gpu:1")
    time.sleep(2)  # the plan hangs by now: it is made within a second
    before = time.monotonic()
    bench.cluster.stop_ctld()
    took = time.monotonic() - before
    expect(took < 5, f"slurmctld took {took:.1f} s to end")
    expect("Saving all slurm state" in bench.log(), "it ended properly")
    bench.cluster.start_ctld()


# ---- kills and restarts ---------------------------------------------------------------------


@case(SAFETY)
def killed_after_a_start(bench):
    """kill -9 two seconds after a start that no command caused: the job survives."""
    job = bench.submit("--begin=now+7", "--gres=gpu:1", seconds=9)
    bench.wait(lambda: bench.span(job), "it begins")
    time.sleep(max(0.0, bench.span(job).start + 2 - time.time()))
    bench.cluster.kill9("slurmctld")
    bench.cluster.start_ctld()
    expect(bench.state(job) == "RUNNING", f"after the kill: {bench.state(job)}")
    bench.wait_done(job)
    expect(bench.span(job).end, "its script ran to its end")
    expect(len([span for span in bench.spans() if span.job == job]) == 1, "once")


@case(SAFETY)
def restarts(bench):
    """Restart with jobs running and waiting: all of them end well, none runs twice."""
    running = [bench.submit("-w", f"g{i}", "--gres=gpu:8", seconds=4) for i in range(1, 5)]
    bench.wait_running(*running)
    waiting = [bench.submit("--gres=gpu:8", seconds=1) for _ in range(3)]
    array = bench.submit("--array=0-3%2", "--gres=gpu:4", seconds=1)
    bench.cluster.restart_ctld()
    bench.cluster.kill9("slurmctld")
    bench.cluster.start_ctld()
    bench.wait_done(*running, *waiting, timeout=60)
    bench.wait(lambda: len([1 for span in bench.spans() if span.end]) == 11,
               f"array {array} ends", 60)


@case(SAFETY)
def reconfigured_under_load(bench):
    """scontrol reconfigure while jobs come, start and end: none is lost."""
    jobs = []
    for round_ in range(8):
        jobs += [bench.submit("--gres=gpu:4", seconds=0, minutes=1) for _ in range(4)]
        if round_ % 2:
            bench.cluster.reconfigure()
    bench.wait(lambda: not bench.queue(), "all jobs end", 60)
    ran = {span.job for span in bench.spans() if span.end}
    expect(ran == set(jobs), f"never ran: {set(jobs) - ran}")


@case(SAFETY)
def node_set_down(bench):
    """A node goes down under a job: nothing new goes there, the rest goes on."""
    job = bench.submit("-w", "g2", "--gres=gpu:8", "--no-requeue")
    bench.wait_running(job)
    bench.scontrol("update", "NodeName=g2", "State=DOWN", "Reason=test")
    bench.wait_state(job, "NODE_FAIL", "FAILED", "COMPLETING")
    jobs = [bench.submit("--gres=gpu:8") for _ in range(4)]
    bench.wait(lambda: len(bench.running(*jobs)) == 3, "three nodes are left")
    left = set(jobs) - set(bench.running(*jobs))
    bench.stays_pending(*left)
    bench.scontrol("update", "NodeName=g2", "State=RESUME")
    bench.wait_running(*left)


@case(SAFETY)
def node_drained(bench):
    """A draining node keeps its job and gets no other."""
    job = bench.submit("-w", "g2", "--gres=gpu:4", seconds=600)
    bench.wait_running(job)
    bench.scontrol("update", "NodeName=g2", "State=DRAIN", "Reason=test")
    jobs = [bench.submit("--gres=gpu:4") for _ in range(7)]
    bench.wait(lambda: len(bench.running(*jobs)) == 6, "six fit on the other nodes")
    bench.stays_pending(*(set(jobs) - set(bench.running(*jobs))))
    expect(bench.state(job) == "RUNNING", "the job on the drained node goes on")


@case(SAFETY)
def slurmd_killed(bench):
    """A node's slurmd dies: jobs elsewhere go on being started."""
    bench.cluster.kill9("slurmd-g4")
    jobs = [bench.submit("-x", "g4", "--gres=gpu:8", seconds=0) for _ in range(4)]
    bench.wait_done(*jobs)
    bench.cluster.start_slurmd("g4")
    bench.wait_done(bench.submit("-w", "g4", "--gres=gpu:8", seconds=0), timeout=60)


# ---- the way in -----------------------------------------------------------------------------


def _with_version(path, version):
    """Changes plugin_version in a shared object."""
    names = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    address = int(re.search(r"^(\w+) \w plugin_version$", names, re.M).group(1), 16)
    heads = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True,
                           check=True).stdout
    for offset, virtual, size in re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", heads):
        start = int(virtual, 16)
        if start <= address < start + int(size, 16):
            with open(path, "r+b") as file:
                file.seek(int(offset, 16) + address - start)
                file.write(version.to_bytes(4, "little"))
            return
    raise AssertionError(f"{path}: plugin_version is in no segment")


@case(SAFETY)
def other_version_falls_back(bench):
    """After an upgrade of Slurm the drop-in does not match: Slurm's own backfill is loaded."""
    bench.set_conf("SchedulerParameters", "bf_interval=1")
    ours = f"{bench.cluster.paths['plugins']}/sched_backfill.so"
    shutil.copy(ours, f"{ours}.kept")
    bench.cluster.stop_ctld()
    shutil.rmtree(bench.publish, ignore_errors=True)
    try:
        _with_version(ours, (22 << 16) | (5 << 8) | 99)
        bench.cluster.start_ctld()
        bench.wait_done(bench.submit("--gres=gpu:1", seconds=0), timeout=40)
        expect(re.search(r"[Ii]ncompatible.*[Pp]lugin", bench.log()), "the log says so")
        expect(not bench.metrics(), "our plugin was loaded all the same")
    finally:
        os.replace(f"{ours}.kept", ours)
