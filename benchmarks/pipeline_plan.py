"""How near is a planned time? Runs planned from the trace of a small one, and then measured.

`python benchmarks/pipeline_plan.py [REPEATS]` records a run of 256 items on 2 ranks for each of
three kinds of work, plans 4096 items, and runs the plan and some batches beside it. Of each the
least time counts, as other programs only lengthen runs; tasks and merges are planned by processor
times. Takes about two minutes on two cores.
"""

import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import parcast
from parcast.pipeline.planning.plan import plan_pipeline

SMALL, LARGE, RANKS = 256, 4096, 2


def wait(_):
    """Compute for 2 ms, and return a number."""
    end = time.thread_time() + 2e-3
    while time.thread_time() < end:
        pass
    return 1


def words(seed):
    """Count words of which few are frequent: the results of n items have about n^0.6 words."""
    draw = random.Random(seed)
    return Counter(int(draw.paretovariate(0.7)) for _ in range(800))


def rows(seed):
    """Give rows that are concatenated."""
    draw = random.Random(seed)
    return [draw.random() for _ in range(1000)]


WORK = {
    "sum": (wait, "sum"),
    "counts": (words, "counts"),
    "concatenation": (rows, "sum"),
}


def main(repeats):
    """Measure all of them and print a table."""
    print(f"{'work':14} {'batch':>6} {'planned':>9} {'measured':>9} {'error':>7}")
    for name, (task, merge) in WORK.items():
        with tempfile.TemporaryDirectory() as folder:
            plan = planned(task, merge, Path(folder), repeats)
        for batch in sorted({1, 16, plan.best.batch, 256}):
            other = plan_time(plan, batch)
            arguments = {**plan.arguments, "fan_in": 2, "batch": batch}
            measured = min(
                parcast.run_pipeline(range(LARGE), task, merge, **arguments).seconds
                for _ in range(repeats)
            )
            mark = "*" if batch == plan.best.batch else " "
            error = 100 * (other / measured - 1)
            print(f"{name:14} {batch:5}{mark} {other:8.3f}s {measured:8.3f}s {error:+6.1f}%")


def planned(task, merge, folder, repeats):
    """Plan from the shortest of some traced runs."""
    runs = []
    for i in range(repeats):
        trace = folder / f"{i}.jsonl"
        arguments = {"ranks": RANKS, "batch": 8, "trace": trace}
        runs.append((parcast.run_pipeline(range(SMALL), task, merge, **arguments).seconds, trace))
    return plan_pipeline(min(runs)[1], items=LARGE, ranks=RANKS, clock="processor")


def plan_time(plan, batch):
    """Give the time of another batch by the law [s]."""
    from parcast.pipeline.planning.reasons import figures_at

    changes = {"ranks": RANKS, "batch": batch, "fan_in": 2}
    return float(figures_at(plan.costs, "adaptive", plan.best, changes).time[0])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
