# SPDX-License-Identifier: GPL-2.0-or-later
"""The GPU grid over the demo's day, before and after, as an SVG.

    python3 picture.py run.json >gpu-grid.svg     from what a demo left in its result directory

A row is a GPU, across is the time of day; the line under each grid is the service's demand.
"""

import json
import sys
from html import escape

import grid

WIDTH, LEFT, GAP = 920, 34, 24
ROW, NODE_GAP, CURVE = 3, 2, 34
# Light enough to be seen on white and on black.
FILL = {"training": "#3b78c2", "batch": "#e0933a", "quantisation": "#a667b5", "service": "#1f9e89"}
TEXT = "font-family='sans-serif' fill='#777'"


def _text(x, y, text, size=11, extra=""):
    return f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' {TEXT} {extra}>{escape(text)}</text>"


def _rows(data):
    """(node, gpu) → y, and the height of a grid."""
    rows, y = {}, 0
    for name, gpus in data["nodes"]:
        for gpu in range(gpus):
            rows[(name, gpu)] = y
            y += ROW
        y += NODE_GAP
    return rows, y - NODE_GAP


def _blocks(job, rows):
    """A job's rows as few rectangles: (y, height) of neighbouring GPUs."""
    ys = sorted(rows[tuple(place)] for place in job["gpus"] if tuple(place) in rows)
    blocks = []
    for y in ys:
        if blocks and y == blocks[-1][0] + blocks[-1][1]:
            blocks[-1][1] += ROW
        else:
            blocks.append([y, ROW])
    return blocks


def _grid(data, run, left, top, width):
    rows, height = _rows(data)
    scale = width / data["hours"]
    parts = []
    for name, gpus in data["nodes"]:
        y = top + rows[(name, 0)]
        kept = name in run["reserved"]
        parts.append(f"<rect x='{left}' y='{y}' width='{width}' height='{gpus * ROW}' "
                     f"fill='{'url(#kept)' if kept else '#888'}' "
                     f"fill-opacity='{1 if kept else 0.15}'/>")
    for job in run["jobs"]:
        x = left + job["start_h"] * scale
        wide = max(0.5, (job["end_h"] - job["start_h"]) * scale - 0.4)
        for y, high in _blocks(job, rows):
            parts.append(f"<rect x='{x:.1f}' y='{top + y}' width='{wide:.1f}' height='{high}' "
                         f"fill='{FILL[job['kind']]}'/>")
    return parts, height


def _curve(data, left, top, width):
    scale, peak = width / data["hours"], max(data["curve"])
    points = []
    for hour, want in enumerate(data["curve"]):
        y = top + CURVE - 6 - (CURVE - 10) * want / peak
        points += [f"{left + hour * scale:.1f},{y:.1f}", f"{left + (hour + 1) * scale:.1f},{y:.1f}"]
    parts = [f"<polyline points='{' '.join(points)}' fill='none' stroke='{FILL['service']}' "
             "stroke-width='1.5'/>"]
    for hour in range(0, data["hours"] + 1, 6):
        anchor = "start" if hour == 0 else "end" if hour == data["hours"] else "middle"
        parts.append(_text(left + hour * scale, top + CURVE + 8, f"{hour:02d}:00", 9,
                           f"text-anchor='{anchor}'"))
    return parts


def svg(data):
    """The picture of one record (see demo.py)."""
    column = (WIDTH - LEFT - GAP * (len(data["runs"]) - 1) - 16) / len(data["runs"])
    top, parts, height = 42, [], 0
    for index, run in enumerate(data["runs"]):
        left = LEFT + index * (column + GAP)
        parts.append(_text(left, 16, run["title"], 13, "font-weight='bold'"))
        facts = data.get("figures", {}).get(run["name"])
        if facts:
            parts.append(_text(left, 33, f"{100 * facts['utilisation']:.0f} % of GPU time used, "
                               f"value {facts['value']:.0f}, mean wait {facts['wait_mean']:.1f} h, "
                               f"service {100 * facts['service_met']:.0f} % met"))
        drawn, height = _grid(data, run, left, top, column)
        parts += drawn + _curve(data, left, top + height, column)
    rows, _ = _rows(data)
    for name, gpus in data["nodes"]:
        parts.append(_text(LEFT - 5, top + rows[(name, 0)] + gpus * ROW / 2 + 3, name, 9,
                           "text-anchor='end'"))
    foot = top + height + CURVE + 28
    x = LEFT
    for kind, colour in FILL.items():
        parts.append(f"<rect x='{x}' y='{foot - 9}' width='10' height='10' fill='{colour}'/>")
        parts.append(_text(x + 14, foot, grid.NAMES[kind]))
        x += 40 + 6.3 * len(grid.NAMES[kind])
    parts.append(f"<rect x='{x}' y='{foot - 9}' width='10' height='10' fill='url(#kept)'/>")
    parts.append(_text(x + 14, foot, "reserved, idle"))
    parts.append(_text(x + 115, foot, "line: the service's demand"))
    hatch = ("<defs><pattern id='kept' width='6' height='6' patternUnits='userSpaceOnUse' "
             "patternTransform='rotate(45)'><rect width='6' height='6' fill='#888' "
             "fill-opacity='.15'/><line x1='0' y1='0' x2='0' y2='6' stroke='#1f9e89' "
             "stroke-opacity='.6' stroke-width='2'/></pattern></defs>")
    return (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {foot + 10}' "
            f"width='{WIDTH}' height='{foot + 10}'>\n{hatch}\n" + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: picture.py run.json >gpu-grid.svg")
    with open(sys.argv[1], encoding="utf-8") as source:
        sys.stdout.write(svg(json.load(source)))
