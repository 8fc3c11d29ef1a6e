# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a job may run: nodes, features, partitions, reservations."""

from bench import case, expect
from setups import ACTIVE, GPU_NODES


@case(ACTIVE, stock=True)
def nodelist(bench):
    job = bench.submit("-w", "g3", "--gres=gpu:8")
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g3"], f"g3 was asked for, got {bench.nodes(job)}")
    both = bench.submit("-w", "g[2,4]", "-N2", "--gres=gpu:1")
    bench.wait_running(both)
    expect(bench.nodes(both) == ["g2", "g4"], f"g2 and g4 wanted, got {bench.nodes(both)}")
    waits = bench.submit("-w", "g3", "--gres=gpu:1")
    bench.stays_pending(waits)
    bench.cancel(job)
    bench.wait_running(waits)


@case(ACTIVE, stock=True)
def nodelist_within_more(bench):
    """-w names a node that must be among the two."""
    job = bench.submit("-w", "g3", "-N2", "--gres=gpu:1")
    bench.wait_running(job)
    expect("g3" in bench.nodes(job) and len(bench.nodes(job)) == 2, f"got {bench.nodes(job)}")


@case(ACTIVE, stock=True)
def exclude(bench):
    jobs = [bench.submit("-x", "g[1,2,4]", "--gres=gpu:3") for _ in range(3)]
    bench.wait(lambda: len(bench.running(*jobs)) == 2, "two of three fit on g3")
    for job in bench.running(*jobs):
        expect(bench.nodes(job) == ["g3"], f"only g3 is left, got {bench.nodes(job)}")
    bench.stays_pending(*(set(jobs) - set(bench.running(*jobs))))


@case(ACTIVE, stock=True)
def exclude_is_the_users(bench):
    """A start must not leave its own exclusions behind: an array's later tasks go elsewhere."""
    job = bench.submit("--array=0-3", "-x", "g4", "--gres=gpu:6")
    bench.wait(lambda: len([1 for state in bench.states().values() if state == "RUNNING"]) == 3,
               "one task on each of g1, g2, g3")
    waiting = [line.split()[0] for line in bench.queue() if "PENDING" in line]
    record = bench.job(waiting[0])
    expect(record.get("ExcNodeList") == "g4", f"ExcNodeList is {record.get('ExcNodeList')}")
    bench.cancel(f"{job}_0")
    bench.wait_running(waiting[0])


@case(ACTIVE, stock=True)
def constraint(bench):
    job = bench.submit("--constraint=slow", "--gres=gpu:1")
    bench.wait_running(job)
    expect(bench.nodes(job)[0] in ("g3", "g4"), f"slow nodes are g3, g4; got {bench.nodes(job)}")
    both = bench.submit("--constraint=rack2&fast", "--gres=gpu:1")
    bench.wait_running(both)
    expect(bench.nodes(both) == ["g2"], f"rack2&fast is g2, got {bench.nodes(both)}")


@case(ACTIVE, stock=True)
def constraint_one_of(bench):
    """[rack1|rack2]: both nodes in one rack, though neighbours never are."""
    job = bench.submit("--constraint=[rack1|rack2]", "-N2", "--gres=gpu:1")
    bench.wait_running(job)
    expect(bench.nodes(job) in (["g1", "g3"], ["g2", "g4"]), f"got {bench.nodes(job)}")


@case(ACTIVE, stock=True)
def constraint_counts(bench):
    """[rack1*1&rack2*2]: one node of rack1 and two of rack2."""
    job = bench.submit("--constraint=[rack1*1&rack2*2]", "-N3", "--gres=gpu:1")
    bench.wait_running(job)
    nodes = bench.nodes(job)
    expect({"g2", "g4"} < set(nodes) and len(nodes) == 3, f"got {nodes}")


@case(ACTIVE, stock=True)
def prefer(bench):
    """The preferred nodes while they are free, any other then."""
    first = bench.submit("--prefer=slow", "--gres=gpu:8")
    bench.wait_running(first)
    second = bench.submit("--prefer=slow", "--gres=gpu:8")
    bench.wait_running(second)
    expect({*bench.nodes(first), *bench.nodes(second)} == {"g3", "g4"},
           f"slow nodes were preferred: {bench.nodes(first)} {bench.nodes(second)}")
    third = bench.submit("--prefer=slow", "--gres=gpu:8")
    bench.wait_running(third)
    expect(bench.nodes(third)[0] in ("g1", "g2"), "a preference is no condition")
    # The preference of one start must not stay behind as the next one's condition.
    fourth = bench.submit("--prefer=slow", "--constraint=fast", "--gres=gpu:8")
    bench.wait_running(fourth)
    expect(bench.nodes(fourth)[0] in ("g1", "g2"), "constraint=fast")


@case(ACTIVE, stock=True)
def overlapping_partitions(bench):
    """left is g1,g2, middle is g2,g3: a job of both goes to whichever has room."""
    left = [bench.submit("-p", "left", "--gres=gpu:8") for _ in range(2)]
    bench.wait_running(*left)
    job = bench.submit("-p", "left,middle", "--gres=gpu:8")
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g3"], f"g3 is free, got {bench.nodes(job)}")
    expect(bench.job(job)["Partition"] == "middle", f"in {bench.job(job)['Partition']}")
    more = bench.submit("-p", "left,middle", "--gres=gpu:8")
    bench.stays_pending(more)
    bench.cancel(left[0])
    bench.wait_running(more)
    expect(bench.job(more)["Partition"] in ("left", "middle"), "a partition of its own")


@case(ACTIVE, stock=True)
def partition_down(bench):
    """A partition that is down starts nothing, and its jobs hold nothing."""
    bench.scontrol("update", "PartitionName=left", "State=DOWN")
    try:
        job = bench.submit("-p", "left", "--gres=gpu:8")
        bench.wait_running(*[bench.submit("--gres=gpu:8") for _ in range(4)])
        bench.stays_pending(job)
    finally:
        bench.scontrol("update", "PartitionName=left", "State=UP")


@case(ACTIVE, stock=True)
def partition_limit_of_nodes(bench):
    """MaxNodes of a partition is Slurm's to enforce: the job waits, others start."""
    bench.scontrol("update", "PartitionName=left", "MaxNodes=1")
    try:
        job = bench.submit("-p", "left", "-N2", "--gres=gpu:1")
        bench.wait_running(*[bench.submit("--gres=gpu:8") for _ in range(4)])
        bench.stays_pending(job)
    finally:
        bench.scontrol("update", "PartitionName=left", "MaxNodes=UNLIMITED")


@case(ACTIVE, stock=True)
def reservation(bench):
    bench.cluster.reservation("mine", "g4", duration="60")
    inside = bench.submit("--reservation=mine", "--gres=gpu:2")
    outside = [bench.submit("--gres=gpu:8") for _ in range(4)]
    bench.wait_running(inside)
    expect(bench.nodes(inside) == ["g4"], f"in the reservation, got {bench.nodes(inside)}")
    bench.wait(lambda: len(bench.running(*outside)) == 3, "three nodes are left for others")
    bench.stays_pending(*(set(outside) - set(bench.running(*outside))))
    full = bench.submit("--reservation=mine", "--gres=gpu:7")
    bench.stays_pending(full)
    bench.cancel(inside)
    bench.wait_running(full)


@case(ACTIVE, stock=True)
def maintenance_ahead(bench):
    """A job that would run into the window waits, a shorter one goes first."""
    bench.cluster.reservation("window", GPU_NODES, start="now+30minutes", duration="60",
                              flags="maint")
    long = bench.submit("--gres=gpu:1", minutes=60)
    short = bench.submit("--gres=gpu:1", minutes=10)
    bench.wait_running(short)
    bench.stays_pending(long)


@case(ACTIVE, stock=True)
def maintenance_on_some(bench):
    """A window on three nodes leaves the fourth for the long job."""
    bench.cluster.reservation("window", "g[1-3]", start="now+30minutes", duration="60",
                              flags="maint")
    job = bench.submit("--gres=gpu:1", minutes=60)
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g4"], f"g4 has no window, got {bench.nodes(job)}")
    wide = bench.submit("--gpus=16", minutes=60)
    bench.stays_pending(wide)
    bench.scontrol("delete", "ReservationName=window")
    bench.wait_running(wide)


@case(ACTIVE, stock=True)
def magnetic_reservation(bench):
    """A job without --reservation is drawn into a magnetic one of its user."""
    bench.wait_running(*[bench.submit("-w", f"g{i}", "--gres=gpu:8") for i in (1, 2, 3)])
    bench.cluster.reservation("magnet", "g4", duration="60", flags="magnetic")
    job = bench.submit("--gres=gpu:1")
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g4"], f"got {bench.nodes(job)}")
