"""What `parcast record` costs a program: runs with the recorder and without it, in turn.

    .venv/bin/python benchmarks/recorder.py [--runs 30] [-n 1000] [-p 2]

The stencil of `parcast run` is timed by itself, from its first step to its last: its halos, a
reduction in each step and its checkpoints are recorded. The ratio of the medians is printed with
its 90% interval, by resampling the pairs.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from parcast.characterisation.recording.build import compiler_of_mpi, recorder_for
from parcast.mpi.find import find_mpi


def seconds(mpi: str, ranks: int, n: int, environment: dict[str, str]) -> float:
    """Time that the stencil says it took [s]."""
    words = [mpi, "-n", str(ranks), sys.executable, "-m", "parcast.kernels.stencil", str(n)]
    said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return float(said.stdout.split(": ")[1].split(" s")[0])


def main() -> None:
    """Print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("-p", type=int, default=2)
    asked = parser.parse_args()
    mpi = find_mpi()
    plain = os.environ | mpi.environment(crowded=True)
    recorder = recorder_for(compiler_of_mpi(str(Path(mpi.mpiexec).with_name("mpicc"))))
    with TemporaryDirectory() as folder:
        record = {"LD_PRELOAD": str(recorder), "PARCAST_RECORD": f"{folder}/profile.jsonl"}
        pairs = []
        for i in range(asked.runs):
            kinds = [plain, plain | record][:: 1 if i % 2 else -1]
            pair = [seconds(mpi.mpiexec, asked.p, asked.n, x) for x in kinds]
            pairs.append(pair[:: 1 if i % 2 else -1])
    times = np.array(pairs)
    drawn = times[np.random.default_rng(0).integers(0, len(times), (2000, len(times)))]
    medians = np.median(drawn, axis=1)
    low, high = np.quantile(medians[:, 1] / medians[:, 0], [0.05, 0.95])
    alone, recorded = np.median(times, axis=0)
    print(f"stencil, n = {asked.n}, p = {asked.p}, {asked.runs} pairs of runs")
    print(f"alone {1e3 * alone:.1f} ms, recorded {1e3 * recorded:.1f} ms")
    print(f"ratio {recorded / alone:.4f} ({low:.4f} to {high:.4f})")


if __name__ == "__main__":
    main()
