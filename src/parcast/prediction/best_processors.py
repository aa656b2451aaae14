"""The count of processors with which a described program takes least time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Point
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machine, as_program
from parcast.errors import ParameterError
from parcast.prediction.grid import MOST_COUNT, grid_of, require_times

AT_ONCE: Final = 4096  # counts
AT_ONCE_IF_COSTLY: Final = 256  # where each takes milliseconds


@dataclass(frozen=True, kw_only=True, slots=True)
class BestProcessors:
    """The count with the least time."""

    p: int  # [1]
    time: float  # [s]
    alone: float  # time on one processor [s]
    upto: int  # the largest count looked at [1]

    @property
    def is_at_end(self) -> bool:
        """Whether more processors than were looked at may be better."""
        return self.p == self.upto

    def __str__(self) -> str:
        """Say it in a sentence."""
        if self.is_at_end:
            return f"p = {self.p}, the largest p considered, is fastest: {self.time:.3g} s"
        return f"p = {self.p} is fastest: {self.time:.3g} s, speedup {self.alone / self.time:.3g}"


def best_processors(
    program: ProgramLike,
    machine: MachineLike,
    *,
    upto: int,
    n: float | None = None,
    d: float | None = None,
) -> BestProcessors:
    """Find the processor count up to `upto` at which a described program takes least time.

    Up to 4096 counts are all evaluated, with array I/O up to 256. Of more, a geometric series of
    them is evaluated, and then the counts around the best of these. Where the time has several
    minima, the result may be another minimum than the smallest.

    Parameters
    ----------
    program : Program or path
        The program, or the path of its TOML file.
    machine : Machine or path
        The machine, or the path of its TOML file.
    upto : int
        Largest processor count, at least 1. [1]
    n : float, optional
        Problem size, if the program uses it. [1]
    d : float, optional
        Disks. By default those of the machine. [1]

    Returns
    -------
    BestProcessors
        The smallest count where several are equally good, its time [s] and that on one processor.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or the law has no answer at a count.
    FileProblems
        If a file cannot be read, or something in it is wrong.

    Examples
    --------
    >>> import parcast
    >>> program = parcast.Program(phase=[{"law": "matmul"}])
    >>> machine = parcast.Machine(
    ...     compute={"rate": "10 Mflop/s"}, network={"bandwidth": "100 MB/s"}
    ... )
    >>> print(parcast.best_processors(program, machine, n=1000, upto=1000))
    p = 35 is fastest: 5.74 s, speedup 17.4
    """
    program, machine = as_program(program), as_machine(machine)
    if isinstance(upto, bool) or not 1 <= upto <= MOST_COUNT or upto != int(upto):
        raise ParameterError(
            "upto",
            must=f"be a whole number between 1 and {MOST_COUNT:,}",
            got=f"{upto!r:.60}",
            hint="Give the largest processor count to consider.",
        )
    given = {"p": 1, "d": machine.storage.servers or 1 if d is None else d, "n": n}
    axes = grid_of(program, machine, given, {}, most=1).axes
    at: dict[str, Any] = {name: float(values[0]) for name, values in axes.items() if name != "p"}
    p, time = least_between(program, machine, at, 1.0, float(int(upto)))
    return BestProcessors(
        p=p,
        time=time,
        alone=float(_times(program, machine, at, np.ones(1))[0]),
        upto=int(upto),
    )


def least_between(
    program: Program, machine: Machine, at: Point, low: float, high: float
) -> tuple[int, float]:
    """Count from `low` to `high` with the least time, and that time; see `best_processors`."""
    is_costly = any(phase.is_costly for phase in program.phase)
    while True:
        counts = _counts(low, high, AT_ONCE_IF_COSTLY if is_costly else AT_ONCE)
        time = _times(program, machine, at, counts)
        i = int(np.argmin(time))
        low, high = counts[max(i - 1, 0)], counts[min(i + 1, len(counts) - 1)]
        if high - low <= 2 or len(counts) == int(counts[-1] - counts[0]) + 1:
            return int(counts[i]), float(time[i])


def _counts(low: float, high: float, at_once: int) -> Array:
    """Whole numbers from `low` to `high`, all or a geometric series."""
    if high - low < at_once:
        return np.arange(low, high + 1.0)
    return np.unique(np.clip(np.round(np.geomspace(low, high, at_once)), low, high))


def _times(program: Program, machine: Machine, at: Point, counts: Array) -> Array:
    """Times at counts, none of which is no time. [s]."""
    times = program.times(machine, {**at, "p": counts}).time
    time = np.broadcast_to(times, counts.shape)
    require_times(time, {"p": counts})
    return time
