"""Caliper profiles: the time that each region of a program took, file by file.

Caliper names a column by what was done to it, the last step first: `max#inclusive#sum#
time.duration` is the largest over the ranks of the sum over the visits, inclusive of the regions
called. Reports may call it by an alias instead: `time`, `time (inc)`, `Max time/rank`.

`format json-split` is a table with a tree of regions beside it, and the metadata of the run.
`format json` is a list of records, `json(object)` the same with the metadata: their paths are
text, `main/solve`.

A `.cali` file needs the extra `caliper`; the JSON of `cali-query` needs no library. Several files
make a series: `p` is `mpi.world.size` or Adiak's `jobsize`, and other numbers that Caliper and
Adiak noted become axes where they vary from file to file.

The time is exclusive where a file has it: what a region took without those it calls, so that the
regions of a run add up to its total. `--metric inclusive` asks for the other.

Records of a `.cali` file are taken in one by one, and of each only its path, its rank and its
times are kept: the memory needed is 24 bytes a time. Hatchet itself would keep every record.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from os import SEEK_END
from pathlib import Path
from typing import Any, Final, NoReturn

from parcast.advice import Choice, Command, File
from parcast.errors import FileProblems
from parcast.files.bounds import require_at_most
from parcast.files.decoding import base_name, opened
from parcast.files.faults import Faults
from parcast.files.numbers import finite, whole
from parcast.importers.axes import metric_argument
from parcast.importers.call_profile import (
    FEWER,
    CallPaths,
    CallProfile,
    RegionTimes,
    add_profiles,
    split_mean,
)
from parcast.importers.content import HEAD, beginning, document_text, library, parsed, text_lines
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.timings.columns import MOST_ROWS
from parcast.units import shown
from parcast.words import did_you_mean

MOST_PLACES: Final = 1_000_000  # different ranks of a file
EXCLUSIVE: Final = "exclusive"
INCLUSIVE: Final = "inclusive"
UNTOLD: Final = "untold"
COUNT: Final = "count"
COUNTS: Final = {  # by alias and name, columns that options of runtime-profile add
    **dict.fromkeys(("Calls", "sum#rc.count"), "calls"),  # region.count
    **dict.fromkeys(("Iterations", "max#max#iter.count"), "iterations"),  # loop.stats: of a pass
    **dict.fromkeys(("Msgs sent", "sum#mpicount.send"), "sent"),  # mpi.message.count
    **dict.fromkeys(("Msgs recvd", "sum#mpicount.recv"), "received"),
    **dict.fromkeys(("Collectives", "sum#mpicount.coll"), "collectives"),
    **dict.fromkeys(("Msg size (avg)", "avg#mpimsg.avg"), "size"),  # mpi.message.size [B]
    **dict.fromkeys(("Msg size (max)", "max#mpimsg.max"), "largest"),
}
MEANING: Final = {
    EXCLUSIVE: "exclusive: without called regions, so times of regions may be added",
    INCLUSIVE: "inclusive: with called regions, so times of regions must not be added",
    UNTOLD: "exclusive or inclusive: the file does not contain which",
}
KINDS: Final = {"inc": INCLUSIVE, "i": INCLUSIVE, "exc": EXCLUSIVE, "e": EXCLUSIVE}
DURATION = re.compile(r"time\.(inclusive\.)?duration(\.ns)?|(inclusive_)?time")
ALIAS = re.compile(
    r"(?:(min|max|avg|total)\s+)?time(/rank)?(?:\s*\((inc|i|exc|e|s|sec)\))?", re.IGNORECASE
)
SCALED = ("scale", "iscale", "inclusive_scale")
UNITS: Final = {"sec": 1.0, "s": 1.0, "msec": 1e-3, "usec": 1e-6, "nsec": 1e-9, "ns": 1e-9}
ACROSS: Final = ("max", "", "avg", "sum")  # the best first; the fastest rank (min) decides nothing
PARTS = ("data", "columns", "column_metadata", "nodes")
ROWS = re.compile(r'\s*\{\s*"data"\s*:\s*\[(?=\s*\[)')
ROW_END = re.compile(r"\]\s*,(?=\s*\[)")
COLUMNS = '"columns"'  # what follows the rows
BLOCK = 2**16  # characters of rows that are parsed at a time
WRITE: Final = Command(
    ("cali-query", "-q", "select * format json-split", Choice("FILE.cali")), writes="FILE.json"
)
ASK = f"Write it again: {WRITE}"
INTO_JSON: Final = ("cali-query", "-q", "select * format json-split")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)  # looked up for each record
class TimeColumn:
    """A column of times, or of counts where `kind` is `COUNT`."""

    name: str  # of a count what it counts
    kind: str  # exclusive or inclusive of the regions called, or untold
    across: str  # "" of each rank, else what was done to the ranks: "max", "avg", "sum", "min"
    scale: float  # seconds in its unit


def time_column(name: str, unit: str | None = None) -> TimeColumn | None:
    """Tell what a column is by its name; None of one that is no time and no count of a region.

    >>> time_column("max#inclusive#sum#time.duration").across
    'max'
    >>> time_column("sum#time.duration.ns").scale
    1e-09
    >>> time_column("Node order") is None
    True
    """
    if name in COUNTS:
        return TimeColumn(name=COUNTS[name], kind=COUNT, across="", scale=1.0)
    scale = UNITS.get(unit or "")
    *steps, base = name.split("#")
    if match := DURATION.fullmatch(base):
        is_inclusive = "inclusive" in base or bool({"inclusive", *SCALED[1:]} & set(steps))
        steps = [x for x in steps if x not in ("inclusive", *SCALED)]
        if not set(steps) <= {"sum", "min", "max", "avg"} or steps[-1:] not in ([], ["sum"]):
            return None  # as the longest of single visits, which is no time of the region
        outer = [x for x in steps[:-1] if x != "sum"]
        across = outer[0] if outer else ("sum" if len(steps) > 1 else "")
        is_scaled = len(set(SCALED) & set(name.split("#"))) > 0
        by_name = 1e-9 if match[2] and not is_scaled else 1.0
        return TimeColumn(
            name=name,
            kind=INCLUSIVE if is_inclusive else EXCLUSIVE,
            across=across,
            scale=by_name if scale is None or is_scaled else scale,
        )
    if match := ALIAS.fullmatch(name):
        across = (match[1] or "").lower().replace("total", "sum")
        plain = UNTOLD if across or match[2] else EXCLUSIVE  # reports leave it out
        kind = KINDS.get((match[3] or "").lower(), plain)
        return TimeColumn(name=name, kind=kind, across=across, scale=scale or 1.0)
    return None


def chosen_column(columns: Iterable[TimeColumn], wanted: str | None, faults: Faults) -> TimeColumn:
    """Choose the column that is the time: `wanted` is "exclusive", "inclusive" or a name.

    Default: exclusive, whose regions add up to the total; inclusive where a file has no other.
    """
    times = [x for x in columns if x.kind != COUNT]
    usable = [x for x in times if x.across in ACROSS or x.name == wanted]
    usable.sort(
        key=lambda x: (list(MEANING).index(x.kind), *(x.across == y for y in reversed(ACROSS)))
    )
    if not usable:
        faults.refuse(
            "must have a column of times, got none. Profile it with CALI_CONFIG=runtime-profile "
            "or hatchet-region-profile."
        )
    column = next((x for x in usable if wanted in (None, x.name, x.kind)), None)
    if column is None:
        listed = shown(", ".join(f"{x.name} ({x.kind})" for x in usable), limit=200)
        near = did_you_mean(str(wanted), [x.name for x in usable])
        faults.refuse(
            f"must have the metric {shown(repr(wanted))}, got {listed}.{near} Choose one of "
            f"them: {metric_argument(faults)}"
        )
    return column


def notes_on(chosen: Sequence[TimeColumn]) -> list[str]:
    """Say which column is the time of each file, and what that means."""
    names = list(dict.fromkeys(column.name for column in chosen))
    first = chosen[0]
    notes = [f"The time is {shown(', '.join(names))}, {MEANING[first.kind]}."]
    if len({(column.kind, column.across) for column in chosen}) > 1:
        notes.append(
            "The files have different kinds of time. Import them separately, or compare them "
            "with care."
        )
    if first.across in {"max", "avg"}:
        over = {"max": "the slowest rank", "avg": "the mean of the ranks"}[first.across]
        notes.append(f"The times are those of {over}, as Caliper wrote them.")
    return notes


class Records:
    """Times by column, region and rank, added up where several records tell of one.

    Counts are kept too where they are asked for.
    """

    def __init__(self, faults: Faults, *, counts: bool = False) -> None:
        self.faults = faults
        self._counts = counts
        self.metadata: dict[str, Any] = {}
        self.outside: dict[TimeColumn, float] = {}  # of what is in no region [s]
        self.columns: dict[TimeColumn, RegionTimes] = {}
        self.ranks: set[int] = set()  # that any record is of
        self._paths = CallPaths(faults)

    def add(
        self,
        path: tuple[str, ...],
        rank: Any,
        times: Mapping[TimeColumn, Any],
        *,
        line: int | None = None,
        field: str = "",
    ) -> None:
        """Take in one record, whose rank and times are checked here."""
        place = 0 if rank is None else whole(rank)
        if place is None:
            self._refuse(f"must be a rank, got {shown(repr(rank))}.", line, field or "mpi.rank")
        if rank is not None:
            self.ranks.add(place)
            if len(self.ranks) > MOST_PLACES:
                self._refuse(f"must have at most {MOST_PLACES:,} ranks, got more.", line, field)
        for column, value in times.items():
            if value is None or (column.kind == COUNT and not self._counts):
                continue
            time = finite(value)
            if time is None or time < 0:
                what = "a time" if column.kind != COUNT else "a number"
                got = shown(repr(value))
                self._refuse(
                    f"must be {what} of at least 0, got {got}.", line, field or column.name
                )
            time *= column.scale
            if not path:
                self.outside[column] = max(self.outside.get(column, 0.0), time)
                continue
            if column not in self.columns:
                self.columns[column] = RegionTimes()
            if path not in self.columns[column]:
                self._paths.checked(path, field, line)
            if len(self.columns[column]) >= MOST_ROWS:
                self._refuse(f"must have at most {MOST_ROWS:,} times, got more.", line, field)
            self.columns[column].add(path, place, time)

    def profile(self, column: TimeColumn) -> CallProfile:
        """Make a profile of one column."""
        return CallProfile(
            faults=self.faults,
            times=self.columns[column],
            ranks=len(self.ranks) or None,
            metadata=self.metadata,
            divide=not self.ranks and (column.across == "sum" or self._is_summed(column)),
        )

    def _is_summed(self, column: TimeColumn) -> bool:
        """Tell whether an inclusive time is that of all ranks, as the others of its file are."""
        is_inclusive = column.kind == INCLUSIVE and column.across == ""
        return is_inclusive and any(x.across == "sum" for x in self.columns)

    def _refuse(self, message: str, line: int | None, field: str) -> NoReturn:
        self.faults.refuse(f"{message} Profile the run again.", line=line, field=shown(field))


def _add_json(path: Path, records: Records, faults: Faults) -> None:
    """Read a file of either form."""
    document, blocks = _document(path, faults)
    if isinstance(document, list):
        _add_objects(document, records, "", faults)
    elif isinstance(document, dict) and isinstance(document.get("records"), list):
        _add_objects(document["records"], records, "records", faults)
        metadata = document.get("globals")
        records.metadata = metadata if isinstance(metadata, dict) else {}
    elif isinstance(document, dict) and all(isinstance(document.get(x), list) for x in PARTS):
        _add_table(document, blocks, records, faults)
        records.metadata = {x: y for x, y in document.items() if x not in PARTS}
    else:
        got = ", ".join(document) if isinstance(document, dict) else "another kind of JSON"
        faults.refuse(
            f"must have data, columns, column_metadata and nodes, got {shown(got)}. {ASK}"
        )


def _document(path: Path, faults: Faults) -> tuple[Any, Iterable[list[Any]]]:
    """Read a document: of a table, without its rows, which come block by block."""
    text = document_text(path, faults)
    start = ROWS.match(text)
    columns = text.find(COLUMNS, start.end()) if start else -1
    stop = text.rfind("]", 0, columns) if columns > 0 else -1
    if start is None or stop < 0:
        document = parsed(text, faults)
        rows = document.get("data") if isinstance(document, dict) else None
        return document, [rows] if isinstance(rows, list) else []
    rest = text[: start.end()] + text[stop:]
    document = parsed(rest, faults, line=1 + text.count("\n", start.end(), stop))
    return document, _blocks(text, start.end(), stop, faults)


def _blocks(text: str, start: int, stop: int, faults: Faults) -> Iterator[list[Any]]:
    """Parse the rows of a table some thousands at a time, for there may be millions."""
    line = 1 + text.count("\n", 0, start)
    while start < stop:
        end = ROW_END.search(text, min(start + BLOCK, stop), stop)
        last = end.start() + 1 if end else stop
        yield parsed(f"[{text[start:last]}]", faults, line=line)
        line += text.count("\n", start, last)
        start = end.end() if end else stop


def _add_objects(listed: list[Any], records: Records, key: str, faults: Faults) -> None:
    """Add records that are objects, with their regions as text."""
    columns = {name: time_column(name) for x in listed if isinstance(x, dict) for name in x}
    for i, one in enumerate(listed):
        field = f"{key}[{i}]"
        path = one.get("path", "") if isinstance(one, dict) else None
        if not isinstance(path, str):
            faults.refuse(f"must be a record with a path as text. {ASK}", field=field)
        times = {x: one[name] for name in one if (x := columns[name]) is not None}
        regions = tuple(name for name in path.split("/") if name)
        records.add(regions, one.get("mpi.rank", one.get("rank")), times, field=field)


def _add_table(
    document: dict[str, Any], blocks: Iterable[list[Any]], records: Records, faults: Faults
) -> None:
    """Add the rows of a table, with their regions in a tree."""
    names = document["columns"]
    details = document["column_metadata"]
    if len(details) != len(names) or not all(isinstance(x, dict) for x in details):
        faults.refuse(
            f"must describe each of {len(names)} columns. {ASK}", field="column_metadata"
        )
    units = [of_column.get("attribute.unit") for of_column in details]
    for i, unit in enumerate(units):
        if unit is not None and not isinstance(unit, str):
            field = f"column_metadata[{i}].attribute.unit"
            faults.refuse(f"must be text, got {shown(repr(unit))}. {ASK}", field=field)
    columns = [time_column(str(x), unit) for x, unit in zip(names, units, strict=True)]
    if "path" not in names:
        listed = shown(", ".join(map(str, names)))
        faults.refuse(f"must have a path of regions, got {listed}. {ASK}", field="columns")
    at_path = names.index("path")
    at_rank = next((names.index(x) for x in ("mpi.rank", "rank") if x in names), None)
    paths = _paths(document["nodes"], faults)
    for i, row in enumerate(chain.from_iterable(blocks)):
        field = f"data[{i}]"
        if not isinstance(row, list) or len(row) != len(names):
            faults.refuse(f"must have {len(names)} values. {ASK}", field=field)
        node = row[at_path]
        if node is not None and (not isinstance(node, int) or not 0 <= node < len(paths)):
            faults.refuse(
                f"must be in a region that is listed, got {shown(repr(node))}. {ASK}", field=field
            )
        times = {x: y for x, y in zip(columns, row, strict=True) if x is not None}
        rank = None if at_rank is None else row[at_rank]
        records.add(() if node is None else paths[node], rank, times, field=field)


def _paths(nodes: list[Any], faults: Faults) -> list[tuple[str, ...]]:
    """Give the path of each node of the tree, parents standing before their children."""
    paths: list[tuple[str, ...]] = []
    checked = CallPaths(faults)
    for i, node in enumerate(nodes):
        parent = node.get("parent") if isinstance(node, dict) else -1
        label = node.get("label") if isinstance(node, dict) else None
        above = None if parent is None else whole(parent, most=i - 1)
        if not isinstance(label, str) or (parent is not None and above is None):
            faults.refuse(f"must have a label, and a parent above it. {ASK}", field=f"nodes[{i}]")
        beyond = () if above is None else paths[above]
        paths.append(checked.below(beyond, label, f"nodes[{i}]"))
    return paths


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


def _add_cali(path: Path, records: Records, faults: Faults) -> None:
    """Read a `.cali` file, which needs the caliper-reader that hatchet brings."""
    lines = text_lines(path, faults)
    first = next(lines)
    reader = library("caliperreader", faults, extra="caliper", otherwise=_without(faults))
    stream = reader.CaliperStreamReader()
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
        times = {x: record[name] for name in record if (x := columns[name]) is not None}
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
        records = records_of(path, faults)
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


def records_of(path: Path, faults: Faults, *, counts: bool = False) -> Records:
    """Read a file in whichever form it is; its counts only where they are asked for."""
    head = beginning(path)
    if not head:
        faults.refuse("must be a Caliper profile, got an empty file. Profile the run again.")
    if head.startswith(CALI) or (
        path.suffix == ".cali" and not head.lstrip().startswith((b"{", b"["))
    ):
        add = _add_cali
    else:
        add = _add_json
    records = Records(faults, counts=counts)
    add(path, records, faults)
    return records
