"""The table of measurements: what was timed, on how many processors, and how long it took.

A tidy table has one row a run: the values of its axes (`p` processors, and any other number that
was varied, such as `n` or `d`), its wall time, and optionally on which `machine` and in which
`callpath` of the program. Rows that agree in all of these are repetitions, and are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import TableLike
from parcast.errors import ParameterError, as_list
from parcast.files.faults import AnyPath
from parcast.show.result import data_frame
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.timings.columns import (
    LABELS,
    MAY_BE_UNKNOWN,
    MEMORY,
    PARTS,
    axis_name_fault,
    beside_unit,
    time_unit,
    to_names,
    to_numbers,
)
from parcast.timings.measure import TIME, Measure
from parcast.timings.series import Series, follows_p, group_into_series
from parcast.units import TIME_UNITS, shown
from parcast.words import did_you_mean, listed

HTML_ROWS = 10
MOST_NAMED = 8  # in a message


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Measurements:
    """Timings of runs: axes, wall time and labels, one row per run.

    Parameters
    ----------
    table : dict, data frame or structured array, optional
        All columns by name, as `from_table` takes them, in place of the following.
    p : array_like, shape (rows,) or ()
        Processor counts: whole, at least 1. [1]
    time : array_like, shape (rows,) or ()
        Wall time of the run: finite, above 0. [s]
    machine, callpath : array_like of str, shape (rows,) or (), optional
        Where it ran, and which part of the program was timed: one line of text each, not empty.
        Blanks at the ends are dropped.
    repetition : array_like, shape (rows,) or (), optional
        Number of the repetition: whole, at least 0. [1]
    deviation : array_like, shape (rows,) or (), optional
        Standard deviation of the time, of a mean: at least 0, or NaN where it is unknown. [s]
    **other_axes : array_like, shape (rows,) or ()
        Any other number that was varied: finite. Names must not be those of times (`time`,
        `time_...`) or of what a forecast computes (`speedup`, `efficiency`). `memory_B` and
        `memory_total_B` are no axes but the most memory of the largest process and of all at a
        time: above 0, or NaN where it is unknown. [B] `compute_s`, `communication_s` and `disk_s`
        are what of the time went where: at least 0, or NaN where it is unknown. [s]

    Raises
    ------
    ParameterError
        If a value lies outside its domain, the lengths differ, or there is no row.

    Examples
    --------
    >>> runs = Measurements(p=[1, 2, 4, 4], time=[80, 41, 22, 23.5], n=1000, machine="SP-2")
    >>> runs
    Measurements(4 rows: p 1 to 4, n 1000, machine 'SP-2', time 22 to 80 s)
    >>> runs.axes["n"]
    array([1000., 1000., 1000., 1000.])
    """

    _axes: dict[str, NDArray[np.float64]]
    _labels: dict[str, NDArray[np.object_]]
    _repetition: NDArray[np.int64] | None
    _deviation: NDArray[np.float64] | None
    _memory: dict[str, NDArray[np.float64]]
    _parts: dict[str, NDArray[np.float64]]
    _time: NDArray[np.float64]
    _measure: Measure
    _cut_off: Measurements | None

    def __init__(
        self,
        table: TableLike | None = None,
        /,
        *,
        p: ArrayLike | None = None,
        time: ArrayLike | None = None,
        machine: ArrayLike | None = None,
        callpath: ArrayLike | None = None,
        repetition: ArrayLike | None = None,
        deviation: ArrayLike | None = None,
        **other_axes: ArrayLike,
    ) -> None:
        own = {"p": p, "time": time, "repetition": repetition, "deviation": deviation}
        own |= {"callpath": callpath, "machine": machine}
        given = other_axes | {name: x for name, x in own.items() if x is not None}
        if table is not None and given:
            raise ParameterError(
                "table",
                must="be given alone",
                got=f"{_names([*given])} as well",
                hint="Put all columns into the table.",
            )
        self._keep(broadcast(_checked(given if table is None else _columns_of(table))))

    def _keep(
        self,
        columns: dict[str, NDArray[Any]],
        measure: Measure = TIME,
        cut_off: Measurements | None = None,
    ) -> None:
        """Take columns as they are."""
        number = columns.pop("repetition", None)
        if number is not None and number.dtype != np.int64:
            number = number.astype(np.int64)
            number.setflags(write=False)
        set_field = object.__setattr__
        set_field(self, "_repetition", number)
        set_field(self, "_deviation", columns.pop("deviation", None))
        set_field(self, "_memory", {x: columns.pop(x) for x in MEMORY if x in columns})
        set_field(self, "_parts", {x: columns.pop(x) for x in PARTS if x in columns})
        set_field(self, "_measure", measure)
        set_field(self, "_cut_off", cut_off)
        set_field(self, "_time", columns.pop("time"))
        set_field(self, "_labels", {x: columns.pop(x) for x in LABELS if x in columns})
        set_field(self, "_axes", columns)

    @classmethod
    def from_table(cls, table: TableLike) -> Measurements:
        """Read a table that has its columns by name: a dict, pandas, polars, a structured array.

        Parameters
        ----------
        table
            Anything that answers ``table["p"]`` and lists its columns by ``.columns``, ``.keys()``
            or ``.dtype.names``. Its column of times is called `time_s`, `time_ms`, `time_us`,
            `time_ns`, `time_min`, `time_h` or `time_d`, or `time [ms]` or `time (ms)` likewise, or
            `time` when it is in seconds.

        Raises
        ------
        ParameterError
            If `p` or the time is missing, there are two times, or a column is refused.

        Examples
        --------
        >>> Measurements.from_table({"p": [1, 2], "time_ms": [80.0, 41.5]}).time
        array([0.08  , 0.0415])
        """
        return cls(**_columns_of(table))

    @property
    def axes(self) -> Mapping[str, NDArray[np.float64]]:
        """The columns of numbers that were varied, `p` first; read-only."""
        return MappingProxyType(self._axes)

    @property
    def labels(self) -> Mapping[str, NDArray[np.object_]]:
        """The columns of text there are, of `callpath` and `machine`; read-only."""
        return MappingProxyType(self._labels)

    @property
    def repetition(self) -> NDArray[np.int64] | None:
        """The numbers of the repetitions, or None where they were not numbered. [1]."""
        return self._repetition

    @property
    def deviation(self) -> NDArray[np.float64] | None:
        """The standard deviation of each time, NaN where unknown; None without any. [s]."""
        return self._deviation

    @property
    def memory(self) -> Mapping[str, NDArray[np.float64]]:
        """The columns of memory there are, of `memory_B` and `memory_total_B`; read-only. [B]."""
        return MappingProxyType(self._memory)

    @property
    def parts(self) -> Mapping[str, NDArray[np.float64]]:
        """The columns there are of parts of the time, of `PARTS`; read-only. [s]."""
        return MappingProxyType(self._parts)

    @property
    def time(self) -> NDArray[np.float64]:
        """The wall time of each run. [s]."""
        return self._time

    @property
    def measure(self) -> Measure:
        """What the times are: wall times, or those of a unit of work that a rate gives."""
        return self._measure

    @property
    def cut_off(self) -> Measurements | None:
        """Runs that were ended before they were done, with the time that each had; or None.

        They took longer than that. They are no rows of these measurements.
        """
        return self._cut_off

    @property
    def p(self) -> NDArray[np.float64]:
        """The processors of each run. [1]."""
        return self._axes["p"]

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """All columns by name, as `Measurements(**columns)` takes them."""
        beside = {"repetition": self._repetition, "deviation": self._deviation}
        known = {name: column for name, column in beside.items() if column is not None}
        beside_time = self._memory | self._parts
        return self._axes | self._labels | known | beside_time | {"time": self._time}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._time)

    def select(self, **wanted: Any) -> Measurements:
        """Keep the rows that have the wanted value, or one of the wanted values, in each column.

        Raises
        ------
        ParameterError
            If there is no such column, no such value, or no row is left.

        Examples
        --------
        >>> runs = Measurements(p=[1, 2, 1, 2], time=[8, 4, 6, 5], machine=["A", "A", "B", "B"])
        >>> runs.select(machine="B", p=[2, 1])
        Measurements(2 rows: p 1 to 2, machine 'B', time 5 to 6 s)
        """
        columns = self.columns
        for name, values in wanted.items():
            if name not in columns:
                raise _no_column("select", name, list(columns))
            for value in [values] if np.ndim(values) == 0 else values:
                if not np.any(columns[name] == value):
                    raise _no_value(name, value, columns[name])
        kept = self._where(wanted)
        if kept is None:
            conditions = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
            raise ParameterError(
                "select",
                must="leave at least one row",
                got=f"none for {conditions}",
                hint="Select values that were measured together.",
            )
        cut_off = None if self._cut_off is None else self._cut_off._where(wanted)
        return measurements_of(kept.columns, self._measure, cut_off)

    def _where(self, wanted: Mapping[str, Any]) -> Measurements | None:
        """Keep the rows that have wanted values; None where there is none."""
        columns = self.columns
        keep = np.ones(len(self), dtype=bool)
        for name, values in wanted.items():
            keep &= np.isin(columns[name], values) if name in columns else False
        if not keep.any():
            return None
        return measurements_of({name: x[keep] for name, x in columns.items()}, self._measure)

    def with_cut_off(self, **columns: ArrayLike) -> Measurements:
        """Give the same runs with others, which were ended before they were done.

        Parameters
        ----------
        **columns : array_like
            The axes and labels that these measurements have, and as `time` the time that each run
            had: it took longer. A forecast excludes shorter times there. [s]

        Raises
        ------
        ParameterError
            If a value lies outside its domain, or these are other axes or labels.

        Examples
        --------
        >>> runs = Measurements(p=[1, 2, 4], time=[10, 21, 45])
        >>> runs.with_cut_off(p=8, time=60)
        Measurements(3 rows: p 1 to 4, time 10 to 45 s; 1 run cut off)
        """
        cut_off = Measurements(**columns)
        asked, given = (sorted([*x.axes, *x.labels]) for x in (self, cut_off))
        if asked != given:
            raise ParameterError(
                "with_cut_off",
                must=f"be given {_names(asked)} and the time",
                got=_names(given),
                hint="Runs that were ended have the axes and labels of the others.",
            )
        return measurements_of(self.columns, self._measure, cut_off)

    def with_columns(self, **columns: ArrayLike) -> Measurements:
        """Give the same runs with further columns, or others in their place.

        Raises
        ------
        ParameterError
            If a value lies outside its domain, or a column has another length.
        """
        cut_off, single = self._cut_off, {x: y for x, y in columns.items() if np.ndim(y) == 0}
        if cut_off is not None:  # of them, only what is one value for all is known
            cut_off = cut_off.with_columns(**single) if len(single) == len(columns) else None
        changed = Measurements(**self.columns | columns).columns
        return measurements_of(changed, self._measure, cut_off)

    def without(self, *names: str) -> Measurements:
        """Give the same runs without some columns besides `p` and the time."""
        kept = {name: column for name, column in self.columns.items() if name not in names}
        cut_off = None if self._cut_off is None else self._cut_off.without(*names)
        return measurements_of(kept, self._measure, cut_off)

    def series(self, by: Sequence[str] | None = None) -> Series:
        """Group the rows into series of `p`, with the median time of the repetitions.

        Parameters
        ----------
        by : sequence of str, optional
            The columns whose values tell series apart. Default: every label, and every axis
            besides `p` that takes several values, unless it goes along with `p`, as the problem
            size of a weak-scaling study does.

        Raises
        ------
        ParameterError
            If there is no such column, or what would be taken for repetitions differs in a
            column that `by` leaves out.

        Examples
        --------
        >>> runs = Measurements(p=[1, 2, 1, 2], time=[8, 4, 6, 5], machine=["A", "A", "B", "B"])
        >>> series = runs.series()
        >>> series.keys
        [{'machine': 'A'}, {'machine': 'B'}]
        >>> series.time
        array([[8., 4.],
               [6., 5.]])
        """
        columns = {**self._labels, **self._axes}
        del columns["p"]
        if by is None:
            by = [*self._labels, *(x for x in columns if self._tells_series_apart(x))]
        hint = "Name columns, such as callpath."
        by = [by] if isinstance(by, str) else list(dict.fromkeys(as_list("by", by, hint=hint)))
        for name in by:
            if name not in columns:
                raise _no_column("by", name, list(columns))
        return group_into_series(
            columns, by=by, p=self.p, time=self._time, deviation=self._deviation
        )

    def _tells_series_apart(self, name: str) -> bool:
        """Whether an axis besides `p` varies otherwise than `p` does."""
        if name not in self._axes or np.all(self._axes[name] == self._axes[name][0]):
            return False
        return not follows_p(self._axes[name], p=self.p, labels=list(self._labels.values()))

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with the time as `time_s`; `from_table` takes it back."""
        return data_frame({written_name(x): y for x, y in self.columns.items()})

    def __eq__(self, other: object) -> bool:
        """Compare column by column; the order of the axes does not matter."""
        if not isinstance(other, Measurements):
            return NotImplemented
        ours, theirs = self.columns, other.columns
        return (
            self._measure == other._measure
            and self._cut_off == other._cut_off
            and ours.keys() == theirs.keys()
            and all(
                np.array_equal(ours[name], theirs[name], equal_nan=name in MAY_BE_UNKNOWN)
                for name in ours
            )
        )

    __hash__: ClassVar[None]  # type: ignore[assignment]  # equal by content, as arrays are

    def __reduce__(self) -> tuple[Callable[..., Measurements], tuple[Any, ...]]:
        """Pickle as columns, so that the copy is checked and read-only too."""
        return _rebuild, (self.columns, self._measure, self._cut_off)

    def __repr__(self) -> str:
        """Say in one line what was measured."""
        columns = self.columns
        for name in ("repetition", *MAY_BE_UNKNOWN):
            columns.pop(name, None)
        ranges = ", ".join(f"{name} {_range(column)}" for name, column in columns.items())
        rows = f"{len(self)} row{'s' if len(self) > 1 else ''}"
        cut = 0 if self._cut_off is None else len(self._cut_off)
        beside = f"; {cut} run{'s' if cut > 1 else ''} cut off" if cut else ""
        return f"Measurements({rows}: {ranges} s{beside})"

    def _repr_html_(self) -> str:
        """Show the first rows as a table in a notebook."""
        from parcast.show.html import html_of

        columns = [
            Column(
                title=name,
                unit="[s]" if name == "time" else "",
                cells=[_short(x) for x in column[:HTML_ROWS]],
                align="left" if name in self.labels else "right",
            )
            for name, column in self.columns.items()
        ]
        more = len(self) - HTML_ROWS
        note = (Fact("", f"and {more} more row{'s' if more > 1 else ''}"),) if more > 0 else ()
        return html_of(Sheet(tables=(Table(forms=(Form(columns=columns),), notes=note),)))


def written_name(column: str) -> str:
    """Name a column as files do, with its unit.

    >>> written_name("time"), written_name("deviation"), written_name("p")
    ('time_s', 'deviation_s', 'p')
    """
    return f"{column}_s" if column in {"time", "deviation"} else column


def measurements_of(
    columns: Mapping[str, NDArray[Any]],
    measure: Measure = TIME,
    cut_off: Measurements | None = None,
) -> Measurements:
    """Make measurements of columns that were checked already and are of one length.

    They are not copied: whoever gives them has no other use for them.
    """
    made = object.__new__(Measurements)
    for column in columns.values():
        column.setflags(write=False)
    made._keep({"p": columns["p"], **columns}, measure, cut_off)
    return made


MeasurementsLike: TypeAlias = Measurements | TableLike | AnyPath


def _columns_of(table: TableLike) -> dict[str, Any]:
    """Take the columns of a table, its times in seconds."""
    names = column_names(table)
    times = [name for name in names if name == "time" or time_unit(name)]
    if "p" not in names:
        raise ParameterError(
            "table",
            must="have a column p",
            got=_names(names),
            hint="Rename the column of processors to p, or use parcast.read_measurements.",
        )
    if len(times) != 1:
        raise ParameterError(
            "table",
            must="have one column of times",
            got=_names(times or names),
            hint=f"Call it time_s, or by another unit: {', '.join(TIME_UNITS)}.",
        )
    columns: dict[str, Any] = {}
    for name in names:
        new, factor = beside_unit(name) or (name, None)
        new = "deviation" if name == "deviation_s" else new
        columns[new] = table[name] if factor is None else to_numbers(new, table[name]) * factor
    if len(columns) < len(names):
        hint = "Leave out one of two that are the same, such as memory_B and memory_GB."
        raise ParameterError("table", must="have each column once", got=_names(names), hint=hint)
    seconds = to_numbers("time", columns.pop(times[0])) * (time_unit(times[0]) or 1.0)
    return columns | {"time": seconds}


def _checked(given: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Take columns as arrays: `p`, other axes, `time`, `repetition`, labels; each checked."""
    for name in ("p", "time"):
        if name not in given:
            raise ParameterError(
                name,
                must="be given",
                hint="Measurements need p and time, or one table that has them.",
            )
    beside = ("repetition", *MAY_BE_UNKNOWN)
    others = [x for x in given if x not in ("p", "time", *beside, *LABELS)]
    for name in others:
        if fault := axis_name_fault(name):
            raise fault
    numbers = [x for x in ("p", *others, "time", *beside) if x in given]
    columns: dict[str, NDArray[Any]] = {x: to_numbers(x, given[x]) for x in numbers}
    return columns | {x: to_names(x, given[x]) for x in LABELS if x in given}


def column_names(table: Any) -> list[str]:
    """List the columns of any table by name, each once."""
    listed = getattr(getattr(table, "dtype", None), "names", None)
    if listed is None:
        listed = getattr(table, "columns", None)
    names = list(getattr(table, "keys", tuple)() if listed is None else listed)
    if not names:
        hint = "Give a dict of columns, a data frame or a structured array."
        if isinstance(table, str | os.PathLike):
            hint = f"Read a file first: parcast.read_measurements({shown(os.fspath(table))!r})."
        raise ParameterError(
            "table", must="have columns by name", got=type(table).__name__, hint=hint
        )
    for i, name in enumerate(names):
        if not isinstance(name, str) or name in names[:i]:
            raise ParameterError(
                "table",
                must="name each column once, in text",
                got=shown(repr(name)),
                hint="Rename it.",
            )
    return names


def broadcast(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Bring columns to one length, single values repeated, and make them read-only."""
    lengths = {name: len(column) for name, column in columns.items() if column.ndim}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ParameterError(
            "columns",
            must="be of one length",
            got=got,
            hint="Give every row a value in each column.",
        )
    rows = next(iter(lengths.values()), 1)
    if rows == 0:
        raise ParameterError(
            "columns", must="have at least one row", got="none", hint="Measure a run first."
        )
    full = {x: y if y.ndim else np.full(rows, y, dtype=y.dtype) for x, y in columns.items()}
    for column in full.values():
        column.setflags(write=False)
    return full


def _no_column(argument: str, name: str, known: Sequence[str]) -> ParameterError:
    return ParameterError(
        argument,
        must="name columns of these measurements",
        got=repr(name),
        hint=f"{did_you_mean(str(name), known)} Choose from {_names(known)}.".lstrip(),
    )


def _no_value(name: str, value: object, column: NDArray[Any]) -> ParameterError:
    known = [_short(x) for x in dict.fromkeys(column.tolist())]
    near = did_you_mean(value, known) if isinstance(value, str) else ""
    return ParameterError(
        name,
        must="be one of those measured",
        got=repr(value),
        hint=f"{near} Choose from {_names(known)}.".lstrip(),
    )


def _names(of: Sequence[object]) -> str:
    """Write names or values one after another, as a message may show them."""
    return listed(map(str, of), MOST_NAMED) or "none"


def _short(value: object) -> str:
    """Write a cell as a person reads it."""
    return value if isinstance(value, str) else f"{value:g}"


def _range(column: NDArray[Any]) -> str:
    """Summarise a column for the one-line description."""
    if column.dtype == object:
        names = set(column.tolist())
        return f"{len(names)} names" if len(names) > 1 else repr(column[0])
    low, high = _short(column.min()), _short(column.max())
    return low if low == high else f"{low} to {high}"


def _rebuild(
    columns: dict[str, Any], measure: Measure, cut_off: Measurements | None = None
) -> Measurements:
    """Undo `Measurements.__reduce__`."""
    return measurements_of(Measurements(**columns).columns, measure, cut_off)
