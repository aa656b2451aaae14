"""A program for the tests: a run with a checkpoint, one rank of which may be killed.

``python resuming.py CASE OUTPUT RANK SECONDS`` kills a rank so long after the run began; a
negative time kills none. The value and what was skipped are written to the output. CASE may be
"all": each is then run in a folder of its name.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from parcast import run_pipeline  # all that a run loads, before its time begins

N = 120


def slow(i):
    time.sleep(0.001 + 0.0003 * (i * 7919 % 7))
    return i


def text(i):
    return f"{slow(i)},"


def counts(i):
    if slow(i) % 7 == 3:
        raise ValueError(i)
    return {f"w{(i * k) % 23}": 0.1 * i for k in range(4)}


def array(i):
    import numpy as np

    return np.full(2000, 0.1 * slow(i))


CASES = {
    "batches": {"task": text, "batch": 8, "fan_in": 4},
    "counts": {"task": counts, "merge": "counts", "shards": 3, "batch": 2, "on_error": "skip"},
    "every": {"task": text, "every": 7, "server": "served.jsonl", "batch": 1},
    "pickled": {"task": text, "every": 10, "server": "served.pickle", "fan_in": 3},
    "spilled": {"task": array, "memory": 60_000, "batch": 2, "pipelines": 2},
}


def main(case, output, rank, seconds):
    from mpi4py import MPI

    if MPI.COMM_WORLD.rank == int(rank) and float(seconds) >= 0:
        kill = threading.Timer(float(seconds), os.kill, (os.getpid(), signal.SIGKILL))
        kill.daemon = True
        kill.start()
    if case != "all":
        run(case, output, MPI.COMM_WORLD.rank)
        return
    for each in CASES:
        Path(each).mkdir(exist_ok=True)
        os.chdir(each)
        run(each, output, MPI.COMM_WORLD.rank)
        os.chdir("..")


def run(case, output, own):
    keys = {"checkpoint": "kept", "checkpoint_every": 0.01, "resume": True}
    result = run_pipeline(range(N), **(keys | CASES[case]))
    for warning in result.warnings if own == 0 else ():
        sys.stderr.write(f"{warning}\n")
    if own == 0:
        value = result.value.tolist() if hasattr(result.value, "tolist") else result.value
        skipped = [x.index for x in result.skipped]
        document = [value, result.items, result.reductions, skipped]
        Path(output).write_text(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
