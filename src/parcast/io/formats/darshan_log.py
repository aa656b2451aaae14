"""Darshan logs themselves, through pydarshan (the extra `darshan`).

Only the records of POSIX, MPI-IO and STDIO are asked for, one after the other: DXT traces, which
are most of a log that has them, are never loaded, and neither is APMPI, whose records pydarshan
cannot make a table of.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parcast.io.decoding import opened
from parcast.io.faults import Faults
from parcast.io.formats.darshan_job import (
    PARTS,
    PREFIXES,
    SLOWEST,
    IoTimes,
    Job,
    counted_in_whole_seconds,
)
from parcast.io.formats.missing import library
from parcast.units import shown

WITHOUT = (
    "Without it, turn the log into text, which needs no library: "
    "darshan-parser {path} > log.txt, and import that."
)
CUT_OFF = "It may have been cut off: copy it again."


def jobs(path: Path, faults: Faults) -> Iterator[Job]:
    """Read the job of a log.

    Raises
    ------
    MissingLibrary
        If pydarshan is not installed.
    FileProblems
        If it is no log, or is cut off.
    """
    with opened(path) as (_, stream):  # says what is wrong with the path; pydarshan would not
        size = len(stream.read(1))
    if not size:
        faults.refuse("must be a Darshan log, got an empty file. Copy it again.")
    darshan = library("darshan", faults, extra="darshan", otherwise=WITHOUT)
    with _said_plainly(faults):
        report = darshan.DarshanReport(str(path), read_all=False)
    told, modules = report.metadata["job"], report.modules
    stored = sum(module.get("len", 0) for module in modules.values())
    if stored > path.stat().st_size:
        got = f"{path.stat().st_size} of at least {stored} bytes"
        faults.refuse(f"must be a whole log, got {got}. {CUT_OFF}")
    job = Job(
        faults=faults,
        p=told["nprocs"],
        run_time=told["run_time"],
        is_in_whole_seconds=counted_in_whole_seconds(
            told["run_time"], told["start_time_sec"], told["end_time_sec"]
        ),
        program=str(report.metadata.get("exe", "")).partition(" ")[0],
        partial=[name for name, module in modules.items() if module.get("partial_flag")],
        unread=[name for name in modules if name not in PREFIXES],
    )
    for module in PREFIXES:
        if module in modules:
            job.take(_times(report, module, faults))
    return iter([job])


def _times(report: Any, module: str, faults: Faults) -> IoTimes:
    """Add up the records of a module, one in memory at a time."""
    times = IoTimes(module)
    prefix = f"{PREFIXES[module]}_F_"
    place: dict[str, int] = {}
    with _said_plainly(faults):
        for record in report.mod_records(module, dtype="numpy"):
            if not place:
                names = report.counters[module]["fcounters"]
                place = {name: names.index(prefix + name) for name in (*PARTS, SLOWEST)}
            values = record["fcounters"]
            times.add(int(record["rank"]), {name: float(values[x]) for name, x in place.items()})
    is_partial = report.modules[module].get("partial_flag")
    if not times.records and report.modules[module].get("len", 0) and not is_partial:
        faults.refuse(f"must have the records of {module}, got none that is whole. {CUT_OFF}")
    return times


@contextmanager
def _said_plainly(faults: Faults) -> Iterator[None]:
    """Turn what pydarshan raises into a refusal of the file."""
    try:
        yield
    except (
        Exception
    ) as error:  # it names none of its own for a bad log: RuntimeError, KeyError ...
        why = shown(f"{type(error).__name__}: {error}", limit=100)
        faults.add(f"must be a Darshan log that pydarshan can read, got {why}. {CUT_OFF}")
        faults.raise_all()
