"""Darshan logs themselves, through pydarshan (the extra `darshan`), or as the JSON it prints.

The C library of pydarshan ends its process on some damaged logs, so that they are read in another,
which runs `darshan_child` with a limit of time and of memory.

The JSON of `python -m darshan to_json` needs no library here. Its records are lists of counters
whose names stand once, under `counters`; the whole-number counters are ignored as they are
read, which is most of a file.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from parcast.advice import Choice, Command, File
from parcast.files.faults import Faults
from parcast.files.numbers import is_number
from parcast.importers.content import (
    beginning,
    json_document,
    json_object,
    missing_library,
    reading_with,
    refuse_unread,
)
from parcast.importers.darshan_job import (
    PARTS,
    PREFIXES,
    SLOWEST,
    DarshanJob,
    Each,
    IoTimes,
    Record,
    counted_in_whole_seconds,
)
from parcast.importers.reader_process import Answer, ReaderEnded, ReaderProcess
from parcast.units import shown

CUT_OFF = "It may have been cut off: copy it again."
DAMAGED = "It may be damaged: copy it again, or leave it out."
CHILD: Final = "parcast.importers.darshan_child"
LEAST_TIME: Final = 8.0  # for a log [s]
RATE: Final = 1e5  # and for its size, a tenth of what a slow processor reads [B/s]
LEAST_MEMORY: Final = 512 << 20  # for a log [B]
MEMORY: Final = 8  # and for each byte of it: names of files are kept [1]


class Logs:
    """Reads logs, one after the other, in one process, which ends with the block."""

    def __init__(self) -> None:
        self._reader = ReaderProcess(CHILD)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._reader.__exit__(*failure)

    def jobs(self, path: Path, faults: Faults, each: Each | None = None) -> Iterator[DarshanJob]:
        """Read the job of a log."""
        if not beginning(path, 1):  # which says what is wrong with the path; pydarshan would not
            faults.refuse("must be a Darshan log, got an empty file. Copy it again.")
        size = path.stat().st_size
        answers = self._reader.answers(
            {"path": os.path.abspath(path), "counters": each is not None},
            seconds=LEAST_TIME + size / RATE,
            memory=LEAST_MEMORY + MEMORY * size,
        )
        with reading_with("pydarshan", "a Darshan log", faults, CUT_OFF), closing(answers):
            try:
                return iter([_job(_checked(answers, faults), size, faults, each)])
            except ReaderEnded as ended:
                why = f"one at which its process {ended}"
                refuse_unread("pydarshan", "a Darshan log", why, faults, DAMAGED)


def _checked(answers: Iterator[Answer], faults: Faults) -> Iterator[tuple[str, list[Any]]]:
    """Give what is answered, and refuse the log where it could not be read."""
    for kind, *facts in answers:
        if kind == "missing":
            raise missing_library(
                "darshan", facts[0], faults, extra="darshan", otherwise=_without(faults)
            )
        if kind == "failed":
            refuse_unread("pydarshan", "a Darshan log", facts[0], faults, CUT_OFF)
        yield kind, facts


def _job(
    told: Iterator[tuple[str, list[Any]]], size: int, faults: Faults, each: Each | None
) -> DarshanJob:
    """Make a job of the answers about a log of some size [B]."""
    _, (of_job, exe, modules) = next(told)
    stored = sum(length for length, _ in modules.values())
    if stored > size:
        faults.refuse(f"must be a complete log, got {size} of at least {stored} bytes. {CUT_OFF}")
    job = DarshanJob(
        faults=faults,
        p=of_job["nprocs"],
        run_time=of_job["run_time"],
        is_in_whole_seconds=counted_in_whole_seconds(
            of_job["run_time"], of_job["start_time_sec"], of_job["end_time_sec"]
        ),
        program=exe.partition(" ")[0],
        partial=[name for name, (_, is_partial) in modules.items() if is_partial],
        unread=[name for name in modules if name not in PREFIXES],
    )
    for module, times in _times(told, modules, each).items():
        length, is_partial = modules[module]
        if not times.records and length and not is_partial:
            must = f"must have the records of {module}, got none that is complete"
            faults.refuse(f"{must}. {CUT_OFF}")
        job.take(times)
    return job


def _times(
    told: Iterator[tuple[str, list[Any]]], modules: Mapping[str, Any], each: Each | None
) -> dict[str, IoTimes]:
    """Add up the records of each module, some in memory at a time."""
    times = {module: IoTimes(module) for module in PREFIXES if module in modules}
    module, names, place = "", {}, {}
    for kind, facts in told:
        if kind == "module":
            module, names = facts
            listed, prefix = names["fcounters"], f"{PREFIXES[module]}_F_"
            place = {name: listed.index(prefix + name) for name in (*PARTS, SLOWEST)}
        for record in facts[0] if kind == "records" else ():
            values = record["fcounters"]
            parts = {name: float(values[x]) for name, x in place.items()}
            times[module].add(int(record["rank"]), parts)
            if each is not None:
                each(_record(module, record, names, {record["id"]: record["file"]}))
    return times


def _record(
    module: str, record: Mapping[str, Any], counters: Mapping[str, Any], names: Mapping[Any, str]
) -> Record:
    named: dict[str, float] = {}
    for kind in ("counters", "fcounters"):
        values = record.get(kind, ())
        for name, value in zip(counters.get(kind, ()), values, strict=True):
            named[name] = float(value)
    file_id = record["id"]
    file = names.get(file_id, names.get(str(file_id), ""))
    return Record(module, int(record["rank"]), file_id, str(file), named)


WRITE: Final = Command(
    ("python", "-m", "darshan", "to_json", Choice("FILE.darshan")), writes="FILE.json"
)
ASK = f"Write it again: {WRITE}"
_object = partial(json_object, kind="an object as pydarshan writes it", remedy=ASK)


def jobs_in_json(path: Path, faults: Faults, each: Each | None = None) -> Iterator[DarshanJob]:
    """Read the job that a JSON of pydarshan tells of."""
    document = json_document(path, faults, hook=_without_whole_numbers if each is None else None)
    report = _object(document, "the file", faults)
    of_job = _object(_object(report.get("metadata"), "metadata", faults).get("job"), "job", faults)
    for name in ("nprocs", "run_time", "start_time_sec", "end_time_sec"):
        if not is_number(of_job.get(name)):
            got = shown(repr(of_job.get(name)))
            faults.refuse(f"must be a number, got {got}. {ASK}", field=f"metadata.job.{name}")
    modules = _object(report.get("modules"), "modules", faults)
    start, end = of_job["start_time_sec"], of_job["end_time_sec"]
    job = DarshanJob(
        faults=faults,
        p=of_job["nprocs"],
        run_time=of_job["run_time"],
        is_in_whole_seconds=counted_in_whole_seconds(of_job["run_time"], start, end),
        program=str(report["metadata"].get("exe", "")).partition(" ")[0],
        partial=[x for x in modules if _object(modules[x], x, faults).get("partial_flag")],
        unread=[module for module in modules if module not in PREFIXES],
    )
    for module in PREFIXES:
        if module in modules:
            job.take(_times_in_json(report, module, faults, each))
    yield job


def _without_whole_numbers(record: dict[str, Any]) -> dict[str, Any]:
    """Drop the counters that are no times, of each record as soon as it is read."""
    if "fcounters" in record:
        record.pop("counters", None)
    return record


def _times_in_json(
    report: dict[str, Any], module: str, faults: Faults, each: Each | None
) -> IoTimes:
    counters = _object(report.get("counters"), "counters", faults).get(module, {})
    names = _object(counters, f"counters.{module}", faults).get("fcounters")
    records = _object(report.get("records"), "records", faults).get(module)
    if not isinstance(names, list) or not isinstance(records, list):
        faults.refuse(
            f"must be records with their names, got none. {ASK}", field=f"records.{module}"
        )
    count = report["modules"][module].get("num_records", len(records))
    if count != len(records):
        got = f"{len(records)} of {shown(count)}"
        faults.refuse(f"must be all records, got {got}. {ASK}", field=f"records.{module}")
    prefix = f"{PREFIXES[module]}_F_"
    place = {
        name: names.index(prefix + name) for name in (*PARTS, SLOWEST) if prefix + name in names
    }
    times = IoTimes(module)
    for i, record in enumerate(records):
        where = f"records.{module}[{i}]"
        values = _object(record, where, faults).get("fcounters")
        rank = record.get("rank")
        if not isinstance(values, list) or len(values) != len(names) or not isinstance(rank, int):
            faults.refuse(f"must have a rank and {len(names)} fcounters. {ASK}", field=where)
        try:
            times.add(rank, {name: float(values[x]) for name, x in place.items()})
        except (KeyError, ValueError, TypeError) as error:
            name = prefix + str(error.args[0]) if error.args else "a time"
            faults.refuse(f"must have {shown(name)} as a finite number. {ASK}", field=where)
        if each is not None:
            try:
                each(_record(module, record, counters, report.get("name_records") or {}))
            except (KeyError, ValueError, TypeError, AttributeError):
                must = "must have an id, and a number for each of its counters"
                faults.refuse(f"{must}. {ASK}", field=where)
    return times


def _without(faults: Faults) -> str:
    """Say how to import a log without the library."""
    into_text = Command(("darshan-parser", File(faults.path)), writes="log.txt")
    way = f"turn the log into text, which needs no library: {into_text}"
    return f"Without it, {way}, and import that."
