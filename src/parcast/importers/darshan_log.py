"""Darshan logs themselves, through pydarshan (the extra `darshan`), or as the JSON it prints.

Of a log only the records of POSIX, MPI-IO and STDIO are asked for, one after the other. DXT
traces, which are most of a log that has them, are never loaded, and neither is APMPI, whose
records pydarshan cannot make a table of.

The JSON of `python -m darshan to_json` needs no library here. Its records are lists of counters
whose names stand once, under `counters`; the whole-number counters are ignored as they are
read, which is most of a file.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from parcast.files.faults import Faults
from parcast.files.numbers import is_number
from parcast.importers.content import beginning, json_document, json_object, library, reading_with
from parcast.importers.darshan_job import (
    PARTS,
    PREFIXES,
    SLOWEST,
    Each,
    IoTimes,
    Job,
    Record,
    counted_in_whole_seconds,
)
from parcast.units import shown

WITHOUT = (
    "Without it, turn the log into text, which needs no library: "
    "darshan-parser {path} > log.txt, and import that."
)
CUT_OFF = "It may have been cut off: copy it again."


def jobs(path: Path, faults: Faults, each: Each | None = None) -> Iterator[Job]:
    """Read the job of a log."""
    if not beginning(path, 1):  # which says what is wrong with the path; pydarshan would not
        faults.refuse("must be a Darshan log, got an empty file. Copy it again.")
    darshan = library("darshan", faults, extra="darshan", otherwise=WITHOUT)
    with reading_with("pydarshan", "a Darshan log", faults, CUT_OFF):
        report = darshan.DarshanReport(str(path), read_all=False)
        if each is not None:
            report.read_metadata(read_all=True)  # the names of files, but no records
    of_job, modules = report.metadata["job"], report.modules
    stored = sum(module.get("len", 0) for module in modules.values())
    if stored > path.stat().st_size:
        got = f"{path.stat().st_size} of at least {stored} bytes"
        faults.refuse(f"must be a complete log, got {got}. {CUT_OFF}")
    job = Job(
        faults=faults,
        p=of_job["nprocs"],
        run_time=of_job["run_time"],
        is_in_whole_seconds=counted_in_whole_seconds(
            of_job["run_time"], of_job["start_time_sec"], of_job["end_time_sec"]
        ),
        program=str(report.metadata.get("exe", "")).partition(" ")[0],
        partial=[name for name, module in modules.items() if module.get("partial_flag")],
        unread=[name for name in modules if name not in PREFIXES],
    )
    for module in PREFIXES:
        if module in modules:
            job.take(_times(report, module, faults, each))
    return iter([job])


def _times(report: Any, module: str, faults: Faults, each: Each | None) -> IoTimes:
    """Add up the records of a module, one in memory at a time."""
    times = IoTimes(module)
    prefix = f"{PREFIXES[module]}_F_"
    place: dict[str, int] = {}
    with reading_with("pydarshan", "a Darshan log", faults, CUT_OFF):
        for record in report.mod_records(module, dtype="numpy"):
            if not place:
                names = report.counters[module]["fcounters"]
                place = {name: names.index(prefix + name) for name in (*PARTS, SLOWEST)}
            values = record["fcounters"]
            times.add(int(record["rank"]), {name: float(values[x]) for name, x in place.items()})
            if each is not None:
                each(_record(module, record, report.counters[module], report.name_records))
    is_partial = report.modules[module].get("partial_flag")
    if not times.records and report.modules[module].get("len", 0) and not is_partial:
        faults.refuse(f"must have the records of {module}, got none that is complete. {CUT_OFF}")
    return times


def _record(
    module: str, record: Any, counters: Mapping[str, Any], names: Mapping[Any, str]
) -> Record:
    """Give all counters of a record by their names."""
    named: dict[str, float] = {}
    for kind in ("counters", "fcounters"):
        values = record.get(kind, ()) if isinstance(record, dict) else record[kind]
        for name, value in zip(counters.get(kind, ()), values, strict=True):
            named[name] = float(value)
    file_id = record["id"]
    file = names.get(file_id, names.get(str(file_id), ""))
    return Record(module, int(record["rank"]), file_id, str(file), named)


ASK = "Write it again: python -m darshan to_json FILE.darshan > FILE.json"
_object = partial(json_object, kind="an object as pydarshan writes it", remedy=ASK)


def jobs_in_json(path: Path, faults: Faults, each: Each | None = None) -> Iterator[Job]:
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
    job = Job(
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
    """Add up the records of a module."""
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
