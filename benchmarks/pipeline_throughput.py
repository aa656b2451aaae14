r"""Throughput of the pipeline over the ideal: here, and on the cluster in a box.

    python benchmarks/pipeline_throughput.py                            # 2 ranks on 2 cores
    parcast testbed --hosts 8 --link 1Gbit -- \
        python benchmarks/pipeline_throughput.py --ranks 8 --task 50ms  # 8 capped hosts

Tasks take a given processor time and return an array of 1,000 numbers; sums are merged. The ideal
is (N T_comp + (N - 1) T_merge) over the processors: the cores that the ranks have, or the shares
of a core that the virtual hosts have. T_comp and T_merge are the processor times of the run.
"""

import argparse
import os
import statistics
import time
from functools import partial

import numpy as np

import parcast
from parcast.mpi.find import available_cores
from parcast.testbed.testbed import testbed_here
from parcast.units import quantity


def spin(index, seconds):
    """Use a processor for a time, and give an array."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return np.full(1000, 0.1 * index)


def main():
    """Print the share of the ideal of each round."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--task", default="5ms")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a run, ideally")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--schedule", default="adaptive")
    given = parser.parse_args()
    seconds = quantity(given.task, "time", name="--task")
    testbed = testbed_here()
    cap = testbed.cap if testbed is not None else None
    processors = given.ranks * cap if cap else min(given.ranks, len(available_cores()))
    count = max(int(given.seconds * processors / seconds), 8 * given.ranks)
    shares = []
    for _ in range(given.rounds):
        load = os.getloadavg()[0]
        run = parcast.run_pipeline(
            range(count),
            partial(spin, seconds=seconds),
            ranks=given.ranks,
            schedule=given.schedule,
        )
        work = sum(rank.processor for rank in run.ranks)
        shares.append(work / processors / run.seconds)
        print(
            f"{count} tasks of {given.task} on {given.ranks} ranks, {processors:.3g} processors: "
            f"{run.seconds:.3g} s, {shares[-1]:.1%} of the ideal (load {load:.1f} before)"
        )
    print(f"median {statistics.median(shares):.1%}")


if __name__ == "__main__":
    main()
