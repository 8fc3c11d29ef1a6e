#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""contrib/quickstart demo: a day of a GPU cluster, under FIFO and under sched/foresight.

Two throw-away Slurm clusters on this machine get the same workload at the same times: training,
batch inference, quantisation and a real-time service whose demand follows the time of day.
Before: stock Slurm in order of arrival, the service's peak reserved all day.  After:
sched/foresight, GPUs kept free for the service as its curve says.  The two run side by side (or
one after the other with --in-turn); at the end stands a table from sacct.
"""

import argparse
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import picture  # noqa: E402
import report  # noqa: E402
import workload  # noqa: E402
from cluster import ClusterError, find_plugin  # noqa: E402
from display import Display  # noqa: E402
from phase import Phase  # noqa: E402

BASELINES = {"fifo": ("FIFO, peak reserved", "FIFO"),
             "backfill": ("backfill, peak reserved", "backfill")}


def parser():
    parse = argparse.ArgumentParser(prog="contrib/quickstart demo", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--seed", type=int, default=1, help="of the workload (default 1)")
    parse.add_argument("--hour", type=float, default=12, metavar="SECONDS",
                       help="real seconds for an hour of the demo's day, 4 to 60 (default 12)")
    parse.add_argument("--nodes", type=int, default=8, help="nodes of each cluster (default 8)")
    parse.add_argument("--gpus", type=int, default=8, help="GPUs of each node (default 8)")
    parse.add_argument("--baseline", choices=sorted(BASELINES), default="fifo",
                       help="what Slurm itself does in the first run (default fifo)")
    parse.add_argument("--in-turn", action="store_true",
                       help="one cluster after the other: twice the time, half the load")
    parse.add_argument("--plain", action="store_true", help="plain lines even on a terminal")
    parse.add_argument("--keep", action="store_true",
                       help="leave the clusters' directories (all logs) in /tmp")
    parse.add_argument("--out", metavar="DIR", help="where the summary, the picture and the logs "
                       "go (default: a new directory in ~/.cache/foresight)")
    parse.add_argument("--build-dir", metavar="DIR", help="where Foresight was built")
    parse.add_argument("--plugin-dir", metavar="DIR", help="where the plugin is (default: "
                       "plugin/.libs of the build)")
    parse.add_argument("--after", choices=("foresight", "drop-in", "backfill"),
                       default="drop-in", help=argparse.SUPPRESS)
    return parse


def checked(options):
    """Options that make sense, or a line on stderr and exit status 2."""
    wrong = None
    if not 4 <= options.hour <= 60:
        wrong = f"--hour {options.hour:g}: from 4 to 60 seconds"
    elif not 2 <= options.nodes <= 64 or not 1 <= options.gpus <= 16:
        wrong = "--nodes goes from 2 to 64, --gpus from 1 to 16"
    elif max(workload.service_curve(options.nodes * options.gpus)) > \
            (options.nodes - 1) * options.gpus:
        wrong = "so few GPUs leave none beside the service: more --nodes or --gpus"
    elif options.after != "backfill":
        if not options.plugin_dir and options.build_dir:
            options.plugin_dir = f"{options.build_dir}/plugin"
        if not options.plugin_dir:
            wrong = "no --build-dir: start this through contrib/quickstart demo"
        else:
            try:
                find_plugin(options.after, options.plugin_dir)
            except ClusterError as error:
                wrong = str(error)
    if wrong:
        print(f"demo: {wrong}", file=sys.stderr)
        sys.exit(2)
    return options


def result_directory(options):
    """Where results will go; made at the end, but it must be possible to make it."""
    if options.out:
        path = os.path.abspath(options.out)
    else:
        base = os.environ.get("FORESIGHT_CACHE") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "foresight")
        path = os.path.join(base, time.strftime("demo-%Y%m%d-%H%M%S"))
    try:
        if not os.path.isdir(path):
            os.makedirs(path)
            os.rmdir(path)
    except OSError as error:
        print(f"demo: results cannot be written to {path} ({error.strerror}): give another "
              "directory with --out", file=sys.stderr)
        sys.exit(2)
    return path


def watch(phases, hours, hour, display):
    """A day of these phases, together."""
    begin = int(time.time()) + 2
    for phase in phases:
        phase.begin(begin)
    length, checked_active = hours * hour, False
    while time.time() < begin + length:
        share = (time.time() - begin) / length
        display.show([phase.observe() for phase in phases], share)
        if not checked_active and time.time() > begin + 8:
            for phase in phases:
                phase.check_active()
            checked_active = True
        time.sleep(max(0.0, min(1.0, begin + length - time.time())))
    display.show([phase.observe() for phase in phases], 1.0)


def run(options, batch, curve, out):
    """Both days.  Returns the phases with their rows in `result`."""
    label, _ = BASELINES[options.baseline]
    phases = [Phase("before", label, options.baseline, options, batch, curve, True),
              Phase("after", "sched/foresight" if options.after != "backfill" else
                    "backfill, nothing reserved", options.after, options, batch, curve, False)]
    turns = [[phase] for phase in phases] if options.in_turn else [phases]
    try:
        for turn in turns:
            for phase in turn:
                began = time.monotonic()
                phase.start()
                took = time.monotonic() - began
                print(f"{phase.title}: Slurm is up after {took:.1f} s; its logs:\n"
                      f"  {phase.cluster.directory}/log", flush=True)
            print(flush=True)
            watch(turn, len(curve), options.hour, Display(options.plain))
            for phase in turn:
                phase.result, phase.said = phase.rows(), phase.remarks()
                phase.save(out)
                phase.stop()
    finally:
        for phase in phases:
            phase.stop()
    return phases


def record(phases, curve, options):
    """What the picture is drawn from."""
    kinds = {job.name: job.kind for phase in phases for job in phase.jobs}
    runs = []
    for phase in phases:
        begin, until = phase.window
        jobs = []
        for row in phase.result:
            start, end = report.parse_time(row["Start"]), report.parse_time(row["End"])
            places = phase.placements.get(row["JobName"])
            if start is None or not places:
                continue
            jobs.append({"name": row["JobName"], "kind": kinds[row["JobName"]],
                         "start_h": round((start - begin) / options.hour, 3),
                         "end_h": round((min(end or until, until) - begin) / options.hour, 3),
                         "gpus": places})
        runs.append({"name": phase.name, "title": phase.title, "jobs": jobs,
                     "reserved": sorted(phase.reserved)})
    return {"seed": options.seed, "hours": len(curve), "curve": curve, "runs": runs,
            "nodes": [[f"n{i + 1}", options.gpus] for i in range(options.nodes)]}


def conclude(phases, batch, curve, options, out):
    """The table, on the screen and in the result directory."""
    gpus = options.nodes * options.gpus
    both = [report.figures(phase.result, curve, phase.window, gpus, options.hour)
            for phase in phases]
    titles = (BASELINES[options.baseline][1],
              "foresight" if options.after != "backfill" else "backfill")
    about = [*workload.describe(batch, curve, options.hour, gpus), f"Seed {options.seed}."]
    lines = ["", *report.table(*both, titles), "", *report.LEGEND,
             *(line for phase in phases for line in phase.said)]
    data = record(phases, curve, options)
    data["figures"] = dict(zip(("before", "after"), both))
    text = "\n".join(about + lines) + "\n"
    for name, content in (("summary.txt", text), ("run.json", json.dumps(data) + "\n"),
                          ("gpu-grid.svg", picture.svg(data))):
        with open(f"{out}/{name}", "w", encoding="utf-8") as file:
            file.write(content)
    print("\n".join(lines))
    print(f"\nsummary, picture, sacct's rows and logs: {out}\n"
          "  summary.txt, gpu-grid.svg, run.json; before/ and after/: sacct.txt, *.log, *.conf")


def main(arguments=None):
    options = checked(parser().parse_args(arguments))
    out = result_directory(options)
    curve = workload.service_curve(options.nodes * options.gpus)
    batch = workload.batch_jobs(options.nodes, options.gpus, options.hour, options.seed)
    print("\n".join(workload.describe(batch, curve, options.hour, options.nodes * options.gpus)),
          f"\nSeed {options.seed}; {options.nodes} nodes with {options.gpus} fake GPUs each.\n",
          flush=True)
    try:
        conclude(run(options, batch, curve, out), batch, curve, options, out)
    except KeyboardInterrupt:
        print("\ndemo: interrupted; everything is ended and removed", file=sys.stderr)
        return 130
    except (ClusterError, OSError, subprocess.SubprocessError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
