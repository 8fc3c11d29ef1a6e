# SPDX-License-Identifier: GPL-2.0-or-later
"""One scheduler's day in the demo: a cluster, the same submissions as the other one, and what
its GPUs are seen to do."""

import os
import re
import threading
import time

import grid
import report
import workload
from cluster import Cluster, ClusterError

# The service's partition is above the other, so that no batch job stands before its replicas,
# and sched/builtin goes by order of arrival inside each.
PARTITIONS = ["PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1",
              "PartitionName=service Nodes=ALL MaxTime=INFINITE PriorityTier=10"]

FORESIGHT_CONF = """\
# The demo's foresight.conf.  An hour of the demo's day is {hour:g} s.
Mode=active
Horizon=00:10:00
Step=00:00:{step:02d}
# The demo's jobs end by themselves before their limits; where they may not, leave the default.
EndGrace=00:00:02

# The service: GPUs are kept free for it, as many as the curve says and no more.
Realtime=chat QOS=rt Priority={priority} MaxSwap={swap} Demand=file File=curve.csv

# What a GPU of a job is worth, by its QOS.
"""


def foresight_conf(hour, gpus):
    weights = sorted(set(workload.PRIORITIES), reverse=True)
    return FORESIGHT_CONF.format(
        hour=hour, step=min(59, round(hour)), priority=workload.SERVICE_PRIORITY,
        swap=max(2, gpus // 8)) + "".join(f"Weight={w} QOS=p{w}\n" for w in weights)


def curve_csv(curve, begin, hour):
    """The demand curve as Foresight reads it."""
    rows = "".join(f"{int(begin + step * hour)},{want}\n" for step, want in enumerate(curve))
    return "time,gpus\n" + rows


def _minutes(text):
    """Seconds of a limit as scontrol writes it, [D-]HH:MM:SS."""
    days, _, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":") if part.isdigit()]
    if len(parts) != 3:
        return 0
    return int(days or 0) * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2]


class Phase:
    """name "before" or "after"; scheduler and plugin_dir as for Cluster; reserve: the service's
    peak stands as a reservation of whole nodes all day."""

    def __init__(self, name, title, scheduler, options, batch, curve, reserve):
        self.name, self.title, self.reserve = name, title, reserve
        self._hour, self._curve = options.hour, curve
        self._node_gpus = options.gpus
        self.jobs = sorted([*workload.service_jobs(curve, options.hour), *batch],
                            key=lambda job: (job.submit, job.kind != "service"))
        self._kinds = {job.name: job.kind for job in self.jobs}
        self.ours = scheduler in ("foresight", "drop-in")
        stock = {"backfill": "bf_interval=1,bf_resolution=1,batch_sched_delay=0,"
                             "sched_min_interval=0"}
        self.cluster = Cluster(
            options.nodes, gpus=options.gpus, scheduler=scheduler, accounting=True,
            plugin_dir=options.plugin_dir if self.ours else None,
            foresight_conf=foresight_conf(options.hour, options.nodes * options.gpus)
            if self.ours else None,
            partitions=PARTITIONS,
            scheduler_parameters=None if self.ours else
            stock.get(scheduler, "batch_sched_delay=0,sched_min_interval=0"),
            keep=options.keep)
        self.placements = {}   # job's name → [(node, gpu)], as seen
        self.reserved = frozenset()
        self._ids = {}
        self._stop = threading.Event()
        self._error = None
        self._thread = None

    def start(self):
        """The cluster, its QOS and, where there is one, the reservation."""
        if self.ours:
            # The true curve follows when the day begins; without any the plugin would complain.
            self.cluster.early_files["curve.csv"] = curve_csv(self._curve, time.time(), self._hour)
        self.cluster.start()
        names = [f"p{p}" for p in sorted(set(workload.PRIORITIES))] + [report.SERVICE_QOS]
        for name in names:
            self.cluster.sacctmgr("add", "qos", name)
        self.cluster.sacctmgr("modify", "account", "root", "set", "qos+=" + ",".join(names))
        if self.cluster.user != "root":
            self.cluster.account("demo", [self.cluster.user])
        if self.reserve:
            nodes = -(-max(self._curve) // self._node_gpus)
            own = [node.name for node in self.cluster.nodes[-nodes:]]
            self.cluster.reservation("chat", ",".join(own))
            self.reserved = frozenset(own)

    def metric(self, name):
        """A value of the plugin's metrics.prom, None when there is none."""
        path = f"{self.cluster.paths['state']}/foresight/metrics.prom"
        try:
            with open(path, encoding="utf-8") as file:
                found = re.search(rf"^{re.escape(name)} (\S+)$", file.read(), re.M)
                return float(found.group(1)) if found else None
        except FileNotFoundError:
            return None

    def check_active(self):
        """Raises when the plugin does not schedule: Slurm's backfill, in its place, would."""
        if not self.ours or self.metric('foresight_mode{foresight_mode="active"}') == 1:
            return
        said = [line for line in self.cluster.log_text().splitlines() if "foresight:" in line]
        raise ClusterError("sched/foresight does not schedule:\n" + "\n".join(said[-5:]))

    def remarks(self):
        """What a reader of the figures must know of this run."""
        handovers = self.metric("foresight_handovers_total") if self.ours else 0
        return [f"Planning failed and Slurm's backfill took over, times: {handovers:.0f}."] \
            if handovers else []

    def begin(self, begin):
        """The day begins at `begin` (seconds since the epoch): submissions follow by themselves."""
        if self.ours:
            self.cluster.write(f"{self.cluster.paths['etc']}/curve.csv",
                               curve_csv(self._curve, begin, self._hour))
        self.window = (begin, begin + len(self._curve) * self._hour)
        self._thread = threading.Thread(target=self._submit_all, args=(begin,), daemon=True)
        self._thread.start()

    def _arguments(self, job):
        nodes = max(1, job.gpus // self._node_gpus)
        gpus = min(job.gpus, self._node_gpus)
        service = job.kind == "service"
        args = [f"--job-name={job.name}", f"--nodes={nodes}", f"--gres=gpu:{gpus}",
                f"--time={job.limit_minutes}", "--output=/dev/null",
                f"--qos={report.SERVICE_QOS if service else f'p{job.priority}'}"]
        if service:
            args.append("--partition=service")
        return args + (["--reservation=chat"] if service and self.reserve else [])

    def _submit_all(self, begin):
        try:
            for job in self.jobs:
                if self._stop.wait(max(0.0, begin + job.submit - time.time())):
                    return
                self._ids[job.name] = self.cluster.sbatch(*self._arguments(job),
                                                          wrap=f"exec sleep {job.seconds}")
        except Exception as error:  # told in the main thread, by observe()
            if not self._stop.is_set():
                self._error = error

    def observe(self):
        """The State of this moment; raises what went wrong with the submissions."""
        if self._error:
            raise self._error
        now = time.time()
        state = grid.State(self.title, [(n.name, n.gpu_count()) for n in self.cluster.nodes],
                           reserved=self.reserved)
        for line in self.cluster.scontrol("-o", "-d", "show", "job").split("\n"):
            facts = dict(re.findall(r"(\S+?)=(\S*)", line))
            kind = self._kinds.get(facts.get("JobName"))
            if kind:
                self._count(state, kind, facts, line, now)
        step = int((now - self.window[0]) // self._hour)
        state.demand = self._curve[min(max(step, 0), len(self._curve) - 1)]
        return state

    def _count(self, state, kind, facts, line, now):
        job_state = facts["JobState"]
        if job_state == "RUNNING":
            held = grid.gpus_held(line)
            self.placements.setdefault(facts["JobName"], held)
            limit = _minutes(facts["TimeLimit"]) or 60
            elapsed = now - (report.parse_time(facts["StartTime"]) or now)
            for place in held:
                state.cells[place] = (kind, int(10 * elapsed / limit), int(facts["JobId"]))
            if kind == "service":
                state.served += len(held)
        if kind != "service":
            state.running += job_state in ("RUNNING", "COMPLETING", "CONFIGURING")
            state.waiting += job_state == "PENDING"
            state.done += job_state == "COMPLETED"

    def rows(self):
        """sacct's rows of the day, once the accounting has all of them."""
        self._stop.set()
        self._thread.join(30)
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(self.window[0] - 60))

        def complete():
            rows = self.cluster.sacct(f"--starttime={since}", fields=report.FIELDS)
            known = {row["JobID"]: row["State"].split()[0] for row in rows}
            live = {job["id"]: job["state"] for job in
                    self.cluster.squeue("-t", "all", id="%i", state="%T")}
            # Slurm sends to its database a little later than things happen.
            if all(known.get(job) in (live.get(job), "COMPLETED") for job in self._ids.values()):
                return rows
            return None

        return self.cluster.wait_for(complete, 20, "sacct to know every job", 0.5)

    def save(self, directory):
        """Logs and the raw rows, for who wants to look."""
        own = f"{directory}/{self.name}"
        os.makedirs(own, exist_ok=True)
        for name in ("log", "etc"):
            source = self.cluster.paths[name]
            for file in sorted(os.listdir(source)):
                if file.endswith((".log", ".conf", ".csv")) and file != "slurmdbd.conf":
                    with open(f"{source}/{file}", "rb") as old, open(f"{own}/{file}", "wb") as new:
                        new.write(old.read())
        text = self.cluster.run(["sacct", "-X", "-a", "-P", "-o", report.FIELDS,
                                 "--starttime=now-1day"]).stdout
        with open(f"{own}/sacct.txt", "w", encoding="utf-8") as file:
            file.write(text)

    def stop(self):
        self._stop.set()
        self.cluster.stop()
