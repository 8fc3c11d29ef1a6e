# SPDX-License-Identifier: GPL-2.0-or-later
"""The live picture."""

import io
import re
import unittest
from unittest import mock

import display
import grid

NODES = [(f"n{i}", 8) for i in range(1, 9)]


def state(title="a", **more):
    return grid.State(title, NODES, **more)


def bare(line):
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


class Parse(unittest.TestCase):
    def test_hostlists(self):
        self.assertEqual(grid.expand_hostlist("n1"), ["n1"])
        self.assertEqual(grid.expand_hostlist("n[1-2,5],m3"), ["n1", "n2", "n5", "m3"])
        self.assertEqual(grid.expand_hostlist("g[008-010]"), ["g008", "g009", "g010"])
        self.assertEqual(grid.expand_hostlist(""), [])

    def test_indices(self):
        self.assertEqual(grid.expand_indices("0-2,7"), [0, 1, 2, 7])
        self.assertEqual(grid.expand_indices("N/A"), [])

    def test_gpus_of_a_job(self):
        line = ("JobId=4 JobName=x JOB_GRES=gpu:10   Nodes=n[1-2] CPU_IDs=0 Mem=100 "
                "GRES=gpu:4(IDX:0-1,4-5)   Nodes=n3 CPU_IDs=0-1 Mem=200 GRES=gpu:2(IDX:7,3) x=y")
        held = grid.gpus_held(line)
        self.assertEqual(len(held), 10)
        self.assertIn(("n2", 5), held)
        self.assertIn(("n3", 7), held)
        self.assertEqual(grid.gpus_held("Nodes=n1 CPU_IDs=0 Mem=100 GRES="), [])

    def test_gpus_with_a_type(self):
        self.assertEqual(grid.gpus_held(" Nodes=n1 CPU_IDs=0 Mem=1 GRES=gpu:a100:1(IDX:2)"),
                         [("n1", 2)])


class Grid(unittest.TestCase):
    def test_cells(self):
        one = state(cells={("n1", 0): ("training", 4, 0), ("n1", 1): ("service", 12, 7),
                           ("n8", 7): ("batch", -1, 1)}, reserved=frozenset({"n8"}))
        lines = grid.grid_lines(one, False, "")
        self.assertEqual(lines[0], "n1  T4S9............")
        self.assertEqual(lines[7], "n8  " + "--" * 7 + "B0")
        self.assertEqual((one.busy(), one.total()), (3, 64))

    def test_colour_changes_no_width(self):
        one = state(cells={("n1", 0): ("quantisation", 1, 3)})
        for gap in ("", " "):
            plain, coloured = grid.grid_lines(one, False, gap), grid.grid_lines(one, True, gap)
            self.assertTrue(any("\x1b[" in line for line in coloured))
            for a, b in zip(plain, coloured):
                self.assertEqual(len(a), len(bare(b)))
                self.assertEqual(len(a), grid.grid_width(one, gap))

    def test_frames_fit_their_width(self):
        states = [state("FIFO, peak reserved", running=10, waiting=100, done=1000),
                  state("sched/foresight", demand=24, served=24)]
        for width in (grid.least_width(states), 60, 79, 80, 100, 200):
            for colour in (False, True):
                for line in grid.frame(states, 0.5, width, colour):
                    self.assertLessEqual(len(bare(line)), width, (width, line))
        self.assertTrue(grid.frame([states[0]], 1.0, 60, False))

    def test_the_frame_says_how_far_it_is(self):
        text = "\n".join(grid.frame([state()], 0.25, 80, False))
        self.assertIn("06:00", text)
        self.assertIn("25 %", text)

    def test_bar_and_clock(self):
        self.assertEqual(grid.bar(0, 12), "[..........]")
        self.assertEqual(grid.bar(0.5, 12), "[#####.....]")
        self.assertEqual(grid.bar(7, 12), "[##########]")
        self.assertEqual(grid.clock(1.0), "24:00")
        self.assertEqual(grid.clock(-1), "00:00")

    def test_plain_lines(self):
        lines = grid.plain_lines([state("x", cells={("n2", 1): ("training", 3, 2)},
                                        reserved=frozenset({"n3"}))], 0.5)
        self.assertEqual(len(lines), 2)
        self.assertIn("12:00  50 % x: 1 of 64 GPUs busy", lines[0])
        self.assertIn("n2:.T...... n3:--------", lines[1])


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class Display(unittest.TestCase):
    def shown(self, out, env, size=(80, 24), shares=(0.0, 0.02, 0.1), plain=False):
        with mock.patch.dict("os.environ", env), \
                mock.patch("shutil.get_terminal_size", return_value=display.os.terminal_size(size)):
            picture = display.Display(plain, out)
            for share in shares:
                picture.show([state("a"), state("b")], share)
        return out.getvalue()

    def test_pipe(self):
        text = self.shown(io.StringIO(), {"TERM": "xterm"})
        self.assertNotIn("\x1b", text)
        self.assertEqual(len(text.splitlines()), 8)   # 0 and 0.1; 0.02 is too early for a line

    def test_terminal_is_redrawn_in_place(self):
        text = self.shown(Terminal(), {"TERM": "xterm", "NO_COLOR": ""})
        self.assertEqual(text.count("\x1b[J"), 2)
        self.assertIn("\x1b[2m", text)

    def test_no_color(self):
        text = self.shown(Terminal(), {"TERM": "xterm", "NO_COLOR": "1"})
        self.assertNotRegex(text, r"\x1b\[[0-9;]*m")
        self.assertEqual(text.count("\x1b[J"), 2)

    def test_no_room_or_no_wish(self):
        for size, env, plain in (((30, 24), {"TERM": "xterm"}, False),
                                 ((80, 10), {"TERM": "xterm"}, False),
                                 ((80, 24), {"TERM": "dumb"}, False),
                                 ((80, 24), {"TERM": "xterm"}, True)):
            self.assertNotIn("\x1b", self.shown(Terminal(), env, size, plain=plain))
