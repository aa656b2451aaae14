"""The header of a table of measurements: what each column is, or what is wrong with it.

A header that another tool wrote says `ranks` or `runtime`, or stands between semicolons. Each
such fault is named with what to write instead.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parcast.advice import Command
from parcast.errors import Argument, ParameterError, Text
from parcast.files.faults import Faults
from parcast.timings.columns import (
    AXIS,
    COMPUTED,
    DOMAINS,
    LABELS,
    MOST_COLUMNS,
    SPEEDUP,
    Domain,
    axis_name_fault,
    is_name_of_time,
    time_unit,
)
from parcast.units import NUMBER, shown
from parcast.words import did_you_mean

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
    header: str,
    line: int,
    below: Sequence[str],
    faults: Faults,
    *,
    ignore: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> list[Column | None]:
    """Read the line that names the columns: a `Column` for each, None where it has no meaning.

    `below` are some lines that follow it; `ignore` are titles of columns to ignore; `columns` are
    the titles of columns that are to be called otherwise. The pair of columns `metric` and
    `value` is known by its titles.
    """
    titles = _titles(header, line, below, faults)
    if len(titles) > MOST_COLUMNS:
        faults.refuse(
            f"must have at most {MOST_COLUMNS:,} columns, got {len(titles):,}. Leave out "
            "those that are not needed.",
            line=line,
        )
    _require_titles("ignore", ignore, titles, faults.path)
    _require_titles("columns", list((columns or {}).values()), titles, faults.path)
    names = {old: new for new, old in (columns or {}).items()}
    called = [None if title in ignore else names.get(title, title) for title in titles]
    is_pair = {"metric", "value"} <= set(called)
    found: list[Column | None] = []
    seen: dict[str, str] = {}
    for i, (title, name) in enumerate(zip(titles, called, strict=True)):
        column, fault = None, ""
        hint: Text = ""
        if name is not None:
            column, fault, hint = _meaning(name, title, is_pair=is_pair)
        if name and name in seen:
            column, fault = None, "must appear in the header once, got it twice. Remove one."
            hint = ""
            if seen[name] != title:
                column, fault = None, f"must be one column, got {seen[name]} and {title}."
                other = seen[name] if title in names else title
                hint = ("Leave one out: ", ignored(other), ".")
        if fault:
            faults.add(fault, line=line, field=shown(name or "") or f"column {i + 1}", hint=hint)
        if name is not None:
            seen.setdefault(name, title)
        found.append(column)
    _note_missing([name for name in called if name is not None], found, line, faults)
    return found


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
                hint=f"{did_you_mean(name, titles)} There are {_listed(titles)}.".lstrip(),
            )


def _titles(header: str, line: int, below: Sequence[str], faults: Faults) -> list[str]:
    """Split a header into the titles of its columns, or refuse what is none."""
    titles: list[str] = []
    broken = ""
    try:
        [titles] = csv.reader([header], strict=True, skipinitialspace=True)
    except csv.Error as error:
        broken = str(error)
    if "p" not in map(str.strip, titles):
        if below and not any(map(_looks_like_a_row, below)):
            faults.refuse(
                "must be a table of timings, got text without rows of numbers. A table has a line "
                "such as p,time_s and below it a line for each run, such as 8,15.2.",
                line=line,
            )
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


def _looks_like_a_row(text: str) -> bool:
    """Tell whether a quarter of the words of a line are numbers."""
    words = re.split(r"[\s,;|]+", text.strip())
    numbers = [word for word in words if re.fullmatch(rf"[-+]?{NUMBER}[a-zA-Z%]*", word)]
    return 4 * len(numbers) >= len(words)


def _meaning(name: str, title: str, *, is_pair: bool) -> tuple[Column | None, str, Text]:
    """Tell what a column holds, or what is wrong with its name and what to do.

    `name` is what it is called here, `title` what the file calls it.
    """
    if name in {"p", "repetition", *LABELS}:
        return Column(name, name), "", ""
    if is_pair and name in {"metric", "value"}:
        return Column(name if name == "metric" else "time", name), "", ""
    scale = time_unit(name)
    if scale is not None:
        return Column("time", name, scale), "", ""
    fault, hint = _name_fault(name, title)
    return (None if fault else Column(name, name)), fault, hint


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
    if lowered in COMPUTED:
        hint = ("Ignore it: ", ignored(title), ", or rename it.")
    elif time_unit(lowered) is not None:
        hint = (f"Rename it to {lowered}, or use ", called(lowered, title), ".")
    if fault and hint:
        fault = ParameterError(name, must=fault.must, got=fault.got)
    return (fault.fault if fault else ""), hint


def _note_missing(
    titles: Sequence[str], columns: Sequence[Column | None], line: int, faults: Faults
) -> None:
    """Note that there is no column of processors or of times, or more than one of times."""
    if "p" not in titles:
        like_p = [title for title in titles if WORDS_FOR_P.fullmatch(title)]
        hint: Text = (
            "Add the processor counts, or name their column: ",
            called("p", "NAME"),
            ".",
        )
        if len(like_p) == 1 and "nodes" in like_p[0].lower():
            hint = (
                "If p counts nodes, use ",
                called("p", like_p[0]),
                ".",
            )
        elif like_p:
            hint = (f"{_rename(like_p)} to p, or use ", called("p", like_p[0]), ".")
        got = _listed(like_p or titles)
        faults.add(f"must be a column, got {got}.", line=line, field="p", hint=hint)
    times = [column.title for column in columns if column and column.name == "time"]
    for title in times[1:]:
        faults.add(
            f"must be the only time, got {times[0]} as well. Keep one of them.",
            line=line,
            field=title,
        )
    if not times and not any(map(is_name_of_time, titles)):
        like_time = [title for title in titles if WORDS_FOR_TIME.fullmatch(title)]
        hint = (
            "Add it, or time_ms, or a pair metric,value, or name it: ",
            called("time_s", "NAME"),
        )
        if like_time:
            name = "time_ms" if re.search("ms|milli", like_time[0].lower()) else "time_s"
            use = called(name, like_time[0])
            hint = (f"{_rename(like_time)} to time_s or time_ms, or use ", use)
        got = _listed(like_time or titles)
        faults.add(f"must be a column, got {got}.", line=line, field="time_s", hint=(*hint, "."))


def ignored(title: str) -> Argument:
    """How messages say that a column of the file is to be ignored."""
    return Argument("ignore", [title], python=f"ignore=[{title!r}]")


def called(name: str, title: str) -> Argument:
    """How messages say what a column of the file holds."""
    return Argument("columns", {name: title}, python=f"columns={{{name!r}: {title!r}}}")


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
        change = (f",{mark}", ".,") if has_decimal_commas else (mark, ",")
        change = (change[0].replace("\t", "\\t"), change[1])
        squeeze = ("-s",) if mark == " " else ()
        convert = Command(("tr", *squeeze, *change), reads=faults.path, writes="converted.csv")
        faults.refuse(
            f"must separate columns by commas, got {got}. Convert it: {convert}",
            line=line,
        )
