"""What a job did to files: bytes, requests and ranks, from the counters of a Darshan log.

    job = read_job_io("solver.darshan")  # or the text of darshan-parser, or the JSON of pydarshan
    job.main("write").size

MPI-IO calls POSIX, so that POSIX has the requests that reach the file system, and MPI-IO those of
the program. The bytes of each rank in a file that all ranks share are not in a log, but their
variance is: from it follows how many ranks that access equally much would have the same
variance, 1 if one rank does everything.
"""

import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from parcast.files.copies import readable_again
from parcast.files.faults import AnyPath, Faults
from parcast.importers.darshan import reader_of
from parcast.importers.darshan_job import PREFIXES, SHARED, DarshanJob, Record
from parcast.importers.darshan_job import jobs as jobs_of_stats
from parcast.importers.darshan_log import Logs

Direction: TypeAlias = Literal["read", "write"]

BINS: Final = (  # of the sizes of requests, as counters name them, and where they end [B]
    *(("0_100", 100), ("100_1K", 1024), ("1K_10K", 10240), ("10K_100K", 102400)),
    *(("100K_1M", 1 << 20), ("1M_4M", 4 << 20), ("4M_10M", 10 << 20), ("10M_100M", 100 << 20)),
    *(("100M_1G", 1 << 30), ("1G_PLUS", math.inf)),
)
STREAMS: Final = ("<STDIN>", "<STDOUT>", "<STDERR>")
CALLS: Final = {  # counters of the requests of MPI-IO, by the kind of call
    "collective": ("COLL",),
    "independent": ("INDEP", "NB"),
    "split collective": ("SPLIT",),
}
LEAST: Final = 2.0  # bytes of MPI-IO over those of POSIX, from which it does not call POSIX


@dataclass
class Accesses:
    """Reads, or writes, of a module."""

    size: int = 0  # [B]
    requests: int = 0
    consecutive: int = 0  # requests that begin where the one before of the rank ended
    sequential: int = 0  # requests that begin beyond the end of the one before
    sizes: dict[str, int] = field(default_factory=dict)  # requests by the names of BINS
    calls: dict[str, int] = field(default_factory=dict)  # of MPI-IO, by the names of CALLS
    shared_size: int = 0  # in files that all ranks share [B]
    by_rank: dict[int, int] = field(default_factory=dict)  # bytes in files of some ranks [B]
    files: dict[Any, int] = field(default_factory=dict)  # ranks of each file; SHARED: all

    @property
    def mean(self) -> float:
        """Length of a request. [B]."""
        return self.size / self.requests if self.requests else 0.0

    def count_files(self, kind: Literal["all", "some", "one"]) -> int:
        """Count the files of all ranks, of some, or of one."""
        of = {"all": lambda n: n == SHARED, "some": lambda n: n > 1, "one": lambda n: n == 1}
        return sum(map(of[kind], self.files.values()))


@dataclass(frozen=True, slots=True)
class Shared:
    """A file that all ranks share."""

    size: int  # read and written [B]
    variance: float  # of the bytes of the ranks; nan: unknown [B^2]
    slowest: int  # bytes of the rank that took longest [B]
    fastest: int  # of the one that took least time [B]

    def ranks(self, count: int) -> float | None:
        """Ranks, of `count`, that access equally much with this variance.

        >>> Shared(800, 7 * 100.0**2, 800, 0).ranks(8)
        1.0
        """
        if not self.variance >= 0 or not self.size:
            return None
        return self.size**2 / (count * self.variance + self.size**2 / count)


@dataclass
class Module:
    """What a module of Darshan recorded."""

    name: str
    read: Accesses = field(default_factory=Accesses)
    write: Accesses = field(default_factory=Accesses)
    seconds: dict[str, float] = field(default_factory=dict)  # READ, WRITE, META of all ranks [s]
    common: Counter[int] = field(default_factory=Counter)  # requests by their length [B]
    unaligned: int = 0  # requests that do not begin on a block of the file
    alignment: int = 0  # length of such a block [B]
    slowest: float = 0.0  # I/O time of the slowest rank [s]
    largest: "Shared | None" = None  # file that all ranks share

    @property
    def size(self) -> int:
        """Bytes that were read and written. [B]."""
        return self.read.size + self.write.size

    @property
    def requests(self) -> int:
        """Number of reads and writes."""
        return self.read.requests + self.write.requests

    @property
    def rate(self) -> float:
        """Bytes over the I/O time of the slowest rank. [B/s]."""
        return self.size / self.slowest if self.slowest > 0 else 0.0

    @property
    def metadata_share(self) -> float:
        """Share of metadata operations in the I/O time of all ranks. [1]."""
        total = sum(self.seconds.values())
        return self.seconds.get("META", 0.0) / total if total > 0 else 0.0

    def accesses(self, direction: Direction) -> Accesses:
        """Reads or writes."""
        return self.read if direction == "read" else self.write

    def ranks(self, direction: Direction, count: int) -> float | None:
        """How many ranks, of `count`, accessed the files with most of the bytes; None: unknown."""
        own = self.accesses(direction)
        if 2 * own.shared_size < own.size:
            return float(len(own.by_rank))
        return None if self.largest is None else self.largest.ranks(count)


@dataclass(frozen=True, kw_only=True)
class JobIo:
    """The I/O of one job."""

    log: str  # path
    program: str
    ranks: int
    run_time: float  # [s]
    modules: Mapping[str, Module]
    partial: tuple[str, ...] = ()  # modules that ran out of memory for records

    def main(self, direction: Direction) -> Module:
        """Give the module that has most of the bytes on their way to the file system."""
        found = dict(self.modules)
        if "POSIX" in found and "MPI-IO" in found:  # the one makes requests of the other
            posix, mpi = (found[name].accesses(direction).size for name in ("POSIX", "MPI-IO"))
            del found["MPI-IO" if mpi <= LEAST * posix else "POSIX"]
        return max(found.values(), key=lambda module: module.accesses(direction).size)


def read_job_io(path: AnyPath) -> JobIo:
    """Read what a job did to files; FileProblems says what is wrong with the log."""
    with readable_again(Path(path)) as place:
        return _job_io(place, os.fspath(path))


def _job_io(place: Path, log: str) -> JobIo:
    """Read a log at a place where it can be read more than once; messages call it `log`."""
    faults = Faults(log)
    modules: dict[str, Module] = {}

    def add(record: Record) -> None:
        if record.file not in STREAMS:
            _add(modules.setdefault(record.module, Module(record.module)), record)

    with Logs() as logs:
        reader = reader_of(place, faults, logs)
        if reader is jobs_of_stats:
            faults.refuse(
                "must have the counters of files, got a table of job_stats. Give the log itself, "
                "or its text: darshan-parser LOG.darshan > log.txt"
            )
        [job] = reader(place, faults, add)
    _check_job(job, faults)
    for name, module in modules.items():
        module.slowest = job.io.get(name, 0.0)
    if not any(module.size for module in modules.values()):
        faults.refuse("must have bytes that were read or written, got none. Give another log.")
    return JobIo(
        log=log,
        program=Path(job.program).name,
        ranks=int(job.p),
        run_time=float(job.run_time),
        modules=modules,
        partial=tuple(name for name in job.partial if name in PREFIXES),
    )


def _check_job(job: DarshanJob, faults: Faults) -> None:
    if not (job.p >= 1 and job.p == int(job.p)):
        faults.refuse(f"must have a whole number of processes, got {job.p:g}.")


def _add(module: Module, record: Record) -> None:
    prefix, got = PREFIXES[module.name], record.counters

    def value(name: str) -> int:
        return max(int(got.get(f"{prefix}_{name}", 0)), 0)

    for direction in ("READ", "WRITE"):
        own = module.read if direction == "READ" else module.write
        size = value(f"BYTES_{'READ' if direction == 'READ' else 'WRITTEN'}")
        calls = {
            kind: sum(value(f"{word}_{direction}S") for word in words)
            for kind, words in CALLS.items()
        }
        own.requests += value(f"{direction}S") + sum(calls.values())
        own.consecutive += value(f"CONSEC_{direction}S")
        own.sequential += value(f"SEQ_{direction}S")
        for kind, count in calls.items():
            own.calls[kind] = own.calls.get(kind, 0) + count
        aggregated = "_AGG" if prefix == "MPIIO" else ""
        for name, _ in BINS:
            count = value(f"SIZE_{direction}{aggregated}_{name}")
            own.sizes[name] = own.sizes.get(name, 0) + count
        if size:
            _add_bytes(own, record, size)
    _add_common(module, record)
    module.unaligned += value("FILE_NOT_ALIGNED")
    module.alignment = max(module.alignment, value("FILE_ALIGNMENT"))
    for part in ("READ", "WRITE", "META"):
        seconds = max(got.get(f"{prefix}_F_{part}_TIME", 0.0), 0.0)
        module.seconds[part] = module.seconds.get(part, 0.0) + seconds


def _add_bytes(own: Accesses, record: Record, size: int) -> None:
    """Add the bytes of a record, and whose they are."""
    own.size += size
    if record.rank == SHARED:
        own.shared_size += size
        own.files[record.file_id] = SHARED
        return
    own.by_rank[record.rank] = own.by_rank.get(record.rank, 0) + size
    own.files[record.file_id] = own.files.get(record.file_id, 0) + 1


def _add_common(module: Module, record: Record) -> None:
    """Add the most frequent lengths of a record, and the ranks of a shared file."""
    prefix, got = PREFIXES[module.name], record.counters
    for i in range(1, 5):
        length = int(got.get(f"{prefix}_ACCESS{i}_ACCESS", 0))
        count = int(got.get(f"{prefix}_ACCESS{i}_COUNT", 0))
        if count > 0:
            module.common[length] += count
    size = int(sum(max(got.get(f"{prefix}_BYTES_{x}", 0), 0) for x in ("READ", "WRITTEN")))
    if record.rank == SHARED and size > (module.largest.size if module.largest else 0):
        module.largest = Shared(
            size,
            float(got.get(f"{prefix}_F_VARIANCE_RANK_BYTES", math.nan)),
            int(got.get(f"{prefix}_SLOWEST_RANK_BYTES", 0)),
            int(got.get(f"{prefix}_FASTEST_RANK_BYTES", 0)),
        )
