"""What a Darshan log tells of one job, in whichever form it was written down.

The I/O time of a module is that of its slowest rank, as Darshan itself adds it up: the largest
sum of read, write and metadata time over the files that a rank had to itself, plus the time of
the slowest rank in each file that all ranks shared (`agg_time_by_slowest`).

`jobs` reads the table that `python -m darshan job_stats --csv` prints, one job a row. It does not
say of which module its I/O times are: `job_stats -m` chose it, POSIX unless told otherwise.
"""

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from parcast.advice import Choice, Command
from parcast.files.bounds import require_at_most
from parcast.files.faults import Faults
from parcast.files.numbers import finite
from parcast.importers.content import MOST_JOBS, text_lines
from parcast.units import shown

PREFIXES: Final = {"POSIX": "POSIX", "MPI-IO": "MPIIO", "STDIO": "STDIO"}  # of their counters
PARTS: Final = ("READ_TIME", "WRITE_TIME", "META_TIME")
SLOWEST: Final = "SLOWEST_RANK_TIME"
SHARED: Final = -1  # the rank of a record that all ranks share
RUN: Final = "run"  # the callpath of the whole job


class Record(NamedTuple):
    """Counters of a module for one file and one rank, or all."""

    module: str
    rank: int
    file_id: Any
    file: str  # its name
    counters: Mapping[str, float]


Each: TypeAlias = Callable[[Record], None]  # what else is done with every record


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
        """Add one record: a file, and the times [s] that a rank, or -1 for all, spent on it.

        A time that is not finite is a ValueError with its name.
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
class DarshanJob:
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
    """
    return run_time == end - start + 1


COLUMNS = ("job_id", "nprocs", "start_time", "end_time", "run_time", "time_by_slowest")
FLAG = "partial_flag"  # the last column: one that is cut off is none of these
FLAGS = ("True", "False")
UNTOLD = "one module"  # what the I/O times are of
WRITE: Final = Command(
    ("python", "-m", "darshan", "job_stats", "--csv", Choice("FILES")), writes="jobs.csv"
)
ASK = f"Write it again: {WRITE}"


def jobs(path: Path, faults: Faults, each: Each | None = None) -> Iterator[DarshanJob]:  # noqa: ARG001 - it has no records
    """Read the jobs of a table of `job_stats`."""
    titles: list[str] = []
    for count, (line, text) in enumerate(text_lines(path, faults)):
        require_at_most(MOST_JOBS, count, "jobs", faults, line=line)
        try:
            [cells] = csv.reader([text], strict=True)
        except csv.Error as error:
            faults.refuse(f"must be a row of job_stats, got one that is not: {error}.", line=line)
        if not titles:
            titles = cells
            if missing := [name for name in (*COLUMNS, FLAG) if name not in titles]:
                faults.refuse(f"must have a column {missing[0]}, got none. {ASK}", line=line)
            continue
        if len(cells) != len(titles):
            faults.refuse(
                f"must have {len(titles)} values as its header has, got {len(cells)}. {ASK}",
                line=line,
            )
        yield _job(dict(zip(titles, cells, strict=True)), line, faults)


def _job(row: dict[str, str], line: int, faults: Faults) -> DarshanJob:
    value = {}
    for name in COLUMNS:
        read = finite(row[name])
        if read is None or (name == "time_by_slowest" and read < 0):
            got = shown(repr(row[name]))
            faults.refuse(
                f"must be a number of at least 0, got {got}. {ASK}", line=line, field=name
            )
        value[name] = read
    if row[FLAG] not in FLAGS:
        got = shown(repr(row[FLAG]))
        faults.refuse(f"must be True or False, got {got}. {ASK}", line=line, field=FLAG)
    return DarshanJob(
        faults=faults,
        p=value["nprocs"],
        run_time=value["run_time"],
        line=line,
        is_in_whole_seconds=counted_in_whole_seconds(
            value["run_time"], value["start_time"], value["end_time"]
        ),
        identity=" ".join((row.get("log_file", ""), row["job_id"], row["start_time"])),
        io={UNTOLD: value["time_by_slowest"]},
        partial=[UNTOLD] if row[FLAG] == "True" else [],
    )
