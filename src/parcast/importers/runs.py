"""Runs as an import finds them, a few at a time, until they are measurements.

What is kept of millions of times is 8 bytes each: the points and names they belong to are kept
once and referred to by number.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import ParameterError
from parcast.files.bounds import require_at_most
from parcast.files.decoding import name_of
from parcast.files.faults import Faults
from parcast.files.numbers import finite, is_number
from parcast.importers.axes import (
    Constants,
    checked_constants,
    chosen_metric,
    named_axes,
    names_of,
    tells_p,
)
from parcast.importers.counts import COUNT_PATTERN, Patterns
from parcast.timings.columns import (
    DOMAINS,
    LIMITS,
    MOST_NAMES,
    MOST_POINTS,
    MOST_ROWS,
    MOST_TEXT,
)
from parcast.timings.measurements import Measurements
from parcast.timings.tables.options import AS_IT_IS, TableOptions
from parcast.units import shown

ROOT = "<root>"  # the callpath of what has none, beside others that have
LARGEST = 1e30  # of a time, as of `Measurements`; also bounds what its unit may make of it [s]
MOST_METRICS: Final = 1_000  # of the files of an import
Point = tuple[float, ...]


def left_out(count: int, why: str) -> list[str]:
    """Say how many runs failed, and by which mark.

    >>> left_out(2, "exit status not 0"), left_out(0, "")
    (['2 failed runs were left out: exit status not 0.'], [])
    """
    runs = "1 failed run was" if count == 1 else f"{count} failed runs were"
    return [f"{runs} left out: {why}."] if count else []


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """Measurements that another tool wrote down, and what a reader of them must know."""

    measurements: Measurements
    notes: tuple[str, ...] = ()  # full sentences, such as what was left out


class Runs:
    """The runs of some files: where each was taken, and how long it took.

    `rename` gives parameters new names as `--rename` does; `constants` are axes and labels that
    the files do not have, as of `--set`; `table` is how tables are read.
    """

    def __init__(
        self,
        paths: Sequence[Path] = (),
        *,
        rename: Mapping[str, str] | None = None,
        constants: Constants | None = None,
        patterns: Patterns | None = None,
        table: TableOptions = AS_IT_IS,
    ) -> None:
        self._paths = paths
        self.table = table
        self.patterns = patterns or Patterns()
        self.names = [name_of(path) for path in paths]
        self._place_of_file = {name: i for i, name in enumerate(self.names)}
        self.faults = Faults("")  # of the file that is read, and at the end of the last one
        self.rename = rename or {}
        self.constants = checked_constants(constants or {})
        self._names: tuple[str, ...] | None = None  # of the axes, as the files have them
        self._points: dict[Point, int] = {}
        self._places: list[tuple[Faults, int | None, str]] = []  # where each point was met first
        self._labels: dict[tuple[str, str], int] = {}  # callpath and machine, "" where untold
        self._text = 0  # characters of the labels
        self._metrics: dict[str, int] = {}
        self._chunks = {x: array("q") for x in ("point", "label", "metric", "count")}
        self._times = array("d")
        self._cut_off: list[tuple[Mapping[str, Any], dict[str, str], float]] = []
        # of memory: its column, the number of the first time that it belongs to, and the values
        self._memory: list[tuple[str, int, Sequence[float | None]]] = []
        self._bad: dict[str, list[Faults]] = {}  # for each metric, of each file
        self._zeros: dict[str, int] = {}

    @property
    def constant_p(self) -> int | None:
        """Processors that are given for all runs; None: the files tell them. [1]."""
        given = self.constants.get("p")
        return None if given is None else int(given)

    def refuse_metric(self, metric: str | None, *, but: str) -> None:
        """Refuse another metric than the only one that the files have."""
        if metric not in {None, but}:
            self.faults.refuse(
                f"must have the metric {shown(repr(metric))}, got only {but}. Leave it out."
            )

    def files(self) -> Iterator[tuple[Path, Faults]]:
        """Go through the files, each with where to note what is wrong with it."""
        for path in self._paths:
            self.faults = Faults(name_of(path))
            yield path, self.faults

    def add(
        self,
        point: Mapping[str, Any],
        times: Sequence[Any],
        faults: Faults,
        *,
        metric: str = "",
        callpath: str = "",
        machine: str = "",
        line: int | None = None,
        field: str = "",
        point_line: int | None = None,
        memory: Mapping[str, Sequence[float | None]] | None = None,
    ) -> None:
        """Take in the times of one point in the unit of `metric`: repetitions of one run.

        `callpath` and `machine` say of which part of the program and where; `line` and `field` are
        the place in the file, `point_line` that of the point, where it is another. `memory` has a
        value for each time in some columns of memory.
        """
        if self._names is None:
            self._names = tuple(point)
        if len(point) != len(self._names) or not all(name in point for name in self._names):
            faults.refuse(
                f"must have the same parameters as the runs before, {names_of(self._names)}, got "
                f"{names_of(tuple(point))}. Import them separately.",
                line=line,
                field=field,
            )
        values = self._place_of_file.get(faults.path, 0), *(point[x] for x in self._names)
        try:
            place = self._points.get(values)
        except TypeError:  # a list or an object, which is refused below
            place = None
        require_at_most(MOST_ROWS, len(self._times) + len(times), "times", faults, line=line)
        if place is None:
            place = self._new_point(values, faults, point_line or line, field)
        good = self._good_times(times, faults, metric, line, field)
        number = self._metrics.setdefault(metric, len(self._metrics))
        require_at_most(MOST_METRICS, number + 1, "metrics", faults, line=line)
        if good:
            label = self._label(callpath, machine, faults, line)
            chunk = {"point": place, "label": label, "metric": number, "count": len(good)}
            for name, value in chunk.items():
                self._chunks[name].append(value)
            for column, given in (memory or {}).items():
                known = [m for m, t in zip(given, times, strict=True) if is_number(t) and t > 0]
                self._memory.append((column, len(self._times), known))
            self._times.extend(good)

    def add_cut_off(
        self, point: Mapping[str, Any], time: float, *, callpath: str = "", machine: str = ""
    ) -> None:
        """Take in a run at a point that was ended after a time [s], so that it took longer."""
        self._cut_off.append((point, {"callpath": callpath, "machine": machine}, time))

    def imported(self, *, metric: str | None = None, notes: Iterable[str] = ()) -> Imported:
        """Make measurements of all that was taken in, which is then forgotten.

        Default of `metric`: the only one, or the only one called a time. A fault of all files is
        reported for the last.
        """
        faults = self.faults
        if not self._metrics:
            faults.refuse(
                "must contain measurements, got none. Check that this is the right file."
            )
        metrics = list(self._metrics)
        chosen, scale, of_metric = chosen_metric(metrics, metric, faults)
        for bad in self._bad.get(chosen, []):
            bad.raise_all()
        labels = [
            x for i, x in enumerate(("callpath", "machine")) if any(key[i] for key in self._labels)
        ]
        of_files = self._add_counts()
        names, of_axes = named_axes(
            self._names or (),
            faults,
            labels=labels,
            rename=self.rename,
            constants=self.constants,
            is_several=len(self.names) > 1,
        )
        all_notes = [*notes, *of_metric, *of_files, *of_axes]
        if zeros := self._zeros.get(chosen, 0):
            some = "1 time of 0 is" if zeros == 1 else f"{zeros} times of 0 are"
            all_notes.append(f"{some} left out: a time must be above 0.")
        self._check_processors(names)
        columns = self._columns(names, labels, self._metrics[chosen], scale, faults)
        try:
            measurements = self._with_cut_off(Measurements(**columns | self.constants), names)
        except ParameterError as error:  # as a name of two lines, or a time below 1e-30 s
            faults.refuse(str(error))
        return Imported(measurements=measurements, notes=tuple(all_notes))

    def _with_cut_off(self, measurements: Measurements, names: Sequence[str]) -> Measurements:
        """Add the runs that were ended, whose axes are then called `names`."""
        if not self._cut_off:
            return measurements
        columns: dict[str, Any] = {
            name: [point[own] for point, _, _ in self._cut_off]
            for name, own in zip(names, self._names or (), strict=True)
        }
        for label in measurements.labels:
            columns[label] = [labels[label] for _, labels, _ in self._cut_off]
        columns["time"] = [time for _, _, time in self._cut_off]
        return measurements.with_cut_off(**columns | self.constants)

    def _add_counts(self) -> list[str]:
        """Drop files from the points, but for the counts in their names where p is not told."""
        own = self._names or ()
        counts, notes = None, list[str]()
        if self.patterns.count and "p" in own:
            self.faults.refuse(
                f"must not contain p for {COUNT_PATTERN}, got files that do. Leave it out."
            )
        if self.patterns.count or not tells_p(own, self.rename, self.constants):
            counts, notes = self.patterns.counts_of_files(self.names, self.faults)
        numbers: dict[Point, int] = {}
        places, renumbered = [], array("q")
        for (file, *values), place in zip(self._points, self._places, strict=True):
            point = (*values, float(counts[int(file)])) if counts else (*values,)
            if point not in numbers:
                numbers[point] = len(numbers)
                places.append(place)
            renumbered.append(numbers[point])
        self._names = (*own, "p") if counts else own
        self._points, self._places = numbers, places
        self._chunks["point"] = array("q", (renumbered[i] for i in self._chunks["point"]))
        return notes

    def _label(self, callpath: str, machine: str, faults: Faults, line: int | None) -> int:
        label = self._labels.get((callpath, machine))
        if label is None:
            self._labels[callpath, machine] = label = len(self._labels)
            self._text += len(callpath) + len(machine)
            require_at_most(MOST_NAMES, label + 1, "callpaths", faults, line=line)
            what = "characters in its callpaths"
            require_at_most(MOST_TEXT, self._text, what, faults, line=line)
        return label

    def _new_point(
        self, values: tuple[Any, ...], faults: Faults, line: int | None, field: str
    ) -> int:
        """Check the parameters of a run that was not met before, and number it."""
        for name, value in zip(self._names or (), values[1:], strict=True):
            if not is_number(value) or finite(value) is None:
                faults.refuse(
                    f"{shown(name)} must be a finite number, got {shown(repr(value))}. "
                    "Correct it, or leave the run out.",
                    line=line,
                    field=field,
                )
        self._points[tuple(float(value) for value in values)] = number = len(self._points)
        require_at_most(MOST_POINTS, number + 1, "points", faults, line=line)
        self._places.append((faults, line, field))
        return number

    def _good_times(
        self, times: Sequence[Any], faults: Faults, metric: str, line: int | None, field: str
    ) -> Sequence[float]:
        """Keep the times above 0; note what is none, in case its metric is the one chosen."""
        try:
            if all(0.0 < time <= LARGEST for time in times) and bool not in map(type, times):
                return times
        except TypeError:
            pass  # something among them is no number
        good: list[float] = []
        for time in times:
            is_real = is_number(time)
            if is_real and time == 0:
                self._zeros[metric] = self._zeros.get(metric, 0) + 1
            elif is_real and 0 < time <= LARGEST:
                good.append(time)
            elif not is_real or not time > 0 or time > LARGEST:
                fault = (
                    f"must be a time above 0, got {shown(repr(time), limit=30)}. "
                    "Leave out runs that failed."
                )
                self._note_bad(metric, faults, fault, line, field)
        return good

    def _note_bad(
        self, metric: str, faults: Faults, fault: str, line: int | None, field: str
    ) -> None:
        """Note a time that is none, with those of the same metric and file."""
        of_metric = self._bad.setdefault(metric, [])
        if not of_metric or of_metric[-1].path != faults.path:
            of_metric.append(Faults(faults.path))
        of_metric[-1].add(fault, line=line, field=shown(field or metric))

    def _check_processors(self, names: Sequence[str]) -> None:
        """Refuse processor counts that are none, each at its place."""
        if "p" not in names:
            return
        axis = names.index("p")
        title = (self._names or ())[axis]
        p = np.array([point[axis] for point in self._points])
        ok = DOMAINS["p"].ok(p) & LIMITS["p"].ok(p)
        for i in np.flatnonzero(~ok).tolist()[:1]:
            faults, line, field = self._places[i]
            where = f"{shown(field)}, {shown(title)}" if field else shown(title)
            must, hint = DOMAINS["p"].must, DOMAINS["p"].hint
            faults.refuse(f"must {must}, got {p[i]:g}. {hint}", line=line, field=where)

    def _columns(
        self,
        names: Sequence[str],
        labelled: Sequence[str],
        metric: int,
        scale: float,
        faults: Faults,
    ) -> dict[str, NDArray[Any]]:
        """Give the columns of the table, each as long as there are times."""
        points = np.array(list(self._points), dtype=np.float64).reshape(len(self._points), -1)
        labels = list(self._labels)
        chunks = {x: np.array(self._chunks.pop(x), dtype=np.int64) for x in list(self._chunks)}
        times = np.array(self._times, dtype=np.float64)
        self._times = array("d")
        memory = self._memory_of(len(times))
        is_wanted = chunks["metric"] == metric
        if not is_wanted.all():
            rows = np.repeat(is_wanted, chunks["count"])
            times, memory = times[rows], {name: x[rows] for name, x in memory.items()}
            chunks = {name: column[is_wanted] for name, column in chunks.items()}
        if not len(times):
            faults.refuse("must contain times above 0, got none. Were the runs timed?")
        if scale != 1:
            times *= scale
        point, label, counts = chunks["point"], chunks["label"], chunks["count"]
        columns: dict[str, NDArray[Any]] = {"time": times, **memory}
        repetition = _numbered(point * len(labels) + label, counts)
        if repetition.max() > 1:
            columns["repetition"] = repetition
        for i, name in enumerate(names):
            columns[name] = np.repeat(points[point, i], counts)
        for name in labelled:
            i = ("callpath", "machine").index(name)
            of_label = np.array([key[i] or ROOT for key in labels], dtype=object)
            columns[name] = np.repeat(of_label[label], counts)
        for column in columns.values():
            column.setflags(write=False)  # ours alone: need not be copied again
        return columns

    def _memory_of(self, count: int) -> dict[str, NDArray[Any]]:
        """Give the columns of memory, NaN where it is not known."""
        names = dict.fromkeys(name for name, *_ in self._memory)
        columns = {name: np.full(count, np.nan) for name in names}
        for name, start, values in self._memory:
            columns[name][start : start + len(values)] = [x or np.nan for x in values]
        return columns


def _numbered(groups: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Number the times of each group from 1, in the order in which they came.

    >>> _numbered(np.array([7, 9, 7]), np.array([2, 1, 1])).tolist()
    [1.0, 2.0, 1.0, 3.0]
    """
    order = np.argsort(groups, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]  # times in earlier chunks of this order
    in_order = groups[order]
    is_first = np.concatenate([[True], in_order[1:] != in_order[:-1]])
    offsets = np.empty_like(counts)
    offsets[order] = before - before[is_first][np.cumsum(is_first) - 1]
    starts = np.cumsum(counts) - counts
    numbers = np.arange(1.0, counts.sum() + 1)
    numbers += np.repeat(offsets - starts, counts)
    return numbers
