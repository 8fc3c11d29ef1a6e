# SPDX-License-Identifier: GPL-2.0-or-later
"""A real-time application in a reservation of whole nodes: idle nodes are lent until the ramp."""

import os
import re
import time

from bench import case, expect
from setups import ACTIVE

PEAK = ["g1", "g2", "g3"]


def _curve(bench, *rows):
    """Puts a curve of (minutes from now, GPUs) in force for reservation rt; when the last begins."""
    now = int(time.time()) // 60 * 60
    path = os.path.join(bench.directory, "lending.csv")
    bench.cluster.write(path, "time,gpus\n" + "".join(
        f"{now + 60 * minutes},{gpus}\n" for minutes, gpus in rows))
    bench.foresight_conf(bench.original() + "Step=00:01:00\nHorizon=04:00:00\nEndGrace=00:00:05\n"
                         f"Realtime=service Reservation=rt File={path}\n")
    bench.cluster.reconfigure()
    bench.settle()
    return now + 60 * rows[-1][0]


def _create(bench, *options):
    bench.scontrol("create", "reservation", "ReservationName=rt", f"Users={bench.cluster.user}",
                   "Nodes=g[1-3]", "StartTime=now", "Duration=1-00:00:00", *options)


def _reservations(bench):
    """Nodes by reservation."""
    text = bench.scontrol("-o", "show", "res")
    return {name: bench.expand(nodes) for name, nodes in
            re.findall(r"ReservationName=(\S+) .*?Nodes=(\S+)", text)}


def _held(bench):
    return _reservations(bench).get("rt", [])


def _guarded(bench):
    return sorted(nodes[0] for name, nodes in _reservations(bench).items()
                  if name.startswith("foresight_rt_"))


def _lend_two(bench, minutes):
    """One node is held until the ramp so many minutes from now; when that is, and the two lent."""
    _create(bench)
    ramp = _curve(bench, (-60, 8), (minutes, 24))
    bench.wait(lambda: len(_held(bench)) == 1, "one node is held", 30)
    lent = sorted(set(PEAK) - set(_held(bench)))
    expect(_guarded(bench) == lent, f"guards of {_guarded(bench)}, lent are {lent}")
    # The fourth node is nobody's: taken, so that only lent ones are left.
    bench.wait_running(bench.submit("-w", "g4", "--gres=gpu:8", minutes=60))
    return ramp, lent


@case(ACTIVE)
def follows_the_demand(bench):
    """3 → 1 → 3: a short job runs in the trough, a long one waits, the service has its nodes."""
    ramp, lent = _lend_two(bench, 4)
    long = bench.submit("--gres=gpu:8", minutes=60)
    short = bench.submit("--gres=gpu:8", minutes=1, seconds=5)
    bench.wait_running(short)
    expect(bench.nodes(short)[0] in lent, f"on a lent node, not {bench.nodes(short)}")
    bench.stays_pending(long)
    bench.wait(lambda: sorted(_held(bench)) == PEAK, "all nodes are back",
               ramp - time.time() + 40)
    expect(not _guarded(bench), "the guards are gone")
    expect(bench.state(long) == "PENDING", "the long job did not start")
    jobs = [bench.submit("--reservation=rt", "--gres=gpu:8", minutes=5) for _ in PEAK]
    bench.wait_running(*jobs, timeout=10)
    expect(sorted(bench.nodes(job)[0] for job in jobs) == PEAK, "the service has its nodes")


@case(ACTIVE)
def used_nodes_stay(bench):
    """A node with a job of the application is not lent, though demand is low."""
    _create(bench)
    jobs = [bench.submit("--reservation=rt", "--gres=gpu:8", minutes=30) for _ in range(2)]
    bench.wait_running(*jobs)
    used = sorted(bench.nodes(job)[0] for job in jobs)
    _curve(bench, (-60, 8), (120, 24))
    bench.wait(lambda: len(_held(bench)) == 2, "the idle node is lent", 30)
    expect(sorted(_held(bench)) == used, "the used ones are held")
    bench.cancel(jobs[0])
    bench.wait(lambda: len(_held(bench)) == 1, "one more is lent once its job is over", 30)
    expect(_held(bench) == bench.nodes(jobs[1]), "the used one is held")


@case(ACTIVE)
def tops_up_when_a_node_fails(bench):
    """The node that is held goes down: a lent one takes its place, until it is up again."""
    _lend_two(bench, 90)
    held = _held(bench)[0]
    bench.scontrol("update", f"NodeName={held}", "State=DOWN", "Reason=test")
    bench.wait(lambda: len(_held(bench)) == 2, "a lent node takes its place", 30)
    expect(held in _held(bench), "the failed one stays, for when it is up")
    expect(len(_guarded(bench)) == 1, "the other one stays lent")
    bench.scontrol("update", f"NodeName={held}", "State=RESUME")
    bench.wait(lambda: len(_held(bench)) == 1, "one is enough again", 30)


@case(ACTIVE)
def survives_a_kill(bench):
    """slurmctld is killed in the trough: its successor knows the administrator's nodes."""
    _, lent = _lend_two(bench, 90)
    time.sleep(7)  # Slurm writes its own state up to five seconds after a change
    bench.cluster.kill9("slurmctld")
    bench.cluster.start_ctld()
    bench.settle()
    bench.wait(lambda: len(_held(bench)) == 1 and _guarded(bench) == lent,
               f"one node is held, the others, {lent}, are guarded: {_reservations(bench)}", 30)
    _curve(bench, (-60, 24))
    bench.wait(lambda: sorted(_held(bench)) == PEAK, "all nodes are back", 30)
    expect(not _guarded(bench), "the guards are gone")


@case(ACTIVE)
def slurm_guards_alone(bench):
    """Without the plugin: stock backfill starts a short job on a lent node, and no long one; then
    everything is put back by hand."""
    _, lent = _lend_two(bench, 15)
    with open(bench.cluster.slurm_conf, encoding="utf-8") as file:
        plugins = re.search(r"^PluginDir=(\S+)", file.read(), re.M).group(1)
    bench.set_conf("PluginDir", plugins.split(":")[-1])
    bench.set_conf("SchedulerParameters", "bf_interval=1,sched_interval=2")
    bench.restart()
    long = bench.submit("--gres=gpu:8", minutes=60)
    bench.wait(lambda: bench.reason(long) not in ("None", ""), "Slurm looked at it", 30)
    short = bench.submit("--gres=gpu:8", minutes=2, seconds=5)
    bench.wait(lambda: bench.state(short) in ("RUNNING", "COMPLETED"),
               "backfill starts the short job", 60)
    expect(bench.nodes(short)[0] in lent, "on a lent node")
    expect(bench.state(long) == "PENDING", "the long job may not take one")
    bench.cancel(long)
    bench.wait_done(short)
    command = os.environ["FORESIGHT"]
    told = bench.run(command, "restore", "--dry-run")
    expect("scontrol update ReservationName=rt 'Nodes=g[1-3]'" in told, told)
    expect(_guarded(bench) == lent, "nothing was done yet")
    bench.run(command, "restore")
    expect(sorted(_held(bench)) == PEAK and not _guarded(bench), "all nodes are back")
    expect("nothing is lent" in bench.run(command, "restore"), "it is forgotten")


@case(ACTIVE)
def follows_hands(bench):
    """An administrator changes the reservation, then deletes it."""
    _lend_two(bench, 90)
    bench.scontrol("update", "ReservationName=rt", f"Nodes={_held(bench)[0]}")
    bench.settle()
    expect(len(_guarded(bench)) == 2, "as it was: nothing was changed")
    bench.scontrol("update", "ReservationName=rt", f"Nodes={_held(bench)[0]},m1")
    bench.wait(lambda: "was changed by hand" in bench.log(), "the plugin says so", 30)
    bench.wait(lambda: not [node for node in _guarded(bench) if node != "m1"],
               "nothing is guarded that is not in it", 30)
    bench.scontrol("delete", "ReservationName=rt")
    bench.wait(lambda: not _guarded(bench) and "is gone" in bench.log(), "its guards go too", 30)


@case(ACTIVE)
def comes_back_without_its_line(bench):
    """The line leaves foresight.conf, or the mode becomes shadow: everything goes back."""
    _lend_two(bench, 90)
    bench.foresight_conf(bench.original())
    bench.cluster.reconfigure()
    bench.wait(lambda: sorted(_held(bench)) == PEAK and not _guarded(bench),
               "all nodes are back", 40)
    bench.wait(lambda: "has all its nodes again" in bench.log(), "it is forgotten", 20)


@case(ACTIVE)
def refuses_what_it_cannot_lend(bench):
    """A reservation that Slurm fills up by itself is left alone, with the reason."""
    bench.scontrol("create", "reservation", "ReservationName=rt", f"Users={bench.cluster.user}",
                   "NodeCnt=2", "StartTime=now", "Duration=1-00:00:00", "Flags=REPLACE_DOWN")
    before = _held(bench)
    _curve(bench, (-60, 8), (120, 24))
    bench.wait(lambda: "is not lent from" in bench.log(), "the reason is logged", 30)
    expect(_held(bench) == before, "nothing was changed")
