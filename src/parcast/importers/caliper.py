"""Caliper profiles: the time that each region of a program took, file by file.

A `.cali` file needs the extra `caliper`; the JSON of `cali-query` needs no library. Several files
make a series: `p` is `mpi.world.size` or Adiak's `jobsize`, and other numbers that Caliper and
Adiak noted become axes where they vary from file to file.

The time is exclusive where a file has it: what a region took without those it calls, so that the
regions of a run add up to its total. `--metric inclusive` asks for the other.

Records of a `.cali` file are taken in one by one, and of each only its path, its rank and its
times are kept: the memory needed is 24 bytes a time. Hatchet itself would keep every record.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from os import SEEK_END
from pathlib import Path
from typing import Any, Final

from parcast.advice import Command, File
from parcast.errors import FileProblems
from parcast.files.bounds import require_at_most
from parcast.files.decoding import base_name, opened
from parcast.files.faults import Faults
from parcast.importers.caliper_columns import (
    EXCLUSIVE,
    Records,
    TimeColumn,
    chosen_column,
    notes_on,
    time_column,
)
from parcast.importers.caliper_json import records_of_json
from parcast.importers.call_profile import FEWER, CallProfile, add_profiles, split_mean
from parcast.importers.content import HEAD, beginning, library, text_lines
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.units import shown

INTO_JSON: Final = ("cali-query", "-q", "select * format json-split")


def _without(faults: Faults) -> str:
    """Say how to import a file without the library."""
    into_json = Command((*INTO_JSON, File(faults.path)), writes="profile.json")
    return (
        f"Without it, turn the file into JSON, which needs no library: {into_json}, and import "
        "that."
    )


CUT_OFF = "The file may have been cut off: copy it again."
NODE: Final = "__rec=node"
MOST_NODES: Final = 500_000  # which the library keeps as objects


def records_of_cali(path: Path, faults: Faults) -> Records:
    """Read a `.cali` file, which needs the caliper-reader that hatchet brings."""
    lines = text_lines(path, faults)
    first = next(lines)
    reader = library("caliperreader", faults, extra="caliper", otherwise=_without(faults))
    stream = reader.CaliperStreamReader()
    records = Records(faults)
    columns: dict[str, TimeColumn | None] = {}
    place = [0]

    def numbered() -> Iterator[str]:
        """Give the lines, and keep in mind which one is being read."""
        nodes = 0
        for number, text in chain([first], lines):
            place[0] = number
            nodes += text.startswith(NODE)
            what, remedy = "nodes of regions and attributes", FEWER
            require_at_most(MOST_NODES, nodes, what, faults, line=number, remedy=remedy)
            yield text

    def take(record: dict[str, Any]) -> None:
        """Keep what is a time of a region."""
        for name in record:
            if name not in columns:
                unit = stream.attribute(name).get("attribute.unit") if name in known else None
                columns[name] = time_column(name, unit)
        times = {x: record[x.name] for x in map(columns.get, record) if x is not None}
        if times and record.get("spot.channel", "regionprofile") == "regionprofile":
            regions = record.get("path", [])
            names = map(str, regions if isinstance(regions, list) else [regions])
            records.add(tuple(names), record.get("mpi.rank"), times, line=place[0])

    known = stream.db.attributes
    try:
        stream.read(_without_circles(numbered(), place, faults), take)
    except FileProblems:
        raise
    except Exception as error:  # from a bad record: ReaderError, KeyError, AttributeError ...
        why = shown(f"{type(error).__name__}: {error}", limit=60)
        faults.refuse(f"must be a record of Caliper, got {why}. {CUT_OFF}", line=place[0])
    if not stream.globals or not _ends_with_a_whole_line(path):
        faults.refuse(f"must end with a complete record __rec=globals, got none. {CUT_OFF}")
    records.metadata = dict(stream.globals)
    return records


def _without_circles(lines: Iterable[str], place: list[int], faults: Faults) -> Iterator[str]:
    """Refuse a node that is its own parent, up from which the library would go without end."""
    for text in lines:
        if text.startswith("__rec=node"):
            fields = dict(part.split("=")[:2] for part in text.split(",") if "=" in part)
            own = parent = None
            with suppress(KeyError, ValueError):  # which the library tells
                own, parent = int(fields["id"]), int(fields["parent"])
            if own is not None and own == parent:
                message = f"must be a node below another, got {own} below itself. {CUT_OFF}"
                faults.refuse(message, line=place[0])
        yield text


def _ends_with_a_whole_line(path: Path) -> bool:
    """Tell whether the last line ends: half of a reference to a node is one to another."""
    with opened(path) as (_, stream):
        stream.seek(-1, SEEK_END)
        return stream.read(1) == b"\n"


CALI = b"__rec="
SPLIT = re.compile(rb'\s*\{\s*"data"\s*:\s*\[\s*\[')
RECORDS = re.compile(rb'\s*(\{\s*"records"\s*:\s*)?\[\s*\{[^{}]*"[^"{}]*time\.(\w+\.)?duration')
ALIASED = re.compile(rb'\s*(\{\s*"records"\s*:\s*)?\[\s*\{(?>[^{}]*?"path"\s*:)[^{}]*[tT]ime')


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a Caliper profile."""
    if head.startswith(CALI):
        return True
    if SPLIT.match(head):
        return b'"column_metadata"' in head or len(head) >= HEAD  # else its end is not seen
    return bool(RECORDS.match(head) or ALIASED.match(head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each region of each file, its `callpath` as ``main->solve``.

    `metric` is "exclusive", "inclusive" or the name of a column; with ":mean" behind it, or "mean"
    alone, the mean over the ranks. Default: exclusive, of the slowest rank.
    """
    wanted, mean = split_mean(metric)
    profiles: list[CallProfile] = []
    chosen: list[TimeColumn] = []
    outside: list[tuple[float, str]] = []
    for path, faults in runs.files():
        records = _records(path, faults)
        column = chosen_column(records.columns, wanted, faults)
        chosen.append(column)
        profiles.append(records.profile(column))
        if outside_time := records.outside.get(column):
            outside.append((outside_time, base_name(path)))
    notes = [*notes_on(chosen), *add_profiles(profiles, runs, mean=mean)]
    if outside and chosen[0].kind == EXCLUSIVE:
        time, name = max(outside, key=lambda x: x[0])
        notes.append(
            f"Time outside all regions is left out, up to {time:.3g} s per rank ({shown(name)})."
        )
    return runs.imported(notes=notes)


FORMAT = Format(
    title="Caliper .cali or JSON",
    recognises=recognises,
    timings=read,
    extra="caliper",
    extra_for=".cali",
)


def _records(path: Path, faults: Faults) -> Records:
    """Read a file in whichever form it is."""
    head = beginning(path)
    if not head:
        faults.refuse("must be a Caliper profile, got an empty file. Profile the run again.")
    if head.startswith(CALI) or (
        path.suffix == ".cali" and not head.lstrip().startswith((b"{", b"["))
    ):
        return records_of_cali(path, faults)
    return records_of_json(path, faults)
