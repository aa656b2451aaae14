"""A chaotic map that writes its state every few steps: a program of the law "spmd".

    u <- r u (1 - u) ,   r = 3.9 ,   at n points, `MAPS` times in a step

The points are dealt out in contiguous shares. After every step the ranks of a group, if there are
groups, pass an eighth of their share to the next one in a ring. Every few steps the state is
written, flushed to the device, in one of the ways of [1]_:

    synchronous  all ranks wait for each other; each writes its share to the disk next to it
    striped      each rank writes when it is ready, a part of its share to every disk
    clustered    each rank writes when it is ready, its share to the disk of its cluster

Disks are those of I/O servers (`parcast.kernels.io_servers`). Without servers each rank writes a
file in the folder of the run itself. A checkpoint is written by all ranks together through
`parcast.arrays` instead. A step of the run's count is one map of one point.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.kernels.course import (
    EVERY,
    NAMES,
    CheckpointOwner,
    Course,
    load_library,
    write_checkpoint,
)
from parcast.kernels.io_servers import write_through
from parcast.kernels.kernel import Functions, Kernel, random_numbers
from parcast.kernels.ledger import Ledger, shares, wait_for

Points = NDArray[np.float64]

STEPS: Final = 40  # of time
MAPS: Final = 32  # of a point in a step
GROWTH: Final = 3.9  # r
TILE: Final = 8192  # points that stay in the cache
PASSED: Final = 8  # of so many points one is passed on
BLOCK: Final = 4096  # points that belong to one stream of random numbers
NUMBER: Final = 8  # [B]


@dataclass(slots=True)
class PointShare:
    """The share of a rank."""

    n: int
    seed: int
    course: Course
    start: int  # of the share in all points
    points: Points
    neighbours: tuple[int, int]  # ranks before and after in the ring of the group; itself if alone
    passed: Points  # what the one before passed on last
    parts: dict[int, Points]  # by server: views of `points`
    file: int | None  # open for writing where there are no servers
    path: Path | None


def prepare(ledger: Ledger, n: int, seed: int) -> PointShare:
    """Make the share of this rank, and write it once, so that files are there."""
    course = ledger.course
    bounds = shares(n, ledger.size)
    start, stop = int(bounds[ledger.rank]), int(bounds[ledger.rank + 1])
    points = points_of(n, seed, start, stop)
    neighbours = ring(ledger.rank, course.group or 1)
    before = neighbours[0]
    load_library(course)
    path = None
    if ledger.directory is not None and ledger.io_servers is None and course.checkpoint is None:
        path = ledger.directory / f"points_{ledger.rank}"
    state = PointShare(
        n=n,
        seed=seed,
        course=course,
        start=start,
        points=points,
        neighbours=neighbours,
        passed=np.zeros(int(bounds[before + 1] - bounds[before]) // PASSED),
        parts=parts_of(points, ledger),
        file=None if path is None else os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600),
        path=path,
    )
    if course.checkpoint is None:
        _write(ledger, state)
        ledger.messages = ledger.sent = ledger.disk_bytes = 0
    return state


def points_of(n: int, seed: int, start: int, stop: int) -> Points:
    """Give points as they begin, between 0 and 1 at random."""
    blocks = [
        random_numbers(seed, i).random(min(BLOCK, n - i * BLOCK))
        for i in range(start // BLOCK, -(-stop // BLOCK))
    ]
    first = start // BLOCK * BLOCK
    return np.concatenate([*blocks, np.empty(0)])[start - first : stop - first].copy()


def ring(rank: int, group: int) -> tuple[int, int]:
    """Give the ranks before and after one in the ring of its group.

    >>> ring(5, 4), ring(7, 4)
    ((4, 6), (6, 4))
    """
    first = rank - rank % group
    before, after = ((rank - first + step) % group for step in (-1, 1))
    return first + before, first + after


def parts_of(points: Points, ledger: Ledger) -> dict[int, Points]:
    """Give the part of a share that goes to each disk, those without points left out."""
    if ledger.io_servers is None:
        return {}
    d = ledger.io_servers.count
    kind = ledger.course.io
    if kind == "striped":
        disks = range(d)
    elif kind == "clustered":
        cluster = ledger.rank // (ledger.course.group or 1) % d
        disks = range(cluster, cluster + 1)
    else:  # together they use all disks alike where one count divides the other
        first, last = ledger.rank * d // ledger.size, -(-(ledger.rank + 1) * d // ledger.size)
        disks = range(first, last)
    cuts = shares(len(points), len(disks))
    cut = {disk: points[cuts[i] : cuts[i + 1]] for i, disk in enumerate(disks)}
    return {disk: part for disk, part in cut.items() if part.size}


def work(ledger: Ledger, state: PointShare) -> Points:
    """Take all steps on all ranks."""
    course = state.course
    steps, every = course.steps or STEPS, course.checkpoint_every or EVERY
    room = np.empty(min(TILE, len(state.points)))
    for step in range(1, steps + 1):
        with ledger.computing:
            advance(state.points, room)
            ledger.steps += MAPS * len(state.points)
        _pass_on(ledger, state)
        if course.checkpoint is not None and course.keeps(step):
            with ledger.checkpointing:
                _keep(ledger, state, step)
        elif course.checkpoint is None and step % every == 0:
            if course.io in (None, "synchronous"):
                ledger.comm.Barrier()
            with ledger.accessing:
                _write(ledger, state)
    return state.points


def advance(points: Points, room: Points) -> None:
    """Take one step of all points, tile by tile."""
    for first in range(0, len(points), TILE):
        tile = points[first : first + TILE]
        other = room[: len(tile)]
        for _ in range(MAPS):
            np.subtract(1.0, tile, out=other)
            np.multiply(tile, other, out=tile)
            np.multiply(tile, GROWTH, out=tile)


def _pass_on(ledger: Ledger, state: PointShare) -> None:
    """Pass the first points of the share to the next rank of the group."""
    before, after = state.neighbours
    if after == ledger.rank:
        return
    request = ledger.begin_receive(state.passed, before)
    own = state.points[: len(state.points) // PASSED]
    wait_for([request, ledger.begin_send(own, after)])


def _write(ledger: Ledger, state: PointShare) -> None:
    """Write the share of this rank, and wait until it is on the devices."""
    if ledger.io_servers is not None:
        ledger.io_servers.write(state.parts)
        ledger.messages += len(state.parts)
        ledger.sent += state.points.nbytes
    elif state.file is not None:
        write_through(state.file, state.points)
    else:
        return
    ledger.disk_bytes += state.points.nbytes


def _keep(ledger: Ledger, state: PointShare, step: int) -> None:
    """Write a checkpoint with the other ranks."""
    belongs = CheckpointOwner(program=KERNEL.name, n=state.n, seed=state.seed, step=step)
    write_checkpoint(ledger.mpi, state.course, belongs, (state.start,), state.points)
    ledger.disk_bytes += state.points.nbytes


def serial(n: int, seed: int, steps: int = STEPS) -> list[Points]:
    """Give all points after every step."""
    points, after = points_of(n, seed, 0, n), []
    for _ in range(steps):
        for _ in range(MAPS):
            points = (1.0 - points) * points * GROWTH
        after.append(points)
    return after


def is_correct(ledger: Ledger, state: PointShare, result: Points) -> bool:
    """Compare the points, what was passed on and the files with what one processor computes."""
    steps = state.course.steps or STEPS
    after = serial(state.n, state.seed, steps)
    own = slice(state.start, state.start + len(result))
    right = np.array_equal(result, after[-1][own])
    before, next_one = state.neighbours
    if next_one != ledger.rank:
        first = int(shares(state.n, ledger.size)[before])
        right &= np.array_equal(state.passed, after[-1][first : first + len(state.passed)])
    written = steps - steps % (state.course.checkpoint_every or EVERY)
    if state.course.checkpoint is None and written:
        right &= np.array_equal(_read_back(ledger, state), after[written - 1][own])
    return ledger.all_agree(right)


def _read_back(ledger: Ledger, state: PointShare) -> Points:
    """Read what this rank wrote last."""
    if ledger.io_servers is None:
        return np.fromfile(state.path) if state.path is not None else state.points
    there = {disk: np.empty_like(part) for disk, part in state.parts.items()}
    ledger.io_servers.read(there)
    return np.concatenate([*there.values(), np.empty(0)])


def finish(state: PointShare) -> None:
    """Remove the file of this rank."""
    if state.file is not None:
        os.close(state.file)
    if state.path is not None:
        state.path.unlink(missing_ok=True)


KERNEL: Final = Kernel(
    name="writer",
    title="a chaotic map that writes its state: striped, clustered or synchronous",
    size="points",
    step="maps of a point",
    phase={"law": "spmd"},
    functions=Functions(prepare, work, is_correct, serial, lambda n, _: 4 * NUMBER * n, finish),
    uses_files=True,
    time_steps=STEPS,
    takes=frozenset(NAMES) - {"mesh", "restart", "imbalance"},
    checked_up_to=1_000_000,
    example=1_000_000,
)
