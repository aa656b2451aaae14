"""Reading the header of a table: names of parcast and of the user first, then what titles say.

Whatever is left is a parameter.
"""

import csv
import fnmatch
from collections.abc import Sequence
from dataclasses import replace

from parcast.errors import Argument, ParameterError, Text
from parcast.files.document import unguarded
from parcast.files.faults import Faults
from parcast.timings.columns import (
    LABELS,
    MEMORY,
    MOST_COLUMNS,
    axis_name_fault,
    beside_unit,
    memory_unit,
    part_unit,
    time_unit,
)
from parcast.timings.measure import Measure
from parcast.timings.tables.header import (
    ColumnMeaning,
    Header,
    called,
    ignored,
    listed,
    note_missing_p,
)
from parcast.timings.tables.layout import FoundLayout
from parcast.timings.tables.meanings import understand
from parcast.timings.tables.options import TableOptions
from parcast.timings.tables.titles import Title, rate_unit_of, time_unit_of, title_of
from parcast.units import TIME_UNITS, shown
from parcast.words import did_you_mean

ROLES = ("p", "repetition", *LABELS)


def read_header(
    found: FoundLayout,
    faults: Faults,
    options: TableOptions,
    *,
    is_whole: bool,
    is_verbatim: bool = False,
) -> Header:
    """Read the line that names the columns."""
    line, _ = found.header
    titles = _titles(found, faults)
    if len(titles) > MOST_COLUMNS:
        faults.refuse(
            f"must have at most {MOST_COLUMNS:,} columns, got {len(titles):,}. Leave out "
            "those that are not needed.",
            line=line,
        )
    header = Header(
        titles=titles,
        line=line,
        faults=faults,
        options=options,
        rows=_whole_rows(found, len(titles)),
        is_whole=is_whole,
        is_verbatim=is_verbatim,
        columns=[None] * len(titles),
    )
    _require_titles("ignore", options.ignore, titles, faults.path)
    _require_titles("columns", _old_titles(options, titles), titles, faults.path)
    _require_titles("rate", [options.rate] if options.rate else [], titles, faults.path)
    units = _row_of_units(header)
    _take_named(header, units)
    understand(header)
    _take_axes(header)
    if not (header.has("p") or header.has("rank") or options.p or header.is_p_refused):
        note_missing_p(header)
    if options.p and "p" in titles:
        faults.add(
            "must not be a column of a table that is read without p.",
            line=header.line,
            field="p",
            hint=("Leave out the column, or ", Argument("along"), ".") if options.along else "",
        )
    return header


def _titles(found: FoundLayout, faults: Faults) -> list[str]:
    line, text = found.header
    try:
        titles = found.layout.split_one(text)
    except csv.Error as error:
        faults.refuse(
            f"must name the columns, got text that cannot be split ({error}). "
            "Check its quotation marks.",
            line=line,
        )
    return [unguarded(title.strip()) for title in titles]


def _whole_rows(found: FoundLayout, width: int) -> list[list[str]]:
    """Split the rows that were looked at, without those that do not fit the header."""
    rows = []
    for _, text in found.rows:
        try:
            cells = found.layout.split_one(text)
        except csv.Error:
            continue
        if len(cells) == width:
            rows.append([cell.strip() for cell in cells])
    return rows


def _old_titles(options: TableOptions, titles: Sequence[str]) -> list[str]:
    """List the titles that are named otherwise, those of a product one by one."""
    old = []
    for title in options.columns.values():
        old += [title] if title in titles else [part.strip() for part in title.split("*")]
    return old


def _require_titles(
    argument: str, wanted: Sequence[str], titles: Sequence[str], path: str
) -> None:
    """Refuse an argument that names a column which the file does not have."""
    for name in wanted:
        if name not in titles:
            raise ParameterError(
                argument,
                must=f"name columns of {path}",
                got=shown(repr(name)),
                hint=f"{did_you_mean(name, titles)} There are {listed(titles)}.".lstrip(),
            )


def _row_of_units(header: Header) -> list[str]:
    """Take the row below the titles, if it holds their units; "" for each where it does not."""
    none = [""] * len(header.titles)
    if not header.rows or any(cell[:1].isdigit() for cell in header.rows[0]):
        return none
    bare = [cell.strip("[](){} ").strip() for cell in header.rows[0]]
    units = [time_unit_of(cell) or rate_unit_of(cell) for cell in bare]
    words = {"", "-", "--", "1", "#", "count", "counts", "number", "none", "n/a", "mb", "gb", "kb"}
    is_unit = [bool(unit) or cell.lower() in words for cell, unit in zip(bare, units, strict=True)]
    if not any(units) or not all(is_unit) or "1" in header.rows[0]:
        return none
    header.has_unit_row = True
    header.rows = header.rows[1:]
    header.said.append("the units are in the row below the titles")
    return units


def _take_named(header: Header, units: Sequence[str]) -> None:
    """Take the columns that have parcast's names, or get one; leave the others open."""
    options, titles = header.options, header.titles
    new_names = _renamed(header)
    called = [None if t in options.ignore else new_names.get(t, t) for t in titles]
    is_pair = {"metric", "value"} <= set(called)
    quantity = _quantity_of_pair(header, called) if is_pair else "time"
    repeats = _repeated(header)
    seen: dict[str, str] = {}
    for i, (title, name) in enumerate(zip(titles, called, strict=True)):
        is_named = title in new_names or title in repeats
        if name is None or _is_empty(header, i) or (not is_named and _is_of_pandas(header, i)):
            continue
        called_as = (beside_unit(name) or (name,))[0]  # in whatever unit
        if called_as in seen and not ("*" in options.columns.get(name, "") and title in new_names):
            other, is_new = seen[called_as], title in new_names
            _refuse_twice(header, called_as, title, other, is_renamed=is_new)
            continue
        seen.setdefault(called_as, title)
        unit = units[i]
        if title in repeats:
            header.columns[i] = _time_column(title, unit, "")
        elif is_pair and name in {"metric", "value"}:
            kind = "metric" if name == "metric" else "time"
            header.columns[i] = ColumnMeaning(kind, name, quantity=quantity)
        elif beside := _unknown_in_part(header, name, title, unit, is_new=title in new_names):
            header.columns[i] = beside
        elif name in ROLES or (name == "rank" and title in new_names):
            header.columns[i] = ColumnMeaning(name, title)
        elif title in new_names and (name == "time" or time_unit(name)):
            header.columns[i] = _time_column(title, unit, name)
            _say_unit(header, header.columns[i], name)
        elif name == title and time_unit(name) and not _is_minimum(title, titles):
            header.columns[i] = _time_column(title, unit, name)
        elif name == "speedup" and title in new_names:
            header.measure = Measure(quantity="speedup", title=title)
            header.columns[i] = ColumnMeaning("time", title, quantity="speedup")
        elif title in new_names:
            _take_axis(header, i, name)
        else:
            header.open[i] = _opened(title, unit, titles)


def _opened(title: str, unit: str, titles: Sequence[str]) -> Title:
    """Take a title apart, with the unit that stands below it."""
    own = title_of(title)
    if _is_minimum(title, titles):
        return replace(own, unit="", statistic="min")
    if unit and not own.unit:
        of_time = time_unit_of(unit)
        return replace(own, unit=of_time, rate=own.rate if of_time else unit)
    return own


def _is_minimum(title: str, titles: Sequence[str]) -> bool:
    """Whether `time_min` stands beside `time_max` or a mean, and is no time in minutes."""
    if not title.lower().endswith("_min"):
        return False
    own = title_of(title)
    others = (title_of(other) for other in titles if other != title)
    beside = {other.statistic for other in others if other.words == own.words}
    return bool(beside & {"max", "mean", "median"})


def _quantity_of_pair(header: Header, called: Sequence[str | None]) -> str:
    """Tell whether a pair metric,value holds times or, without any, speedups."""
    metrics = {cell.lower() for cell in header.cells(called.index("metric"))}
    if "speedup" not in metrics or any(metric.startswith("time") for metric in metrics):
        return "time"
    header.measure = Measure(quantity="speedup", title="speedup")
    return "speedup"


def _unknown_in_part(
    header: Header, name: str, title: str, unit: str, *, is_new: bool
) -> ColumnMeaning | None:
    """Make a column of deviations, of memory, or of parts of the time beside the time itself."""
    if is_deviation(name):
        of_name = time_unit_of(name.removeprefix("deviation_"))
        return ColumnMeaning("deviation", title, unit or title_of(title).unit or of_name)
    titles = header.titles
    if not is_new and ("rank" in titles or not any(_is_of_time(x) for x in titles)):
        return None
    found = memory_unit(name) or part_unit(name)
    if found is None:
        return None
    if found[0] in MEMORY and not is_new and name not in MEMORY:
        header.said.append(f"{title} is peak memory, which is no parameter")
    return ColumnMeaning(found[0], title, found[1])


def _is_of_time(title: str) -> bool:
    own = title_of(title)
    return bool(time_unit(title)) or own.is_time or bool(own.rate)


def is_deviation(name: str) -> bool:
    """Whether a column is called parcast's name of standard deviations: `deviation_s`."""
    return name == "deviation" or bool(
        name.startswith("deviation_") and time_unit_of(name.removeprefix("deviation_"))
    )


def _is_of_pandas(header: Header, i: int) -> bool:
    """Leave out a first column that numbers the rows; refuse `time.1` beside `time`."""
    title, cells = header.titles[i], header.cells(i)
    first, _, number = title.rpartition(".")
    if first in header.titles and first and number.isdigit():
        _refuse_twice(header, first, title, first, is_renamed=False)
        return True
    numbers = ([str(start + k) for k in range(len(cells))] for start in (0, 1))
    if i == 0 and not title and len(cells) > 1 and cells in numbers:
        header.left_out.append("the numbers of rows")
        return True
    return False


def _is_empty(header: Header, i: int) -> bool:
    """Whether a column has neither a title nor cells, as behind a separator at the end."""
    return not header.titles[i] and bool(header.rows) and not any(header.cells(i))


def _renamed(header: Header) -> dict[str, str]:
    """Give new names by the titles that get them, each factor of a product its own."""
    names: dict[str, str] = {}
    for new, old in header.options.columns.items():
        if old in header.titles:
            names[old] = new
            continue
        factors = [part.strip() for part in old.split("*")]
        if len({*factors}) < len(factors):
            raise ParameterError(
                "columns",
                must="name each factor of a product once",
                got=shown(repr(old)),
                hint="Multiply different columns, such as ranks*threads.",
            )
        names |= dict.fromkeys(factors, new)
    return names


def _repeated(header: Header) -> set[str]:
    """Titles of the columns that are repetitions: names, or patterns such as run*."""
    repeated: set[str] = set()
    for pattern in header.options.repeats:
        matching = fnmatch.filter(header.titles, pattern)
        _require_titles(
            "repeats", [] if matching else [pattern], header.titles, header.faults.path
        )
        repeated |= {*matching}
    return repeated


def _time_column(title: str, unit: str, name: str) -> ColumnMeaning:
    """Make a column of times, in the unit of its title, or else of the name it gets."""
    told = title_of(title).unit
    own = unit or told
    if own in TIME_UNITS:
        return ColumnMeaning("time", title, own)
    given = next((x for x, factor in TIME_UNITS.items() if factor == time_unit(name)), "")
    return ColumnMeaning("time", title, given, clock=own)


def _say_unit(header: Header, column: ColumnMeaning | None, name: str) -> None:
    """Say that the unit of a title counts, where the name has another."""
    if column and time_unit(name) not in (None, column.scale):
        header.said.append(
            f"{column.title} is in {column.unit}, as its title says, and not as {name} would be"
        )


def _refuse_twice(header: Header, name: str, title: str, other: str, *, is_renamed: bool) -> None:
    fault = "must appear in the header once, got it twice. Remove one."
    hint: Text = ""
    if other != title:
        fault = f"must be one column, got {other} and {title}."
        hint = ("Leave one out: ", ignored(other if is_renamed else title), ".")
    header.faults.add(fault, line=header.line, field=shown(name), hint=hint)


def _take_axes(header: Header) -> None:
    """Take what is left open for parameters, under their own names."""
    for i, title in list(header.open.items()):
        _take_axis(header, i, title.text)


def _take_axis(header: Header, i: int, name: str) -> None:
    """Take a column for a parameter, or say why it can be none."""
    fault, hint = _name_fault(name, header.titles[i])
    if fault:
        field = shown(name) or f"column {i + 1}"
        header.faults.add(fault, line=header.line, field=field, hint=hint)
        header.open.pop(i, None)
        return
    header.take(i, ColumnMeaning(name, header.titles[i]))


def _name_fault(name: str, title: str) -> tuple[str, Text]:
    """Say why no axis may have a name, and what to do; both empty where one may."""
    lowered = name.lower()
    if lowered == "time":
        use = ("Rename it to time_s or time_ms, or use ", called("time_s", title), ".")
        return "must end in its unit, got none.", use
    if not name:
        return "must have a name, got nothing. Name it or remove it.", ""
    fault = axis_name_fault(name)
    hint: Text = ""
    if fault and time_unit(lowered) is not None:
        hint = (f"Rename it to {lowered}, or use ", called(lowered, title), ".")
        fault = ParameterError(name, must=fault.must, got=fault.got)
    return (fault.fault if fault else ""), hint
