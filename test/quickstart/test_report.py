# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures from rows of sacct."""

import time
import unittest

import report

BEGIN = time.mktime((2026, 12, 1, 0, 0, 0, 0, 0, -1))
WINDOW = (BEGIN, BEGIN + 240)   # a day of ten-second hours
HOUR = 10
CURVE = [2] * 12 + [4] * 12


def stamp(second):
    if second is None:
        return "Unknown"
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(BEGIN + second))


def row(qos, gpus, submit, start, end, state="COMPLETED", name="job"):
    tres = f"billing=1,cpu=1,gres/gpu={gpus},mem=100M,node=1"
    return {"JobID": "1", "JobName": name, "QOS": qos, "State": state, "Submit": stamp(submit),
            "Start": stamp(start), "End": stamp(end), "TimelimitRaw": "1", "ReqTRES": tres,
            "AllocTRES": tres if start is not None else "", "NodeList": "n1"}


def figures(*rows):
    return report.figures(list(rows), CURVE, WINDOW, 10, HOUR)


class Parse(unittest.TestCase):
    def test_times(self):
        self.assertEqual(report.parse_time(stamp(7)), BEGIN + 7)
        for text in ("Unknown", "None", ""):
            self.assertIsNone(report.parse_time(text))

    def test_gpus(self):
        self.assertEqual(report.gpus_of("billing=1,cpu=2,gres/gpu:a100=4,gres/gpu=4"), 4)
        self.assertEqual(report.gpus_of("gres/gpu=16,node=2"), 16)
        self.assertEqual(report.gpus_of("cpu=2"), 0)
        self.assertEqual(report.gpus_of(""), 0)

    def test_priority(self):
        self.assertEqual(report.priority_of("p8"), 8)
        for qos in ("rt", "normal", "p", "pp1", ""):
            self.assertIsNone(report.priority_of(qos))


class Figures(unittest.TestCase):
    def test_one_job(self):
        got = figures(row("p5", 4, 0, 20, 120))
        self.assertEqual((got["jobs"], got["done"], got["running"], got["waiting"]), (1, 1, 0, 0))
        self.assertAlmostEqual(got["batch_utilisation"], 400 / 2400)
        self.assertAlmostEqual(got["value"], 5 * 4 * 10)
        self.assertAlmostEqual(got["wait_mean"], 2)

    def test_a_running_job_counts_to_the_end_of_the_window(self):
        for end, state in ((None, "RUNNING"), (300, "COMPLETED")):
            got = figures(row("p1", 2, 0, 140, end, state))
            self.assertEqual((got["done"], got["running"]), (0, 1))
            self.assertAlmostEqual(got["value"], 2 * 10)

    def test_a_job_that_never_started_has_waited_to_the_end(self):
        for rows in ([row("p1", 2, 40, None, None, "PENDING")],
                     [row("p1", 2, 40, 250, 260)]):   # started after the window
            got = figures(*rows)
            self.assertEqual((got["waiting"], got["value"]), (1, 0))
            self.assertAlmostEqual(got["wait_mean"], 20)

    def test_a_job_cancelled_while_it_waited_used_nothing(self):
        # sacct gives such a job a start, when it was cancelled, but no resources.
        cancelled = row("p2", 4, 0, 100, 100, "CANCELLED by 0")
        cancelled["AllocTRES"] = ""
        got = figures(cancelled)
        self.assertEqual((got["waiting"], got["done"], got["value"]), (1, 0, 0))

    def test_a_failed_job_is_not_done_but_used_its_gpus(self):
        got = figures(row("p1", 1, 0, 0, 50, "FAILED"))
        self.assertEqual(got["done"], 0)
        self.assertAlmostEqual(got["value"], 5)

    def test_waits_by_priority(self):
        got = figures(row("p8", 1, 0, 10, 20), row("p8", 1, 0, 30, 40), row("p1", 1, 0, 80, 90))
        self.assertEqual(list(got["by_priority"]), [8, 1])
        self.assertEqual(got["by_priority"][8]["jobs"], 2)
        self.assertAlmostEqual(got["by_priority"][8]["wait"], 2)
        self.assertAlmostEqual(got["wait_mean"], 4)
        self.assertAlmostEqual(got["wait_weighted"], (8 * 1 + 8 * 3 + 1 * 8) / 17)

    def test_other_jobs_are_left_out(self):
        got = figures(row("normal", 4, 0, 0, 240))
        self.assertEqual((got["jobs"], got["utilisation"]), (0, 0))

    def test_no_rows(self):
        got = figures()
        self.assertEqual((got["jobs"], got["service_met"]), (0, 0))


class Service(unittest.TestCase):
    def met(self, *rows):
        wanted, met = report.service_met(list(rows), CURVE, WINDOW)
        self.assertAlmostEqual(wanted, 2 * 120 + 4 * 120)
        return met

    def test_met(self):
        self.assertAlmostEqual(self.met(row("rt", 2, 0, 0, 240), row("rt", 2, 120, 120, 240)), 720)

    def test_late(self):
        self.assertAlmostEqual(self.met(row("rt", 2, 0, 0, 240), row("rt", 2, 120, 150, 240)), 660)

    def test_more_than_wanted_counts_no_more(self):
        self.assertAlmostEqual(self.met(row("rt", 8, 0, 0, 240)), 720)
        got = figures(row("rt", 8, 0, 0, 240))
        self.assertAlmostEqual(got["utilisation"], 720 / 2400)
        self.assertEqual(got["service_met"], 1)

    def test_a_replica_that_ends_late_covers_for_one_that_starts_late(self):
        self.assertAlmostEqual(self.met(row("rt", 2, 0, 0, 130), row("rt", 2, 0, 125, 240)),
                               2 * 120 + 5 * 2 + 5 * 4 + 110 * 2)


class Table(unittest.TestCase):
    def test_fits_sixty_columns_and_says_the_change(self):
        before = figures(row("p8", 4, 0, 100, 150), row("p1", 2, 0, None, None, "PENDING"))
        after = figures(row("p8", 4, 0, 0, 100), row("p1", 2, 0, 100, 200))
        lines = report.table(before, after, ("FIFO", "foresight"))
        for line in lines + report.LEGEND:
            self.assertLessEqual(len(line), 60)
        for line in lines:
            self.assertLessEqual(len(line), 60)
        text = "\n".join(lines)
        self.assertIn("+112.5 %", text)      # value 160 → 340
        self.assertIn("-70.6 %", text)       # mean wait 17 h → 5 h
        self.assertIn("batch jobs done", text)

    def test_nothing_before(self):
        nothing = figures()
        self.assertTrue(report.table(nothing, nothing, ("a", "b")))
