# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration files of a throw-away cluster, as text.

Nothing here starts or touches anything: a Node, the settings and the paths go in, the contents of
slurm.conf, gres.conf, cgroup.conf and slurmdbd.conf come out.
"""

import re
from dataclasses import dataclass


@dataclass
class Node:
    """One line of nodes.

    name      a name, or a host list such as "c[1-500]" (only for cloud nodes)
    gpus      a number, or types: "a100:4,h100:4"
    cpus      claimed, whatever the machine has
    memory    MiB, claimed too
    features  comma-separated
    cloud     no slurmd stands behind it: jobs get it and stay CONFIGURING; for tests of scale
    extra     more of the NodeName line, as it is (e.g. "Weight=5")
    """

    name: str
    gpus: object = 8
    cpus: int = 16
    memory: int = 64000
    features: str = ""
    cloud: bool = False
    extra: str = ""

    def gpu_types(self):
        """[(type or "", count)]"""
        if isinstance(self.gpus, int):
            return [("", self.gpus)] if self.gpus else []
        return [(name, int(count)) for name, _, count in
                (part.rpartition(":") for part in self.gpus.split(","))]

    def gpu_count(self):
        return sum(count for _, count in self.gpu_types())


# Settings that every throw-away cluster has; a line of the caller's with the same key wins.
DEFAULTS = {
    "ClusterName": "foresight",
    "AuthType": "auth/munge",
    "CredType": "cred/munge",
    "CommunicationParameters": "NoCtldInAddrAny",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "SwitchType": "switch/none",
    "MpiDefault": "none",
    "MailProg": "/bin/true",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_CPU_Memory",
    "DefMemPerCPU": "100",
    "GresTypes": "gpu",
    "SlurmdParameters": "config_overrides",
    "ReturnToService": "2",
    "SlurmctldTimeout": "60",
    "SlurmdTimeout": "300",
    "KillWait": "2",
    "InactiveLimit": "0",
    "MinJobAge": "600",
    "Waittime": "0",
    "SlurmctldDebug": "verbose",
    "SlurmdDebug": "info",
    # slurmd reads the file through a wrapper that keeps it on loopback, so hashes differ.
    "DebugFlags": "NO_CONF_HASH",
}

CLOUD_DEFAULTS = {
    "SuspendProgram": "/bin/true",
    "ResumeProgram": "/bin/true",
    "SuspendTime": "INFINITE",
    "ResumeTimeout": "7200",
    "PrivateData": "cloud",
}


def merge(settings, text):
    """Settings that `text` does not set itself, as lines, and then the text."""
    own = {match.group(1).lower() for match in re.finditer(r"^\s*([A-Za-z]+)\s*=", text, re.M)}
    lines = [f"{key}={value}" for key, value in settings.items() if key.lower() not in own]
    return "\n".join(lines) + "\n" + text.strip() + "\n"


def with_value(text, key, value):
    """The text with `key` set to `value` (or without it, when value is None)."""
    pattern = re.compile(rf"^\s*{re.escape(key)}\s*=.*\n?", re.M | re.I)
    text = pattern.sub("", text)
    return text if value is None else text.rstrip("\n") + f"\n{key}={value}\n"


def node_lines(nodes, address, first_port):
    """NodeName lines; nodes with a slurmd get the ports from `first_port` on."""
    lines, port = [], first_port
    for node in nodes:
        gres = ",".join(f"gpu:{name}:{count}" if name else f"gpu:{count}"
                        for name, count in node.gpu_types())
        parts = [f"NodeName={node.name}", "NodeHostname=localhost", f"NodeAddr={address}",
                 f"Port={port}", f"CPUs={node.cpus}", f"RealMemory={node.memory}"]
        if node.cloud:
            parts.remove("NodeHostname=localhost")
        parts += [f"Gres={gres}"] if gres else []
        parts += [f"Feature={node.features}"] if node.features else []
        parts += [node.extra] if node.extra else []
        parts.append("State=CLOUD" if node.cloud else "State=UNKNOWN")
        lines.append(" ".join(parts))
        port += 1
    return "\n".join(lines) + "\n"


def gres_conf(nodes, gpu_dir):
    """gres.conf: fake GPUs are the plain files gpu0, gpu1, … in `gpu_dir`."""
    lines = ["AutoDetect=off"]
    for node in nodes:
        first = 0
        for name, count in node.gpu_types():
            kind = f" Type={name}" if name else ""
            span = f"[{first}-{first + count - 1}]" if count > 1 else str(first)
            lines.append(f"NodeName={node.name} Name=gpu{kind} File={gpu_dir}/gpu{span}")
            first += count
    return "\n".join(lines) + "\n"


def cgroup_conf(version):
    """cgroup.conf that keeps Slurm away from cgroups (and so from systemd)."""
    if version >= (23, 11):
        return "CgroupPlugin=disabled\n"
    return "CgroupPlugin=cgroup/v1\n"


def slurmdbd_conf(paths, ports, user, address, strict):
    """slurmdbd.conf; the database is reached by MYSQL_UNIX_PORT in the daemon's environment."""
    lines = [
        "AuthType=auth/munge",
        f"AuthInfo=socket={paths['munge']}",
        f"DbdHost=localhost\nDbdAddr={address}\nDbdPort={ports['slurmdbd']}",
        f"SlurmUser={user}",
        f"LogFile={paths['log']}/slurmdbd.log\nPidFile={paths['run']}/slurmdbd.pid",
        "DebugLevel=info",
        "StorageType=accounting_storage/mysql\nStorageHost=localhost",
        f"StorageUser={user}\nStorageLoc=slurm_acct",
    ]
    if strict:
        lines.append("CommunicationParameters=NoInAddrAny")
    return "\n".join(lines) + "\n"
