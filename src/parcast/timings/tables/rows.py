"""The rows of a table of measurements, block by block: text into checked columns.

Cells are turned into numbers and checked a column at a time. Rows are looked at one by one only
in a block where some row does not fit the header, and cells only where they are more than numbers.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.advice import Command
from parcast.errors import NoRunEnded, Problem, spelled
from parcast.files.bounds import require_at_most
from parcast.files.document import unguarded
from parcast.files.faults import Faults
from parcast.timings.columns import (
    LIMITS,
    MEMORY,
    MOST_CELLS,
    MOST_NAMES,
    MOST_ROWS,
    MOST_TEXT,
    PARTS,
    axis_name_fault,
    is_label,
    is_name_of_time,
    time_unit,
)
from parcast.timings.disturbed import (
    LEFT_OUT,
    OVERSUBSCRIBED_TIME,
    USED,
    Oversubscribed,
    used_though_disturbed,
)
from parcast.timings.measure import Measure
from parcast.timings.measurements import Measurements, measurements_of
from parcast.timings.notes import bounds_among
from parcast.timings.tables.header import ColumnMeaning, Header
from parcast.timings.tables.layout import LineLayout
from parcast.timings.tables.meanings import have_ended, were_cut_off
from parcast.timings.tables.parts import RUN, PartsOfRuns, part_named
from parcast.timings.tables.titles import title_of
from parcast.timings.tables.values import (
    MeasuredRows,
    beside_time,
    cell_fault,
    in_domain,
    measured,
    numbers,
    runs_of_ranks,
)
from parcast.units import shown
from parcast.words import listed

MOST_KINDS: Final = 5  # of failed runs that a note names


class ColumnsRead:
    """The columns read so far, and the faults in them."""

    def __init__(self, header: Header, layout: LineLayout, faults: Faults) -> None:
        columns = header.columns
        self._faults = faults
        self._header = header
        self._layout = layout
        self._width = len(columns)
        self._read = {i: x for i, x in enumerate(columns) if x and x.name != "metric"}
        self._metric = next((i for i, x in enumerate(columns) if x and x.name == "metric"), None)
        self._status = next((i for i, x in self._read.items() if x.name == "status"), None)
        self._times = [i for i, x in self._read.items() if x.name == "time"]
        kinds = {i: object if x.is_text else np.float64 for i, x in self._read.items()}
        self._kinds = np.dtype([(f"f{i}", kinds.get(i, "U1")) for i in range(len(columns))])
        self._parts: dict[str, list[NDArray[Any]]] = {}
        self._labels: dict[str, str] = {}  # each text met: without blanks, "" where it is no name
        self._metrics: dict[str, float | None] = {}  # seconds in its unit, None for no time
        self._failed: Counter[str] = Counter()  # what stood in place of times
        self._has_units: dict[int, bool] = {}  # whether the cells of a column have units
        self._cut_off: list[dict[str, NDArray[Any]]] = []  # runs that took longer than a limit
        self._disturbed = 0  # runs that count
        self._oversubscribed = Oversubscribed()
        has_parts = self._metric is not None and any(map(part_named, header.cells(self._metric)))
        self._beside = PartsOfRuns(layout.decimal) if has_parts else None
        self._place_of_p = next((i for i, x in self._read.items() if x.name == "p"), 0)
        self._has_rows = False
        self._rows = 0  # kept
        self._deviations: list[tuple[int, NDArray[np.float64]]] = []  # and the row each begins at
        self._text = 0  # characters of the labels

    @property
    def _is_simple(self) -> bool:
        """Whether each column is read by itself, one of them the time."""
        names = [column.name for column in self._read.values()]
        single = len({*names}) == len(names) and not {"rank", "deviation", "status"} & {*names}
        is_split = self._layout.decimal == "." and self._layout.separator in ",;\t"
        return single and is_split and self._metric is None and not self._header.options.p

    def add_plain(self, text: str) -> bool:
        """Take in lines that are all rows without quotes or faults, which is quick.

        Of any others none is taken, and the answer is False.
        """
        if self._faults or not self._is_simple or any(self._has_units.values()):
            return False
        table = _plain_table(text, self._kinds, self._layout.separator)
        if table is None:
            return False
        values: dict[str, NDArray[Any]] = {}
        for i, column in self._read.items():
            cells = table[f"f{i}"]
            if column.is_text:
                values[column.name], bad = self._names(cells.tolist())
            else:
                values[column.name], bad = in_domain(cells.copy(), column)
            if bad.any():
                return False
        self._has_rows = True
        self._keep(values | {"time": self._times_of(values["time"], self._read[self._times[0]])})
        return True

    def add(self, rows: Sequence[tuple[int, str]], *, is_utf8: bool) -> None:
        """Take in some rows, each the number of its line and its text."""
        lines, cells = self._split(rows, is_utf8=is_utf8)
        self._has_rows |= bool(lines)
        scale, runs = None, None
        if self._metric is not None:
            self._oversubscribed.look_at(cells[self._metric], cells[self._place_of_p])
            is_time, scale = self._choose_times(cells[self._metric], lines)
            if self._beside is not None:
                runs = self._runs(self._beside, cells, lines, is_time)
            lines = list(compress(lines, is_time))
            cells = [list(compress(values, is_time)) for values in cells]
        bad = np.zeros((len(lines), len(cells)), dtype=bool)
        values: dict[str, NDArray[Any]] = {} if runs is None else {RUN: runs}
        times: dict[int, MeasuredRows] = {}
        for i, column in self._read.items():
            if i == self._status:
                continue
            if column.is_text:
                values[column.name], bad[:, i] = self._names(cells[i])
            elif column.name in {"time", "deviation"}:
                times[i] = measured(
                    cells[i],
                    column,
                    decimal=self._layout.decimal,
                    scale=scale or self._scale_of_deviation(column),
                    has_units=self._has_units.get(i),
                )
                bad[:, i] = times[i].bad
                self._has_units[i] = times[i].has_units
            elif column.name in (*MEMORY, *PARTS):
                values[column.name], bad[:, i] = beside_time(
                    cells[i], column, decimal=self._layout.decimal
                )
            else:
                read, bad[:, i] = numbers(cells[i], column, decimal=self._layout.decimal)
                is_factor = column.name in values  # of a product such as ranks*threads
                values[column.name] = read * values[column.name] if is_factor else read
        for row, i in np.argwhere(bad).tolist():
            self._note(i, cells[i][row].strip(), lines[row])
        if not self._faults:
            self._keep_measured(values, times, cells)

    def _runs(
        self,
        beside: PartsOfRuns,
        cells: Sequence[Sequence[str]],
        lines: Sequence[int],
        is_time: Sequence[bool],
    ) -> NDArray[np.float64]:
        """Keep the parts of times among some rows; give the numbers of the runs of the times."""
        names = [x.strip() for x in cells[self._metric or 0]]
        places = [i for i, x in enumerate(names) if is_time[i] or part_named(x)]
        metrics = [names[i] for i in places]
        columns = [cells[i] for i, x in self._read.items() if x.name != "time"]
        runs = beside.runs(metrics, [[column[i] for i in places] for column in columns])
        values = [cells[self._times[0]][i] for i in places]
        for row, column in beside.keep(metrics, values, runs):
            self._note(self._times[0], values[row].strip(), lines[places[row]], column)
        of_times = [run for run, i in zip(runs, places, strict=True) if is_time[i]]
        return np.array(of_times, dtype=np.float64)

    def _note(self, i: int, cell: str, line: int, of: ColumnMeaning | None = None) -> None:
        """Note what is wrong with a cell of a column, or of a metric of its own."""
        column, has_units = of or self._read[i], self._has_units.get(i, False)
        must, got, hint = cell_fault(
            column, cell, decimal=self._layout.decimal, has_units=has_units
        )
        fault, kind = f"must {must}, got {got}.", f"{must} {spelled(hint)}"
        if isinstance(hint, str):
            fault, hint = f"{fault} {hint}", ""
        self._faults.add(fault, line=line, field=shown(column.title), kind=kind, hint=hint)

    def _keep_measured(
        self,
        values: Mapping[str, NDArray[Any]],
        times: Mapping[int, MeasuredRows],
        cells: Sequence[Sequence[str]],
    ) -> None:
        """Keep the runs of some rows: one for each column of times, without those that failed."""
        beside = [read for i, read in times.items() if i not in self._times]
        for i in self._times:
            given = times[i].values
            deviations = times[i].deviations
            if beside:
                deviations = np.where(beside[0].is_relative, given, 1.0) * beside[0].values
            said = cells[i] if self._status is None else cells[self._status]
            if self._status is not None:
                self._keep_cut_off(values, np.where(were_cut_off(said), given, np.nan))
                self._disturbed += sum(x.strip() == USED for x in said)
                given = np.where(have_ended(said), given, np.nan)
            ran = ~np.isnan(given)
            if self._header.has("rank"):  # one that failed ends the whole run
                ran = np.ones(len(given), dtype=bool)
            else:
                self._failed.update(said[row].strip() for row in np.flatnonzero(~ran).tolist())
            own = {name: column[ran] for name, column in values.items()}
            own["time"] = self._times_of(given[ran], self._read[i])
            deviations = deviations[ran] * (own["time"] / given[ran])
            if not np.isnan(deviations).all():
                self._deviations.append((self._rows, deviations))
            if self._header.wide:
                label = np.empty(len(own["time"]), dtype=object)
                label[:] = self._read[i].label
                own[self._header.wide] = label
            if self._header.options.p:
                own["p"] = np.full(len(own["time"]), float(self._header.options.p))
            self._keep(own)

    def _keep_cut_off(
        self, values: Mapping[str, NDArray[Any]], bounds: NDArray[np.float64]
    ) -> None:
        """Keep runs that were ended at a limit, where one time is the whole of a run."""
        is_whole = len(self._times) == 1 and not self._header.has("rank")
        has_bound = ~np.isnan(bounds)
        if is_whole and self._header.measure.is_time and has_bound.any():
            own = {x: y[has_bound] for x, y in values.items() if x not in (*MEMORY, *PARTS)}
            own["time"] = bounds[has_bound]
            if self._header.options.p:
                own["p"] = np.full(len(own["time"]), float(self._header.options.p))
            self._cut_off.append(own)

    def _scale_of_deviation(self, column: ColumnMeaning) -> float | None:
        """Seconds in the unit of a deviation, where its title has none: that of the time."""
        is_bare = column.name == "deviation" and not column.unit and self._times
        return self._read[self._times[0]].scale if is_bare else None

    def _times_of(self, given: NDArray[np.float64], column: ColumnMeaning) -> NDArray[np.float64]:
        """Turn what was measured into times, or refuse those that cannot be computed with."""
        if column.quantity == "time":
            return given
        times = self._header.measure.times(given)
        if (
            not self._header.measure.is_time
            and not LIMITS["time"].ok(times[~np.isnan(times)]).all()
        ):
            self._faults.refuse(
                "must give times between 1e-30 and 1e30 s, got others. Check the unit of the rate "
                "and the work.",
                field=shown(self._header.measure.title),
            )
        return times

    def _keep(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Keep the columns of some rows, if there are not too many by now."""
        for name, part in values.items():
            self._parts.setdefault(name, []).append(part)
        self._rows += len(values["time"])
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
            if self._oversubscribed.notes:
                words = ("sed", f"s/{OVERSUBSCRIBED_TIME}/time_s/")
                use = Command(words, reads=self._faults.path, writes="all.csv")
                advice = f"All runs had more ranks than cores. To use them all the same: {use}"
            self._faults.add(
                f"must have a time among its metrics, got {metrics}. {advice}", field="metric"
            )
        if not self._rows and not self._faults:
            got = f"got {self._failed.total()} that failed or were stopped"
            fault = f"must have a run that ended, {got}. Add the times of other runs."
            stopped = self._stopped(self._header.measure)
            raise NoRunEnded(self._faults.path, [Problem(message=fault)], stopped=stopped)
        if self._faults:
            self._faults.raise_all()
        columns = {name: np.concatenate(self._parts.pop(name)) for name in list(self._parts)}
        if self._beside is not None:
            columns |= self._beside.columns(columns.pop(RUN))
        for name in [x for x in (*MEMORY, *PARTS) if x in columns]:
            if np.isnan(columns[name]).all():
                del columns[name]
        if self._deviations:
            columns["deviation"] = np.full(self._rows, np.nan)
            for start, part in self._deviations:
                columns["deviation"][start : start + len(part)] = part
        if "rank" in columns:
            columns, failed = runs_of_ranks(columns, self._faults)
            self._failed.update(failed)
        titles = [title_of(x.title) for x in self._read.values() if x.name == "p"]
        is_noted, of_nodes = self._header.measure.counts_nodes, [x.kind_of_p for x in titles]
        measure = replace(self._header.measure, counts_nodes=is_noted or of_nodes == ["node"])
        return measurements_of(columns, measure, self._stopped(measure))

    def _stopped(self, measure: Measure) -> Measurements | None:
        """Runs that were stopped at a limit, None without any."""
        if not self._cut_off:
            return None
        kept = {x: np.concatenate([y[x] for y in self._cut_off]) for x in self._cut_off[0]}
        return measurements_of(kept, measure)

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the rows."""
        count = self._failed.total()
        if not count:
            return self._oversubscribed.notes
        kinds = [shown(x) if x else "no time" for x in self._failed]
        bounds = sum(len(x["time"]) for x in self._cut_off)
        runs = "run" if {*kinds} <= {*LEFT_OUT} else "failed run"
        return [
            f"{count} {runs}{'s' if count > 1 else ''} left out ({listed(kinds, MOST_KINDS)})",
            *([bounds_among(bounds)] if bounds else []),
            *self._oversubscribed.notes,
        ]

    @property
    def warnings(self) -> list[str]:
        """What an answer from the rows must say too."""
        return [used_though_disturbed(self._disturbed, self._rows)] if self._disturbed else []

    def _split(
        self, rows: Sequence[tuple[int, str]], *, is_utf8: bool
    ) -> tuple[list[int], list[Sequence[str]]]:
        """Split rows into columns of cells: all at once, or one by one where that fails."""
        try:
            fields = self._layout.split([x for _, x in rows])
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
            fields, fault = _fields(text, self._width, self._layout)
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
                scale, fault = _metric_meaning(
                    metric.strip(), of_speedups=self._header.measure.quantity == "speedup"
                )
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
            self._labels[cell] = unguarded(cell.strip()) if is_name else ""
        names = np.array([self._labels[cell] for cell in cells], dtype=object)
        return names, names == ""


def _plain_table(text: str, kinds: np.dtype[Any], separator: str) -> NDArray[Any] | None:
    """Read lines as a table; None where one is no row of it, or may be quoted or a comment.

    What it takes for a number is the same number to `float`.
    """
    if '"' in text or text.startswith("#") or "\n#" in text or not text or text.isspace():
        return None
    try:
        table = np.loadtxt(
            io.StringIO(text), kinds, comments=None, delimiter=separator, encoding=None, ndmin=1
        )
    except ValueError:
        return None
    return table if len(table) == text.count("\n") + 1 else None


def _fields(text: str, count: int, layout: LineLayout) -> tuple[list[str], str]:
    """Split one row into `count` cells, or say what is wrong with it."""
    if fault := byte_fault(text):
        return [], fault
    try:
        fields = layout.split_one(text)
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
        hint = _hint_of_width(len(fields) - count, layout.separator)
        return [], f"must have {count} values as the header has, got {len(fields)}. {hint}"
    return fields, ""


def _hint_of_width(more: int, separator: str) -> str:
    """Say what to do about a row that has so many values more than the header."""
    if more < 0:
        is_blank = separator == " "
        return "Fill in the others" + (", or join the words of a title by _." if is_blank else ".")
    if separator in ",;":
        return "Write decimals with a point, and text with commas in quotes."
    if more == 1:  # as `write.table` of R does
        return "If rows begin with their names, name that column too, or use row.names=FALSE in R."
    return "Put text with blanks in quotes."


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


def none_ended(stopped: Measurements) -> Measurements:
    """Make measurements without a row, beside the runs that were stopped."""
    columns = {name: x[:0] for name, x in stopped.columns.items()}
    return measurements_of(columns, stopped.measure, stopped)
