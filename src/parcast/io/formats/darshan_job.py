"""What a Darshan log tells of one job, in whichever form it was written down.

The I/O time of a module is that of its slowest rank, as Darshan itself adds it up: the largest
sum of read, write and metadata time over the files that a rank had to itself, plus the time of
the slowest rank in each file that all ranks shared (`agg_time_by_slowest`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from parcast.io.faults import Faults

PREFIXES: Final = {"POSIX": "POSIX", "MPI-IO": "MPIIO", "STDIO": "STDIO"}  # of their counters
PARTS: Final = ("READ_TIME", "WRITE_TIME", "META_TIME")
SLOWEST: Final = "SLOWEST_RANK_TIME"
SHARED: Final = -1  # the rank of a record that all ranks share
RUN: Final = "run"  # the callpath of the whole job


class IoTimes:
    """The I/O time of one module, added up record by record."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.records = 0
        self.negative: list[str] = []  # what was left out for being below 0
        self.unknown = 0  # shared records that do not tell their slowest rank
        self._by_rank: dict[int, float] = {}
        self._shared = 0.0

    def add(self, rank: int, times: Mapping[str, float]) -> None:
        """Add one record: a file, and the time a rank, or all of them, spent on it.

        Parameters
        ----------
        rank : int
            The rank, or -1 of a file shared by all.
        times : mapping of str to float
            `READ_TIME`, `WRITE_TIME` and `META_TIME`, and of shared files `SLOWEST_RANK_TIME`.
            [s]

        Raises
        ------
        ValueError
            If one of them is not a finite number, with its name.
        """
        self.records += 1
        wanted = (SLOWEST,) if rank == SHARED else PARTS
        good = 0.0
        for name in wanted:
            if not math.isfinite(times[name]):
                raise ValueError(name)
            if times[name] < 0:
                counter = f"{PREFIXES[self.module]}_F_{name}"
                of = "a shared file" if rank == SHARED else f"rank {rank}"
                self.negative.append(f"{counter} {times[name]:.6g} s of {of}")
            else:
                good += times[name]
        if rank == SHARED:
            self._shared += good
            self.unknown += good == 0 and any(times[name] > 0 for name in PARTS)
        else:
            self._by_rank[rank] = self._by_rank.get(rank, 0.0) + good

    @property
    def slowest(self) -> float:
        """The time of the slowest rank. [s]."""
        return max(self._by_rank.values(), default=0.0) + self._shared


@dataclass(kw_only=True, slots=True)
class Job:
    """One job: its processes, its run time, and the I/O times of its modules."""

    faults: Faults  # of the file
    p: Any  # processes, as the file has them: judged where runs are
    run_time: Any  # [s]
    is_in_whole_seconds: bool
    line: int | None = None
    identity: str = ""  # what tells it from other jobs, where several files may tell of it
    program: str = ""
    io: dict[str, float] = field(default_factory=dict)  # by module [s]
    negative: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # modules whose slowest rank is not told
    partial: list[str] = field(default_factory=list)  # modules that ran out of memory
    unread: list[str] = field(default_factory=list)  # modules that are passed over

    def take(self, times: IoTimes) -> None:
        """Keep the I/O time of one module."""
        self.io[times.module] = times.slowest
        self.negative += times.negative
        if times.unknown:
            self.unknown.append(times.module)


def counted_in_whole_seconds(run_time: float, start: float, end: float) -> bool:
    """Tell whether a run time is that of an old log: end minus start plus 1, all whole.

    A log that knows parts of a second never gives this: the difference is less than 1 s more
    than that of the whole seconds.

    >>> counted_in_whole_seconds(117.0, 1490000867, 1490000983)
    True
    >>> counted_in_whole_seconds(3.0021, 1665678206, 1665678209)
    False
    """
    return run_time == end - start + 1
