"""The header of a table of measurements: what each column is, or what is wrong with it.

A header that another tool wrote says `ranks` or `runtime`, or stands between semicolons. Each
such fault is named with what to write instead.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from parcast.files.decoding import in_shell
from parcast.files.faults import Faults
from parcast.timings.columns import (
    AXIS,
    DOMAINS,
    LABELS,
    SPEEDUP,
    Domain,
    axis_name_fault,
    is_name_of_time,
    time_unit,
)
from parcast.units import NUMBER, shown

WORDS_FOR_P = re.compile(
    r"p|np|pes|npes|cpus|(n|num_|mpi_)?(procs?|processors|processes|ranks|tasks|nodes|cores)"
    r"|(n|num_)?(threads|workers)",
    re.IGNORECASE,
)
WORDS_FOR_TIME = re.compile(
    r"(t|time|sec|secs|seconds|milliseconds|duration|elapsed|(elapsed|run|wall)_?time)"
    r"([ _/]*[(\[]?m?s[)\]]?)?",  # "runtime_ms", "walltime [s]", "Time/s"
    re.IGNORECASE,
)
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, slots=True)
class Column:
    """What one column of a file holds."""

    name: str  # as the table of measurements calls it: "time" for every column of times
    title: str  # as the header of the file calls it
    scale: float = 1.0  # turns its numbers into SI
    is_speedup: bool = False  # speedups stand where times are read

    @property
    def domain(self) -> Domain:
        """What its numbers may be."""
        return SPEEDUP if self.is_speedup else DOMAINS.get(self.name, AXIS)

    @property
    def is_text(self) -> bool:
        """Whether it holds names and not numbers."""
        return self.name in LABELS


def read_header(
    header: str, line: int, below: Sequence[str], faults: Faults, *, ignore: Sequence[str] = ()
) -> list[Column | None]:
    """Read the line that names the columns: a `Column` for each, None where it has no meaning.

    `below` are some lines that follow it; `ignore` are titles to pass over. The pair of columns
    `metric` and `value` is told by its titles.
    """
    titles = _titles(header, line, below, faults)
    is_pair = {"metric", "value"} <= set(titles)
    columns: list[Column | None] = []
    seen: set[str] = set()
    for i, title in enumerate(titles):
        column, fault = (None, "") if title in ignore else _meaning(title, is_pair=is_pair)
        if title and title in seen:
            column, fault = None, "must stand in the header once, got it twice. Remove one."
        if fault:
            faults.add(fault, line=line, field=shown(title) or f"column {i + 1}")
        seen.add(title)
        columns.append(column)
    for name in ignore:
        if name not in titles:
            fault = f"must be a column to be ignored, got {_listed(titles)}."
            faults.add(fault, line=line, field=shown(name))
    _note_missing(titles, columns, line, faults)
    return columns


def _titles(header: str, line: int, below: Sequence[str], faults: Faults) -> list[str]:
    """Split a header into the titles of its columns, or refuse what is none."""
    titles: list[str] = []
    broken = ""
    try:
        [titles] = csv.reader([header], strict=True, skipinitialspace=True)
    except csv.Error as error:
        broken = str(error)
    if "p" not in map(str.strip, titles):
        refuse_other_separators(header, line, below, faults)
        if any(re.fullmatch(f"[-+]?{NUMBER}", title.strip()) for title in titles):
            faults.refuse(
                "must name the columns, got numbers. Put a line such as p,time_s above it.",
                line=line,
            )
    if broken:
        faults.refuse(
            f"must name the columns, got text that cannot be split ({broken}). "
            "Check its quotation marks.",
            line=line,
        )
    return [title.strip() for title in titles]


def _meaning(title: str, *, is_pair: bool) -> tuple[Column | None, str]:
    """Tell what a column holds, or what is wrong with its title."""
    if title in {"p", "repetition", *LABELS}:
        return Column(title, title), ""
    if is_pair and title in {"metric", "value"}:
        return Column(title if title == "metric" else "time", title), ""
    scale = time_unit(title)
    if scale is not None:
        return Column("time", title, scale), ""
    if title.lower() == "time":
        return None, "must end in its unit, got none. Rename it to time_s or time_ms."
    if not title:
        return None, "must have a name, got nothing. Name it or remove it."
    fault = axis_name_fault(title)
    return (None, fault.fault) if fault else (Column(title, title), "")


def _note_missing(
    titles: Sequence[str], columns: Sequence[Column | None], line: int, faults: Faults
) -> None:
    """Note that there is no column of processors or of times, or more than one of times."""
    if "p" not in titles:
        like_p = [title for title in titles if WORDS_FOR_P.fullmatch(title)]
        remedy = f"{_rename(like_p)} to p." if like_p else "Add the number of processors."
        if len(like_p) == 1 and "nodes" in like_p[0].lower():
            remedy = "Multiply the nodes by the processors of each, and rename it to p."
        faults.add(
            f"must be a column, got {_listed(like_p or titles)}. {remedy}", line=line, field="p"
        )
    times = [column.title for column in columns if column and column.name == "time"]
    for title in times[1:]:
        faults.add(
            f"must be the only time, got {times[0]} as well. Keep one of them.",
            line=line,
            field=title,
        )
    if not times and not any(map(is_name_of_time, titles)):
        like_time = [title for title in titles if WORDS_FOR_TIME.fullmatch(title)]
        remedy = "Add it, or time_ms, or a pair metric,value."
        if like_time:
            remedy = f"{_rename(like_time)} to time_s or time_ms."
        got = _listed(like_time or titles)
        faults.add(f"must be a column, got {got}. {remedy}", line=line, field="time_s")


def _rename(titles: Sequence[str]) -> str:
    """Begin the advice to rename a column."""
    return "Rename it" if len(titles) == 1 else "Rename one of them"


def _listed(titles: Sequence[str]) -> str:
    """Write titles one after another, as a message may show them."""
    return shown(", ".join(titles))


def refuse_other_separators(header: str, line: int, below: Sequence[str], faults: Faults) -> None:
    """Refuse columns between semicolons, tabs, bars or blanks, and say how to convert them."""
    marks = {
        mark: name for mark, name in SEPARATORS.items() if header.count(mark) > header.count(",")
    }
    if not marks and "," not in header and len(header.split()) > 1:
        marks = {" ": "blanks"}
    for mark, name in marks.items():
        has_decimal_commas = any(re.search(r"\d,\d", row) for row in below)
        got = f"{name} and decimal commas" if has_decimal_commas else name
        change = f"',{mark}' '.,'" if has_decimal_commas else f"'{mark}' ','"
        change = change.replace("\t", "\\t")
        squeeze = "-s " if mark == " " else ""
        path = in_shell(faults.path)
        faults.refuse(
            f"must separate columns by commas, got {got}. "
            f"Convert it: tr {squeeze}{change} < {path} > converted.csv",
            line=line,
        )
