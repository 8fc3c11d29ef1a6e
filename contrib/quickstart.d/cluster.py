#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A throw-away Slurm cluster on loopback, in a private directory, for demos and tests.

    with Cluster(nodes=8, scheduler="foresight", plugin_dir="…/plugin/.libs",
                 foresight_conf="Mode=active\\n") as cluster:
        job = cluster.sbatch("--gres=gpu:2", wrap="sleep 30")
        cluster.wait_for(lambda: cluster.job(job)["JobState"] == "RUNNING", 10)

Real daemons (munged, slurmctld, one slurmd a node and, with accounting=True, MariaDB and
slurmdbd) with ports, sockets, key and files of their own; only the GPUs are fake: plain files.
It needs no systemd and no root (without root, jobs run as the one user), touches no Slurm that
the machine already runs, and leaves nothing behind however the program ends.

As a program: `cluster.py shell`, `cluster.py start`, `cluster.py stop DIR`; see --help.
"""

import atexit
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import processes  # noqa: E402
import slurmconf  # noqa: E402
from slurmconf import Node  # noqa: E402  (for users of this module)

SCHEDULERS = {
    "backfill": ("sched/backfill", None),
    "builtin": ("sched/builtin", None),
    "fifo": ("sched/builtin", None),
    "foresight": ("sched/foresight", "sched_foresight.so"),
    "drop-in": ("sched/backfill", "sched_backfill.so"),
}
FIELD = "\x1f"  # between fields of squeue and sacct: job names may contain anything else


class ClusterError(RuntimeError):
    """A daemon did not come up or a command failed; the message says which and where to look."""


def find_program(name):
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin"
    found = shutil.which(name, path=path)
    if not found:
        raise ClusterError(f"{name} is not installed (contrib/quickstart installs what is needed)")
    return found


def slurm_plugin_dir():
    """Slurm's own plugin directory; FORESIGHT_SLURM_PLUGINS overrides the search."""
    given = os.environ.get("FORESIGHT_SLURM_PLUGINS")
    places = [given] if given else []
    for base in ("/usr/lib", "/usr/lib64", "/usr/local/lib"):
        places += [f"{base}/slurm-wlm", f"{base}/slurm"]
        if os.path.isdir(base):
            places += [f"{base}/{sub}/{leaf}" for sub in sorted(os.listdir(base))
                       if "-linux-" in sub for leaf in ("slurm-wlm", "slurm")]
    for place in places:
        if os.path.exists(f"{place}/sched_backfill.so"):
            return place
    raise ClusterError("Slurm's plugin directory was not found; set FORESIGHT_SLURM_PLUGINS")


def find_plugin(scheduler, plugin_dir):
    """Path of the built module that a scheduler needs."""
    wanted = SCHEDULERS[scheduler][1]
    if not plugin_dir:
        raise ClusterError(f"scheduler {scheduler!r} needs plugin_dir, where {wanted} is")
    for place in (plugin_dir, f"{plugin_dir}/.libs"):
        if os.path.exists(f"{place}/{wanted}"):
            return f"{place}/{wanted}"
    raise ClusterError(f"{wanted} is not in {plugin_dir}; build it first")


def slurm_version():
    out = subprocess.run([find_program("slurmctld"), "-V"], capture_output=True, text=True,
                         check=True).stdout
    return tuple(int(number) for number in re.findall(r"\d+", out)[:3])


def _clean_environment():
    """Ours without what would point Slurm's commands elsewhere or change their output."""
    drop = ("SLURM", "SBATCH", "SALLOC", "SRUN", "SQUEUE", "SINFO", "SACCT", "SCANCEL", "MYSQL",
            processes.MARK)
    env = {key: value for key, value in os.environ.items() if not key.startswith(drop)}
    env["PATH"] = env.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    return env


class Cluster:
    """One cluster.  Arguments:

    nodes           a number, or a list of Node
    gpus, cpus, memory   of each node, where `nodes` is a number
    scheduler       "backfill" (stock), "builtin" or "fifo" (stock, strict order), "foresight"
                    (SchedulerType=sched/foresight) or "drop-in" (our sched_backfill.so first)
    plugin_dir      where sched_foresight.so and sched_backfill.so were built (or its parent of
                    .libs); they are copied, so that a build may go on meanwhile
    foresight_conf  text of foresight.conf
    scheduler_parameters   SchedulerParameters; None: what active mode needs, or nothing
    partitions      lines "PartitionName=…"; default one, "main", with all nodes
    slurm_conf      more lines of slurm.conf; a key given here replaces the default
    licenses        e.g. "matlab:2"
    accounting      MariaDB and slurmdbd too
    enforce         AccountingStorageEnforce
    env             more environment of slurmctld (LD_PRELOAD, ASAN_OPTIONS, …); its copy is
                    the attribute ctld_env, which counts from the next start_ctld() on
    ctld_prefix     a command to run slurmctld under, e.g. ["valgrind", "-q"]
    keep            leave the directory (logs!) after stop()
    directory       use this new directory instead of one made by mkdtemp
    """

    def __init__(self, nodes=8, *, gpus=8, cpus=16, memory=64000, scheduler="backfill",
                 plugin_dir=None, foresight_conf=None, scheduler_parameters=None, partitions=None,
                 slurm_conf="", licenses="", accounting=False, enforce="", env=None,
                 ctld_prefix=(), keep=False, directory=None):
        if scheduler not in SCHEDULERS:
            raise ClusterError(f"scheduler {scheduler!r}: one of {', '.join(SCHEDULERS)}")
        if isinstance(nodes, int):
            nodes = [Node(f"n{i}", gpus, cpus, memory) for i in range(1, nodes + 1)]
        self.nodes = nodes
        self.scheduler = scheduler
        self.plugin_dir = plugin_dir
        self.partitions = partitions or ["PartitionName=main Nodes=ALL Default=YES "
                                         "MaxTime=INFINITE State=UP"]
        self.accounting = accounting
        self.keep = keep
        self.ctld_prefix = list(ctld_prefix)
        self._lines = slurm_conf
        self._licenses = licenses
        self._enforce = enforce
        self._foresight_conf = foresight_conf
        self._parameters = scheduler_parameters
        self.ctld_env = dict(env or {})
        self._given_directory = directory
        self._daemons = {}
        self._guardian = None
        self._running = False
        self.early_files = {}  # name → text: further files for etc/ before the daemons start
        self.directory = None
        self.user = pwd.getpwuid(os.getuid()).pw_name

    # ---- life ---------------------------------------------------------------------------

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self, guarded=True):
        """Starts everything and waits until every node is idle.  Returns self."""
        if guarded:
            _Living.add(self)
        self._running = True
        try:
            self._make_directory()
            if guarded:
                self._guardian = processes.start_guardian(self.directory, self.keep)
            self._prepare()
            self._start_munged()
            if self.accounting:
                self._start_accounting()
            self.start_ctld()
            for node in self.real_nodes():
                self.start_slurmd(node.name)
            self.wait_for(self._all_idle, 30, "every node to be idle")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        """Ends jobs and daemons, waits until they are gone, removes the directory."""
        if not self._running:
            return
        if not self.directory:
            self._running = False
            _Living.discard(self)
            return
        for name in ("slurmctld", *(f"slurmd-{node.name}" for node in self.real_nodes())):
            self._signal(name, signal.SIGTERM)
        _, jobs = processes.of_cluster(self.directory)
        processes.end(jobs, 0, signal.SIGKILL)
        for name in ("slurmctld", *(f"slurmd-{node.name}" for node in self.real_nodes()),
                     "slurmdbd", "mariadbd", "munged"):
            self.stop_daemon(name)
        gone = processes.sweep(self.directory)
        self._running = False
        _Living.discard(self)
        if gone and not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)
        if self._guardian:
            if gone:
                processes.dismiss_guardian(self._guardian)
            self._guardian = None
        if not gone:
            raise ClusterError(f"some processes of {self.directory} would not end")

    def _make_directory(self):
        if self._given_directory:
            os.mkdir(self._given_directory)
            self.directory = os.path.realpath(self._given_directory)
        else:
            self.directory = os.path.realpath(tempfile.mkdtemp(prefix="foresight-"))
        os.chmod(self.directory, 0o755)

    def _prepare(self):
        """What is in the directory before the daemons start; ports."""
        self.paths = {name: f"{self.directory}/{name}" for name in
                      ("etc", "log", "run", "state", "spool", "gpu", "jobs", "plugins", "secret",
                       "database")}
        for name, path in self.paths.items():
            os.mkdir(path, 0o700 if name in ("secret", "database") else 0o755)
        os.chmod(self.paths["jobs"], 0o1777)
        self.paths["munge"] = f"{self.paths['run']}/munge.socket"
        self.slurm_conf = f"{self.paths['etc']}/slurm.conf"
        self.foresight_conf = f"{self.paths['etc']}/foresight.conf"
        self._address, self._rename, self._strict = processes.loopback()
        base = processes.free_ports(len(self.nodes) + 2)
        self.ports = {"slurmctld": base, "slurmdbd": base + 1, "slurmd": base + 2}
        self._env = {**_clean_environment(), "SLURM_CONF": self.slurm_conf}
        self._daemon_env = {**self._env, processes.MARK: self.directory,
                            "MYSQL_UNIX_PORT": f"{self.paths['database']}/socket"}
        self._install_plugins()
        self._write_configuration()
        with open(f"{self.directory}/cluster.json", "w", encoding="utf-8") as file:
            json.dump({"directory": self.directory, "keep": self.keep}, file)

    def _install_plugins(self):
        """Copies what was built into a directory of our own: PluginDir then names nothing else."""
        if SCHEDULERS[self.scheduler][1]:
            shutil.copy(find_plugin(self.scheduler, self.plugin_dir), self.paths["plugins"])

    # ---- configuration ------------------------------------------------------------------

    def _settings(self):
        paths = self.paths
        settings = dict(slurmconf.DEFAULTS)
        settings.update({
            "SlurmctldHost": f"localhost({self._address})",
            "SlurmctldPort": self.ports["slurmctld"],
            "SlurmUser": self.user,
            "SlurmdUser": self.user,
            "AuthInfo": f"socket={paths['munge']}",
            "StateSaveLocation": paths["state"],
            "SlurmdSpoolDir": f"{paths['spool']}/%n",
            "SlurmctldPidFile": f"{paths['run']}/slurmctld.pid",
            "SlurmdPidFile": f"{paths['run']}/slurmd-%n.pid",
            "SlurmctldLogFile": f"{paths['log']}/slurmctld.log",
            "SlurmdLogFile": f"{paths['log']}/slurmd-%n.log",
            "SchedulerType": SCHEDULERS[self.scheduler][0],
        })
        if SCHEDULERS[self.scheduler][1]:
            settings["PluginDir"] = f"{paths['plugins']}:{slurm_plugin_dir()}"
        parameters = self._parameters
        if parameters is None and SCHEDULERS[self.scheduler][1]:
            parameters = "sched_interval=-1,defer"
        if parameters:
            settings["SchedulerParameters"] = parameters
        if self._licenses:
            settings["Licenses"] = self._licenses
        if any(node.cloud for node in self.nodes):
            settings.update(slurmconf.CLOUD_DEFAULTS)
        if self.accounting:
            settings.update({
                "AccountingStorageType": "accounting_storage/slurmdbd",
                "AccountingStorageHost": self._address,
                "AccountingStoragePort": self.ports["slurmdbd"],
                "AccountingStoragePass": paths["munge"],
                "AccountingStorageTRES": "gres/gpu",
                "AccountingStoreFlags": "job_comment",
            })
            if self._enforce:
                settings["AccountingStorageEnforce"] = self._enforce
        return settings

    def _write_configuration(self):
        etc = self.paths["etc"]
        for number in range(max((node.gpu_count() for node in self.nodes), default=0)):
            with open(f"{self.paths['gpu']}/gpu{number}", "w", encoding="ascii"):
                pass
        self.write(self.slurm_conf, slurmconf.merge(self._settings(), self._lines)
                   + slurmconf.node_lines(self.nodes, self._address, self.ports["slurmd"])
                   + "\n".join(self.partitions) + "\n")
        self.write(f"{etc}/gres.conf", slurmconf.gres_conf(self.nodes, self.paths["gpu"]))
        self.write(f"{etc}/cgroup.conf", slurmconf.cgroup_conf(slurm_version()))
        if self._foresight_conf is not None:
            self.write(self.foresight_conf, self._foresight_conf)
        for name, text in self.early_files.items():
            self.write(f"{etc}/{name}", text)
        if self.accounting:
            self.write(f"{etc}/slurmdbd.conf", slurmconf.slurmdbd_conf(
                self.paths, self.ports, self.user, self._address, self._strict), 0o600)
        # slurmd has a file of its own, so that NoInAddrAny binds the servers and not srun.
        os.mkdir(f"{etc}/slurmd")
        own = "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n" if self._strict else ""
        self.write(f"{etc}/slurmd/slurm.conf", f"include {self.slurm_conf}\n{own}")
        for name in ("gres.conf", "cgroup.conf"):
            os.symlink(f"../{name}", f"{etc}/slurmd/{name}")

    @staticmethod
    def write(path, text, mode=0o644):
        """Writes a file whole, then renames it."""
        with open(f"{path}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.chmod(f"{path}.new", mode)
        os.rename(f"{path}.new", path)

    def set_conf(self, key, value):
        """Sets a key of slurm.conf (None removes it); reconfigure() or restart_ctld() follows."""
        with open(self.slurm_conf, encoding="utf-8") as file:
            text = file.read()
        self.write(self.slurm_conf, slurmconf.with_value(text, key, value))

    def write_foresight_conf(self, text):
        self.write(self.foresight_conf, text)

    # ---- daemons ------------------------------------------------------------------------

    def real_nodes(self):
        return [node for node in self.nodes if not node.cloud]

    def log(self, name):
        """Path of a daemon's log: "slurmctld", "slurmd-n1", "slurmdbd", "mariadbd", "munged"."""
        return f"{self.paths['log']}/{name}.log"

    def log_text(self, name="slurmctld"):
        try:
            with open(self.log(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def pid(self, name):
        """Pid of a daemon that this cluster started and that lives, or None."""
        daemon = self._daemons.get(name)
        return daemon.pid if daemon and daemon.poll() is None else None

    def _spawn(self, name, args, env=None):
        if self.pid(name):
            raise ClusterError(f"{name} is running already")
        self._daemons[name] = processes.spawn(
            args, {**self._daemon_env, **(env or {})}, f"{self.paths['log']}/{name}.out",
            self._rename and name.startswith("slurm"))

    def _signal(self, name, number):
        if self.pid(name):
            os.kill(self._daemons[name].pid, number)

    def _await(self, name, ready, timeout):
        """Waits until a daemon is ready; its end, or no answer in time, is an error."""
        deadline = time.monotonic() + timeout
        while not ready():
            if self.pid(name) is None or time.monotonic() > deadline:
                what = "ended at once" if self.pid(name) is None else f"no answer in {timeout} s"
                raise ClusterError(f"{name}: {what}\n{self._tail(name)}")
            time.sleep(0.02)

    def _tail(self, name):
        text = self.log_text(name)
        try:
            with open(f"{self.paths['log']}/{name}.out", encoding="utf-8",
                      errors="replace") as file:
                text += file.read()
        except FileNotFoundError:
            pass
        return "\n".join(f"  {line}" for line in text.splitlines()[-8:])

    def _start_munged(self):
        secret, run = self.paths["secret"], self.paths["run"]
        with open(f"{secret}/munge.key", "wb") as file:
            os.chmod(file.fileno(), 0o600)
            file.write(os.urandom(1024))
        self._spawn("munged", [
            find_program("munged"), "--foreground", "--force", f"--socket={self.paths['munge']}",
            f"--key-file={secret}/munge.key", f"--log-file={self.log('munged')}",
            f"--pid-file={run}/munged.pid", f"--seed-file={secret}/munge.seed",
            "--group-update-time=-1"])
        self._await("munged", lambda: os.path.exists(self.paths["munge"]), 10)

    def _start_accounting(self):
        data = f"{self.paths['database']}/data"
        subprocess.run([find_program("mariadb-install-db"), "--no-defaults", f"--datadir={data}",
                        f"--user={self.user}", "--skip-test-db", "--skip-name-resolve",
                        "--auth-root-authentication-method=normal"], env=self._daemon_env,
                       stdin=subprocess.DEVNULL, capture_output=True, check=True)
        socket = self._daemon_env["MYSQL_UNIX_PORT"]
        self._spawn("mariadbd", [
            find_program("mariadbd"), "--no-defaults", f"--datadir={data}", f"--user={self.user}",
            f"--socket={socket}", f"--pid-file={self.paths['run']}/mariadbd.pid",
            "--skip-networking", "--innodb-buffer-pool-size=128M", "--innodb-log-file-size=32M",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900",
            "--innodb-doublewrite=0", "--max-allowed-packet=16M"])
        self._await("mariadbd", lambda: os.path.exists(socket), 30)
        # StorageUser is the cluster's user: the database's own root may be another name.
        sql = (f"CREATE USER IF NOT EXISTS '{self.user}'@'localhost';"
               f"GRANT ALL ON *.* TO '{self.user}'@'localhost' WITH GRANT OPTION;")
        subprocess.run([find_program("mariadb"), "--no-defaults", f"--socket={socket}", "-u",
                        "root", "-e", sql], env=self._daemon_env, check=True, capture_output=True)
        self._spawn("slurmdbd", [find_program("slurmdbd"), "-D"])
        show = ["sacctmgr", "-n", "show", "cluster"]
        self._await("slurmdbd", lambda: self.run(show, check=False).returncode == 0, 30)
        # Its first minutes would be lost to associations that it does not know yet.
        self.sacctmgr("add", "cluster", "foresight")

    def start_ctld(self, wait=True):
        self._spawn("slurmctld", self.ctld_prefix + [find_program("slurmctld"), "-D", "-f",
                                                     self.slurm_conf], self.ctld_env)
        if wait:
            self._await("slurmctld", self.ctld_answers, 30 if not self.ctld_prefix else 180)

    def ctld_answers(self):
        done = self.run(["scontrol", "ping"], check=False)
        return done.returncode == 0 and " UP" in done.stdout

    def start_slurmd(self, node):
        self._spawn(f"slurmd-{node}", [find_program("slurmd"), "-D", "-N", node, "-f",
                                       f"{self.paths['etc']}/slurmd/slurm.conf"],
                    {"SLURM_CONF": f"{self.paths['etc']}/slurmd/slurm.conf"})

    def stop_daemon(self, name, grace=10.0):
        """SIGTERM, then SIGKILL; returns when the daemon is gone."""
        daemon = self._daemons.get(name)
        if daemon and daemon.poll() is None:
            processes.end([daemon.pid], grace)
            _take_status(daemon)

    def stop_ctld(self):
        self.stop_daemon("slurmctld", 60)

    def stop_slurmd(self, node):
        self.stop_daemon(f"slurmd-{node}")

    def kill9(self, name):
        """SIGKILL to a daemon and its helpers (slurmctld has one, slurmscriptd)."""
        daemon = self._daemons[name]
        children = processes.children(daemon.pid) if name == "slurmctld" else set()
        processes.end(children | {daemon.pid}, 5, signal.SIGKILL)
        _take_status(daemon)

    def restart_ctld(self):
        self.stop_ctld()
        self.start_ctld()

    def reconfigure(self):
        self.scontrol("reconfigure")

    def _all_idle(self):
        """Every node is up and idle (a cloud node sleeps, which counts)."""
        out = self.run(["sinfo", "-h", "-N", "-o", "%N %T"], check=False).stdout.split("\n")
        states = dict(line.split() for line in out if line.strip())
        return bool(states) and all(state.rstrip("~*#") == "idle" and not state.endswith("*")
                                    for state in states.values())

    # ---- commands -----------------------------------------------------------------------

    def environment(self):
        """Environment in which Slurm's commands speak to this cluster."""
        return dict(self._env)

    def run(self, args, check=True, user=None, timeout=120, stdin=None, cwd=None):
        """Runs a command in the cluster's environment; text in `stdout` and `stderr`.

        user: a name to run it as (root only).  A failure raises ClusterError with its stderr.
        """
        extra = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} \
            if user and user != self.user else {}
        done = subprocess.run(list(args), env=self._env, capture_output=True, text=True,
                              errors="surrogateescape", timeout=timeout, check=False,
                              input=stdin if stdin is not None else "",
                              cwd=cwd or self.paths["jobs"], **extra)
        if check and done.returncode != 0:
            raise ClusterError(f"{' '.join(map(str, args))}: exit {done.returncode}: "
                               f"{(done.stderr or done.stdout).strip()}")
        return done

    def popen(self, args, **more):
        """Starts a client in the background (srun, salloc); the caller waits for it."""
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                "stderr": subprocess.STDOUT, "text": True, "cwd": self.paths["jobs"], **more}
        return subprocess.Popen(list(args), env=self._env, **more)

    def scontrol(self, *args):
        return self.run(["scontrol", *args]).stdout

    def sacctmgr(self, *args):
        return self.run(["sacctmgr", "-i", *args]).stdout

    def sbatch(self, *args, wrap="sleep 600", user=None):
        """Submits; returns the job's id as text.  Output goes to jobs/ unless the caller says."""
        own = [] if any(re.match(r"-o|--output", arg) for arg in args) else ["--output=%j.out"]
        done = self.run(["sbatch", "--parsable", *own, *args, f"--wrap={wrap}"], user=user)
        return done.stdout.strip().split(";")[0]

    def scancel(self, *args):
        return self.run(["scancel", *args]).stdout

    def job(self, job_id):
        """`scontrol show job` as a dict; {} when Slurm does not know it (any more)."""
        done = self.run(["scontrol", "-o", "-d", "show", "job", str(job_id)], check=False)
        return dict(re.findall(r"(\S+?)=(\S*)", done.stdout.split("\n")[0]))

    def state(self, job_id):
        return self.job(job_id).get("JobState", "")

    def node(self, name):
        out = self.scontrol("-o", "show", "node", name)
        return dict(re.findall(r"(\S+?)=(\S*)", out))

    def squeue(self, *args, **columns):
        """Rows of squeue as dicts; columns: name="%format" (default id, state, reason, …)."""
        columns = columns or {"id": "%i", "name": "%j", "state": "%T", "reason": "%r",
                              "start": "%S", "nodes": "%N", "gres": "%b", "qos": "%q"}
        out = self.run(["squeue", "-h", "-o", FIELD.join(columns.values()), *args]).stdout
        return [dict(zip(columns, line.split(FIELD))) for line in out.split("\n") if line]

    def sacct(self, *args, fields="JobID,JobName,State,Submit,Start,End,Elapsed,AllocTRES"):
        """Rows of sacct as dicts by the names asked for; all users, whole jobs (-X)."""
        out = self.run(["sacct", "-X", "-a", "-n", "-P", f"--delimiter={FIELD}", "-o", fields,
                        *args]).stdout
        names = fields.split(",")
        return [dict(zip(names, line.split(FIELD))) for line in out.split("\n") if line]

    def reservation(self, name, nodes, *, start="now", duration="UNLIMITED", users=None,
                    flags=None):
        """Makes a reservation of whole nodes."""
        more = [f"flags={flags}"] if flags else []
        self.scontrol("create", "reservation", f"reservationname={name}", f"nodes={nodes}",
                      f"starttime={start}", f"duration={duration}",
                      f"users={users or self.user}", *more)

    def account(self, name, users=(), **limits):
        """Adds an account and its users; limits: GrpTRES="gres/gpu=4", …"""
        self.sacctmgr("add", "account", name, *(f"{key}={value}" for key, value in limits.items()))
        for user in users:
            self.sacctmgr("add", "user", user, f"account={name}")

    def qos(self, name, **limits):
        """Adds a QOS and lets every association use it; limits: MaxTRESPU="gres/gpu=2", …"""
        self.sacctmgr("add", "qos", name, *(f"{key}={value}" for key, value in limits.items()))
        self.sacctmgr("modify", "account", "root", "set", f"qos+={name}")

    @staticmethod
    def wait_for(predicate, timeout=20.0, what="", interval=0.1):
        """Waits until predicate() is true and returns its value; ClusterError after `timeout`."""
        deadline = time.monotonic() + timeout
        while True:
            value = predicate()
            if value:
                return value
            if time.monotonic() > deadline:
                raise ClusterError(f"waited {timeout:g} s in vain for {what or predicate}")
            time.sleep(interval)


def _take_status(daemon):
    """Waits for the exit status: a process with threads is a zombie a moment before it has one."""
    try:
        daemon.wait(10)
    except subprocess.TimeoutExpired:
        pass


class _Living:
    """Clusters that must be stopped when the program ends; SIGTERM and SIGHUP end it properly."""

    clusters = []

    @classmethod
    def add(cls, cluster):
        if not cls.clusters:
            atexit.register(cls.stop_all)
            if threading.current_thread() is threading.main_thread():
                for number in (signal.SIGTERM, signal.SIGHUP):
                    if signal.getsignal(number) is signal.SIG_DFL:
                        signal.signal(number, lambda n, _: sys.exit(128 + n))
        cls.clusters.append(cluster)

    @classmethod
    def discard(cls, cluster):
        if cluster in cls.clusters:
            cls.clusters.remove(cluster)

    @classmethod
    def stop_all(cls):
        for cluster in list(cls.clusters):
            cluster.stop()


if __name__ == "__main__":
    from cluster_cli import main
    sys.exit(main())
