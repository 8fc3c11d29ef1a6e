# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to ask for GPUs, CPUs and memory: each must start, with what it asked for."""

from bench import case, expect
from setups import ACTIVE, TOTAL_GPUS


def _gives(bench, gpus, *options):
    """Submits, waits until it runs, checks the number of GPUs; what was given."""
    job = bench.submit(*options)
    bench.wait_running(job)
    given = bench.given(job)
    expect(given.count() == gpus, f"{options}: {gpus} GPUs wanted, {given.gpus} given")
    return given


@case(ACTIVE, stock=True)
def gres_count(bench):
    given = _gives(bench, 3, "--gres=gpu:3")
    expect(len(given.gpus) == 1, "--gres=gpu:3 is for one node")
    job = bench.submit("--gres=gpu:1", seconds=0)
    bench.wait_done(job)


@case(ACTIVE, stock=True)
def gres_type(bench):
    given = _gives(bench, 2, "--gres=gpu:v100:2")
    expect(given.types == {"v100"}, f"wanted v100, got {given.types}")
    # Fill the other type: the rest of v100 stays usable, and nothing else is given for it.
    first = [bench.submit("--gres=gpu:v100:7") for _ in range(2)]
    bench.wait(lambda: len(bench.running(*first)) == 1, "one of two jobs of 7 v100 runs")
    bench.stays_pending(*(set(first) - set(bench.running(*first))))
    given = _gives(bench, 8, "--gres=gpu:a100:8")
    expect(given.types == {"a100"}, f"wanted a100, got {given.types}")


@case(ACTIVE, stock=True)
def gpus_in_total(bench):
    _gives(bench, 3, "--gpus=3")
    _gives(bench, 2, "--gpus=v100:2")


@case(ACTIVE, stock=True)
def gpus_over_a_nodes_size(bench):
    given = _gives(bench, 12, "--gpus=12")
    expect(len(given.gpus) >= 2, "12 GPUs need two nodes of 8")


@case(ACTIVE, stock=True)
def gpus_per_node(bench):
    given = _gives(bench, 8, "-N2", "--gpus-per-node=4")
    expect([len(one) for one in given.gpus.values()] == [4, 4], f"4 on each: {given.gpus}")


@case(ACTIVE, stock=True)
def gpus_per_task(bench):
    _gives(bench, 6, "-n3", "--gpus-per-task=2")


@case(ACTIVE, stock=True)
def gres_on_nodes(bench):
    given = _gives(bench, 6, "-N3", "--gres=gpu:2")
    expect([len(one) for one in given.gpus.values()] == [2, 2, 2], f"2 on each: {given.gpus}")


@case(ACTIVE, stock=True)
def whole_nodes(bench):
    _gives(bench, 16, "-N2", "--gpus-per-node=8")
    job = bench.submit("-N2", "--exclusive")
    bench.wait_running(job)
    expect(len(bench.nodes(job)) == 2, "-N2 --exclusive gets two nodes")
    late = bench.submit("--gres=gpu:1")
    bench.stays_pending(late)


@case(ACTIVE)
def neighbours(bench):
    """g2 is in use: 16 GPUs must be g3 and g4, although g1 comes first."""
    bench.wait_running(bench.submit("-w", "g2", "--gres=gpu:1"))
    job = bench.submit("--gpus=16")
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g3", "g4"], f"neighbours wanted, got {bench.nodes(job)}")


@case(ACTIVE)
def small_jobs_leave_whole_nodes(bench):
    """Small jobs go together: four of two GPUs leave three nodes free for 24."""
    jobs = [bench.submit("--gres=gpu:2") for _ in range(4)]
    bench.wait_running(*jobs)
    job = bench.submit("--gpus=24")
    bench.wait_running(job)


@case(ACTIVE)
def the_plans_node(bench):
    """The plan takes the node whose last GPUs fit; Slurm alone goes by CPUs, and takes the other."""
    bench.wait_running(bench.submit("-w", "g1", "--gres=gpu:1", "-n12"),
                       bench.submit("-w", "g2", "--gres=gpu:6"),
                       bench.submit("-w", "g3", "--gres=gpu:8"),
                       bench.submit("-w", "g4", "--gres=gpu:8"))
    job = bench.submit("--gres=gpu:2")
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g2"], f"two GPUs are left on g2, got {bench.nodes(job)}")


@case(ACTIVE, stock=True)
def cpus_only(bench):
    job = bench.submit("-n", "20")
    bench.wait_running(job)
    given = bench.given(job)
    expect(given.count() == 0, "no GPU was asked for")
    expect(int(bench.job(job)["NumCPUs"]) >= 20, "20 CPUs were asked for")
    bench.wait_done(bench.submit("-n1", seconds=0))


@case(ACTIVE, stock=True)
def cpus_gone(bench):
    """Nodes without a free CPU have no usable GPU; the job starts when one is back."""
    full = [bench.submit("-w", f"g{i}", "-n16") for i in range(1, 5)]
    bench.wait_running(*full)
    job = bench.submit("--gres=gpu:1")
    bench.stays_pending(job)
    bench.cancel(full[2])
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g3"], f"only g3 has CPUs, got {bench.nodes(job)}")


@case(ACTIVE, stock=True)
def memory_gone(bench):
    full = [bench.submit("-w", f"g{i}", "-n1", "--mem=15900") for i in range(1, 5)]
    bench.wait_running(*full)
    job = bench.submit("--gres=gpu:1", "--mem=2000")
    small = bench.submit("--gres=gpu:1", "--mem=100")
    bench.wait_running(small)
    bench.stays_pending(job)
    bench.cancel(full[1])
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g2"], f"only g2 has memory, got {bench.nodes(job)}")


@case(ACTIVE, stock=True)
def all_memory_of_a_node(bench):
    """--mem=0 is the whole node's memory."""
    bench.wait_running(bench.submit("-w", "g1", "--mem=100"))
    job = bench.submit("--gres=gpu:1", "--mem=0")
    bench.wait_running(job)
    expect(bench.nodes(job) != ["g1"], "g1's memory is in use")


@case(ACTIVE, stock=True)
def cpus_and_memory_of_gpus(bench):
    _gives(bench, 2, "--gpus=2", "--cpus-per-gpu=3", "--mem-per-gpu=500")
    _gives(bench, 4, "--gres=gpu:4", "--cpus-per-task=5")


@case(ACTIVE, stock=True)
def larger_than_the_cluster(bench):
    """Slurm refuses what can never fit; what does not fit for now waits, and others start."""
    bench.fails("sbatch", f"--gpus={TOTAL_GPUS + 1}", "--wrap=true")
    bench.scontrol("update", "NodeName=g4", "State=DRAIN", "Reason=test")
    job = bench.submit(f"--gpus={TOTAL_GPUS}")
    bench.wait_running(bench.submit("--gpus=1"))
    bench.stays_pending(job)


@case(ACTIVE, stock=True)
def odd_requests(bench):
    """What a model of counts cannot express is given by Slurm's own selection."""
    odd = [("--gpus-per-socket=1", "--sockets-per-node=1"), ("-N1-3", "--gpus=6"),
           ("--gres=gpu:1", "--exclusive=user"), ("--gres=gpu:2", "--gres-flags=enforce-binding"),
           ("-N2", "--contiguous", "--gres=gpu:1"), ("--gres=gpu:1", "--spread-job", "-N2"),
           ("-n4", "--ntasks-per-gpu=2"), ("-n2", "--ntasks-per-node=1", "--gres=gpu:1"),
           ("--gres=gpu:1", "--oversubscribe"), ("--gres=gpu:1", "--core-spec=1")]
    for options in odd:
        job = bench.submit(*options)
        bench.wait_running(job)
        bench.cancel(job)


@case(ACTIVE, stock=True)
def exclusive(bench):
    """A whole node is not given while another job is on it, nor shared after."""
    some = [bench.submit("-w", f"g{i}", "--gres=gpu:1") for i in range(1, 5)]
    bench.wait_running(*some)
    job = bench.submit("--exclusive", "--gres=gpu:1")
    bench.stays_pending(job)
    bench.cancel(some[0])
    bench.wait_running(job)
    expect(bench.nodes(job) == ["g1"], f"g1 is empty, got {bench.nodes(job)}")
    bench.stays_pending(bench.submit("-w", "g1", "--gres=gpu:1"))


@case(ACTIVE, stock=True)
def srun_and_salloc(bench):
    """Both wait for the plugin's start, and get their GPUs."""
    out = bench.run("srun", "-t1", "--gres=gpu:2", "sh", "-c", "echo $SLURM_JOB_ID-ran")
    expect("-ran" in out, f"srun ran its command: {out}")
    out = bench.run("salloc", "-t1", "-n1", "--gres=gpu:1", "sh", "-c", "echo $SLURM_JOB_GPUS")
    expect(out is not None, "salloc")
    out = bench.run("srun", "-t1", "-N2", "--gres=gpu:1", "hostname")
    expect(len(out.split()) == 2, f"srun -N2 ran twice: {out}")
