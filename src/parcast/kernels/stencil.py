"""Heat in a plasma by finite differences: the example of regions, and of the law "stencil".

    du/dt = div(k grad u) ,   k = k0 + u^(5/2) ,   explicit in time, n x n points, edges held

Heat that electrons of a plasma conduct grows as the power 5/2 of the temperature u [1]_.
Conductivities of neighbours are in series: between them it is the harmonic mean.

The points inside are dealt out in blocks of a mesh of ranks, by default in contiguous rows. In
every step the ranks exchange the points at the edges of their blocks with their neighbours,
compute, and send the largest change to the master by a tree (with an imbalance the first rank has
more rows than the others, and nothing is written); every few steps each rank writes its
rows to one file, flushed to the device, or all ranks together write a checkpoint
(`parcast.kernels.course`), from which a run goes on with any ranks. Each of these is a region
(`parcast.region`), so that

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.instrument.regions import PROFILING, region
from parcast.kernels.course import (
    NAMES,
    CheckpointOwner,
    Course,
    load_library,
    read_inside,
    write_checkpoint,
)
from parcast.kernels.kernel import Functions, Kernel, random_numbers
from parcast.kernels.ledger import Alone, Communicator, Ledger, shares, wait_for
from parcast.mpi.folders import folder_for

Grid = NDArray[np.float64]

STEPS: Final = 20  # of time
SAVED: Final = 10  # steps from one checkpoint to the next
DT: Final = 0.1  # of a step, in squares of the distance of points; stable up to 0.25
LEAST: Final = 0.01  # conductivity where it is cold, k0
WIDTH, POINTS = 256, 8192  # of a tile: columns and points at most
NUMBER: Final = 8  # [B]
CHECKPOINT: Final = "checkpoint"  # name of the file


@dataclass(slots=True)
class PlateBlock:
    """The block of a rank, and one more row and column on each side."""

    n: int
    seed: int
    course: Course
    mesh: tuple[int, ...]  # of the ranks
    origin: tuple[int, int]  # of `old` in the plate
    own: tuple[slice, slice]  # of the plate: what this rank has of it, with its edges
    old: Grid  # shape (rows + 2, columns + 2)
    new: Grid
    neighbours: tuple[int | None, ...]  # ranks above, below, left, right; None where there is none
    file: Path | None  # where rows go

    @property
    def values(self) -> Grid:
        """What this rank has of the plate."""
        rows, columns = (
            slice(own.start - first, own.stop - first)
            for own, first in zip(self.own, self.origin, strict=True)
        )
        return self.old[rows, columns]


@dataclass(frozen=True, slots=True)
class Plate:
    """What is left when all steps are done."""

    values: Grid  # of this rank
    changes: list[float]  # largest change of each step; on the master


def prepare(ledger: Ledger, n: int, seed: int) -> PlateBlock:
    """Make the block of this rank, or read it from a checkpoint."""
    course = ledger.course
    mesh = course.mesh or (ledger.size, 1)
    place = divmod(ledger.rank, mesh[1])
    bounds = [shares(max(n - 2, 0), count) for count in mesh]
    if course.imbalance is not None:
        bounds[0] = _uneven(max(n - 2, 0), mesh[0], course.imbalance)
    top, left = (int(each[i]) for each, i in zip(bounds, place, strict=True))
    bottom, right = (int(each[i + 1]) + 2 for each, i in zip(bounds, place, strict=True))
    old = np.array([row_of(n, seed, i)[left:right] for i in range(top, bottom)])
    load_library(course)
    if course.restart is not None and n > 2:
        with ledger.restarting:
            old[1:-1, 1:-1] = read_inside(ledger.mpi, course, n, mesh)
    file = None
    if ledger.directory is not None and course.is_default:
        file = ledger.directory / CHECKPOINT
    ends = ((top, bottom), (left, right))
    return PlateBlock(
        n=n,
        seed=seed,
        course=course,
        mesh=mesh,
        origin=(top, left),
        own=_own(n, mesh, place, ends),
        old=old,
        new=old.copy(),
        neighbours=_neighbours(mesh, place, bounds),
        file=file,
    )


def _uneven(rows: int, ranks: int, imbalance: float) -> NDArray[np.int64]:
    """Bounds of rows of which the first rank has so many times the mean, the others the rest."""
    if ranks == 1:
        return shares(rows, 1)
    first = min(round(rows * imbalance / ranks), rows)
    return np.concatenate([[0], first + shares(rows - first, ranks - 1)])


def _own(
    n: int, mesh: Sequence[int], place: Sequence[int], ends: Sequence[tuple[int, int]]
) -> tuple[slice, slice]:
    """Give the part of the plate that is a rank's: the outer ranks have its edges."""
    rows, columns = (
        slice(min(first + (i > 0), n), min(last - (i < count - 1), n))
        for count, i, (first, last) in zip(mesh, place, ends, strict=True)
    )
    return rows, columns


def _neighbours(
    mesh: Sequence[int], place: Sequence[int], bounds: Sequence[NDArray[np.int64]]
) -> tuple[int | None, ...]:
    """Give the ranks above, below, left and right that have points."""
    busy = [np.flatnonzero(np.diff(each)).tolist() for each in bounds]
    if any(i not in each for i, each in zip(place, busy, strict=True)):
        return (None,) * 4
    found: list[int | None] = []
    for dimension, each in enumerate(busy):
        at = each.index(place[dimension])
        for other in (at - 1, at + 1):
            node = list(place)
            if is_there := 0 <= other < len(each):
                node[dimension] = each[other]
            found.append(node[0] * mesh[1] + node[1] if is_there else None)
    return tuple(found)


def row_of(n: int, seed: int, number: int) -> Grid:
    """Give a row as it begins: temperatures between 0 and 1 at random."""
    return random_numbers(seed, number).random(n)


def work(ledger: Ledger, state: PlateBlock) -> Plate:
    """Take all steps on all ranks."""
    course = state.course
    steps = course.steps or STEPS
    PROFILING.begin_run("stencil", n=state.n, steps=steps)
    rows, columns = (max(extent - 2, 0) for extent in state.old.shape)
    inside = rows * columns
    sent = NUMBER * (state.old.shape[1] + (rows if state.mesh[1] > 1 else 0))
    kept = NUMBER * (rows * state.n if state.file is not None else state.values.size)
    room = np.empty((4, _largest_tile(state.old.shape[1])))
    changes = []
    for step in range(course.first + 1, steps + 1):
        with region("halo", kind="halo", volume=sent):
            _exchange(ledger, state)
        with region("sweep", iterations=inside), ledger.computing:
            change = _sweep(state.old, state.new, room)
            ledger.steps += inside
        state.old, state.new = state.new, state.old
        with region("change", kind="reduce", volume=NUMBER):
            changes.append(_largest(ledger, change))
        if step % SAVED == 0 and state.file is not None:
            with region("checkpoint", kind="write", volume=kept), ledger.accessing:
                _save(ledger, state)
        elif course.keeps(step):
            with region("checkpoint", kind="write", volume=kept), ledger.checkpointing:
                _keep(ledger, state, step)
    return Plate(state.values, changes if ledger.is_master else [])


def _exchange(ledger: Ledger, state: PlateBlock) -> None:
    """Send the outer points of this rank to its neighbours, and receive theirs."""
    grid = state.old
    above, below, left, right = state.neighbours
    sides = [(above, grid[1], grid[0]), (below, grid[-2], grid[-1])]
    columns = [(left, 1, 0), (right, -2, -1)]
    inner = [
        (rank, grid[1:-1, own].copy(), np.empty(len(grid) - 2))
        for rank, own, _ in columns
        if rank is not None
    ]
    sides += inner
    requests = [
        ledger.begin_receive(theirs, rank) for rank, _, theirs in sides if rank is not None
    ]
    requests += [ledger.begin_send(own, rank) for rank, own, _ in sides if rank is not None]
    wait_for(requests)
    there = (theirs for rank, _, theirs in columns if rank is not None)
    for theirs, (_, _, values) in zip(there, inner, strict=True):
        grid[1:-1, theirs] = values


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


def _save(ledger: Ledger, state: PlateBlock) -> None:
    """Write the rows of this rank to their place in the file, and flush them."""
    rows = state.old[1:-1]
    if not rows.size or state.file is None:
        return
    file = os.open(state.file, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        left, offset = memoryview(rows.tobytes()), NUMBER * state.n * (state.origin[0] + 1)
        while left:
            written = os.pwrite(file, left, offset)
            left, offset = left[written:], offset + written
        os.fsync(file)
    finally:
        os.close(file)
    ledger.disk_bytes += rows.nbytes


def _keep(ledger: Ledger, state: PlateBlock, step: int) -> None:
    """Write a checkpoint with the other ranks."""
    belongs = CheckpointOwner(program=KERNEL.name, n=state.n, seed=state.seed, step=step)
    rows, columns = state.own
    start = rows.start, columns.start
    write_checkpoint(ledger.mpi, state.course, belongs, start, state.values)
    ledger.disk_bytes += state.values.nbytes


def serial(n: int, seed: int, steps: int = STEPS) -> tuple[Grid, list[float]]:
    """Take all steps on the whole plate at once. Shape (n, n), and the largest changes."""
    plate = np.array([row_of(n, seed, i) for i in range(n)]).reshape(n, n)
    changes = []
    for _ in range(steps):
        k = LEAST + plate**2.5
        down = 2 / (1 / k[1:, 1:-1] + 1 / k[:-1, 1:-1]) * np.diff(plate[:, 1:-1], axis=0)
        across = 2 / (1 / k[1:-1, 1:] + 1 / k[1:-1, :-1]) * np.diff(plate[1:-1], axis=1)
        gain = DT * (np.diff(down, axis=0) + np.diff(across, axis=1))
        plate[1:-1, 1:-1] += gain
        changes.append(float(np.abs(gain).max(initial=0.0)))
    return plate, changes


def is_correct(ledger: Ledger, state: PlateBlock, result: Plate) -> bool:
    """Compare points, changes and the file with what one processor computes."""
    steps = state.course.steps or STEPS
    plate, changes = serial(state.n, state.seed, steps)
    right = _alike(result.values, plate[state.own])
    if ledger.is_master:
        right &= _alike(np.array(result.changes), np.array(changes[state.course.first :]))
    ledger.comm.Barrier()  # all have written
    if ledger.is_master and state.file is not None and state.n > 2 and steps >= SAVED:
        saved = np.fromfile(state.file)[state.n :].reshape(-1, state.n)
        if steps % SAVED:
            plate, _ = serial(state.n, state.seed, steps - steps % SAVED)
        right &= _alike(saved, plate[1:-1])
    return ledger.all_agree(right)


def _alike(one: Grid, other: Grid) -> bool:
    """Tell whether two arrays are equal but for rounding."""
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-12, atol=1e-14))


def finish(state: PlateBlock) -> None:
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
    time_steps=STEPS,
    takes=frozenset(NAMES) - {"io", "group"},
    checked_up_to=300,
    example=2500,
)


def main(arguments: Sequence[str]) -> None:
    """Run it once with so many points along an edge, after a tiny run that is not timed."""
    n = int(arguments[0])
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    comm = _communicator()
    with folder_for("parcast-stencil-") as own:
        directory = Path(comm.bcast(str(own), 0))
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
