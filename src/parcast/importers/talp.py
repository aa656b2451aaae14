"""POP metrics of TALP, a part of DLB: `--talp --talp-output-file=talp.json`, one file a run.

Each region is a callpath; its elapsed time is in nanoseconds. `p` are the MPI ranks, or the CPUs
where these vary and the ranks do not.
"""

import dataclasses
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parcast.advice import Choice
from parcast.errors import Argument
from parcast.files.faults import Faults
from parcast.files.numbers import is_number, whole
from parcast.importers.content import json_document, refuse_lone_rank
from parcast.importers.registry import Format
from parcast.importers.runs import LARGEST, Imported, Runs
from parcast.units import shown

KEYS = re.compile(rb'"(dlbVersion|dlb_version|popMetrics|Application|Process|resources)"\s*:')
RECORD = re.compile(rb'"elapsedTime"\s*:')
WHOLE = ("Global", "MPI Execution", "MPI execution", "Application")  # regions of a whole run
REGIONS = ("popMetrics", "Application", "pop")  # keys of them, in several versions
IN_A_SECOND = 10**9  # nanoseconds


@dataclass(frozen=True, kw_only=True, slots=True)
class TalpRegion:
    """One region of one run."""

    name: str
    elapsed: Any  # [ns]
    ranks: int | None
    cpus: int | None
    field: str
    record: dict[str, Any] = dataclasses.field(default_factory=dict)  # as TALP wrote it
    processes: tuple[dict[str, Any], ...] = ()  # the same of each, where it is there


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is of TALP."""
    is_object = head.lstrip().startswith(b"{")
    return is_object and bool(RECORD.search(head)) and len(set(KEYS.findall(head))) >= 2


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each region of each file. The only `metric` is "elapsedTime"."""
    runs.refuse_metric(metric, but="elapsedTime")
    found = [
        (region, faults) for path, faults in runs.files() for region in regions_of(path, faults)
    ]
    has_names = len({region.name for region, _ in found}) > 1
    by_cpus, notes = counted_by_cpus([region for region, _ in found])
    for region, faults in found:
        p = region.cpus if by_cpus else region.ranks or region.cpus
        if p is None and runs.constant_p is None:
            faults.refuse(
                "must have numMpiRanks or numCpus, got neither. Give the count: "
                f"{Argument('constants', {'p': Choice('COUNT')}, file=faults.path)}",
                field=region.field,
            )
        refuse_lone_rank(p or 0, faults)
        known = is_number(region.elapsed) and abs(region.elapsed) <= LARGEST
        time = region.elapsed / IN_A_SECOND if known else region.elapsed
        point = {} if p is None else {"p": p}
        name = region.name if has_names else ""
        runs.add(point, [time], faults, metric="time_s", callpath=name, field=region.field)
    return runs.imported(notes=notes)


FORMAT = Format(title="TALP JSON of DLB", recognises=recognises, timings=read)


def counted_by_cpus(regions: list[TalpRegion]) -> tuple[bool, list[str]]:
    """Tell whether p are the CPUs, and what to say of it."""
    pairs = {(region.ranks or 1, region.cpus) for region in regions if region.cpus}
    if all(ranks == cpus for ranks, cpus in pairs):
        return False, []
    ranks, cpus = {x for x, _ in pairs}, {y for _, y in pairs}
    if len(cpus) == 1 or len({y / x for x, y in pairs if y}) == 1:
        some = ", ".join(f"{y}" for y in sorted(x for x in cpus if x))
        return False, [f"p is the number of MPI ranks, which ran on {shown(some)} CPUs."]
    if len(ranks) == 1 or all(region.cpus for region in regions):
        return True, ["p is the number of CPUs, as they are not the same for each MPI rank."]
    return False, []


def regions_of(path: str | os.PathLike[str], faults: Faults) -> Iterator[TalpRegion]:
    """Go through the regions of one file."""
    document = json_document(path, faults)
    if not isinstance(document, dict):
        faults.refuse("must be an object, as TALP writes it. Name the format if it is another.")
    common = document.get("resources")
    common = common if isinstance(common, dict) else {}
    done = 0
    processes_of = document.get("Process")
    processes_of = processes_of if isinstance(processes_of, dict) else {}
    for part in REGIONS:
        for name, record in _named(document.get(part)):
            done += 1
            yield TalpRegion(
                name=name,
                elapsed=record["elapsedTime"],
                ranks=whole(record.get("numMpiRanks", common.get("numMpiRanks")), least=1),
                cpus=whole(record.get("numCpus", common.get("numCpus")), least=1),
                field=f"{part}.{shown(name)}.elapsedTime",
                record=record,
                processes=tuple(x for _, x in _named(processes_of.get(name))),
            )
        if done:
            return
    for name, processes in processes_of.items():
        times = [x["elapsedTime"] for _, x in _named(processes)]
        if times and all(map(is_number, times)):
            done += 1
            yield TalpRegion(
                name=name,
                elapsed=max(times),
                ranks=len(times),
                cpus=whole(common.get("numCpus"), least=1),
                field=f"Process.{shown(name)}",
                record={"elapsedTime": max(times)},
                processes=tuple(x for _, x in _named(processes)),
            )
    if not done:
        faults.refuse(
            "must have regions with an elapsedTime, got none. Ask for them in DLB_ARGS, with "
            "--talp-summary=pop-metrics."
        )


def _named(records: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through records by name, or in a list of records with a name."""
    pairs = list(records.items()) if isinstance(records, dict) else []
    if isinstance(records, list):
        pairs = [(x.get("name", ""), x) for x in records if isinstance(x, dict)]
    for name, record in pairs:
        if isinstance(record, dict) and "elapsedTime" in record:
            yield str(name), record
