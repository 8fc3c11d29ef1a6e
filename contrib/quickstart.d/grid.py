# SPDX-License-Identifier: GPL-2.0-or-later
"""The live picture: which GPU runs what, as text.  Pure: states in, lines out.

A GPU is two characters: the job's class and how far it is, in tenths of its time limit ("T4"),
`··` when it is free and `--` when it is free but reserved.  With colour the class is the colour
too, in two shades so that neighbouring jobs differ; without, the letter says it all.
"""

import re
from dataclasses import dataclass, field

LETTERS = {"training": "T", "batch": "B", "quantisation": "Q", "service": "S"}
NAMES = {"training": "training", "batch": "batch inference", "quantisation": "quantisation",
         "service": "real-time service"}
# 256-colour backgrounds, dark enough for white text: told apart without red against green.
COLOURS = {"training": (25, 18), "batch": (130, 94), "quantisation": (96, 54), "service": (30, 23)}
UNKNOWN = (240, 238)
FREE, RESERVED = "··", "--"
PLAIN_FREE, PLAIN_RESERVED = "..", "--"
LABEL = 4        # "n12 "
MOST_WIDTH = 100


@dataclass
class State:
    """What one cluster does at a moment."""

    title: str
    nodes: list                    # [(name, gpus)]
    cells: dict = field(default_factory=dict)   # (node, gpu) → (class, tenths, shade 0 or 1)
    reserved: frozenset = frozenset()           # nodes
    running: int = 0
    waiting: int = 0
    done: int = 0
    demand: int = 0
    served: int = 0

    def busy(self):
        return len(self.cells)

    def total(self):
        return sum(gpus for _, gpus in self.nodes)


def expand_hostlist(text):
    """n[1-2,5],m3 → n1 n2 n5 m3"""
    names = []
    for prefix, ranges, plain in re.findall(r"([^,\[\]]+)\[([^\]]*)\]|([^,\[\]]+)", text):
        if plain:
            names.append(plain)
        for part in ranges.split(",") if ranges else []:
            low, _, high = part.partition("-")
            width = len(low)
            names += [f"{prefix}{number:0{width}d}" for number in
                      range(int(low), int(high or low) + 1)]
    return names


def expand_indices(text):
    """0-2,7 → [0, 1, 2, 7]"""
    indices = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit():
            indices += range(int(low), int(high or low) + 1)
    return indices


def gpus_held(text):
    """[(node, gpu)] of one line of `scontrol -o -d show job`."""
    held = []
    for nodes, gres in re.findall(r" Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*)", text):
        for indices in re.findall(r"gpu[^(]*\(IDX:([\d,-]+)\)", gres):
            held += [(node, gpu) for node in expand_hostlist(nodes)
                     for gpu in expand_indices(indices)]
    return held


def _cell(state, node, gpu, colour):
    found = state.cells.get((node, gpu))
    if not found:
        kept = node in state.reserved
        if colour:
            return f"\x1b[2m{RESERVED if kept else FREE}\x1b[0m"
        return PLAIN_RESERVED if kept else PLAIN_FREE
    kind, tenths, shade = found
    text = f"{LETTERS.get(kind, '?')}{min(9, max(0, tenths))}"
    if not colour:
        return text
    return f"\x1b[48;5;{COLOURS.get(kind, UNKNOWN)[shade % 2]};97m{text}\x1b[0m"


def grid_lines(state, colour, gap):
    """One line a node; `gap` between GPUs."""
    return [f"{name:<{LABEL}}" + gap.join(_cell(state, name, gpu, colour) for gpu in range(gpus))
            for name, gpus in state.nodes]


def grid_width(state, gap):
    most = max(gpus for _, gpus in state.nodes)
    return LABEL + 2 * most + len(gap) * (most - 1)


def bar(share, width):
    """[#####.....]"""
    filled = round(max(0.0, min(1.0, share)) * (width - 2))
    return "[" + "#" * filled + "." * (width - 2 - filled) + "]"


def clock(share):
    """Time of the demo's day."""
    minutes = round(max(0.0, min(1.0, share)) * 24 * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _status(state):
    return [state.title,
            f"{state.busy()} of {state.total()} GPUs busy",
            f"jobs: {state.running} run, {state.waiting} wait",
            f"      {state.done} done",
            f"service: {state.served} of {state.demand} GPUs"]


def legend(colour):
    parts = []
    for kind, letter in LETTERS.items():
        mark = f"\x1b[48;5;{COLOURS[kind][0]};97m {letter} \x1b[0m" if colour else letter
        parts.append(f"{mark} {NAMES[kind]}")
    return parts


def least_width(states):
    """Columns that the live picture needs; below, plain lines are all there is room for."""
    return len(states) * grid_width(states[0], "") + 2 * (len(states) - 1)


def frame(states, share, width, colour):
    """The whole picture: grids side by side, at most `width` columns."""
    width = min(width, MOST_WIDTH)
    gap = " " if len(states) * grid_width(states[0], " ") + 3 * (len(states) - 1) <= width else ""
    column = grid_width(states[0], gap)
    between = " " * max(2, min(6, width - len(states) * column)) if len(states) > 1 else ""
    grids = [grid_lines(state, colour, gap) for state in states]
    status = [_status(state) for state in states]
    lines = [f"{clock(share)}  {bar(share, min(width, 60) - 14)} {100 * share:4.0f} %", ""]
    cut = [[text[:column].ljust(column) for text in one] for one in status]
    lines.append(between.join(one[0] for one in cut).rstrip())
    lines += [between.join(row) for row in zip(*grids)]
    lines += [between.join(row).rstrip() for row in zip(*(one[1:] for one in cut))]
    lines.append("")
    marks = legend(colour)
    if width >= 80:
        lines.append("  ".join(marks))
    else:
        lines += ["  ".join(marks[:2]), "  ".join(marks[2:])]
    return lines + ["digit: tenths of its time limit gone; --: reserved, idle"[:width]]


def plain_lines(states, share):
    """For pipes and logs: a line of figures and a line of GPUs for each cluster."""
    lines = []
    for state in states:
        gpus = " ".join(name + ":" + "".join(
            LETTERS.get(state.cells[(name, gpu)][0], "?") if (name, gpu) in state.cells
            else "-" if name in state.reserved else "." for gpu in range(count))
            for name, count in state.nodes)
        lines.append(f"{clock(share)} {100 * share:3.0f} % {state.title}: {state.busy()} of "
                     f"{state.total()} GPUs busy; jobs {state.running} run, {state.waiting} wait, "
                     f"{state.done} done; service {state.served} of {state.demand} GPUs")
        lines.append(f"      {gpus}")
    return lines
