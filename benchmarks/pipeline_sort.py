"""Time and memory of sorting an array that is larger than the memory of the ranks.

    .venv/bin/python benchmarks/pipeline_sort.py [--size 2GB] [--memory 300MB] [--ranks 1,2]

Random doubles are sorted by `applications.sorting.sort_file` on each number of ranks, and by
numpy.load, numpy.sort and numpy.save, which hold all of them. The memory of a rank is VmHWM, its
peak resident memory: everything is counted, shared libraries and the buffers of MPI as well; input
and output are read and written, not mapped, and the page cache of the system is not counted. The
file systems are not told to drop what they have cached. Every result is compared with the input:
it must rise, and hold the same elements.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from parcast.units import quantity

BLOCK = 10_000_000
IN_MEMORY = """
import sys, numpy as np
from parcast.trials.process_memory import peak_memory
np.save(sys.argv[2], np.sort(np.load(sys.argv[1]), kind=sys.argv[3]))
print(peak_memory())
"""
KINDS = {"numpy.sort": "quicksort", "numpy.sort, stable": "stable"}


def fill(path: Path, count: int) -> None:
    """Write random doubles."""
    array = np.lib.format.open_memmap(path, mode="w+", dtype="f8", shape=(count,))
    rng = np.random.default_rng(5)
    for begin in range(0, count, BLOCK):
        array[begin : begin + BLOCK] = rng.normal(size=min(BLOCK, count - begin))


def total(path: Path) -> tuple[int, bool]:
    """Sum of all elements as whole numbers, which no order changes, and whether they rise."""
    array = np.load(path, mmap_mode="r")
    summed, rises, last = 0, True, -np.inf
    for begin in range(0, len(array), BLOCK):
        block = np.array(array[begin : begin + BLOCK])
        rises = rises and last <= block[0] and bool((block[:-1] <= block[1:]).all())
        last = block[-1]
        summed += int(block.view("u8").sum(dtype="u8"))
    return summed % 2**64, rises


def report(name: str, size: float, seconds: float, peaks: list[float]) -> None:
    """Print a row."""
    held = ", ".join(f"{peak / 1e6:.0f}" for peak in peaks)
    print(f"{name:20} {seconds:8.1f} {size / seconds / 1e6:8.0f}   {held}", flush=True)


def main() -> None:
    """Sort, check, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--size", default="2GB")
    parser.add_argument("--memory", default="300MB")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--directory", default=tempfile.gettempdir())
    given = parser.parse_args()
    size, memory = (
        quantity(given.size, "size", name="--size"),
        quantity(given.memory, "size", name="--memory"),
    )
    print(f"{given.size} of doubles, at most {given.memory} a rank\n")
    print(f"{'':20} {'time [s]':>8} {'[MB/s]':>8}   peak memory [MB]")
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        source, target = Path(name, "in.npy"), Path(name, "out.npy")
        fill(source, int(size // 8))
        expected, _ = total(source)
        for ranks in map(int, given.ranks.split(",")):
            # In a process of its own, as this one has mapped the array.
            code = f"""
from parcast.applications.sorting.sort_file import sort_file
r = sort_file({str(source)!r}, {str(target)!r}, memory={memory}, ranks={ranks})
print(r.seconds, *(peak for peak in r.peaks if peak))  # of ranks that ended a shard
"""
            ended = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
            seconds, *peaks = map(float, ended.stdout.split())
            assert total(target) == (expected, True)
            assert max(peaks) <= memory, f"a rank held {max(peaks) / 1e6:.0f} MB"
            report(f"{ranks} rank{'s' * (ranks > 1)}", size, seconds, peaks)
        for label, kind in KINDS.items():
            begun = perf_counter()
            ended = subprocess.run(
                [sys.executable, "-c", IN_MEMORY, str(source), str(target), kind],
                capture_output=True,
                text=True,
                check=True,
            )
            report(label, size, perf_counter() - begun, [float(ended.stdout)])


if __name__ == "__main__":
    main()
