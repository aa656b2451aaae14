"""Memory of many series at any count of processors, from that measured at a few.

Over a problem size that was not measured, the memory at each measured count is first forecast
along n, then along p from there; the doubts are added in quadrature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import FitFailed, require
from parcast.forecasting.memory.members import ALONG_N, ALONG_P
from parcast.forecasting.own_runs.ensemble import laws_followed
from parcast.forecasting.own_runs.measured import MeasuredCurve, curve_from
from parcast.timings.columns import LABELS, MEMORY
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series, number_groups
from parcast.units import require_computable

RANK, TOTAL = MEMORY
QUIETEST: Final = 0.005  # standard deviation of log memory among repetitions, at least [D]
UNREPEATED: Final = 0.02  # the same where no run was repeated [D]
SEEN: Final = 0.05  # the same of all ranks, which are looked at from time to time [D]
SEVERAL: Final = 1.5  # total over the largest process from which there are several [D]
NEAR: Final = 0.9  # of the most, that a run has which saw all ranks [D]
ALONE: Final = 1.02  # the same up to which only one was seen [D]


class MemoryAt(NamedTuple):
    """Memory at some counts, (series, points) each; NaN where it is not known."""

    value: Array  # [B]
    lower: Array  # end of the 90% interval [B]
    upper: Array  # end of the 90% interval [B]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MemoryCurve:
    """Memory of some series as a function of the processors: of a rank, or of all."""

    series: Series  # its times are memory of a rank, or the mean over all ranks [B]
    is_total: bool
    doubt: Array  # (series,): half-width of log memory that a size which was not run adds

    @property
    def noise(self) -> Array:
        """Standard deviation of log memory among repetitions, (series,)."""
        spread, repeated = self.series.spread, self.series.shows_spread
        count = repeated.sum(axis=1)
        squares = np.where(repeated, np.nan_to_num(spread) ** 2, 0.0).sum(axis=1)
        pooled = np.sqrt(squares / np.maximum(count, 1))
        alone = SEEN if self.is_total else UNREPEATED
        return np.where(count > 0, np.maximum(pooled, QUIETEST), alone)

    def curve(self, p: Array) -> MeasuredCurve:
        """Compute it at some counts."""
        own = self.series
        padded = np.where(np.isnan(own.p), own.p[:, :1], own.p)
        memory = np.where(np.isnan(own.time), own.time[:, :1], own.time)
        weight = np.where(np.isnan(own.p), 0.0, 1.0)
        return curve_from(padded, memory, own.count, self.noise, p, weight=weight, laws=ALONG_P)

    def at(self, p: Array) -> MemoryAt:
        """Memory at `p`, (points,) at least 1 [1]."""
        curve = self.curve(p)
        middle, half = curve.log_time, curve.half_width
        more = half * curve.skew
        half = np.hypot(half, self.doubt[:, None])
        factor = p if self.is_total else np.ones_like(p)
        ends = (middle, middle - half + more, middle + half + more)
        return MemoryAt(*(np.exp(x) * factor for x in ends))

    def measured_at(self, p: Array) -> Array:
        """Median that was measured at `p`, (series, points), NaN where none was. [B]."""
        return observed(self.series, p) * (p if self.is_total else 1.0)

    def measured_of(self, i: int) -> dict[float, float]:
        """Median that was measured of one series, by its counts. [B]."""
        count = int(self.series.count[i])
        p, memory = (x[i, :count].tolist() for x in (self.series.p, self.series.time))
        return {x: y * (x if self.is_total else 1.0) for x, y in zip(p, memory, strict=True)}

    @property
    def falls(self) -> bool:
        """Whether memory of some series is less at a larger count, as shared data are."""
        each = [self.measured_of(i) for i in range(len(self.series))]
        return any(min(x.values()) < x[min(x)] / ALONE for x in each)

    def is_of_one_process(self, rank: "MemoryCurve") -> bool:
        """Whether all have what the largest process has, at every count: that of threads."""
        pairs = [
            (of_all[p], largest[p])
            for i in range(len(self.series))
            for of_all, largest in [(self.measured_of(i), rank.measured_of(i))]
            for p in of_all
            if p > 1 and p in largest
        ]
        return bool(pairs) and all(x <= ALONE * largest for x, largest in pairs)

    def backtest(self) -> Array:
        """Relative error at the largest count from the others, (series,); NaN if untested."""
        return np.asarray(np.expm1(-self.curve(self.series.p[:, :1].max(axis=0)).backtest))

    def follows(self, p: float) -> list[str]:
        """Formula of the law that each series follows, "" where none was recognised."""
        curve = self.curve(np.array([p]))
        found = laws_followed(curve.laws, curve.log_time[:, 0], p, ALONG_P)
        return ["" if x is None else x.formula for x in found]

    def take(self, rows: NDArray[np.intp]) -> "MemoryCurve":
        """Keep some of the series."""
        return MemoryCurve(
            series=self.series.take(rows), is_total=self.is_total, doubt=self.doubt[rows]
        )


def observed(series: Series, p: Array) -> Array:
    """Median at each of `p` [1], (series, points), NaN where nothing was measured."""
    same = series.p[:, :, None] == p
    values = np.where(same, np.nan_to_num(series.time)[:, :, None], 0.0).sum(axis=1)
    return np.where(same.any(axis=1), values, np.nan)


def of_memory(runs: Measurements, column: str) -> Measurements | None:
    """Runs whose memory is known, with it in place of their times: that of all, over the ranks."""
    memory = runs.memory.get(column)
    if memory is None or not (known := ~np.isnan(memory)).any():
        return None
    columns = {name: x[known] for name, x in (*runs.axes.items(), *runs.labels.items())}
    if column == RANK:
        return Measurements(**columns, time=memory[known])
    most, first = _seen(columns, memory[known], _is_alone(runs)[known])
    if not len(first):
        return None
    columns = {name: x[first] for name, x in columns.items()}
    return Measurements(**columns, time=most / columns["p"].astype(np.float64))


def _seen(
    columns: dict[str, NDArray[Any]], total: Array, is_alone: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.intp]]:
    """Most memory of all at each point, and the number of its first run.

    All ranks together are looked at from time to time, and never seen above their most. So the
    largest of the repetitions counts, where more than half of them came near it.
    """
    group, first = number_groups(list(columns.values()), len(total))
    most = np.zeros(len(first))
    np.maximum.at(most, group, total)
    near = (total >= NEAR * most[group]) & ~is_alone
    is_seen = 2 * np.bincount(group[near], minlength=len(first)) > np.bincount(group)
    return most[is_seen], first[is_seen]


def _is_alone(runs: Measurements) -> NDArray[np.bool_]:
    """Which runs of several ranks have the total of a single process, where others do not."""
    if not {*MEMORY} <= runs.memory.keys():
        return np.zeros(len(runs), dtype=bool)
    several, ratio = runs.p > 1, runs.memory[TOTAL] / runs.memory[RANK]
    are_ranks = bool((several & (ratio > SEVERAL)).any())
    return several & (ratio <= ALONE) & are_ranks


def curve_along_p(runs: Measurements, column: str, by: Sequence[str] | None) -> MemoryCurve | None:
    """Memory of every series along p; None where the runs do not have it."""
    known = of_memory(runs, column)
    if known is None:
        return None
    series = known.series(by)
    return MemoryCurve(series=series, is_total=column == TOTAL, doubt=np.zeros(len(series)))


def curve_over_sizes(
    runs: Measurements, column: str, axis: str, values: Array
) -> MemoryCurve | None:
    """Memory along p at values of another axis, whether they were run or not."""
    known = of_memory(runs, column)
    if known is None:
        return None
    require(axis, values, values > 0, must="be above 0", hint="Give sizes of the problem.")
    for value in values.tolist():
        require_computable(axis, value)
    labels = [name for name in LABELS if name in known.labels]
    groups = _rows_by(known, labels)
    rows: list[dict[str, Any]] = []
    for key, group in groups.items():
        rows += _at_sizes(group, axis, values, dict(zip(labels, key, strict=True)))
    series = _series(rows, (*labels, axis))
    doubt = np.array([max(row["half"]) for row in rows])
    return MemoryCurve(series=series, is_total=column == TOTAL, doubt=doubt)


def _rows_by(runs: Measurements, labels: Sequence[str]) -> dict[tuple[Any, ...], Measurements]:
    """Runs of each combination of labels."""
    if not labels:
        return {(): runs}
    keys = dict.fromkeys(zip(*(runs.labels[name].tolist() for name in labels), strict=True))
    return {key: runs.select(**dict(zip(labels, key, strict=True))) for key in keys}


def _at_sizes(
    runs: Measurements, axis: str, values: Array, key: dict[str, Any]
) -> list[dict[str, Any]]:
    """Memory at every measured count for each value of an axis, as far as the runs tell it."""
    along = MemoryCurve(
        series=(of_size := runs.series([axis, *key])),
        is_total=False,
        doubt=np.zeros(len(of_size)),
    )
    size = np.array([float(x[axis]) for x in of_size.keys])
    found: list[dict[str, Any]] = [
        {**key, axis: float(value), "p": [], "time": [], "half": [], "spread": []}
        for value in values.tolist()
    ]
    noise = float(np.median(along.noise))
    for p in np.unique(runs.p).tolist():
        memory = observed(of_size, np.array([p]))[:, 0]
        there = np.flatnonzero(~np.isnan(memory))
        order = there[np.argsort(size[there])]
        for row, (log_memory, half) in zip(
            found, _along_n(size[order], memory[order], values, noise), strict=True
        ):
            if np.isfinite(log_memory):
                row["p"].append(p)
                row["time"].append(float(np.exp(log_memory)))
                row["half"].append(half)
                row["spread"].append(noise)
    if any(len(row["p"]) < 2 for row in found):
        raise FitFailed(
            f"Memory at another {axis} needs runs at two values of {axis} at each of two counts. "
            f"Where {axis} goes with p, leave it out: the forecast along p has it.",
            outcome="No forecast of memory.",
        )
    return found


def _along_n(size: Array, memory: Array, values: Array, noise: float) -> list[tuple[float, float]]:
    """Log memory at some sizes and its half-width, NaN where a single size tells nothing."""
    if len(size) < 2:
        return [
            (float(np.log(memory[0])) if len(size) and size[0] == x else np.nan, 0.0)
            for x in values.tolist()
        ]
    curve = curve_from(
        size[None], memory[None], np.array([len(size)]), np.array([noise]), values, laws=ALONG_N
    )
    is_run = np.isin(values, size)
    half = np.where(is_run, 0.0, curve.half_width[0])
    return list(zip(curve.log_time[0].tolist(), half.tolist(), strict=True))


def _series(rows: Sequence[dict[str, Any]], by: tuple[str, ...]) -> Series:
    """Make series of rows that hold counts and memory."""
    count = np.array([len(row["p"]) for row in rows], dtype=np.int64)

    def padded(name: str) -> Array:
        table = np.full((len(rows), int(count.max())), np.nan)
        for i, row in enumerate(rows):
            table[i, : count[i]] = row[name]
        return table

    return Series(
        by=by,
        keys=[{name: row[name] for name in by} for row in rows],
        count=count,
        p=padded("p"),
        time=padded("time"),
        repetitions=np.where(np.isnan(padded("p")), 0, 2).astype(np.int64),
        spread=padded("spread"),
    )
