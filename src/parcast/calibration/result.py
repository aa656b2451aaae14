"""What `calibrate` answers: parameters of a machine, each with spread and how it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from parcast.aliases import Array
from parcast.show.outline import document_of
from parcast.show.result import Result
from parcast.units import Dimension

INTERVAL: Final = 0.9  # share of outcomes that the intervals are meant to hold


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One value of the machine, with the interval over independent launches.

    `key` is that of a machine file, such as "network.latency", or a name of the same kind:
    "compute.half_intensity", "timer.cost", "network.half_size".
    """

    _outline = """
        key value lower upper spread dimension launches repetitions outliers disturbed
        worst_over_median=worst between_launch_cv=cv ranks placement settled method
    """

    key: str  # that of a machine file, or a fact of the same kind of name
    value: float  # median of the launches [SI]
    # `time` [s], `rate` [B/s], `operation_rate` [flop/s], `size` [B], `count`
    dimension: Dimension
    lower: float  # lower end of its 90% interval over launches; None of a single launch [SI]
    upper: float  # upper end of that interval [SI]
    launches: int  # launches that it is based on [1]
    repetitions: int  # timings in all of them [1]
    outliers: int  # timings far above the others [1]
    worst: float  # the slowest repetition over the median of its launch [1]
    cv: float  # standard deviation over mean, of the launches; None of a single one [1]
    method: str  # what was done
    settled: bool  # whether the interval is as narrow as `target`
    ranks: int = 1  # processes that took part [1]
    # `own`: each a core of its own; `one`: all on one core; `free`: not pinned
    placement: str = "own"
    disturbed: int = 0  # repetitions in which another program had a core: not in the medians [1]

    @property
    def spread(self) -> float:
        """Half-width of the interval over the value, as +- says it; the wider side counts. [1]."""
        if self.value == 0.0:
            return 0.0 if self.upper == self.lower else float("inf")
        return max(self.upper - self.value, self.value - self.lower) / abs(self.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """Time of one message, call or request of one size."""

    _outline = """
        bytes time_s p25_s lower_s upper_s between_launch_cv=cv launches repetitions outliers
        disturbed worst_over_median=worst settled
    """

    bytes: int  # size of the message or request; of `polynomial` the order [B]
    time: float  # median of the medians of the launches [s]
    p25: float  # median of their first quartiles [s]
    lower: float  # lower end of its 90% interval over launches [s]
    upper: float  # upper end of it [s]
    cv: float  # standard deviation over mean, of the launches; None of a single one [1]
    launches: int  # launches that it is based on [1]
    repetitions: int  # timings in all of them [1]
    outliers: int  # timings far above the others [1]
    worst: float  # the slowest repetition over the median of its launch [1]
    settled: bool  # whether its interval is as narrow as `target`
    disturbed: int = 0  # repetitions in which another program had a core: not in the medians [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkTable:
    """One benchmark among one number of ranks, at every size.

    `bench` is "pingpong", "stream", "bidirectional" or "saturation" of the network, the name of a
    primitive, "polynomial" of the processor, where the bytes are its order, or "write", "read" or
    "cached_read" of the storage, where the ranks are those that write or read at once.
    """

    _outline = "bench ranks method"  # in each row besides: `rows`

    bench: str  # the benchmark
    ranks: int  # processes that took part [1]
    placement: str  # "own", "one" or "free", as for `Measured`
    method: str  # what one time is the time of
    samples: tuple[Sample, ...]  # by ascending bytes

    @property
    def bytes(self) -> Array:
        """Sizes, shape (sizes,). [B]."""
        return np.array([x.bytes for x in self.samples], dtype=np.float64)

    @property
    def time(self) -> Array:
        """Times, shape (sizes,). [s]."""
        return np.array([x.time for x in self.samples], dtype=np.float64)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each size, as the JSON document and the CSV file have it."""
        own = {"bench": self.bench, "ranks": self.ranks, "placement": self.placement}
        return (own | document_of(sample) for sample in self.samples)


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """Messages from one size on: ``t(m) = startup + m / rate``."""

    _outline = "first_B startup_s rate_B_per_s"

    first: int  # the least size it holds for [B]
    startup: float  # below 0 is possible above a bend [s]
    rate: float  # None: infinite [B/s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """Straight line ``t(m) = startup + m / rate`` of one benchmark among one number of ranks."""

    _outline = """
        bench ranks placement startup_s startup_lower_s startup_upper_s rate_B_per_s
        rate_lower_B_per_s rate_upper_B_per_s half_size_B error segments method
    """

    bench: str  # the benchmark
    ranks: int  # processes that took part [1]
    placement: str  # how they were pinned, as in `rows`
    startup: float  # t0; median of the lines of the launches [s]
    startup_lower: float  # lower end of its interval [s]
    startup_upper: float  # upper end of it [s]
    rate: float  # r_inf; None where the time does not grow with the size [B/s]
    rate_lower: float  # lower end of its interval [B/s]
    rate_upper: float  # upper end of it; None: infinite [B/s]
    error: float  # mean absolute relative residual of the medians [1]
    # a line from each size on, more than one where the protocol switches
    segments: tuple[Segment, ...]
    method: str  # what was timed

    @property
    def half_size(self) -> float:
        """Size n_half of which the rate is half of r_inf. [B]."""
        return self.startup * self.rate

    @property
    def switches(self) -> tuple[int, ...]:
        """Sizes from which messages seem to be sent in another way. [B]."""
        return tuple(x.first for x in self.segments[1:])


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """Where it was measured, and what else the machine did meanwhile."""

    _outline = """
        name system model cores governor load_before load_after mpi python numpy
        placement=placements directory hosts
    """

    name: str  # its name
    system: str  # operating system and kernel
    model: str  # processor; empty where unknown
    cores: int  # cores that may be used [1]
    governor: str  # governor of the clock frequency; empty where unknown
    load_before: float  # load average over a minute; NaN where the system has none [1]
    load_after: float  # load average over a minute; NaN where the system has none [1]
    mpi: str  # vendor and version; empty without one
    python: str  # version
    numpy: str  # version
    placement: Mapping[int, str]  # of each number of ranks: "own", "one" or "free"
    directory: str  # where files were written; empty where none were
    hosts: int = 0  # hosts of a testbed on this machine; 0: no testbed [1]

    @property
    def placements(self) -> dict[str, str]:
        """Placement of each number of ranks: `own`: a core each; `one`: all on one; `free`."""
        return {str(ranks): how for ranks, how in self.placement.items()}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Calibration(Result):
    """Measured parameters of a machine, with their intervals."""

    _schema = "parcast/calibration/1"
    _outline = """
        name date seconds interval target interrupted=was_interrupted lost_launches=lost host
        rows=measured lines tables=table_rows methods=tables warnings inputs
    """

    interval: ClassVar[float] = INTERVAL  # share of outcomes that the intervals hold [1]

    name: str  # name of the machine
    date: str  # when it was begun, in ISO 8601
    seconds: float  # time that it took [s]
    host: Host  # where it was measured
    measured: tuple[Measured, ...]
    tables: tuple[BenchmarkTable, ...]  # what was timed in each table
    lines: tuple[Line, ...]  # a straight line of each benchmark and number of ranks
    warnings: tuple[str, ...]
    was_interrupted: bool  # whether it was ended by the user
    lost: int  # launches that failed
    target: float  # half-width of an interval over its value at which it is settled [1]
    inputs: Mapping[str, Any] = field(default_factory=dict)  # what was asked

    @property
    def unsettled(self) -> tuple[str, ...]:
        """Keys of the values whose intervals are wider than the target."""
        return tuple(x.key for x in self.measured if not x.settled)

    def __getitem__(self, key: str) -> Measured:
        """One value by its key."""
        for each in self.measured:
            if each.key == key:
                return each
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        """Whether a value was measured."""
        return any(each.key == key for each in self.measured)

    def table(self, bench: str, ranks: int) -> BenchmarkTable | None:
        """Table of a benchmark among some ranks; None where it was not measured."""
        those = (x for x in self.tables if (x.bench, x.ranks) == (bench, ranks))
        return next(those, None)

    def line(self, bench: str, ranks: int) -> Line | None:
        """Straight line of a benchmark among some ranks; None where there is none."""
        those = (x for x in self.lines if (x.bench, x.ranks) == (bench, ranks))
        return next(those, None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each value, as the JSON document and the CSV file have it."""
        return map(document_of, self.measured)

    def table_rows(self) -> Iterator[dict[str, Any]]:
        """One row for each benchmark, number of ranks and size."""
        for table in self.tables:
            yield from table.rows()

    def __repr__(self) -> str:
        """Say what was measured, in one line."""
        settled = len(self.measured) - len(self.unsettled)
        state = ", interrupted" if self.was_interrupted else ""
        return (
            f"Calibration({self.name}: {settled} of {len(self.measured)} values converged, "
            f"{len(self.tables)} tables, {self.seconds:.3g} s{state})"
        )
