# SPDX-License-Identifier: GPL-2.0-or-later
"""What a case works with: a running cluster, and the few verbs that tests of a scheduler need.

A case waits for conditions, never for a time: wait() polls a predicate.  That something did *not*
happen is shown with settle(): a marker job, queued after everything else and on a node of its
own, has started, so the scheduler has looked at all that was queued before it.
"""

import json
import os
import re
import subprocess
import time
from dataclasses import dataclass, field

POLL_S = 0.1


class Failure(AssertionError):
    """What the case wanted did not happen."""


class Skip(Exception):
    """The case cannot run here, and why."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


@dataclass(frozen=True)
class Setup:
    """A kind of cluster; all cases of one setup share one cluster.

    options  for Cluster() of contrib/quickstart.d, a function without arguments that makes them
    ready    called once with the Bench when the cluster is up, or None
    """

    name: str
    options: object
    ready: object = None
    plugin: bool = True
    seconds: int = 60  # about how long it takes: the longest is started first


@dataclass
class Case:
    name: str
    setup: Setup
    function: object
    seconds: float = 0
    stock: bool = False  # also holds with Slurm's own scheduler: checks the test itself


CASES = []


def case(setup, stock=False):
    """Registers a test: a function of one Bench."""
    def register(function):
        module = function.__module__.rpartition(".")[2]
        name = f"{module}.{function.__name__}"
        CASES.append(Case(name, setup, function, stock=stock))
        return function
    return register


@dataclass
class Span:
    """One run of a job (or of a task of an array), by the clock of its own script."""
    job: str
    task: str
    nodes: str
    start: float
    end: float = None


@dataclass
class Given:
    """What a job holds: node → indices of GPUs, and the GPUs' types."""
    gpus: dict = field(default_factory=dict)
    types: set = field(default_factory=set)

    def count(self):
        return sum(len(indices) for indices in self.gpus.values())


def numbers(text):
    """'0-2,5' → {0, 1, 2, 5}"""
    found = set()
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    return found


class Bench:
    """A cluster under test."""

    def __init__(self, setup, cluster, directory):
        self.setup = setup
        self.cluster = cluster
        self.directory = directory
        self.publish = os.path.join(directory, "publish")
        self.spans_file = os.path.join(directory, "spans")
        self.env = cluster.environment()
        self.log_start = 0
        self._originals = {}  # files of configuration that a case changed → text before

    # ---- commands -----------------------------------------------------------------------

    def run(self, *args, check=True, timeout=60, stdin=None):
        """A Slurm command; its standard output, or Failure with what it said."""
        done = subprocess.run([*args], env=self.env, input=stdin, timeout=timeout,
                              capture_output=True, check=False)
        out = done.stdout.decode("utf-8", "replace")
        if check and done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise Failure(f"{args[0]} exited {done.returncode}: {said or out.strip()}")
        return out

    def fails(self, *args, timeout=60):
        """The standard error of a command that must fail."""
        done = subprocess.run([*args], env=self.env, timeout=timeout,
                              capture_output=True, check=False)
        expect(done.returncode != 0, f"{args} should have failed")
        return done.stderr.decode("utf-8", "replace")

    def submit(self, *options, seconds=600, minutes=5, body=None, name="job"):
        """Submits a batch job that runs for `seconds` with a limit of `minutes`; its id."""
        record = ('"$SLURM_JOB_ID ${SLURM_ARRAY_TASK_ID:--} $EPOCHREALTIME '
                  f'$SLURM_JOB_NODELIST" >> {self.spans_file}')
        script = (f"#!/bin/bash\necho start {record}\n{body or f'sleep {seconds}'}\nstatus=$?\n"
                  f"echo end {record}\nexit $status\n")
        out = self.run("sbatch", "--parsable", "-o", "/dev/null", "-t", str(minutes), "-J", name,
                       *options, stdin=script.encode())
        return out.strip().split(";")[0]

    def scontrol(self, *args, check=True):
        return self.run("scontrol", *args, check=check)

    def cancel(self, *jobs):
        if jobs:
            self.run("scancel", *jobs)

    # ---- what the cluster says ----------------------------------------------------------

    def job(self, job):
        """A job's record as a dictionary of strings; {} when there is none."""
        out = self.run("scontrol", "-d", "-o", "show", "job", str(job), check=False)
        if not out.startswith("JobId="):
            return {}
        first = re.split(r"\n(?=JobId=)", out)[0].replace("\n", " ")  # a name may have newlines
        return dict(re.findall(r"(\S+?)=(.*?)(?= [A-Z][\w/:]*=|\s*$)", first))

    def state(self, job):
        return self.job(job).get("JobState", "GONE")

    def queue(self, fields="%i %T"):
        """squeue's lines, arrays task by task."""
        return [line for line in
                self.run("squeue", "-h", "-r", "-a", "-o", fields).splitlines() if line.strip()]

    def states(self):
        return dict(line.split() for line in self.queue())

    def running(self, *jobs):
        """Those of the jobs that run."""
        states = self.states()
        return [job for job in jobs if states.get(job) == "RUNNING"]

    def reason(self, job):
        return self.run("squeue", "-h", "-j", job, "-o", "%r").strip()

    def given(self, job):
        """The nodes and GPUs that a running job got."""
        given = Given()
        out = self.run("scontrol", "-d", "show", "job", job)
        for nodes, gres in re.findall(r"Nodes=(\S+) CPU_IDs=\S+ Mem=\d+ GRES=(\S*)", out):
            names = self.expand(nodes)
            for kind, indices in re.findall(r"gpu(?::(\w+))?:\d+\(IDX:([\d,-]+)\)", gres):
                given.types.add(kind)
                for node in names:
                    given.gpus.setdefault(node, set()).update(numbers(indices))
        return given

    def nodes(self, job):
        return self.expand(self.job(job).get("NodeList", ""))

    def expand(self, hostlist):
        if not hostlist or hostlist in ("(null)", "None assigned"):
            return []
        if "[" not in hostlist and "," not in hostlist:
            return [hostlist]
        return self.run("scontrol", "show", "hostnames", hostlist).split()

    def node(self, name):
        out = self.run("scontrol", "-o", "show", "node", name)
        return dict(re.findall(r"(\S+?)=(.*?)(?= [A-Z]\w*=|\s*$)", out.strip()))

    def spans(self):
        """The runs of jobs since the case began, by start."""
        found = {}
        try:
            with open(self.spans_file, encoding="utf-8") as file:
                for line in file:
                    what, job, task, when, nodes = line.split()
                    if what == "start":
                        found[job, task] = Span(job, task, nodes, float(when))
                    elif (job, task) in found:
                        found[job, task].end = float(when)
        except FileNotFoundError:
            pass
        return sorted(found.values(), key=lambda span: span.start)

    def span(self, job):
        return next((span for span in self.spans() if span.job == job), None)

    def log(self):
        """slurmctld's log since the case began."""
        with open(self.cluster.log("slurmctld"), encoding="utf-8", errors="replace") as file:
            file.seek(self.log_start)
            return file.read()

    # ---- waiting ------------------------------------------------------------------------

    def wait(self, predicate, what, timeout=20):
        """Polls until predicate() holds; its value."""
        deadline = time.monotonic() + timeout
        while True:
            value = predicate()
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failure(f"not within {timeout} s: {what}\n{self.picture()}")
            time.sleep(POLL_S)

    def wait_running(self, *jobs, timeout=20):
        self.wait(lambda: len(self.running(*jobs)) == len(jobs), f"jobs {jobs} run", timeout)

    def wait_state(self, job, *wanted, timeout=20):
        return self.wait(lambda: (state := self.state(job)) in wanted and state,
                         f"job {job} is {' or '.join(wanted)}", timeout)

    def wait_done(self, *jobs, timeout=30):
        for job in jobs:
            self.wait_state(job, "COMPLETED", timeout=timeout)

    def settle(self):
        """Returns when the scheduler has looked at everything that was queued before."""
        marker = self.submit("-p", "marker", "-n1", body="true", minutes=1, name="marker")
        self.wait(lambda: self.state(marker) not in ("PENDING", "GONE"), "the marker job starts")

    def stays_pending(self, *jobs):
        self.settle()
        states = self.states()
        moved = [job for job in jobs if states.get(job) != "PENDING"]
        expect(not moved, f"jobs {moved} should be pending\n{self.picture()}")

    # ---- the plugin ---------------------------------------------------------------------

    def published(self, name):
        with open(os.path.join(self.publish, name), "rb") as file:
            return file.read()

    def metrics(self):
        """metrics.prom as {name with labels: value}; {} while there is none."""
        try:
            text = self.published("metrics.prom").decode("utf-8")
        except FileNotFoundError:
            return {}
        found = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[name] = float(value)
        return found

    def plan(self):
        """plan.jsonl as a list of objects."""
        return [json.loads(line) for line in
                self.published("plan.jsonl").decode("utf-8").splitlines()]

    # ---- the cluster's configuration ----------------------------------------------------

    def set_conf(self, key, value):
        """Sets a key of slurm.conf for this case; restart() or reconfigure() follows."""
        self._remember(self.cluster.slurm_conf)
        self.cluster.set_conf(key, value)

    def foresight_conf(self, text):
        """Replaces foresight.conf for this case."""
        self._remember(self.cluster.foresight_conf)
        self.cluster.write_foresight_conf(text)

    def original(self):
        """foresight.conf as the setup has it."""
        with open(self.cluster.foresight_conf, encoding="utf-8") as file:
            return self._originals.get(self.cluster.foresight_conf) or file.read()

    def restart(self, **env):
        """Restarts slurmctld, with this environment besides (until the case ends)."""
        if env:
            self._originals.setdefault("env", dict(self.cluster.ctld_env))
            self.cluster.ctld_env.update(env)
        self.cluster.restart_ctld()

    def _remember(self, path):
        with open(path, encoding="utf-8") as file:
            self._originals.setdefault(path, file.read())

    def _restore(self):
        if self._originals:
            env = self._originals.pop("env", None)
            if env is not None:
                self.cluster.ctld_env.clear()
                self.cluster.ctld_env.update(env)
            for path, text in self._originals.items():
                self.cluster.write(path, text)
            self._originals = {}
            self.cluster.restart_ctld()
        elif self.cluster.pid("slurmctld") is None:
            self.cluster.start_ctld()
        for node in self.cluster.real_nodes():
            if self.cluster.pid(f"slurmd-{node.name}") is None:
                self.cluster.start_slurmd(node.name)

    # ---- between cases ------------------------------------------------------------------

    def begin(self):
        """Before a case."""
        if os.path.exists(self.spans_file):
            os.unlink(self.spans_file)
        self.log_start = os.path.getsize(self.cluster.log("slurmctld"))

    def clean(self):
        """After a case: no job, no reservation, every node up."""
        self._restore()
        jobs = self.run("squeue", "-h", "-a", "-o", "%A", check=False).split()
        if jobs:
            self.run("scancel", *set(jobs), check=False)
        names = re.findall(r"ReservationName=(\S+)", self.scontrol("-o", "show", "res"))
        self.wait(lambda: not self.queue(), "the queue is empty", 40)
        for name in names:
            self.scontrol("delete", f"ReservationName={name}")
        bad = [line.split()[0] for line in
               self.run("sinfo", "-h", "-N", "-o", "%N %t").splitlines()
               if re.match(r"(down|drain|drng|fail)", line.split()[1])]
        for name in sorted(set(bad)):
            self.scontrol("update", f"NodeName={name}", "State=RESUME", check=False)

    def picture(self):
        """The queue and the nodes, for a failure's report."""
        queue = self.run("squeue", "-a", "-o", "%.8i %.9P %.4t %.8M %.20S %R %r", check=False)
        nodes = self.run("sinfo", "-N", "-o", "%N %t %C %G", check=False)
        return queue + nodes
