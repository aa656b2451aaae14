"""POP efficiencies of TALP files beside those that talp-pages computes, to two digits.

    python benchmarks/pop_efficiencies.py

Runs of 2 to 16 ranks with one or four threads are made up, with strong and weak scaling, written
as DLB 3.5 writes them, and read by both. It needs talp-pages (PyPI) and pandas below 3.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from talp_pages.analysis.scaling_analysis import ScalingAnalysis, ScalingAnalysisArguments
from talp_pages.io.run_folders import get_run_folders

from parcast.deciding.explain.profiles.explain import explain_profiles

SAME = {
    "globalEfficiency": "global_efficiency",
    "parallelEfficiency": "parallel_efficiency",
    "mpiLoadBalance": "load_balance",
    "mpiCommunicationEfficiency": "communication_efficiency",
    "computationScalability": "computation_scalability",
}


def made_up(random: np.random.Generator, ranks: int, threads: int, *, weak: bool) -> dict:
    """Give the document of one run, its metrics consistent as those of DLB are."""
    cpus = ranks * threads
    work = 80e9 * random.uniform(0.9, 1.2) * (cpus if weak else 2) / cpus
    useful = work * random.uniform(0.7, 1, cpus)  # of each processor [ns]
    busiest = useful.reshape(ranks, threads).sum(axis=1).max() / threads
    of_threads = 1.0 if threads == 1 else random.uniform(0.8, 1)
    elapsed = busiest / of_threads * random.uniform(1.02, 1.5)
    outside = useful.reshape(ranks, threads).sum(axis=1) / threads / of_threads
    instructions = useful.sum() * random.uniform(2.0, 2.5)
    record = {
        "numCpus": cpus,
        "numMpiRanks": ranks,
        "numNodes": 1,
        "elapsedTime": int(elapsed),
        "usefulTime": int(useful.sum()),
        "cycles": int(useful.sum() * random.uniform(2.4, 3.0)),
        "instructions": int(instructions),
        "parallelEfficiency": useful.sum() / cpus / elapsed,
        "mpiParallelEfficiency": outside.mean() / elapsed,
        "mpiCommunicationEfficiency": outside.max() / elapsed,
        "mpiLoadBalance": outside.mean() / outside.max(),
    }
    common = {"numCpus": cpus, "numMpiRanks": ranks, "numNodes": 1}
    return {
        "dlbVersion": "3.5.0",
        "timestamp": "2025-01-01T00:00:00+0000",
        "resources": common,
        "Application": {"Global": record},
    }


def compared(folder: Path) -> tuple[int, float]:
    """Compare one series: how many numbers, and how far they are apart at most."""
    [run_folder] = get_run_folders(folder)
    [theirs] = ScalingAnalysis(ScalingAnalysisArguments(run_folder)).get_results(["Global"])
    [ours] = explain_profiles(sorted(run_folder.jsons)).problems
    apart = [
        abs(float(frame[name].iloc[0]) - float(ours.values[own][i]))
        for i, frame in enumerate(theirs.dataframe_list)
        for name, own in SAME.items()
    ]
    return len(apart), max(apart)


def main() -> None:
    """Compare twenty series of each kind."""
    for threads in (1, 4):
        for weak in (False, True):
            numbers, worst = 0, 0.0
            for seed in range(20):
                random = np.random.default_rng(seed)
                with tempfile.TemporaryDirectory() as place:
                    folder = Path(place) / "runs"
                    folder.mkdir()
                    for ranks in (2, 4, 8, 16):
                        run = made_up(random, ranks, threads, weak=weak)
                        path = folder / f"talp_{ranks:02d}.json"
                        path.write_text(json.dumps(run), encoding="utf-8")
                    count, apart = compared(Path(place))
                numbers, worst = numbers + count, max(worst, apart)
            kind = f"{'weak' if weak else 'strong'}, {threads} threads"
            print(f"{kind}: {numbers} numbers, {worst:.1e} apart at most")


if __name__ == "__main__":
    main()
