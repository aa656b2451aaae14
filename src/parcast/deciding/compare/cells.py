"""Runs of two versions of a program, brought together by what was run.

A *cell* is what repetitions agree in: the processors, call path, problem size and so on. A
*session* is one table: what was run in one job or on one day. Of each session and cell are kept
the number of runs, the mean of the logarithms of their times, and the squares about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError
from parcast.timings.columns import LABELS
from parcast.timings.measure import Measure
from parcast.timings.measurements import Measurements
from parcast.timings.series import Key, label_of, number_groups
from parcast.units import shown
from parcast.words import listed, whole

FREE_OF_DEVIATION: Final = 2  # degrees of freedom of a deviation that a table gives [D]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cells:
    """What was run in some sessions; of arrays (sessions, cells) the base comes first."""

    keys: list[dict[str, str | float]]  # what tells the cells apart, `p` last
    new: NDArray[np.bool_]  # (sessions,): whether it is of the new version
    runs: NDArray[np.intp]  # of each session and cell [1]
    mean: Array  # of the logarithms of their times; 0 without runs
    squares: Array  # sum about that mean
    free: Array  # degrees of freedom of the squares [1]
    measure: Measure  # what the times are
    left_out: tuple[str, ...]  # columns that do not tell cells apart, in words

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.keys)

    def sessions(self, which: NDArray[Any]) -> "Cells":
        """Keep some sessions, by a mask or their numbers."""
        kept = {name: getattr(self, name)[which] for name in SESSIONS}
        return Cells(keys=self.keys, measure=self.measure, left_out=self.left_out, **kept)

    def take(self, cells: NDArray[Any]) -> "Cells":
        """Keep some cells, by a mask or their numbers."""
        kept = {name: getattr(self, name)[:, cells] for name in SESSIONS if name != "new"}
        keys = [self.keys[i] for i in np.arange(len(self))[cells].tolist()]
        return Cells(keys=keys, new=self.new, measure=self.measure, left_out=self.left_out, **kept)

    def only(self, kept: NDArray[np.bool_]) -> "Cells":
        """Keep the runs of some sessions of each cell, (sessions, cells)."""
        names = ("runs", "mean", "squares", "free")
        some: dict[str, Any] = {name: np.where(kept, getattr(self, name), 0) for name in names}
        return replace(self, **some)

    @property
    def in_both(self) -> NDArray[np.bool_]:
        """Which cells both versions have."""
        return self.in_version(new=False) & self.in_version(new=True)

    def in_version(self, *, new: bool) -> NDArray[np.bool_]:
        """Which cells one version has."""
        return np.asarray((self.runs[self.new == new] > 0).any(axis=0), dtype=np.bool_)

    @property
    def labels(self) -> list[str]:
        """Name each cell: "solve, p = 64"."""
        return [label_of(key) for key in self.keys]


SESSIONS: Final = ("new", "runs", "mean", "squares", "free")


def cells_of(base: Sequence[Measurements], new: Sequence[Measurements] = ()) -> Cells:
    """Bring the tables of two versions together.

    Labels and axes that all tables have tell cells apart. A label that is one name in each
    version, but another one, does not: the machine that each was run on.
    """
    tables = [*base, *new]
    measure = _one_measure(tables)
    is_new = np.arange(len(tables)) >= len(base)
    some = [i for i, x in enumerate(tables) if len(x)]  # of the others no run ended
    names, left_out = _columns_of([tables[i] for i in some], is_new[some])
    columns = [
        np.concatenate([{**tables[i].axes, **tables[i].labels}[name] for i in some])
        for name in names
    ]
    session = np.repeat(np.arange(len(tables)), [len(x) for x in tables])
    group, first = number_groups(columns, len(session))
    order = _order_of(columns, names, first)
    cell = np.argsort(order)[group]
    values = [column[first][order].tolist() for column in columns]
    size = len(first)
    log_time = np.log(np.concatenate([x.time for x in tables]))
    place, shape = session * size + cell, (len(tables), size)
    runs = np.bincount(place, minlength=np.prod(shape))
    mean = np.bincount(place, log_time, len(runs)) / np.maximum(runs, 1)
    squares = np.asarray(np.bincount(place, (log_time - mean[place]) ** 2, len(runs)), dtype=float)
    free = np.maximum(runs - 1.0, 0.0)
    known = np.concatenate([_deviations(x) for x in tables])
    if known.any():
        squares += FREE_OF_DEVIATION * np.bincount(place, known**2, len(runs))
        free += FREE_OF_DEVIATION * np.bincount(place, known > 0, len(runs))
    return Cells(
        keys=[dict(zip(names, key, strict=True)) for key in zip(*values, strict=True)],
        new=is_new,
        runs=runs.reshape(shape),
        mean=mean.reshape(shape),
        squares=squares.reshape(shape),
        free=free.reshape(shape),
        measure=measure,
        left_out=left_out,
    )


def require_common(cells: Cells, base: str, new: str) -> None:
    """Refuse versions that have no cell in common, and say what each has."""
    if cells.in_both.any():
        return
    have = [
        f"{name} has {listed([x for x, has in zip(cells.labels, known, strict=True) if has])}"
        for name, known in (
            (base, cells.in_version(new=False)),
            (new, cells.in_version(new=True)),
        )
    ]
    raise FitFailed(
        f"Nothing was run in both: {'; '.join(have)}. Measure both at the same processor counts, "
        "with the same names of call paths and the same parameters.",
        outcome="Nothing to compare.",
    )


def _one_measure(tables: Sequence[Measurements]) -> Measure:
    """What all times are; refuse times beside rates."""
    first, *others = tables
    for other in others:
        if not first.measure.is_like(other.measure):
            raise ParameterError(
                "the tables",
                must="have times, or rates of the same work",
                got=f"{first.measure.of_time} in one, {other.measure.of_time} in another",
                hint="Give times for both, or rates in one unit.",
            )
    return first.measure


def _columns_of(
    tables: Sequence[Measurements], is_new: NDArray[np.bool_]
) -> tuple[list[str], tuple[str, ...]]:
    """Columns that tell cells apart, `p` last, and what is said of the others."""
    names = dict.fromkeys(name for x in tables for name in (*x.labels, *x.axes) if name != "p")
    kept, left_out = [], []
    for name in names:
        values = [{*(x.labels.get(name, x.axes.get(name, np.array([])))).tolist()} for x in tables]
        if not all(values):
            if any(len(x) > 1 for x in values):
                raise ParameterError(
                    shown(name),
                    must="be a column of all tables",
                    got="tables with and without it",
                    hint="Select one of its values, or leave it out of the table that has it.",
                )
            left_out.append(f"{name} is a column of some tables only")
        elif name in LABELS and _is_of_version(values, is_new):
            pair = [
                shown(str(*values[i])) for i in (int(np.argmin(is_new)), int(np.argmax(is_new)))
            ]
            left_out.append(f"{name} is {pair[0]} in the base and {pair[1]} in the new runs")
        else:
            kept.append(name)
    return [*kept, "p"], tuple(left_out)


def _is_of_version(values: Sequence[set[Any]], is_new: NDArray[np.bool_]) -> bool:
    """Whether a label has one value in each version, and another one in the other."""
    old, new = (
        set().union(*(x for x, y in zip(values, is_new, strict=True) if y == side))
        for side in (False, True)
    )
    return len(old) == len(new) == 1 and old != new


def _order_of(
    columns: Sequence[NDArray[Any]], names: Sequence[str], first: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Order of cells: labels as they first appear, numbers ascending."""
    keys = [
        number_groups([column], len(column))[0][first] if name in LABELS else column[first]
        for column, name in zip(columns, names, strict=True)
    ]
    return np.lexsort(keys[::-1])


def _deviations(runs: Measurements) -> Array:
    """Deviation of log time that a table gives of means; 0 where it gives none."""
    if runs.deviation is None:
        return np.zeros(len(runs))
    return np.asarray(np.nan_to_num(runs.deviation) / runs.time)


def places_of(keys: Sequence[Key]) -> str:
    """Name some cells by their counts, each once: "64,128"."""
    return ",".join(str(x) for x in dict.fromkeys(whole(key["p"]) for key in keys))
