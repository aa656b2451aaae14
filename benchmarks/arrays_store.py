"""Writing one array to a Zarr store or a .npy file, beside a plain sequential write and fsync.

    python benchmarks/arrays_store.py [--size 1GiB] [--pairs 5] [--subchunk 1MiB] [--folder .]

Each round writes the same bytes in every way, in alternating order, flushes them to disk and
removes them; the first round is discarded. A way is compared with the plain write of its own
round: the median of these ratios is what is shown, with the median rate. "plain" writes pieces of
a subchunk to one file with os.write and ends with os.fsync. Peak memory is measured in the tests.
"""

import argparse
import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.npy import NpyDraft, NpyWriter
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.writing import Writer
from parcast.units import quantity


def plain(path: Path, blocks: list[np.ndarray], count: int) -> None:
    """Write the bytes of blocks one after another."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    for i in range(count):
        left = memoryview(blocks[i % len(blocks)]).cast("B")
        while left:
            left = left[os.write(file, left) :]
    os.fsync(file)
    os.close(file)


def zarr(path: Path, blocks: list[np.ndarray], count: int, shards: int = 1) -> None:
    """Write them as subchunks of a Zarr store of so many shards."""
    rows = len(blocks[0])
    spec = ArraySpec(
        name="u",
        shape=(count, rows),
        dtype="f8",
        chunk=(-(-count // shards), rows),
        subchunk=(1, rows),
    )
    with Draft.create(path, [spec]) as draft:
        with Writer(draft.part) as writer:
            for index in draft.part.chunks("u"):
                with writer.chunk("u", index) as chunk:
                    for box in chunk.boxes:
                        chunk.write(blocks[box.start[0] % len(blocks)][np.newaxis])
            writer.flush()
        draft.commit()


def npy(path: Path, blocks: list[np.ndarray], count: int) -> None:
    """Write them as rows of a .npy file."""
    with NpyDraft.create(path, (count, len(blocks[0])), "f8") as draft:
        with NpyWriter(draft.part) as writer:
            for i in range(count):
                writer.write(i, blocks[i % len(blocks)][np.newaxis])
            writer.flush()
        draft.commit()


def seconds(write: Callable[[Path], None], path: Path) -> float:
    """Time one write, and remove what it wrote; what was dirty before is flushed first."""
    os.sync()
    begin = perf_counter()
    write(path)
    time = perf_counter() - begin
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return time


def main() -> None:
    """Measure every way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", default="1GiB")
    parser.add_argument("--subchunk", default="1MiB")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--folder", default=".")
    given = parser.parse_args()
    length = int(quantity(given.subchunk, "size", name="subchunk"))
    count = int(quantity(given.size, "size", name="size")) // length
    rng = np.random.default_rng(1)
    blocks = [rng.random(length // 8) for _ in range(8)]
    ways: dict[str, Callable[[Path], None]] = {
        "plain": lambda path: plain(path, blocks, count),
        "zarr, 1 shard": lambda path: zarr(path, blocks, count),
        "zarr, 8 shards": lambda path: zarr(path, blocks, count, 8),
        ".npy": lambda path: npy(path, blocks, count),
    }
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    times: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for turn in range(given.pairs + 1):
            order = random.Random(turn).sample(list(ways), len(ways))
            taken = {name: seconds(ways[name], Path(folder) / f"a{turn}.npy") for name in order}
            if turn:
                for name, time in taken.items():
                    ratios[name].append(taken["plain"] / time)
                    times[name].append(time)
        whole = Path(folder) / "read.zarr"
        zarr(whole, blocks, count)
        begin = perf_counter()
        with open_store(whole) as store:
            for i in range(count):
                store["u"].read((i, 0), (1, length // 8))
        reading = perf_counter() - begin
    print(f"{given.size} in subchunks of {given.subchunk}, {given.pairs} rounds after one")
    for name, each in times.items():
        rate = count * length / statistics.median(each) / 1e6
        ratio = statistics.median(ratios[name])
        print(f"{name:15} {rate:8.0f} MB/s   {ratio:.3f} of plain")
    print(f"{'zarr, read':15} {count * length / reading / 1e6:8.0f} MB/s   from the page cache")


if __name__ == "__main__":
    main()
