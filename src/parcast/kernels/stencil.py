"""Heat in a plasma by finite differences: the example of regions, and of the law "stencil".

    du/dt = div(k grad u) ,   k = k0 + u^(5/2) ,   explicit in time, n x n points, edges held

Heat that electrons of a plasma conduct grows as the power 5/2 of the temperature u [1]_.
Conductivities of neighbours are in series: between them it is the harmonic mean.

The rows inside are dealt out in contiguous shares. In every step the ranks exchange the rows at
the edges of their shares with their neighbours, compute, and send the largest change to the
master by a tree; every few steps each rank writes its rows to one file, flushed to the device.
Each of these is a region (`parcast.region`), so that

    PARCAST_PROFILE=stencil.jsonl mpiexec -n 2 python -m parcast.kernels.stencil 512

writes what `parcast characterise` reads. A point is computed by the same operations in the same
order whatever the ranks, so that the result is the same to the last bit. Points are computed in
tiles that stay in the cache, so that the rate of a point depends little on n. A step of the law
is the update of one point.

References
----------
.. [1] L. Spitzer and R. Harm, "Transport phenomena in a completely ionized gas," Phys. Rev.,
   vol. 89, no. 5, pp. 977-981, 1953, :doi:`10.1103/PhysRev.89.977`.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.instrument.regions import PROFILING, region
from parcast.kernels.kernel import Functions, Kernel, random_numbers
from parcast.kernels.ledger import Alone, Communicator, Ledger, shares, wait_for

Grid = NDArray[np.float64]

STEPS: Final = 20  # of time
SAVED: Final = 10  # steps from one checkpoint to the next
DT: Final = 0.1  # of a step, in squares of the distance of points; stable up to 0.25
LEAST: Final = 0.01  # conductivity where it is cold, k0
WIDTH, POINTS = 256, 8192  # of a tile: columns and points at most
NUMBER: Final = 8  # [B]
CHECKPOINT: Final = "checkpoint"  # name of the file


@dataclass(slots=True)
class State:
    """The rows of a rank, and one more on each side."""

    n: int
    seed: int
    first: int  # of the rows of this rank, in the plate
    old: Grid  # shape (rows + 2, n)
    new: Grid
    above: int | None  # rank of the rows above; None at the edge, or where this rank has none
    below: int | None
    file: Path | None  # where checkpoints go


@dataclass(frozen=True, slots=True)
class Plate:
    """What is left when all steps are done."""

    rows: Grid  # of this rank, shape (rows, n)
    changes: list[float]  # largest change of each step; on the master


def prepare(ledger: Ledger, n: int, seed: int) -> State:
    """Make the rows of this rank."""
    bounds = shares(max(n - 2, 0), ledger.size)
    busy = [rank for rank in range(ledger.size) if bounds[rank + 1] > bounds[rank]]
    first, last = (1 + int(bounds[ledger.rank + i]) for i in (0, 1))
    above = below = None
    if ledger.rank in busy:
        place = busy.index(ledger.rank)
        above = busy[place - 1] if place > 0 else None
        below = busy[place + 1] if place + 1 < len(busy) else None
    old = np.array([row_of(n, seed, i) for i in range(first - 1, last + 1)])
    old = old.reshape(last - first + 2, n)
    file = ledger.directory / CHECKPOINT if ledger.directory is not None else None
    return State(n, seed, first, old, old.copy(), above, below, file)


def row_of(n: int, seed: int, number: int) -> Grid:
    """Give a row as it begins: temperatures between 0 and 1 at random."""
    return random_numbers(seed, number).random(n)


def work(ledger: Ledger, state: State) -> Plate:
    """Take all steps on all ranks."""
    PROFILING.begin_run("stencil", n=state.n, steps=STEPS)
    n, rows = state.n, len(state.old) - 2
    inside = rows * max(n - 2, 0)
    room = np.empty((4, _largest_tile(n)))
    changes = []
    for step in range(1, STEPS + 1):
        with region("halo", kind="halo", volume=NUMBER * n):
            _exchange(ledger, state)
        with region("sweep", iterations=inside), ledger.computing:
            change = _sweep(state.old, state.new, room)
            ledger.steps += inside
        state.old, state.new = state.new, state.old
        with region("change", kind="reduce", volume=NUMBER):
            changes.append(_largest(ledger, change))
        if step % SAVED == 0 and state.file is not None:
            with region("checkpoint", kind="write", volume=NUMBER * n * rows), ledger.accessing:
                _save(ledger, state)
    return Plate(state.old[1:-1], changes if ledger.is_master else [])


def _exchange(ledger: Ledger, state: State) -> None:
    """Send the outer rows of this rank to its neighbours, and receive theirs."""
    grid = state.old
    sides = ((state.above, grid[1], grid[0]), (state.below, grid[-2], grid[-1]))
    requests = [
        ledger.begin_receive(theirs, rank) for rank, _, theirs in sides if rank is not None
    ]
    requests += [ledger.begin_send(own, rank) for rank, own, _ in sides if rank is not None]
    wait_for(requests)


def _sweep(old: Grid, new: Grid, room: Grid) -> float:
    """Compute all points inside, tile by tile; give the largest change."""
    change = 0.0
    for rows, columns in _tiles(old.shape[0] - 2, old.shape[1] - 2):
        wide = slice(columns.start, columns.stop + 2)
        block = old[rows.start : rows.stop + 2, wide]
        target = new[rows.start + 1 : rows.stop + 1, columns.start + 1 : columns.stop + 1]
        change = max(change, _update(block, target, room))
    return change


def _tiles(rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Give the tiles of so many points, of nearly one size."""
    if rows <= 0 or columns <= 0:
        return
    across = shares(columns, -(-columns // WIDTH))
    width = int(np.diff(across).max())
    down = shares(rows, -(-rows // max(POINTS // width, 1)))
    for top, bottom in pairwise(down):
        for left, right in pairwise(across):
            yield slice(int(top), int(bottom)), slice(int(left), int(right))


def _largest_tile(n: int) -> int:
    """Points that a tile and what is around it have at most."""
    width = min(max(n - 2, 1), WIDTH)
    return (max(POINTS // width, 1) + 2) * (width + 2)


def _update(block: Grid, target: Grid, room: Grid) -> float:
    """Compute the points inside a block; give the largest change."""
    conducts = room[0, : block.size].reshape(block.shape)
    np.sqrt(block, out=conducts)
    np.multiply(conducts, block, out=conducts)
    np.multiply(conducts, block, out=conducts)
    np.add(conducts, LEAST, out=conducts)
    # Through the edges above and below each point, then to its left and right.
    down = _flow(conducts[:-1, 1:-1], conducts[1:, 1:-1], block[:-1, 1:-1], block[1:, 1:-1], room)
    gain = room[3, : target.size].reshape(target.shape)
    np.subtract(down[1:], down[:-1], out=gain)
    across = _flow(
        conducts[1:-1, :-1], conducts[1:-1, 1:], block[1:-1, :-1], block[1:-1, 1:], room
    )
    np.add(gain, across[:, 1:], out=gain)
    np.subtract(gain, across[:, :-1], out=gain)
    np.multiply(gain, 2 * DT, out=gain)
    np.add(block[1:-1, 1:-1], gain, out=target)
    return float(max(gain.max(), -gain.min()))


def _flow(one: Grid, other: Grid, at_one: Grid, at_other: Grid, room: Grid) -> Grid:
    """Give half the flow between neighbours; their conductivities are in series."""
    flow, together = (room[i, : one.size].reshape(one.shape) for i in (1, 2))
    np.add(one, other, out=together)
    np.multiply(one, other, out=flow)
    np.divide(flow, together, out=flow)
    np.subtract(at_other, at_one, out=together)
    np.multiply(flow, together, out=flow)
    return flow


def _largest(ledger: Ledger, change: float) -> float:
    """Bring the largest change of all ranks to the master, by a binomial tree."""
    own, theirs = np.array([change]), np.empty(1)
    step = 1
    while step < ledger.size:
        if ledger.rank % (2 * step):
            ledger.send(own, ledger.rank - step)
            break
        if ledger.rank + step < ledger.size:
            ledger.receive(theirs, ledger.rank + step)
            np.maximum(own, theirs, out=own)
        step *= 2
    return float(own[0])


def _save(ledger: Ledger, state: State) -> None:
    """Write the rows of this rank to their place in the file, and flush them."""
    rows = state.old[1:-1]
    if not rows.size or state.file is None:
        return
    file = os.open(state.file, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        left, offset = memoryview(rows.tobytes()), NUMBER * state.n * state.first
        while left:
            written = os.pwrite(file, left, offset)
            left, offset = left[written:], offset + written
        os.fsync(file)
    finally:
        os.close(file)
    ledger.disk_bytes += rows.nbytes


def serial(n: int, seed: int) -> tuple[Grid, list[float]]:
    """Take all steps on the whole plate at once. Shape (n, n), and the largest changes."""
    plate = np.array([row_of(n, seed, i) for i in range(n)]).reshape(n, n)
    changes = []
    for _ in range(STEPS):
        k = LEAST + plate**2.5
        down = 2 / (1 / k[1:, 1:-1] + 1 / k[:-1, 1:-1]) * np.diff(plate[:, 1:-1], axis=0)
        across = 2 / (1 / k[1:-1, 1:] + 1 / k[1:-1, :-1]) * np.diff(plate[1:-1], axis=1)
        gain = DT * (np.diff(down, axis=0) + np.diff(across, axis=1))
        plate[1:-1, 1:-1] += gain
        changes.append(float(np.abs(gain).max(initial=0.0)))
    return plate, changes


def is_correct(ledger: Ledger, state: State, result: Plate) -> bool:
    """Compare rows, changes and the file with what one processor computes."""
    plate, changes = serial(state.n, state.seed)
    last = state.first + len(result.rows)
    right = _alike(result.rows, plate[state.first : last])
    if ledger.is_master:
        right &= _alike(np.array(result.changes), np.array(changes))
    ledger.comm.Barrier()  # all have written
    if ledger.is_master and state.file is not None and state.n > 2:
        saved = np.fromfile(state.file)[state.n :].reshape(-1, state.n)
        right &= _alike(saved, plate[1:-1])
    return ledger.all_agree(right)


def _alike(one: Grid, other: Grid) -> bool:
    """Tell whether two arrays are equal but for rounding."""
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-12, atol=1e-14))


def finish(state: State) -> None:
    """Remove the file of the checkpoints."""
    if state.file is not None:
        state.file.unlink(missing_ok=True)


def memory(n: int, p: int) -> int:
    """Bytes that all ranks need: two plates, the rows around shares, and tiles. [B]."""
    return 2 * NUMBER * n * (n + 2 * p) + 4 * NUMBER * p * _largest_tile(n)


KERNEL: Final = Kernel(
    name="stencil",
    title="heat in a plasma by finite differences, with checkpoints",
    size="points along an edge",
    step="point updates",
    phase={"law": "stencil", "time_steps": STEPS, "checkpoints": STEPS // SAVED},
    functions=Functions(prepare, work, is_correct, serial, memory, finish),
    uses_files=True,
    checked_up_to=300,
    example=2500,
)


def main(arguments: Sequence[str]) -> None:
    """Run it once with so many points along an edge, after a tiny run that is not timed."""
    n = int(arguments[0])
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    comm = _communicator()
    with tempfile.TemporaryDirectory(prefix="parcast-stencil-") as own:
        directory = Path(comm.bcast(own, 0))
        KERNEL.run(comm, KERNEL.tiny, seed, check=False, directory=directory)
        PROFILING.discard()
        run = KERNEL.run(comm, n, seed, directory=directory)
        if comm.Get_rank() == 0:
            verdict = {True: "correct", False: "WRONG", None: "not checked"}[run.is_correct]
            print(f"n = {n}, p = {run.p}: {run.time:.4g} s, {verdict}")  # noqa: T201 - its answer


def _communicator() -> Communicator:
    """All ranks, or this one alone where there is no MPI."""
    try:
        from mpi4py import MPI
    except ImportError:
        return Alone()
    world: Communicator = MPI.COMM_WORLD
    return world


if __name__ == "__main__":
    main(sys.argv[1:])
