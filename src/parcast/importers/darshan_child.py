"""What reads Darshan logs with pydarshan, in a process of its own.

Of a log only the records of POSIX, MPI-IO and STDIO are asked for, one after the other. DXT
traces, which are most of a log that has them, are never loaded, and neither is APMPI, whose
records pydarshan cannot make a table of.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parcast.importers.darshan_job import PARTS, PREFIXES, SLOWEST
from parcast.importers.reader_process import Answer, serve

BATCH: Final = 128  # records in one answer


def answers(darshan: Any, request: Mapping[str, Any]) -> Iterator[Answer]:
    """Read the log of a request: the job; of each module the names of counters; and its records.

    Where counters are not asked for, a record has the times alone that I/O times are made of.
    """
    report = darshan.DarshanReport(request["path"], read_all=False)
    if request["counters"]:
        report.read_name_records()
    job, modules = report.metadata["job"], report.modules
    names = ("nprocs", "run_time", "start_time_sec", "end_time_sec")
    stored = {
        name: [int(module.get("len", 0)), bool(module.get("partial_flag"))]
        for name, module in modules.items()
    }
    yield ["job", {x: job[x] for x in names}, str(report.metadata.get("exe", "")), stored]
    for module in PREFIXES:
        if module in modules:
            yield from _records(report, module, with_counters=request["counters"])


def _records(report: Any, module: str, *, with_counters: bool) -> Iterator[Answer]:
    """Give the records of a module, some at a time."""
    times = [f"{PREFIXES[module]}_F_{name}" for name in (*PARTS, SLOWEST)]
    place: list[int] = []
    batch: list[dict[str, Any]] = []
    for record in report.mod_records(module, dtype="numpy"):
        names = report.counters[module]
        if not place:
            place = [names["fcounters"].index(name) for name in times]
            own = {kind: list(names.get(kind, ())) for kind in ("counters", "fcounters")}
            yield ["module", module, own if with_counters else {"fcounters": times}]
        values = record["fcounters"].tolist()
        facts = {"rank": int(record["rank"]), "fcounters": [values[x] for x in place]}
        if with_counters:
            counters = record["counters"].tolist() if "counters" in names else []
            facts |= {"id": int(record["id"]), "counters": counters, "fcounters": values}
            facts["file"] = str(report.name_records.get(facts["id"], ""))
        batch.append(facts)
        if len(batch) == BATCH:
            yield ["records", batch]
            batch = []
    yield ["records", batch]


if __name__ == "__main__":
    serve("darshan", answers, sys.argv[1:])
