# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo's workload and its picture."""

import unittest
import xml.dom.minidom

import picture
import slurmconf
import workload

HOUR = 12


class Batch(unittest.TestCase):
    def test_a_seed_gives_one_workload(self):
        self.assertEqual(workload.batch_jobs(8, 8, HOUR, 7), workload.batch_jobs(8, 8, HOUR, 7))
        self.assertNotEqual(workload.batch_jobs(8, 8, HOUR, 7), workload.batch_jobs(8, 8, HOUR, 8))

    def test_jobs_are_possible(self):
        for seed in range(50):
            for nodes, gpus in ((8, 8), (4, 4), (16, 2)):
                jobs = workload.batch_jobs(nodes, gpus, HOUR, seed)
                names = {job.name for job in jobs}
                self.assertEqual(len(names), len(jobs), seed)
                for job in jobs:
                    self.assertLessEqual(job.gpus, nodes * gpus, seed)
                    self.assertTrue(job.gpus <= gpus or job.gpus % gpus == 0, seed)
                    self.assertLess(job.seconds, 60 * job.limit_minutes, seed)
                    self.assertGreater(job.seconds, 0, seed)

    def test_the_load_is_what_is_said(self):
        for seed in range(20):
            jobs = workload.batch_jobs(8, 8, HOUR, seed)
            asked = sum(job.gpus * job.seconds for job in jobs)
            room = (64 * 24 - sum(workload.service_curve(64))) * HOUR
            self.assertGreaterEqual(asked, workload.LOAD * room, seed)
            self.assertLess(asked, workload.LOAD * room + 16 * 180, seed)

    def test_time_scales(self):
        for job in workload.batch_jobs(8, 8, 24, 3):
            self.assertLessEqual(job.submit, workload.LAST_ARRIVAL * 24)


class Service(unittest.TestCase):
    def test_replicas_add_up_to_the_curve(self):
        for gpus in (16, 64, 100):
            curve = workload.service_curve(gpus)
            jobs = workload.service_jobs(curve, HOUR)
            for step, want in enumerate(curve):
                middle = (step + 0.5) * HOUR
                held = sum(job.gpus for job in jobs if job.submit <= middle
                           < job.submit + job.seconds)
                self.assertEqual(held, want, (gpus, step))
            for job in jobs:
                self.assertLess(job.seconds, 60 * job.limit_minutes)

    def test_the_peak_stays_under_the_cluster(self):
        self.assertEqual(max(workload.service_curve(64)), 24)
        self.assertEqual(min(workload.service_curve(2)), workload.REPLICA_GPUS)


class Picture(unittest.TestCase):
    def test_well_formed(self):
        jobs = [{"name": "<&'\">", "kind": "training", "start_h": 0, "end_h": 2.5,
                 "gpus": [["n1", 0], ["n1", 1], ["n2", 7]]}]
        data = {"nodes": [["n1", 8], ["n2", 8]], "hours": 24, "curve": [2] * 24, "runs": [
            {"name": "before", "title": "a < b & c", "jobs": jobs, "reserved": ["n2"]},
            {"name": "after", "title": "d", "jobs": [], "reserved": []}],
            "figures": {"before": {"utilisation": .5, "value": 1, "wait_mean": 2,
                                   "service_met": 1}}}
        svg = xml.dom.minidom.parseString(picture.svg(data))
        self.assertEqual(svg.documentElement.tagName, "svg")

    def test_neighbouring_gpus_are_one_rectangle(self):
        rows = {("n1", gpu): 3 * gpu for gpu in range(8)}
        self.assertEqual(picture._blocks({"gpus": [["n1", 3], ["n1", 1], ["n1", 2], ["n1", 6]]},
                                         rows), [[3, 9], [18, 3]])


class Conf(unittest.TestCase):
    def test_a_line_of_the_caller_replaces_the_default(self):
        text = slurmconf.merge({"KillWait": 2, "ReturnToService": 2}, "  killwait = 30\n")
        self.assertNotIn("KillWait=2", text)
        self.assertIn("killwait = 30", text)
        self.assertIn("ReturnToService=2", text)

    def test_with_value(self):
        text = slurmconf.with_value("A=1\nSchedulerType=x\nB=2\n", "schedulertype", "y")
        self.assertEqual(text, "A=1\nB=2\nschedulertype=y\n")
        self.assertEqual(slurmconf.with_value("A=1\nB=2\n", "A", None), "B=2\n")

    def test_typed_gpus(self):
        node = slurmconf.Node("n1", gpus="a100:4,h100:2")
        self.assertEqual(node.gpu_count(), 6)
        self.assertIn("NodeName=n1 Name=gpu Type=h100 File=/g/gpu[4-5]",
                      slurmconf.gres_conf([node], "/g"))
        self.assertIn("Gres=gpu:a100:4,gpu:h100:2", slurmconf.node_lines([node], "127.0.0.1", 9))

    def test_nodes_without_gpus(self):
        node = slurmconf.Node("c1", gpus=0)
        self.assertNotIn("Gres", slurmconf.node_lines([node], "127.0.0.1", 9))
        self.assertEqual(slurmconf.gres_conf([node], "/g"), "AutoDetect=off\n")
