# SPDX-License-Identifier: GPL-2.0-or-later
"""cluster.py as a program: a throw-away Slurm to play with.

    cluster.py shell                  a shell in which sbatch, squeue, … speak to a new cluster;
                                      leaving the shell ends and removes it
    cluster.py shell -- COMMAND …     the same for one command; its exit status is returned
    cluster.py start                  starts one that stays, prints its directory
    cluster.py stop DIR               ends it and removes the directory
"""

import argparse
import os
import shutil
import subprocess
import sys

import processes
from cluster import SCHEDULERS, Cluster, ClusterError


def _parser():
    parser = argparse.ArgumentParser(prog="cluster.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("shell", "start"):
        sub = verbs.add_parser(verb)
        sub.add_argument("--nodes", type=int, default=8, help="nodes (default 8)")
        sub.add_argument("--gpus", default="8", help='GPUs of a node: 8, or "a100:4,h100:4"')
        sub.add_argument("--cpus", type=int, default=16)
        sub.add_argument("--scheduler", choices=sorted(SCHEDULERS), default="backfill")
        sub.add_argument("--plugin-dir", help="where the plugin was built")
        sub.add_argument("--foresight-conf", help="a foresight.conf to use")
        sub.add_argument("--slurm-conf", help="a file with more lines for slurm.conf")
        sub.add_argument("--accounting", action="store_true", help="MariaDB and slurmdbd too")
        sub.add_argument("--keep", action="store_true", help="leave the directory with the logs")
        if verb == "shell":
            sub.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    verbs.add_parser("stop").add_argument("directory")
    return parser


def _read(path):
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def _make(options):
    gpus = int(options.gpus) if options.gpus.isdigit() else options.gpus
    return Cluster(options.nodes, gpus=gpus, cpus=options.cpus, scheduler=options.scheduler,
                   plugin_dir=options.plugin_dir, foresight_conf=_read(options.foresight_conf),
                   slurm_conf=_read(options.slurm_conf) or "", accounting=options.accounting,
                   keep=options.keep)


def _shell(options):
    with _make(options) as cluster:
        command = [word for word in options.command if word != "--"]
        if not command:
            command = [os.environ.get("SHELL", "/bin/bash")]
            print(f"Slurm with {options.nodes} nodes is up in {cluster.directory} (logs in log/).\n"
                  "Try: sinfo; sbatch --gres=gpu:2 --wrap='sleep 30'; squeue. "
                  "Leave the shell to end it.", file=sys.stderr)
        return subprocess.run(command, env=cluster.environment(), check=False).returncode


def _start(options):
    cluster = _make(options).start(guarded=False)
    print(cluster.directory)
    print(f"Use it:  export SLURM_CONF={cluster.slurm_conf}\n"
          f"End it:  {os.path.abspath(sys.argv[0])} stop {cluster.directory}", file=sys.stderr)
    return 0


def _stop(directory):
    directory = os.path.realpath(directory)
    if not os.path.isfile(f"{directory}/cluster.json"):
        raise ClusterError(f"{directory} is no directory of a throw-away cluster")
    if not processes.sweep(directory, grace=10):
        raise ClusterError(f"some processes of {directory} would not end")
    shutil.rmtree(directory)
    return 0


def main(arguments=None):
    options = _parser().parse_args(arguments)
    try:
        if options.verb == "stop":
            return _stop(options.directory)
        return _shell(options) if options.verb == "shell" else _start(options)
    except (ClusterError, OSError, subprocess.CalledProcessError) as error:
        print(f"cluster.py: {error}", file=sys.stderr)
        return 2
