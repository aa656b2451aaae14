"""The rows of a table of measurements, block by block: text into checked columns.

Cells are turned into numbers and checked a column at a time. Rows are looked at one by one only
in a block where some row does not fit the header.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Text, spelled
from parcast.files.bounds import require_at_most
from parcast.files.decoding import in_shell
from parcast.files.faults import Faults
from parcast.files.numbers import is_no_float, number
from parcast.timings.columns import (
    AXIS,
    DOMAINS,
    LIMITS,
    MOST_CELLS,
    MOST_NAMES,
    MOST_ROWS,
    MOST_TEXT,
    axis_name_fault,
    is_label,
    is_name_of_time,
    label_meant,
    time_unit,
)
from parcast.timings.csv_header import Column, called, ignored
from parcast.timings.measurements import Measurements, measurements_of
from parcast.timings.oversubscribed import TIME, Oversubscribed
from parcast.units import NUMBER, shown


class Table:
    """The columns read so far, and the faults in them."""

    def __init__(self, columns: Sequence[Column | None], faults: Faults) -> None:
        self._faults = faults
        self._width = len(columns)
        place = {column.name: i for i, column in enumerate(columns) if column}
        self._metric = place.get("metric")
        self._read = {i: x for i, x in enumerate(columns) if x and i != self._metric}
        kinds = {i: object if x.is_text else np.float64 for i, x in self._read.items()}
        self._kinds = np.dtype([(f"f{i}", kinds.get(i, "U1")) for i in range(len(columns))])
        self._of_speedups = any(column.is_speedup for column in self._read.values())
        self._parts: dict[str, list[NDArray[Any]]] = {x.name: [] for x in self._read.values()}
        self._labels: dict[str, str] = {}  # each text met: without blanks, "" where it is no name
        self._metrics: dict[str, float | None] = {}  # seconds in its unit, None for no time
        self.left_out = Oversubscribed()
        self._place_of_p = place.get("p", 0)
        self._has_rows = False
        self._rows = 0  # kept
        self._text = 0  # characters of the labels

    def add_plain(self, text: str) -> bool:
        """Take in lines that are all rows without quotes or faults, which is quick.

        Of any others none is taken, and the answer is False.
        """
        if self._metric is not None or self._faults:
            return False
        table = _plain_table(text, self._kinds)
        if table is None:
            return False
        values: dict[str, NDArray[Any]] = {}
        for i, column in self._read.items():
            cells = table[f"f{i}"]
            if column.is_text:
                values[column.name], bad = self._names(cells.tolist())
            else:
                values[column.name], bad = _in_domain(cells.copy(), column, None)
            if bad.any():
                return False
        self._has_rows = True
        self._keep(values)
        return True

    def add(self, rows: Sequence[tuple[int, str]], *, is_utf8: bool) -> None:
        """Take in some rows, each the number of its line and its text."""
        lines, cells = self._split(rows, is_utf8=is_utf8)
        self._has_rows |= bool(lines)
        scale = None
        if self._metric is not None:
            self.left_out.look_at(cells[self._metric], cells[self._place_of_p])
            is_time, scale = self._choose_times(cells[self._metric], lines)
            lines = list(compress(lines, is_time))
            cells = [list(compress(values, is_time)) for values in cells]
        bad = np.zeros((len(lines), len(cells)), dtype=bool)
        values: dict[str, NDArray[Any]] = {}
        for i, column in self._read.items():
            if column.is_text:
                values[column.name], bad[:, i] = self._names(cells[i])
            else:
                values[column.name], bad[:, i] = _numbers(cells[i], column, scale)
        for row, i in np.argwhere(bad).tolist():
            column = self._read[i]
            must, got, hint = _cell_fault(column, cells[i][row].strip())
            fault, kind = f"must {must}, got {got}.", f"{must} {spelled(hint)}"
            if isinstance(hint, str):
                fault, hint = f"{fault} {hint}", ""
            field = shown(column.title)
            self._faults.add(fault, line=lines[row], field=field, kind=kind, hint=hint)
        if not self._faults:
            self._keep(values)

    def _keep(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Keep the columns of some rows, if there are not too many by now."""
        for name, part in values.items():
            self._parts[name].append(part)
        self._rows += len(part)
        columns = len(self._parts)
        for most, count, what in (
            (MOST_ROWS, self._rows, "rows"),
            (MOST_CELLS, self._rows * columns, f"values in its {columns} columns"),
            (MOST_NAMES, len(self._labels), "different names"),
            (MOST_TEXT, self._text, "characters in its names"),
        ):
            require_at_most(most, count, what, self._faults)

    def measurements(self) -> Measurements:
        """Put the columns together, or raise `FileProblems` with all that is wrong."""
        if not self._has_rows and not self._faults:
            self._faults.add("must have rows below its header, got none. Add a row for each run.")
        if self._metric is not None and not any(self._metrics.values()) and not self._faults:
            metrics = ", ".join(shown(metric) for metric in list(self._metrics)[:8])
            advice = "Name one time_s or time_ms."
            if self.left_out.notes:
                path = in_shell(self._faults.path)
                advice = (
                    "All runs had more ranks than cores. To use them all the same: sed "
                    f"s/{TIME}/time_s/ {path} > all.csv"
                )
            self._faults.add(
                f"must have a time among its metrics, got {metrics}. {advice}", field="metric"
            )
        if self._faults:
            self._faults.raise_all()
        columns = {}
        for name in list(self._parts):
            columns[name] = np.concatenate(self._parts.pop(name))
        return measurements_of(columns)

    def _split(
        self, rows: Sequence[tuple[int, str]], *, is_utf8: bool
    ) -> tuple[list[int], list[Sequence[str]]]:
        """Split rows into columns of cells: all at once, or one by one where that fails."""
        try:
            fields = list(csv.reader((x for _, x in rows), strict=True, skipinitialspace=True))
            cells: list[Sequence[str]] = list(zip(*fields, strict=True))
        except (csv.Error, ValueError):
            return self._split_one_by_one(rows)
        is_whole = is_utf8 and len(fields) == len(rows)
        if not is_whole or len(cells) != self._width:
            return self._split_one_by_one(rows)
        return [line for line, _ in rows], cells

    def _split_one_by_one(
        self, rows: Sequence[tuple[int, str]]
    ) -> tuple[list[int], list[Sequence[str]]]:
        """Split rows into columns of cells, leaving out those that do not fit the header."""
        lines: list[int] = []
        kept: list[list[str]] = []
        for line, text in rows:
            fields, fault = _fields(text, self._width)
            if fault:
                self._faults.add(fault, line=line)
            else:
                lines.append(line)
                kept.append(fields)
        return lines, list(zip(*kept, strict=True)) or [()] * self._width

    def _choose_times(
        self, metrics: Sequence[str], lines: Sequence[int]
    ) -> tuple[list[bool], float | None]:
        """Tell which rows are times, and the seconds in their unit."""
        for metric in dict.fromkeys(metrics):
            if metric not in self._metrics:
                scale, fault = _metric_meaning(metric.strip(), of_speedups=self._of_speedups)
                if scale and {scale} < {scale, *filter(None, self._metrics.values())}:
                    fault = "must be the only time, got another as well. Keep one of them."
                if fault:
                    line = lines[metrics.index(metric)]
                    self._faults.add(f"{shown(metric)} {fault}", line=line, field="metric")
                self._metrics[metric] = scale
        scale = next(filter(None, self._metrics.values()), None)
        return [self._metrics[metric] is not None for metric in metrics], scale

    def _names(self, cells: Sequence[str]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Turn a column of text into names; say which are none."""
        for cell in set(cells) - self._labels.keys():
            self._text += len(cell)
            is_name = is_label(cell) and len(cell) <= csv.field_size_limit()
            self._labels[cell] = cell.strip() if is_name else ""
        names = np.array([self._labels[cell] for cell in cells], dtype=object)
        return names, names == ""


def _plain_table(text: str, kinds: np.dtype[Any]) -> NDArray[Any] | None:
    """Read lines as a table; None where one is no row of it, or may be quoted or a comment.

    What it takes for a number is the same number to `float`.
    """
    if '"' in text or text.startswith("#") or "\n#" in text or not text or text.isspace():
        return None
    try:
        table = np.loadtxt(
            io.StringIO(text), kinds, comments=None, delimiter=",", encoding=None, ndmin=1
        )
    except ValueError:
        return None
    return table if len(table) == text.count("\n") + 1 else None


def _fields(text: str, count: int) -> tuple[list[str], str]:
    """Split one row into `count` cells, or say what is wrong with it."""
    if fault := byte_fault(text):
        return [], fault
    try:
        [fields] = csv.reader([text], strict=True, skipinitialspace=True)
    except csv.Error as error:
        if "field limit" in str(error):  # csv tells its errors apart by their text alone
            most = csv.field_size_limit()
            return [], f"must have values of up to {most} characters, got more. Shorten them."
        is_open = text.count('"') % 2 == 1
        got = "an open one" if is_open else f"text that cannot be split ({error})"
        hint = "Close it on the same line. " if is_open else ""
        hint += 'Write a " inside quotes twice.'
        return [], f"must close its quotation marks, got {got}. {hint}"
    if len(fields) != count:
        hint = "Write decimals with a point, and text with commas in quotes."
        hint = hint if len(fields) > count else "Fill in the others."
        return [], f"must have {count} values as the header has, got {len(fields)}. {hint}"
    return fields, ""


def byte_fault(text: str) -> str:
    """Name the first byte that is not UTF-8."""
    other = re.search("[\udc80-\udcff]", text)
    if other is None:
        return ""
    byte = ord(other[0]) - 0xDC00
    return f"must be UTF-8, got the byte 0x{byte:02x}. Save the file as CSV UTF-8."


def _metric_meaning(metric: str, *, of_speedups: bool) -> tuple[float | None, str]:
    """Tell the seconds in the unit of a metric, None if it is no time, and what is wrong.

    In a table of speedups these are read in place of times.
    """
    if of_speedups:
        return (1.0 if metric == "speedup" else None), ""
    if metric.lower() == "time":
        return None, "must end in its unit, got none. Write time_s or time_ms."
    scale = time_unit(metric)
    is_unclear = scale is None and is_name_of_time(metric)
    fault = axis_name_fault(metric) if is_unclear else None
    return scale, fault.fault if fault else ""


def _numbers(
    cells: Sequence[str], column: Column, scale: float | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Turn a column of cells into numbers in SI; say which are not in its domain."""
    together = "".join(cells)
    is_plain = "_" not in together and together.isascii()
    try:
        parsed = map(float if is_plain else _number, cells)
        values = np.fromiter(parsed, dtype=np.float64, count=len(cells))
    except ValueError:
        values = np.fromiter(map(_number, cells), dtype=np.float64, count=len(cells))
    return _in_domain(values, column, scale)


def _in_domain(
    values: NDArray[np.float64], column: Column, scale: float | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Bring numbers to SI in place; say which are not in the domain of their column."""
    if column.name == "time":
        with np.errstate(over="ignore"):
            values *= scale or column.scale
    domain = DOMAINS.get(column.name, AXIS)
    return values, ~(domain.ok(values) & LIMITS.get(column.name, domain).ok(values))


def _number(cell: str) -> float:
    """Turn one cell into a number; NaN, which is in no domain, where it is none."""
    read = number(cell, named=True)
    return np.nan if read is None else read


def _axis_hint(title: str) -> Text:
    """Say what to do about a value of an axis that is no number, with the arguments to do it."""
    label = label_meant(title)
    if label:
        return (
            f"If it names the {label}, use ",
            called(label, title),
            ", or ",
            ignored(title),
            ".",
        )
    return ("Only callpath and machine may be text. Ignore other columns: ", ignored(title), ".")


def _cell_fault(column: Column, cell: str) -> tuple[str, str, Text]:
    """Say what one cell must be, what it is, and what to do."""
    got = repr(shown(cell)) if cell else "nothing"
    if column.is_text:
        return "be a name", got, "Fill it in, or remove the column."
    domain, value = column.domain, _number(cell)
    if column.name in LIMITS and (domain.ok(np.asarray(value)) or is_no_float(cell, value)):
        domain = LIMITS[column.name]
    hint = _axis_hint(column.title) if domain is AXIS else domain.hint
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]+", cell):
        hint = "Write decimals with a point."
    elif re.fullmatch(rf"{NUMBER}\s*[a-zA-Z%]+", cell):
        hint = "Write the number alone; the header has its unit."
    elif column.name in DOMAINS and cell.lower() not in {"", "nan"} and np.isnan(value):
        hint = "Write it as a number."
    return domain.must, got, hint
