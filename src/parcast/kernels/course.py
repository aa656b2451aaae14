"""How a program in time steps computes: how many, on which mesh, with which checkpoints.

A checkpoint is a Zarr store with the array of the program and, as attributes, what it belongs to:
the program, the problem size, the seed and the step. Any number of ranks writes it and any other
reads it, through the I/O servers of `parcast.arrays`. Until a new one is complete, the old one
stays in its place.
"""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from parcast.errors import (
    Argument,
    FileProblems,
    ParameterError,
    ParcastError,
    Problem,
    as_whole,
    require_one_of,
)
from parcast.units import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parcast.arrays.store.reading import Store

ARRAY: Final = "u"  # the values of the points
DIMENSIONS: Final = ("y", "x")
EVERY: Final = 10  # steps from one checkpoint to the next [1]
NAMES: Final = {  # what Python calls each, and what the command line does
    "steps": "--steps",
    "mesh": "--mesh",
    "checkpoint": "--checkpoint",
    "checkpoint_every": "--checkpoint-every",
    "servers": "--servers",
    "restart": "--restart",
    "io": "--io",
    "group": "--group",
    "imbalance": "--imbalance",
}
KINDS: Final = ("synchronous", "striped", "clustered")


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """What was asked for; None: as the program does by itself."""

    steps: int | None = None  # of time, in all [1]
    mesh: tuple[int, ...] | None = None  # ranks in each dimension
    checkpoint: str | None = None  # path of the store
    checkpoint_every: int | None = None  # steps [1]
    servers: int | None = None  # ranks that access files [1]
    restart: str | None = None  # path of the store that it begins from
    io: str | None = None  # of KINDS: who waits for whom before writing, and where it writes
    group: int | None = None  # ranks that pass points on to each other [1]
    imbalance: float | None = None  # points of the first rank over the mean [1]
    first: int = 0  # steps that were taken before [1]

    @property
    def io_servers(self) -> int:
        """Ranks beside those that compute, which only write: without a checkpoint."""
        return (self.servers or 0) if self.checkpoint is None and self.restart is None else 0

    @property
    def is_default(self) -> bool:
        """Whether nothing was asked for but a number of steps."""
        return replace(self, steps=None) == Course()

    def keeps(self, step: int) -> bool:
        """Tell whether there is a checkpoint after a step: regularly, and after the last one."""
        every = self.checkpoint_every or EVERY
        return self.checkpoint is not None and (step % every == 0 or step == self.steps)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointOwner:
    """What a checkpoint belongs to."""

    program: str
    n: int  # problem size [1]
    seed: int
    step: int  # that was completed last [1]

    def attributes(self) -> dict[str, Any]:
        """Give the attributes of its store."""
        return asdict(self)


def read_checkpoint(path: str | os.PathLike[str]) -> CheckpointOwner:
    """Read what a checkpoint belongs to; FileProblems if it is none."""
    from parcast.arrays.store.reading import open_store

    with open_store(path) as store:
        found = _checkpoint_in(store)
    if found is None:
        must = "must be a checkpoint of a program of parcast, got another Zarr store."
        advice = f"Give a path that {Argument('checkpoint')} has written."
        raise FileProblems(os.fspath(path), [Problem(message=f"{must} {advice}")])
    return found


def how_to_go_on(path: str | None) -> str:
    """Say where a run that did not end can be taken up again; nothing if it cannot."""
    if path is None or not os.path.lexists(path):
        return ""
    try:
        known = read_checkpoint(path)
    except (ParcastError, OSError):
        return ""
    return f"{path} has step {known.step}: go on from it with {Argument('restart', path)}."


def _checkpoint_in(store: "Store") -> CheckpointOwner | None:
    """Read the attributes of a store; None where it is not that of a checkpoint."""
    given = store.attributes
    numbers = [given.get(name) for name in ("n", "seed", "step")]
    are_whole = all(isinstance(each, int) and each >= 0 for each in numbers)
    if not (are_whole and isinstance(given.get("program"), str) and ARRAY in store):
        return None
    found = CheckpointOwner(**{name: given[name] for name in ("program", "n", "seed", "step")})
    array = store[ARRAY]
    fits = array.dtype == "float64" and set(array.shape) == {found.n}
    return found if fits else None


def settled(
    course: Course,
    *,
    program: str,
    time_steps: int,
    takes: Collection[str],
    sizes: Sequence[int],
    seed: int,
    ranks: int,
) -> Course:
    """Give a course with its number of steps, and the step that it begins from.

    `time_steps` are those of the program by itself, `takes` what may be asked of it.
    ParameterError or FileProblems says what does not fit the program, its size or its ranks,
    before anything is computed.
    """
    for name in NAMES:
        if getattr(course, name) is not None and name not in takes:
            without = "no such option" if time_steps else "no time steps"
            raise ParameterError(
                name,
                must=f"be left out for {program}, which has {without}",
                got=shown(getattr(course, name)),
                hint="Of the programs, stencil and writer have time steps.",
            )
    steps = time_steps if course.steps is None else course.steps
    as_whole("steps", steps, least=1, hint="Count time steps from 1.")
    for name in ("checkpoint_every", "servers"):
        _require_number(course, name, alone="io" in takes)
    _require_groups(course, ranks)
    _require_imbalance(course, ranks)
    if course.servers is not None and course.servers > ranks and not course.io_servers:
        raise ParameterError(
            "servers", must=f"be at most the {ranks} ranks", got=str(course.servers)
        )
    if course.mesh is not None and (len(course.mesh) != 2 or prod(course.mesh) != ranks):
        raise ParameterError(
            "mesh",
            must=f"have two numbers whose product is the number of ranks, {ranks}",
            got="x".join(map(str, course.mesh)),
            hint=f"{ranks}x1 divides the rows alone.",
        )
    if course.checkpoint is not None:
        _require_place(course.checkpoint, program)
    first = 0
    if course.restart is not None:
        first = _first_step(course.restart, program, sizes, seed, steps)
    return replace(course, steps=steps, first=first)


def require_one_run(course: Course, runs: int) -> None:
    """Refuse a checkpoint that several runs would write."""
    if course.checkpoint is not None and runs > 1:
        raise ParameterError(
            "checkpoint",
            must="be left out where there are several runs",
            got=f"{runs} runs",
            hint="They would replace each other's checkpoints: give one size and one rank count.",
        )


def _require_groups(course: Course, ranks: int) -> None:
    """Refuse an unknown kind of I/O, one that checkpoints are not, and groups that are unequal."""
    if course.io is not None:
        require_one_of("io", course.io, KINDS, "synchronous is the default.")
        if course.checkpoint is not None and course.io != KINDS[0]:
            raise ParameterError(
                "io",
                must=(f"be {KINDS[0]} with ", Argument("checkpoint")),
                got=course.io,
                hint="All ranks write a checkpoint together.",
            )
    if course.group is not None:
        as_whole("group", course.group, least=1, hint="Count ranks from 1.")
        if ranks % course.group:
            hint = "All groups have the same number of ranks."
            must = f"divide the {ranks} ranks"
            raise ParameterError("group", must=must, got=str(course.group), hint=hint)


def _require_imbalance(course: Course, ranks: int) -> None:
    """Refuse an imbalance that no first rank can have, or with what knows equal rows only."""
    if course.imbalance is None:
        return
    if not 1 <= course.imbalance <= ranks:
        must = f"lie between 1 and the {ranks} ranks"
        hint = "It is the points of the first rank over the mean: 1.5 is half as many more."
        raise ParameterError("imbalance", must=must, got=f"{course.imbalance:g}", hint=hint)
    for name in ("mesh", "checkpoint", "restart"):
        if getattr(course, name) is not None:
            raise ParameterError(
                "imbalance",
                must=("be left out with ", Argument(name)),
                got=f"{course.imbalance:g}",
                hint="Rows alone are dealt out unevenly, and checkpoints have equal parts.",
            )


def _require_number(course: Course, name: str, *, alone: bool) -> None:
    """Refuse a number below 1, or one without the checkpoint that it is for; some stand alone."""
    value = getattr(course, name)
    if value is None:
        return
    as_whole(name, value, least=1, hint="Count from 1.")
    if not alone and course.checkpoint is None and (name != "servers" or course.restart is None):
        raise ParameterError(
            name,
            must=("be left out without ", Argument("checkpoint")),
            got=str(value),
            hint="Name the store that is written.",
        )


def _require_place(path: str, program: str) -> None:
    """Refuse a path where no checkpoint can be, or where there is something else."""
    folder = Path(path).absolute().parent
    if path.endswith(".npy") or not folder.is_dir():
        must = "be a new path, such as heat.zarr, in a folder that exists"
        raise ParameterError("checkpoint", must=must, got=path)
    if not os.path.lexists(path):
        return
    try:
        known: str | None = read_checkpoint(path).program
    except (FileProblems, OSError):
        known = None
    if known != program:
        raise ParameterError(
            "checkpoint",
            must=f"be a new path or a checkpoint of {program}, which is replaced",
            got=f"{path}, which is something else",
            hint="Choose another name; nothing was changed.",
        )


def _first_step(path: str, program: str, sizes: Sequence[int], seed: int, steps: int) -> int:
    """Read the step of a checkpoint; ParameterError if it belongs to another run."""
    known = read_checkpoint(path)
    other = next((n for n in sizes if n != known.n), known.n)
    wanted = {"program": (program, known.program), "n": (other, known.n)}
    wanted["seed"] = (seed, known.seed)
    for name, (given, there) in wanted.items():
        if given != there:
            raise ParameterError(
                "name" if name == "program" else name,
                must=f"be {there}, as in the checkpoint {path}",
                got=str(given),
                hint="Use the same as in the run that wrote it, or start from the beginning.",
            )
    if steps <= known.step:
        raise ParameterError(
            "steps",
            must=f"be above {known.step}, the step of {path}",
            got=str(steps),
            hint="Give the number of time steps of the whole run.",
        )
    return known.step


def mesh_of(text: str, name: str = "mesh") -> tuple[int, ...]:
    """Read a mesh of ranks.

    >>> mesh_of("2x3")
    (2, 3)
    """
    if not re.fullmatch(r"\s*[1-9][0-9]{0,8}\s*x\s*[1-9][0-9]{0,8}\s*", text):
        must = "be two whole numbers of at least 1 with x between them"
        raise ParameterError(name, must=must, got=shown(repr(text)), hint="Write for example 2x2.")
    return tuple(map(int, text.split("x")))


def load_library(course: Course) -> None:
    """Load what reads and writes checkpoints, before anything is timed."""
    if course.checkpoint is not None or course.restart is not None:
        import_module("parcast.arrays.library.session")


def write_checkpoint(
    comm: Any,
    course: Course,
    belongs: CheckpointOwner,
    start: tuple[int, ...],
    values: "NDArray[np.float64]",
) -> None:
    """Write the box of the array that each rank of `comm` holds, None without MPI; all call it.

    The connection lasts for this request only: a rank that fails between two checkpoints ends
    the others as it does without them.
    """
    from parcast.arrays.library.distribution import Boxes
    from parcast.arrays.library.session import connect

    assert course.checkpoint is not None
    held = Boxes([(start, values)], (belongs.n,) * values.ndim, "float64")
    with connect(comm, servers=course.servers or 1) as io:
        io.write(
            course.checkpoint,
            {ARRAY: held},
            dimensions={ARRAY: DIMENSIONS[-values.ndim :]},
            attributes=belongs.attributes(),
            overwrite=True,
        )


def read_inside(comm: Any, course: Course, n: int, mesh: tuple[int, ...]) -> "NDArray[np.float64]":
    """Read the points inside the plate that this rank of `comm` has on a mesh; all call it."""
    from parcast.arrays.library.session import connect

    assert course.restart is not None
    with connect(comm, servers=course.servers or 1) as io:
        box = ((1, 1), (n - 2, n - 2))
        return io.read(course.restart, [ARRAY], mesh=mesh, box=box)[ARRAY]
