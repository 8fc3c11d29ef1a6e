# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of cluster that the cases share.

g1 … g4 have eight GPUs each and stand in a row; neighbours differ in rack, so that a job that
wants one rack cannot have neighbours.  m1, without a GPU, is for marker jobs only (Bench.settle).
"""

from bench import Setup
from cluster import Node

GPU_NODES = "g[1-4]"
TOTAL_GPUS = 32

NODES = [
    Node("g1", "a100:8", cpus=16, memory=16000, features="rack1,fast"),
    Node("g2", "a100:8", cpus=16, memory=16000, features="rack2,fast"),
    Node("g3", "v100:8", cpus=16, memory=16000, features="rack1,slow"),
    Node("g4", "v100:8", cpus=16, memory=16000, features="rack2,slow"),
    Node("m1", 0, cpus=64, memory=16000),
]

PARTITIONS = [
    f"PartitionName=main Nodes={GPU_NODES} Default=YES MaxTime=INFINITE",
    f"PartitionName=urgent Nodes={GPU_NODES} PriorityTier=10",
    "PartitionName=left Nodes=g[1-2]",
    "PartitionName=middle Nodes=g[2-3]",
    "PartitionName=marker Nodes=m1",
]

# KillWait and the like short, so that ends are quick; MinJobAge long enough to look at the dead.
SLURM_CONF = """
KillWait=1
MinJobAge=300
EnforcePartLimits=NO
ReturnToService=1
"""

ACTIVE_CONF = """# written by test/slurm
Mode=active
Interval=00:00:05
PublishDir={publish}
"""

BATCH = {"nodes": NODES, "partitions": PARTITIONS, "slurm_conf": SLURM_CONF, "licenses": "lic:2"}

ACTIVE = Setup("active", {**BATCH, "scheduler": "drop-in", "foresight_conf": ACTIVE_CONF},
               seconds=240)
SAFETY = Setup("safety", {**BATCH, "scheduler": "drop-in", "foresight_conf": ACTIVE_CONF},
               seconds=180)


def _accounts(bench):
    """Two accounts and the QOSes that the cases of limits name."""
    cluster = bench.cluster
    cluster.account("tight", users=[cluster.user], GrpTRES="gres/gpu=4")
    cluster.qos("two", MaxTRESPU="gres/gpu=2")
    cluster.qos("service")
    cluster.account("wide", users=[cluster.user])
    cluster.sacctmgr("modify", "account", "tight,wide", "set", "qos+=two,service")


ACCOUNTING = Setup("accounting", {**BATCH, "scheduler": "foresight", "accounting": True,
                                  "enforce": "associations,limits,qos",
                                  "foresight_conf": ACTIVE_CONF}, ready=_accounts, seconds=120)

CLOUD = Setup("cloud", {
    "nodes": [Node("c[1-64]", 8, cpus=64, memory=256000, cloud=True),
              Node("m1", 0, cpus=64, memory=16000)],
    "partitions": ["PartitionName=main Nodes=c[1-64] Default=YES MaxTime=INFINITE",
                   "PartitionName=marker Nodes=m1"],
    "slurm_conf": "MinJobAge=10", "scheduler": "drop-in",
    "foresight_conf": ACTIVE_CONF}, seconds=60)
