# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo's figures, from rows of sacct alone.  Pure.

A row counts by what Slurm's accounting says of it: submitted, started, ended, GPUs.  Everything
is cut at the end of the window, the same for both schedulers; a job that runs on then has used
its GPUs until there, and one that never started has waited until there.
"""

import datetime
import re
import textwrap

SERVICE_QOS = "rt"
FIELDS = "JobID,JobName,QOS,State,Submit,Start,End,TimelimitRaw,ReqTRES,AllocTRES,NodeList"


def parse_time(text):
    """Seconds since the epoch of sacct's local time, None for Unknown and None."""
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S").timestamp()
    except ValueError:
        return None


def gpus_of(tres):
    """GPUs in a TRES string; typed ones are counted in gres/gpu already."""
    found = re.search(r"(?:^|,)gres/gpu=(\d+)", tres)
    return int(found.group(1)) if found else 0


def priority_of(qos):
    """p8 → 8, None for a QOS that is no priority."""
    return int(qos[1:]) if re.fullmatch(r"p\d+", qos) else None


def _spans(rows, window):
    """[(row, gpus, start or None, end)] inside the window."""
    begin, until = window
    spans = []
    for row in rows:
        start, end = parse_time(row["Start"]), parse_time(row["End"])
        gpus = gpus_of(row["AllocTRES"]) or gpus_of(row["ReqTRES"])
        if start is not None and (start >= until or not gpus_of(row["AllocTRES"])):
            start = None
        end = until if end is None else min(end, until)
        spans.append((row, gpus, None if start is None else max(start, begin), end))
    return spans


def service_met(rows, curve, window):
    """(GPU-seconds wanted, GPU-seconds of them that ran) of the real-time service."""
    begin, until = window
    spans = [(gpus, start, end) for row, gpus, start, end in _spans(rows, window)
             if row["QOS"] == SERVICE_QOS and start is not None]
    step = (until - begin) / len(curve)
    wanted = met = 0.0
    for index, want in enumerate(curve):
        low, high = begin + index * step, begin + (index + 1) * step
        edges = sorted({low, high, *(edge for _, start, end in spans for edge in (start, end)
                                     if low < edge < high)})
        for first, last in zip(edges, edges[1:]):
            held = sum(gpus for gpus, start, end in spans if start <= first and end >= last)
            wanted += want * (last - first)
            met += min(want, held) * (last - first)
    return wanted, met


def figures(rows, curve, window, gpus, hour):
    """All figures of one run.  Times and GPU times in hours of the demo's day."""
    begin, until = window
    wanted, met = service_met(rows, curve, window)
    batch = [(span, priority_of(span[0]["QOS"])) for span in _spans(rows, window)
             if priority_of(span[0]["QOS"])]
    used = value = 0.0
    waits, done, running, waiting = [], 0, 0, 0
    for (row, count, start, end), priority in batch:
        submit = parse_time(row["Submit"])
        waits.append((priority, (until if start is None else start) - submit))
        if start is None:
            waiting += 1
            continue
        used += count * (end - start)
        value += priority * count * (end - start)
        if row["State"].split()[0] == "COMPLETED" and parse_time(row["End"]) <= until:
            done += 1
        else:
            running += 1
    total = gpus * (until - begin)
    by_priority = {}
    for priority in sorted({priority for priority, _ in waits}, reverse=True):
        own = [wait for other, wait in waits if other == priority]
        by_priority[priority] = {"jobs": len(own), "wait": _mean(own) / hour}
    return {
        "jobs": len(batch), "done": done, "running": running, "waiting": waiting,
        "utilisation": (used + met) / total, "batch_utilisation": used / total,
        "value": value / hour, "service_met": met / wanted if wanted else 1.0,
        "wait_mean": _mean([wait for _, wait in waits]) / hour,
        "wait_weighted": (sum(p * wait for p, wait in waits) /
                          (sum(p for p, _ in waits) or 1)) / hour,
        "by_priority": by_priority,
    }


def _mean(values):
    return sum(values) / len(values) if values else 0.0


def _change(before, after, kind):
    if kind == "points":
        return f"{100 * (after - before):+.1f} pts"
    return f"{100 * (after / before - 1):+.1f} %" if before else "-"


def _line(label, before, after, change=""):
    return f"{label:<29}{before:>9}{after:>11}{change:>11}".rstrip()


def table(before, after, titles):
    """The table, in lines of at most 60 columns."""
    lines = [_line("", *titles, "change"), "-" * 60]

    def add(label, key, form, kind):
        lines.append(_line(label, form(before[key]), form(after[key]),
                           _change(before[key], after[key], kind)))

    percent, hours = (lambda x: f"{100 * x:.1f} %"), (lambda x: f"{x:.2f} h")
    add("GPU utilisation", "utilisation", percent, "points")
    add("  of that, batch jobs", "batch_utilisation", percent, "points")
    add("priority-weighted value", "value", lambda x: f"{x:.0f}", "ratio")
    add("batch jobs done", "done", str, "ratio")
    lines.append(_line("  running at the end", before["running"], after["running"]))
    lines.append(_line("  never started", before["waiting"], after["waiting"]))
    add("mean wait", "wait_mean", hours, "ratio")
    add("  weighted by priority", "wait_weighted", hours, "ratio")
    for priority, was in before["by_priority"].items():
        now = after["by_priority"].get(priority, {"wait": 0.0})
        lines.append(_line(f"  of priority {priority} ({was['jobs']} jobs)", hours(was["wait"]),
                           hours(now["wait"]), _change(was["wait"], now["wait"], "ratio")))
    add("real-time demand met", "service_met", percent, "points")
    return lines


LEGEND = textwrap.wrap(
    "Both had the same submissions at the same times. All figures are from sacct, cut at the end "
    "of the day. Utilisation: GPU time of batch jobs, and of the service up to its demand, over "
    "all GPU time; reserved but idle is idle. Value: sum of priority x GPU-hours that batch jobs "
    "ran. Wait: from submission to start, in hours of the day; a job that never started has waited "
    "until the day's end.", 60)
