"""What a micro-benchmark writes while it runs, how that is read, and how ranks time one thing.

One JSON line for each benchmark and size with the times of all its repetitions, flushed at once,
so that a launch that is interrupted keeps what it has. A torn last line is ignored.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np

from parcast.errors import ParameterError
from parcast.mpi.launched import one_world

Cell = tuple[str, int, int]  # benchmark, ranks, bytes
FEWEST_LEFT: Final = 3  # repetitions, of which a median is taken without the disturbed ones [D]


@dataclass(frozen=True, slots=True)
class BenchmarkRecorder:
    """Writes times and facts to a file; where there is no path, as on ranks but one, nothing."""

    path: Path | None
    ranks: int = 1

    def times(
        self, bench: str, size: int, times: Iterable[float], disturbed: Iterable[int] = ()
    ) -> None:
        """Write the times of the repetitions of a benchmark at one size [B].

        `disturbed` says how often the system took the core from a rank in each repetition.
        """
        line = {"bench": bench, "ranks": self.ranks, "bytes": size, "times": list(times)}
        self._write(line | {"disturbed": list(disturbed)})

    def fact(self, name: str, value: Any) -> None:
        """Write something else that was found out."""
        self._write({"fact": name, "value": value})

    def _write(self, line: dict[str, Any]) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredLaunch:
    """What one launch measured."""

    times: dict[Cell, list[float]]  # of repetitions, above 0 [s]
    facts: dict[str, Any] = field(default_factory=dict)
    disturbed: dict[Cell, list[float]] = field(default_factory=dict)  # not among the times [s]
    refused: dict[Cell, int] = field(default_factory=dict)  # repetitions of no or negative time

    @property
    def is_empty(self) -> bool:
        """Whether nothing was measured."""
        return not self.times

    def sizes(self, bench: str, ranks: int) -> list[int]:
        """Sizes of a benchmark, ascending. [B]."""
        return sorted(size for name, among, size in self.times if (name, among) == (bench, ranks))


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkPlan:
    """How much a benchmark measures."""

    sizes: tuple[int, ...]  # of messages or requests, ascending [B]
    budget: float  # time for the repetitions of one size [s]
    fewest: int = 5  # repetitions
    most: int = 200
    directory: str = ""  # where the storage is measured

    def __post_init__(self) -> None:
        """Refuse to exist if nothing could be measured."""
        if not self.sizes or min(self.sizes) < 0 or not 1 <= self.fewest <= self.most:
            raise ParameterError(
                "A plan", must="have sizes of at least 0 and 1 <= fewest <= most", got=str(self)
            )

    def to_text(self) -> str:
        """As an argument of a program."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_text(cls, text: str) -> "BenchmarkPlan":
        """Read what `to_text` wrote."""
        document = json.loads(text)
        return cls(**{**document, "sizes": tuple(document["sizes"])})

    def repetitions(self, cost: float) -> int:
        """Give how often something that takes `cost` [s] is measured."""
        wanted = self.most if cost <= 0 else round(min(self.budget / cost, self.most))
        return max(self.fewest, wanted)


def read_launch(path: Path, *, is_pinned: bool = True) -> MeasuredLaunch:
    """Read what a benchmark wrote; nothing where there is no file.

    Repetitions that took no or negative time, since the clock stepped or is too coarse, are
    counted in `refused` and not among the times. Where each rank had a core of its own
    (`is_pinned`), those in which the system took it for another program are kept apart as
    `disturbed`, if at least 3 others are left; where ranks take turns on a core, this is what is
    measured.
    """
    launch = MeasuredLaunch(times={})
    if not path.exists():
        return launch
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(json.JSONDecodeError):  # the last line of a run that was killed
            _take(launch, json.loads(text), is_pinned=is_pinned)
    return launch


def _take(launch: MeasuredLaunch, line: dict[str, Any], *, is_pinned: bool) -> None:
    if "fact" in line:
        launch.facts[line["fact"]] = line["value"]
        return
    cell = (line["bench"], line["ranks"], line["bytes"])
    flags = line.get("disturbed") or [0] * len(line["times"])
    pairs = [(time, flag) for time, flag in zip(line["times"], flags, strict=True) if time > 0]
    times = [time for time, flag in pairs if not flag]
    if is_pinned and len(times) >= FEWEST_LEFT:
        if len(times) < len(pairs):
            launch.disturbed[cell] = [time for time, flag in pairs if flag]
    else:
        times = [time for time, _ in pairs]
    if times:
        launch.times.setdefault(cell, []).extend(times)
    if len(pairs) < len(line["times"]):
        launch.refused[cell] = launch.refused.get(cell, 0) + len(line["times"]) - len(pairs)


SHORTEST: Final = 50e-6  # of a repetition of something that may be done many times in a row [s]
MOST_INNER: Final = 1000
CROWDED: Final = "MPIR_CVAR_ENABLE_HEAVY_YIELD"  # variable of the launcher, for MPICH
MOST_SHARE: Final = 0.5  # of a time that may be subtracted as Python's
OVERRUN: Final = 2.0  # times its budget, after which a size is left with what it has
PARTS: Final = 20  # of what a rank does alone, of whose times the median is taken
WARM: Final = 3  # before anything counts


@dataclass(frozen=True, kw_only=True, slots=True)
class Repetitions:
    """Repetitions of something, as all ranks together saw them."""

    times: list[float]  # [s]
    disturbed: list[int]  # how often the system took the core from a rank meanwhile [1]

    def over(self, parts: float, *, less: float = 0.0) -> "Repetitions":
        """Give the time of one of `parts` in each, less what Python took of it [s], up to half."""
        times = without_python([x / parts for x in self.times], less)
        return Repetitions(times=times, disturbed=self.disturbed)


def without_python(times: Sequence[float], cost: float) -> list[float]:
    """Times less what Python took, of which no more than half is taken off."""
    return [x - min(cost, MOST_SHARE * x) for x in times]


def started(arguments: Sequence[str]) -> tuple[Any, BenchmarkRecorder, BenchmarkPlan]:
    """Give the communicator, where to write and the plan, of the arguments of a benchmark.

    MPI is started for one thread, as a C program does: for more, every call takes a lock. Where
    ranks share a core it is started for many, since MPICH gives a core up only then.
    """
    import mpi4py

    mpi4py.rc.threads = os.environ.get(CROWDED) == "1"
    from mpi4py import MPI

    path, plan = arguments
    comm = one_world()
    record = BenchmarkRecorder(Path(path) if comm.rank == 0 else None, comm.size)
    vendor, version = MPI.get_vendor()
    record.fact("mpi", f"{vendor} {'.'.join(map(str, version))}")
    record.fact("library", MPI.Get_library_version())
    return comm, record, BenchmarkPlan.from_text(plan)


def repeated(
    comm: Any,
    run: Callable[[Iterator[None]], None],
    plan: BenchmarkPlan,
    *,
    in_a_row: bool,
    counts: bool = True,
) -> "Repetitions":
    """Measure the times of one turn of `run`, which does its part for each element of an iterator.

    All ranks call it together and get the same: for each repetition the time of the slowest rank
    of those that count, from its own leaving of a barrier to the end of its part. `in_a_row`
    allows a repetition of many turns where one is too short to be timed; one more turn then stands
    between barrier and clock, and the time is divided by the turns.
    """
    from mpi4py import MPI

    run(repeat(None, WARM))
    comm.Barrier()
    began = perf_counter()
    run(repeat(None, WARM))
    turn = comm.allreduce((perf_counter() - began) / WARM, op=MPI.MAX)
    began = perf_counter()
    comm.Barrier()
    barrier = comm.allreduce(perf_counter() - began, op=MPI.MAX)
    inner = int(min(max(SHORTEST / max(turn, 1e-9), 1), MOST_INNER)) if in_a_row else 1
    most = plan.repetitions(barrier + inner * turn)
    times, taken = np.empty(most), np.zeros(most, dtype=np.int64)
    done, started_at = 0, perf_counter()
    with stopped_collector():
        while done < most:
            for i in range(done, min(done + plan.fewest, most)):
                comm.Barrier()
                if in_a_row:
                    run(repeat(None, 1))  # brings in step what a barrier leaves a little apart
                before, began = cores_taken(), perf_counter()
                run(repeat(None, inner))
                times[i] = (perf_counter() - began) / inner
                taken[i] = cores_taken() - before
            done = min(done + plan.fewest, most)
            if comm.bcast(perf_counter() - started_at > OVERRUN * plan.budget):
                break  # other programs make it slower than it was at first
    times, taken = times[:done], taken[:done]
    if not counts:
        times[:] = 0.0
    slowest, most_taken = np.empty_like(times), np.empty_like(taken)
    comm.Allreduce(times, slowest, op=MPI.MAX)
    comm.Allreduce(taken, most_taken, op=MPI.MAX)
    return Repetitions(times=slowest.tolist(), disturbed=most_taken.tolist())


def cores_taken() -> int:
    """How often the system has taken the core from this process for another one. [1]."""
    import resource  # which not every system has

    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def lone(run: Callable[[Iterator[None]], None], turns: int = 2000) -> float:
    """Time of one turn of something that a rank does without the others. [s]."""
    run(repeat(None, WARM))
    with stopped_collector():
        parts = []
        for _ in range(PARTS):
            began = perf_counter()
            run(repeat(None, turns // PARTS))
            parts.append((perf_counter() - began) / (turns // PARTS))
    return float(np.median(parts))


@contextmanager
def stopped_collector() -> Iterator[None]:
    """Keep Python's collection of garbage out of what is timed."""
    import gc

    gc.disable()
    try:
        yield
    finally:
        gc.enable()
