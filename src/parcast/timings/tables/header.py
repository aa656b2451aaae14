"""The header of a table of measurements: what each column is, as far as it is understood.

Names of parcast's own (`p`, `time_s`, `machine`, ...) and names that the user gives come first
(`read_header`); then what other titles say, where they say it of one column only (`meanings`).
Whatever was understood beyond parcast's own names, or left out, is noted.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from parcast.advice import Choice
from parcast.errors import Argument, Text
from parcast.files.faults import Faults
from parcast.timings.columns import (
    AXIS,
    DOMAINS,
    LABELS,
    MEMORY,
    SPEEDUP,
    Domain,
)
from parcast.timings.measure import TIME, Measure
from parcast.timings.tables.cells import read_shown
from parcast.timings.tables.options import TableOptions
from parcast.timings.tables.titles import Title
from parcast.units import SIZE_UNITS, TIME_UNITS, shown


@dataclass(frozen=True, slots=True)
class ColumnMeaning:
    """What one column of a file holds."""

    name: str  # as the table of measurements calls it: "time" for every column of times
    title: str  # as the header of the file calls it
    unit: str = ""  # of its times: "ms"; "" where each cell may have its own
    clock: str = ""  # how its cells write 1:40: "min:s"
    quantity: str = "time"  # what stands where times are read: "time", "rate" or "speedup"
    label: str = ""  # value of the label that tells several columns of times apart

    @property
    def scale(self) -> float:
        """What turns its numbers into SI."""
        return (SIZE_UNITS if self.name in MEMORY else TIME_UNITS).get(self.unit, 1.0)

    @property
    def domain(self) -> Domain:
        """What its numbers may be."""
        if self.name == "time" and self.quantity != "time":
            return SPEEDUP if self.quantity == "speedup" else RATES
        return DOMAINS.get(self.name, AXIS)

    @property
    def is_text(self) -> bool:
        """Whether it holds names and not numbers."""
        return self.name in LABELS or self.name == "metric"


RATES = Domain(SPEEDUP.ok, "be a rate above 0", "Leave out runs that failed.")


@dataclass(kw_only=True, slots=True, eq=False)
class Header:
    """The columns of a table, as far as they are understood."""

    titles: Sequence[str]
    line: int
    faults: Faults
    options: TableOptions
    rows: Sequence[Sequence[str]]  # cells of the rows that were looked at
    is_whole: bool  # whether these are all
    is_verbatim: bool = False  # whether titles that are not ours are names of parameters
    has_unit_row: bool = False  # below the titles
    columns: list[ColumnMeaning | None] = field(default_factory=list)
    open: dict[int, Title] = field(default_factory=dict)  # columns not understood so far
    measure: Measure = TIME
    wide: str = ""  # the label that tells columns of times apart
    are_repeats: bool = False  # whether several columns of times are repetitions
    is_p_refused: bool = False  # whether it was noted why no column is p
    said: list[str] = field(default_factory=list)  # what was understood beyond our names
    left_out: list[str] = field(default_factory=list)  # titles

    def cells(self, i: int) -> list[str]:
        """Cells of a column in the rows that were looked at."""
        return [row[i] for row in self.rows]

    def take(self, i: int, column: ColumnMeaning) -> None:
        """Say what a column is."""
        self.columns[i] = column
        self.open.pop(i, None)

    def leave_out(self, i: int) -> None:
        """Leave a column out, and say so."""
        self.left_out.append(shown(self.open.pop(i).text))

    def is_numbers(self, i: int) -> bool:
        """Whether all cells of a column are numbers."""
        return not any(math.isnan(read_shown(cell).value) for cell in self.cells(i))

    def is_text(self, i: int) -> bool:
        """Whether no cell of a column is a number."""
        cells = self.cells(i)
        return bool(cells) and all(math.isnan(read_shown(cell).value) for cell in cells)

    def has(self, name: str) -> bool:
        """Whether a column of this name was found."""
        return any(column.name == name for column in self.found)

    @property
    def found(self) -> Iterator[ColumnMeaning]:
        """Columns that are understood."""
        return (column for column in self.columns if column)

    @property
    def times(self) -> list[ColumnMeaning]:
        """Columns of times."""
        return [column for column in self.found if column.name == "time"]

    @property
    def notes(self) -> list[str]:
        """What a reader must know, in a sentence."""
        left_out = [f"left out: {', '.join(self.left_out)}"] if self.left_out else []
        axes = [
            shown(x.title)
            for x in self.found
            if x.domain is AXIS and x.name not in {"n", "rank", "metric", "status", *LABELS}
        ]
        parameters = [f"parameters: {', '.join(axes)}"] if axes and self.said else []
        return [*self.said, *parameters, *left_out]


def note_missing_p(header: Header) -> None:
    """Note that there is no column of processors."""
    hint: Text = (
        "Add the processor counts, or name their column: ",
        called("p", Choice("NAME")),
        ".",
    )
    got = listed(header.titles)
    header.faults.add(f"must be a column, got {got}.", line=header.line, field="p", hint=hint)


def ignored(*titles: str) -> Argument:
    """How messages say that columns of the file are to be ignored."""
    return Argument("ignore", [*titles], python=f"ignore={[*titles]!r}")


def called(name: str, title: str) -> Argument:
    """How messages say what a column of the file holds."""
    return Argument("columns", {name: title}, python=f"columns={{{name!r}: {title!r}}}")


def listed(titles: Sequence[str]) -> str:
    """Write titles one after another, as a message may show them."""
    return shown(", ".join(titles))
