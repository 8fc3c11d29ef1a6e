#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The closed loop on a week of arrivals: what is lent, what is missed, how long jobs wait.

bench/closed_loop simulates them with the core's own controller and planner.  The traces are not in
the repository: without ../shared/data beside it this skips.

Environment: abs_top_srcdir, abs_top_builddir
"""
import os
import subprocess
import sys
from pathlib import Path

DATA = Path(os.environ["abs_top_srcdir"]).resolve().parent / "shared" / "data"
PROGRAM = Path(os.environ["abs_top_builddir"]) / "test" / "bench" / "closed_loop"
passed = failed = 0


def check(what, good):
    global passed, failed
    passed += good
    failed += not good
    print(("ok   " if good else "FAIL ") + what, flush=True)


def rows(kind, *names):
    """The figures of each way to foresee demand."""
    chosen = [word for name in names for word in ("--row", name)]
    text = subprocess.run([PROGRAM, DATA, "--interval", "600", *chosen, kind],
                          capture_output=True, text=True, check=True, timeout=1800).stdout
    print(text, end="")
    found = {}
    for line in text.splitlines()[2:]:
        *_, short, lent, wait, changes, plans, _ = line.split()
        found[line[:22].strip()] = {"short": float(short), "lent": float(lent),
                                    "wait": float(wait), "changes": int(changes),
                                    "plans": int(plans)}
    return found


def main():
    if not (DATA / "philly-jobs.csv").exists() or not (DATA / "servegen-m-large.csv").exists():
        print(f"loop: skipped: no traces in {DATA}")
        return 77
    for kind in ("november", "october"):
        ways = rows(kind, "perfect", "static peak", "constant 92", "Quantile 0.98")
        perfect, ours = ways["perfect"], ways["Quantile 0.98"]
        check(f"{kind}: at most 1 % of the demand is missed", ours["short"] <= 1)
        check(f"{kind}: nothing is missed by plans alone", perfect["short"] <= 0.3)
        check(f"{kind}: four fifths of a perfect forecast's loans",
              ours["lent"] >= 0.8 * perfect["lent"])
        check(f"{kind}: more is lent than by the best constant hold, and less missed",
              ours["lent"] > ways["constant 92"]["lent"] and
              ours["short"] < ways["constant 92"]["short"])
        check(f"{kind}: jobs wait less than three quarters of what they do beside the static peak",
              ours["wait"] < 0.75 * ways["static peak"]["wait"])
        check(f"{kind}: less is held idle by day, so it changes often, but not with each plan",
              0 < ours["changes"] < ours["plans"])
    print(f"loop: {passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
