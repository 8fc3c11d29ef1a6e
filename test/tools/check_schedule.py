#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Is a foresight-schedule/1 a legal answer to a foresight-scenario/1?

usage: check_schedule.py SCENARIO SCHEDULE [--expect-metrics]

Independent of the planner on purpose: it fills a table of who holds which GPU when, and
recomputes the metrics from that.  Prints the metrics as JSON.  Exit status 0: legal (and with
--expect-metrics the schedule's own metrics agree), 1: not, with a line for each violation on
stderr, 2: a file cannot be read.
"""
import json
import sys
from collections import defaultdict

TINY = 1e-6


class Checker:
    def __init__(self, scenario, schedule):
        self.scenario, self.schedule = scenario, schedule
        self.step, self.steps = scenario["step_seconds"], scenario["horizon_steps"]
        self.horizon = self.step * self.steps
        self.nodes = [node["name"] for node in scenario["nodes"]]
        self.size = {node["name"]: node["gpus"] for node in scenario["nodes"]}
        self.place = {name: i for i, name in enumerate(self.nodes)}
        self.jobs = {job["id"]: job for job in scenario["jobs"]}
        self.apps = scenario.get("realtime", [])
        self.spans = defaultdict(list)  # (node, gpu) -> [(from, until, who)]
        self.wrong = []

    def complain(self, text):
        self.wrong.append(text)

    # -- GPUs ----------------------------------------------------------------------------------
    def gpus_of(self, pairs, who):
        """The set of (node, gpu) of [["gpu00", [0, 1]], ...]."""
        found = set()
        for node, numbers in pairs:
            for number in numbers:
                if node not in self.size or not 0 <= number < self.size[node]:
                    self.complain(f"{who}: there is no GPU {number} on {node}")
                elif (node, number) in found:
                    self.complain(f"{who}: GPU {number} of {node} stands there twice")
                else:
                    found.add((node, number))
        return found

    def hold(self, gpus, start, end, who):
        if end > start:
            for gpu in gpus:
                self.spans[gpu].append((start, end, who))

    def check_overlaps(self):
        for (node, number), spans in self.spans.items():
            until, holder = float("-inf"), None
            for start, end, who in sorted(spans, key=lambda span: span[:2]):
                if start < until - TINY:
                    self.complain(f"GPU {number} of {node}: {holder} and {who} at {start} s")
                if end > until:
                    until, holder = end, who

    def check_shape(self, gpus, who):
        rule = self.scenario.get("block", "contiguous")
        line = sorted((self.place[node], number) for node, number in gpus)
        if rule == "any" or not line:
            return
        used = sorted({node for node, _ in line})
        if len(used) == 1:
            first = line[0][1]
            if [number for _, number in line] != list(range(first, first + len(line))):
                self.complain(f"{who}: its GPUs are not neighbours")
            power = 1 << (len(line) - 1).bit_length()
            if rule == "aligned" and first % power:
                self.complain(f"{who}: its {len(line)} GPUs do not start at a multiple of {power}")
            return
        if used != list(range(used[0], used[0] + len(used))):
            self.complain(f"{who}: its nodes are not neighbours")
        for node in used:
            have = [number for n, number in line if n == node]
            want = len(have) if node == used[-1] else self.size[self.nodes[node]]
            if have != list(range(want)):
                self.complain(f"{who}: {self.nodes[node]} is not taken whole from GPU 0")

    # -- jobs ----------------------------------------------------------------------------------
    def check_job(self, item):
        who = item["id"]
        job = self.jobs.get(who)
        if job is None:
            self.complain(f"{who}: the scenario has no such job")
            return None
        gpus = self.gpus_of(item["gpus"], who)
        start, end = item["start_s"], item["end_s"]
        if len(gpus) != job["gpus"]:
            self.complain(f"{who}: has {len(gpus)} GPUs, asked for {job['gpus']}")
        if "running" in job:
            was = self.gpus_of(job["running"]["gpus"], who)
            due = job["running"]["start_s"] + job["duration_s"]
            if gpus != was or start != 0 or abs(end - due) > TINY:
                self.complain(f"{who}: ran, and was moved, cut or extended")
        else:
            if abs(end - start - job["duration_s"]) > TINY:
                self.complain(f"{who}: gets {end - start} s of {job['duration_s']}")
            if start < job.get("submit_s", 0) - TINY:
                self.complain(f"{who}: starts before it is submitted")
            if start >= self.horizon:
                self.complain(f"{who}: starts after the horizon")
            if self.scenario.get("fit") != "may-overrun" and end > self.horizon + TINY:
                self.complain(f"{who}: ends after the horizon")
            self.check_shape(gpus, who)
        self.hold(gpus, start, end, who)
        return job, start, end

    def check_jobs(self):
        weight_end = self.scenario.get("value", {}).get("decay_end", 1)
        fall = (1 - weight_end) / max(1, self.steps - 1)
        seen = set()
        self.used = self.value = self.late = 0
        self.completed = 0
        for item in self.schedule["jobs"]:
            if item["id"] in seen:
                self.complain(f"{item['id']}: stands there twice")
            seen.add(item["id"])
            checked = self.check_job(item)
            if checked is None:
                continue
            job, start, end = checked
            first = max(0, int(start // self.step))
            last = min(self.steps, int(-(-end // self.step)))
            for step in range(first, last):
                share = (min(end, (step + 1) * self.step) - max(start, step * self.step)) / self.step
                self.used += job["gpus"] * share
                self.value += job["priority"] * job["gpus"] * share * (1 - fall * step)
            self.completed += end <= self.horizon + TINY
            self.late += job["gpus"] if end > self.horizon + TINY else 0
        self.placed = len(seen)
        explained = {item["id"]: item.get("reason") for item in self.schedule["unplaced"]}
        for who, job in self.jobs.items():
            if who in seen and who in explained:
                self.complain(f"{who}: both placed and unplaced")
            if who not in seen and not explained.get(who):
                self.complain(f"{who}: neither placed nor unplaced with a reason")
            if who not in seen and "running" in job:
                self.complain(f"{who}: ran, and is gone")
        for who in explained.keys() - self.jobs.keys():
            self.complain(f"{who}: unplaced, but not in the scenario")

    # -- real time -----------------------------------------------------------------------------
    def check_app(self, app, steps):
        who = app["id"]
        if len(steps) != self.steps:
            self.complain(f"{who}: has {len(steps)} steps, not {self.steps}")
            return
        before = None
        if "held" in app:
            before = self.gpus_of(app["held"], who)
        for step, pairs in enumerate(steps):
            gpus = self.gpus_of(pairs, who)
            self.hold(gpus, step * self.step, (step + 1) * self.step, f"{who}@{step}")
            if before is not None:
                moved = len(before - gpus) + len(gpus - before)
                self.swaps += moved
                if moved > app.get("max_swap", float("inf")):
                    self.complain(f"{who}: swaps {moved} GPUs into step {step}")
            before = gpus
            short = max(0, app["demand"][step] - len(gpus))
            self.used += app["demand"][step] - short
            self.shortfall += short
            self.penalty += short * app.get("priority", 1)

    def check_apps(self):
        self.swaps = self.shortfall = self.penalty = 0
        held = {item["id"]: item["steps"] for item in self.schedule["realtime"]}
        for app in self.apps:
            self.check_app(app, held.get(app["id"], []))
        if self.scenario.get("fit") == "may-overrun":
            room = sum(self.size.values()) - sum(max(app["demand"]) for app in self.apps)
            if self.late > max(room, 0) and self.late > self.running_late():
                self.complain(f"{self.late} GPUs end after the horizon, {room} may")

    def running_late(self):
        """GPUs of jobs that ran already and end late: nobody chose that."""
        return sum(job["gpus"] for job in self.jobs.values() if "running" in job and
                   job["running"]["start_s"] + job["duration_s"] > self.horizon)

    def run(self):
        self.check_jobs()
        self.check_apps()
        self.check_overlaps()
        weight = self.scenario.get("value", {}).get("shortfall_weight", 8)
        return {
            "utilisation": self.used / (sum(self.size.values()) * self.steps),
            "value": self.value,
            "objective": self.value - weight * self.penalty,
            "shortfall_gpu_steps": self.shortfall,
            "swaps": self.swaps,
            "jobs_placed": self.placed,
            "jobs_completed": self.completed,
            **self.waits(),
            "fragmentation": self.fragmentation(),
        }

    def placed_jobs(self):
        """(start, job) of each that waited for its place."""
        return [(item["start_s"], self.jobs[item["id"]]) for item in self.schedule["jobs"]
                if item["id"] in self.jobs and "running" not in self.jobs[item["id"]]]

    def waits(self):
        waits = [(start - job.get("submit_s", 0), max(10, job["duration_s"]))
                 for start, job in self.placed_jobs()] or [(0, float("inf"))]
        slow = [(wait + length) / length if length < float("inf") else 0
                for wait, length in waits]
        return {"wait_mean_s": sum(wait for wait, _ in waits) / len(waits),
                "wait_max_s": max(wait for wait, _ in waits),
                "bounded_slowdown_mean": sum(slow) / len(slow),
                "bounded_slowdown_max": max(slow)}

    def fragmentation(self):
        """Mean over the waiting jobs: free GPUs at the start in no block of the job's size."""
        free = [[not any(start <= 0 < end for start, end, _ in self.spans[(node, number)])
                 for number in range(self.size[node])] for node in self.nodes]
        all_free = sum(map(sum, free))
        starting = {job["id"] for start, job in self.placed_jobs() if start == 0}
        waiting = [job["gpus"] for job in self.jobs.values()
                   if "running" not in job and job["id"] not in starting]
        if not all_free or not waiting:
            return 0.0
        return sum(1 - sum(self.usable(node, size) for node in free) / all_free
                   for size in waiting) / len(waiting)

    def usable(self, free, size):
        """Free GPUs of a node that lie in a block of this size; a larger one takes it whole."""
        block = self.scenario.get("block", "contiguous")
        size = min(size, len(free))
        if block == "any":
            return sum(free) if sum(free) else 0
        stride = 1 << (size - 1).bit_length() if block == "aligned" else 1
        covered = set()
        for first in range(0, len(free) - size + 1, stride):
            if all(free[first:first + size]):
                covered.update(range(first, first + size))
        return len(covered)


def check(scenario, schedule, expect_metrics=False):
    """(metrics, violations)"""
    checker = Checker(scenario, schedule)
    metrics = checker.run()
    if expect_metrics:
        for name, mine in metrics.items():
            told = schedule["metrics"].get(name)
            if told is None or abs(told - mine) > TINY * max(1, abs(mine)):
                checker.complain(f"metrics.{name}: told {told}, found {mine}")
    return metrics, checker.wrong


def main(arguments):
    paths = [argument for argument in arguments if argument != "--expect-metrics"]
    if len(paths) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        scenario, schedule = (json.load(open(path, encoding="utf-8")) for path in paths)
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 2
    metrics, wrong = check(scenario, schedule, len(paths) < len(arguments))
    print(json.dumps(metrics))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
