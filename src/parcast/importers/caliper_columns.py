"""Records of a Caliper profile, and which of its columns is the time of a region.

Caliper names a column by what was done to it, the last step first: `max#inclusive#sum#
time.duration` is the largest over the ranks of the sum over the visits, inclusive of the regions
called. Reports may call it by an alias instead: `time`, `time (inc)`, `Max time/rank`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from parcast.files.faults import Faults
from parcast.files.numbers import finite, whole
from parcast.importers.axes import metric_argument
from parcast.importers.call_profile import CallPaths, CallProfile, RegionTimes
from parcast.timings.columns import MOST_ROWS
from parcast.units import shown
from parcast.words import did_you_mean

EXCLUSIVE: Final = "exclusive"
INCLUSIVE: Final = "inclusive"
UNTOLD: Final = "untold"
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)  # looked up for each record
class TimeColumn:
    """A column of times."""

    name: str
    kind: str  # exclusive or inclusive of the regions called, or untold
    across: str  # "" of each rank, else what was done to the ranks: "max", "avg", "sum", "min"
    scale: float  # seconds in its unit


def time_column(name: str, unit: str | None = None) -> TimeColumn | None:
    """Tell what a column is by its name; None of one that is no time of a region.

    >>> time_column("max#inclusive#sum#time.duration").across
    'max'
    >>> time_column("sum#time.duration.ns").scale
    1e-09
    >>> time_column("Node order") is None
    True
    """
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
    usable = [x for x in columns if x.across in ACROSS or x.name == wanted]
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


Path = tuple[str, ...]

MOST_PLACES: Final = 1_000_000  # different ranks of a file


class Records:
    """Times by column, region and rank, added up where several records tell of one."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.metadata: dict[str, Any] = {}
        self.outside: dict[TimeColumn, float] = {}  # of what is in no region [s]
        self.columns: dict[TimeColumn, RegionTimes] = {}
        self._ranks: set[int] = set()
        self._paths = CallPaths(faults)

    def add(
        self,
        path: Path,
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
            self._ranks.add(place)
            if len(self._ranks) > MOST_PLACES:
                self._refuse(f"must have at most {MOST_PLACES:,} ranks, got more.", line, field)
        for column, value in times.items():
            if value is None:
                continue
            time = finite(value)
            if time is None or time < 0:
                got = shown(repr(value))
                self._refuse(
                    f"must be a time of at least 0, got {got}.", line, field or column.name
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
            ranks=len(self._ranks) or None,
            metadata=self.metadata,
            divide=column.across == "sum" or self._is_summed(column),
        )

    def _is_summed(self, column: TimeColumn) -> bool:
        """Tell whether an inclusive time is that of all ranks, as the others of its file are."""
        is_inclusive = column.kind == INCLUSIVE and column.across == ""
        return is_inclusive and not self._ranks and any(x.across == "sum" for x in self.columns)

    def _refuse(self, message: str, line: int | None, field: str) -> NoReturn:
        """Refuse the file with a fault at some place."""
        self.faults.refuse(f"{message} Profile the run again.", line=line, field=shown(field))
