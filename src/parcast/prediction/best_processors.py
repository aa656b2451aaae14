"""The count of processors with which a described program takes least time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.amount import Point
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machine, as_program
from parcast.errors import ParameterError
from parcast.prediction.grid import MOST_COUNT, grid_of, require_times

POWERS_OF_2: Final = 2.0 ** np.arange(54)
MANY: Final = np.arange(1000.0, 10_000.0)  # leading digits of large counts
DEAR: Final = 1000  # simple points that a point takes as long as, from which few are computed [D]
FEW: Final = np.concatenate(
    [np.arange(10.0, 20.0), np.arange(20.0, 40.0, 2), np.arange(40.0, 100.0, 5)]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BestProcessors:
    """The count with the least time."""

    p: int  # [1]
    time: float  # [s]
    alone: float  # time on one processor [s]
    upto: int  # the largest count considered [1]

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

    Counts up to 10,000 are all considered. Of larger ones those of four significant digits
    (123,400) and powers of two are, and all around what is a minimum of these. Where a point takes
    milliseconds, as with array I/O, these are 256 and two digits (10, 11, ... 20, 22, ... 40,
    45, ... 95). What is considered for a smaller
    `upto` is for a larger one as well, whose time therefore is never longer. Where the time has
    several minima, the result may be another one than the smallest.

    Parameters
    ----------
    program : Program or path
        The program, or the path of its TOML file.
    machine : Machine or path
        The machine, or the path of its TOML file.
    upto : int
        Largest processor count, at least 1; that of the result is the largest considered. [1]
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
    axes = grid_of(program, machine, {"p": 1, "d": d, "n": n}, {}, most=1).axes
    at: dict[str, Any] = {name: float(values[0]) for name, values in axes.items() if name != "p"}
    search = _Search(program, machine, at)
    counts = search.series(int(upto))
    times = search.times(counts)
    p, time = search.least(counts, times, _settled(times, search.wait))
    return BestProcessors(p=p, time=time, alone=float(times[0]), upto=int(counts[-1]))


def least_between(
    program: Program, machine: Machine, at: Point, known: Array
) -> tuple[int, float]:
    """Count with the least time among the first and the last of `known`, and that time [s]."""
    search = _Search(program, machine, at)
    counts = search.series(known.max())
    counts = np.union1d(counts[counts >= known.min()], known)
    times = search.times(counts)
    return search.least(counts, times, np.array([np.argmin(times)]))


class _Search:
    """A search for the count with the least time; the fewer counts the dearer each is."""

    def __init__(self, program: Program, machine: Machine, at: Point) -> None:
        self.program, self.machine, self.at = program, machine, at
        is_dear = program.dearness >= DEAR
        self.every = 256 if is_dear else 10_000
        self.leading: Array = FEW if is_dear else MANY
        self.wait = 4 if is_dear else 64  # counts without a shorter time after a minimum
        self.parts = 16 if is_dear else 64  # that what lies around it is cut into
        self.at_once = 64 if is_dear else 8192  # counts computed together

    def series(self, high: float) -> Array:
        """Counts up to `high` that are considered first; none depends on `high`."""
        decades = [self.leading * 10.0**x for x in range(16)]
        counts = np.concatenate([np.arange(1.0, self.every + 1.0), *decades, POWERS_OF_2])
        return np.unique(counts[counts <= high])

    def times(self, counts: Array) -> Array:
        """Times at counts, none of which is no time. [s]."""
        parts = np.split(counts, range(self.at_once, counts.size, self.at_once))
        return np.concatenate([self._times(part) for part in parts])

    def _times(self, counts: Array) -> Array:
        at = {"d": self.machine.servers({"p": counts}), **self.at, "p": counts}
        times = self.program.times(self.machine, at).time
        time = np.broadcast_to(times, counts.shape)
        require_times(time, {"p": counts})
        return time

    def least(self, counts: Array, times: Array, minima: NDArray[np.intp]) -> tuple[int, float]:
        """Count with the least time of `counts` and of those around some `minima` of them.

        What is found around one depends on its neighbours only.
        """
        best = np.argmin(times)
        found = [(float(times[best]), int(counts[best]))]
        low, high = (
            counts[np.maximum(minima - 1, 0)],
            counts[np.minimum(minima + 1, len(counts) - 1)],
        )
        share = np.arange(self.parts + 1.0) / self.parts
        while (is_wide := high - low > 2).any():
            low, high = low[is_wide], high[is_wide]
            around = np.round(low[:, None] + (high - low)[:, None] * share)
            each, place = np.unique(around, return_inverse=True)
            time = self.times(each)[place.reshape(around.shape)]
            rows, i = np.arange(len(time)), np.argmin(time, axis=1)
            found += zip(time[rows, i].tolist(), around[rows, i].astype(int).tolist(), strict=True)
            low, high = (
                around[rows, np.maximum(i - 1, 0)],
                around[rows, np.minimum(i + 1, self.parts)],
            )
        least, p = min(found)
        return p, least


def _settled(times: Array, wait: int) -> NDArray[np.intp]:
    """Places of times below all before, with none below among so many after them.

    Larger counts take none of these away.
    """
    is_below = np.append(True, times[1:] < np.minimum.accumulate(times)[:-1])
    least = np.maximum.accumulate(np.where(is_below, np.arange(len(times)), 0))
    return np.unique(least[wait:][least[wait:] == least[:-wait]])
