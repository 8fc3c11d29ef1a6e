# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows the demo's states: a picture redrawn in place on a terminal, else a few plain lines."""

import os
import shutil
import sys

import grid


class Display:
    """plain: never redraw.  Colour unless NO_COLOR is set or this is no terminal."""

    def __init__(self, plain=False, out=sys.stdout):
        self._out = out
        self._terminal = out.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not plain
        self._colour = self._terminal and not os.environ.get("NO_COLOR")
        self._drawn = 0        # lines of the picture on the screen
        self._next_plain = 0.0
        self._unicode = "utf" in (getattr(out, "encoding", "") or "").lower()

    def show(self, states, share):
        size = shutil.get_terminal_size()
        lines = grid.frame(states, share, size.columns, self._colour)
        if self._terminal and size.columns >= grid.least_width(states) \
                and size.lines > len(lines):
            self._redraw(lines)
        else:
            self._print(states, share)

    def _redraw(self, lines):
        if not self._unicode:
            lines = [line.replace(grid.FREE, grid.PLAIN_FREE) for line in lines]
        # The width may have changed: clear from where the picture began.
        up = f"\x1b[{self._drawn}A\r\x1b[J" if self._drawn else ""
        self._out.write(up + "\n".join(lines) + "\n")
        self._out.flush()
        self._drawn = len(lines)

    def _print(self, states, share):
        """Every two hours of the day, so that a log stays short."""
        self._drawn = 0
        if share < self._next_plain:
            return
        self._next_plain = (int(share * 12) + 1) / 12
        self._out.write("\n".join(grid.plain_lines(states, share)) + "\n")
        self._out.flush()
