# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes of a throw-away cluster: start them, find every one of them again, end them.

A daemon is known by its pid *and* by a mark in its environment (MARK=<the cluster's directory>),
so that a pid used again by somebody else's process is never touched.  slurmstepd overwrites its
environment when it renames itself; it is found by the files that it holds open in the directory.
Jobs are the descendants of the slurmstepd processes.

Run as a program (`processes.py guard DIR KEEP`) this file is the guardian: it waits for the end
of its standard input, that is, for the death of the program that made the cluster, however it
died, and then ends what is left and removes the directory.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

MARK = "FORESIGHT_CLUSTER"
CLONE_NEWUTS = 0x04000000


def _proc(pid, what):
    """Bytes of /proc/PID/what, empty when the process is gone or not ours to read."""
    try:
        with open(f"/proc/{pid}/{what}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def alive(pid):
    """True while the process exists and is no zombie."""
    return _proc(pid, "stat").rpartition(b")")[2][1:2] not in (b"", b"Z", b"X")


def marked(pid, directory):
    """True when the process was started for the cluster in this directory."""
    return f"{MARK}={directory}".encode() in _proc(pid, "environ").split(b"\0")


def _is_step(pid, directory):
    if not _proc(pid, "cmdline").startswith(b"slurmstepd"):
        return False
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(directory + "/"):
                    return True
            except OSError:
                continue
    except OSError:
        pass
    return False


def _descendants(roots):
    children = {}
    for pid in _pids():
        fields = _proc(pid, "stat").rpartition(b")")[2].split()
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(pid)
    found, todo = set(), list(roots)
    while todo:
        for child in children.get(todo.pop(), []):
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


def children(pid):
    """Pids of all processes under this one."""
    return _descendants([pid])


def of_cluster(directory):
    """(daemons and whatever else carries the mark, steps and the jobs under them)."""
    me = os.getpid()
    carrying = {pid for pid in _pids() if pid != me and marked(pid, directory)}
    steps = {pid for pid in _pids() if pid != me and _is_step(pid, directory)}
    return carrying - steps, steps | _descendants(steps)


def end(pids, grace=5.0, first=signal.SIGTERM):
    """Signals processes and waits until they are gone, with SIGKILL after `grace` seconds."""
    pids = {pid for pid in pids if alive(pid)}
    deadline = time.monotonic() + grace
    for number in (first, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                pass
        while pids and time.monotonic() < deadline:
            _reap(pids)
            pids = {pid for pid in pids if alive(pid)}
            if pids:
                time.sleep(0.02)
        deadline = time.monotonic() + 5.0
    return not pids


def _reap(pids):
    """Takes the exit status of those that are our own children."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass


def sweep(directory, grace=0.5):
    """Ends everything that belongs to the cluster, jobs first."""
    for _ in range(3):
        daemons, jobs = of_cluster(directory)
        if not daemons and not jobs:
            return True
        end(jobs, 0, signal.SIGKILL)
        end(daemons, grace)
    return not any(of_cluster(directory))


def loopback():
    """How daemons are kept on loopback: (address, in a UTS namespace of their own?, strict?).

    Slurm binds its servers to the address of the host's own name, or to every address there is.
    In a UTS namespace the name can be `localhost`; that takes root.  Else the host's name may be
    an address on loopback already.  Else Slurm listens everywhere, guarded by munge's key alone.
    """
    probe = subprocess.run([sys.executable, "-c", "import ctypes, sys; sys.exit(0 != ctypes."
                            f"CDLL(None).unshare({CLONE_NEWUTS}))"], check=False)
    if probe.returncode == 0:
        return "127.0.0.1", True, True
    try:
        address = socket.gethostbyname(socket.gethostname())
    except OSError:
        address = ""
    if address.startswith("127."):
        return address, False, True
    return "127.0.0.1", False, False


def enter_localhost():
    """In a child before exec: a UTS namespace in which this host is called `localhost`."""
    libc = ctypes.CDLL(None)
    if libc.unshare(CLONE_NEWUTS) == 0:
        libc.sethostname(b"localhost", 9)


def spawn(args, env, log, rename_host=False):
    """Starts a daemon in a session of its own: a Ctrl-C of the terminal must not reach it."""
    with open(log, "ab") as out:
        return subprocess.Popen(args, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                cwd="/", start_new_session=True,
                                preexec_fn=enter_localhost if rename_host else None)


def free_ports(count, tries=200):
    """`count` consecutive ports that nobody listens on, under the range of outgoing connections."""
    for _ in range(tries):
        base = 10000 + int.from_bytes(os.urandom(2), "big") % (22000 - count)
        held = []
        try:
            for port in range(base, base + count):
                held.append(socket.socket())
                held[-1].bind(("", port))
            return base
        except OSError:
            continue
        finally:
            for one in held:
                one.close()
    raise RuntimeError(f"no {count} consecutive free ports found")


def start_guardian(directory, keep):
    """The guardian's process; it acts when the pipe to it closes."""
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), "guard", directory,
                             "keep" if keep else "remove"], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, start_new_session=True, cwd="/")


def dismiss_guardian(guardian):
    """Tells it that nothing is left to do."""
    try:
        guardian.stdin.write(b"done\n")
        guardian.stdin.close()
    except OSError:
        pass
    guardian.wait()


def _guard(directory, keep):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.readline() == b"done\n":
        return
    sweep(directory)
    if not keep:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "guard":
        sys.exit("usage: processes.py guard DIRECTORY keep|remove")
    _guard(sys.argv[2], sys.argv[3] == "keep")
