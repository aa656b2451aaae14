"""The versions that are compared: tables of runs, and results that have times by count."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.compare.cells import Cells, cells_of
from parcast.deciding.compare.noise import noise_of
from parcast.errors import NoRunEnded, ParameterError
from parcast.forecasting.own_runs.measured import NORMAL_90
from parcast.importers.content import head_of
from parcast.importers.own_result import recognises
from parcast.importers.registry import as_measurements
from parcast.saved.load import load, runs_in
from parcast.saved.result import SavedResult
from parcast.show.result import Result
from parcast.timings.columns import LABELS
from parcast.timings.measure import TIME, Measure
from parcast.timings.measurements import Measurements
from parcast.timings.notes import warn_reader
from parcast.timings.tables.rows import none_ended
from parcast.units import shown

ARRAYS: Final = ("log_time", "error", "free", "runs", "is_forecast")
NO_KEYS: Final = ("rank", "quantity")  # columns before the time that tell no cells apart


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class VersionTimes:
    """Times of one version, each with its error."""

    keys: list[dict[str, str | float]]  # what tells them apart
    log_time: Array  # logarithm of each
    error: Array  # standard deviation of that
    free: Array  # degrees of freedom of the error; infinite where an interval was stated [1]
    runs: Array  # runs behind each; NaN where it is no mean of runs [1]
    is_forecast: NDArray[np.bool_]  # from runs, at a count beyond them

    def take(self, places: Sequence[int]) -> VersionTimes:
        """Keep some, in an order."""
        kept = {name: getattr(self, name)[list(places)] for name in ARRAYS}
        return replace(self, keys=[self.keys[i] for i in places], **kept)

    def at(self, counts: Array) -> VersionTimes:
        """Keep those at some counts."""
        return self.take([i for i, key in enumerate(self.keys) if key.get("p") in counts])

    def beside(self, other: VersionTimes) -> VersionTimes:
        """Those that only another has as well, told apart by what both have."""
        keys = [*self.keys, *other.keys]
        common = [name for name in keys[0] if all(name in key for key in keys)]
        own, others = ([{x: key[x] for x in common} for key in y.keys] for y in (self, other))
        other = other.take([i for i, key in enumerate(others) if key not in own])
        keys = [*self.keys, *other.keys]
        both = {name: np.append(getattr(self, name), getattr(other, name)) for name in ARRAYS}
        return VersionTimes(keys=[{x: key[x] for x in common} for key in keys], **both)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Version:
    """One of the two: its runs where it has any, and its result where it is one."""

    name: str  # as sentences call it
    runs: Measurements | None
    result: Result | None = None
    counts: Array | None = None  # that are asked for; None: all [1]
    beyond: Result | None = None  # times at those of them that the rest has none of

    @property
    def measure(self) -> Measure:
        """What its times are."""
        return TIME if self.runs is None else self.runs.measure

    @property
    def timed(self) -> VersionTimes:
        """Its times: those of the result, or the means of its runs."""
        if self.result is not None:
            times = self._of_result(self.result)
        else:
            assert self.runs is not None
            times = timed_runs(cells_of([self.runs]))
        if self.counts is None:
            return times
        times = times.at(self.counts)
        if self.beyond is None:
            return times
        more = self._of_result(self.beyond)
        return times.beside(more) if times.keys else more

    @property
    def is_measured(self) -> bool:
        """Whether all its times are of runs."""
        return self.result is None and self.beyond is None

    def _of_result(self, result: Result) -> VersionTimes:
        """Times of a result."""
        last = np.inf if self.runs is None else float(self.runs.p.max())
        return timed_rows(list(result.rows()), self.name, last=last)


def version_of(given: Any, name: str) -> Version:
    """Take a table of runs, a result, or the path of either."""
    if isinstance(given, str | os.PathLike) and is_saved(given):
        given = load(given)
    if isinstance(given, SavedResult):
        return Version(name=name, runs=runs_in(given.document), result=given)
    if isinstance(given, Result):
        call = getattr(given, "call", None)
        runs = None if call is None else call.arguments.get("measurements")
        return Version(name=name, runs=runs, result=given)
    return Version(name=name, runs=as_measurements(given))


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Tell a result that was saved by how its file begins."""
    head = head_of(path)
    return head is not None and recognises(head, Path(path))


def timed_runs(cells: Cells) -> VersionTimes:
    """Means of the runs of some cells."""
    noise = noise_of(cells)
    mean, variance = noise.mean_of(cells)
    return VersionTimes(
        keys=cells.keys,
        log_time=mean,
        error=np.sqrt(variance),
        free=noise.free,
        runs=cells.runs.sum(axis=0).astype(float),
        is_forecast=np.zeros(len(mean), dtype=np.bool_),
    )


def timed_rows(
    rows: Sequence[Mapping[str, Any]], name: str, *, last: float = np.inf
) -> VersionTimes:
    """Times in the rows of a result: what stands before the time tells them apart.

    `last` is the largest count of its runs.
    """
    hint = "Compare forecasts, predictions or tables of runs."
    if not rows or "time_s" not in rows[0] or not any(row["time_s"] for row in rows):
        got = "a result without any"
        raise ParameterError(name, must="have times by count", got=got, hint=hint)
    before = [*rows[0]][: [*rows[0]].index("time_s")]
    known = [row for row in rows if row["time_s"]]
    keys = [
        {x: y if isinstance(y, str) else float(y) for x, y in row.items() if _is_key(x, y, before)}
        for row in known
    ]
    if any(key.keys() != keys[0].keys() for key in keys):
        got = "a result of several tables"
        raise ParameterError(name, must="be one table of times by count", got=got, hint=hint)
    time = np.array([row["time_s"] for row in known], dtype=np.float64)
    lower, upper = (
        np.array([row.get(end) or t for row, t in zip(known, time, strict=True)], dtype=np.float64)
        for end in ("lower_s", "upper_s")
    )
    return VersionTimes(
        keys=keys,
        log_time=np.log(time),
        error=np.log(upper / lower) / (2 * NORMAL_90),
        free=np.full(len(time), np.inf),
        runs=np.full(len(time), np.nan),
        is_forecast=np.array([float(key.get("p", 0.0)) > last for key in keys], dtype=np.bool_),
    )


def _is_key(name: str, value: Any, before: Sequence[str]) -> bool:
    """Whether a column of a row is one that tells rows apart."""
    return name in before and name not in NO_KEYS and isinstance(value, str | int | float)


def matched(base: VersionTimes, new: VersionTimes) -> tuple[VersionTimes, VersionTimes, list[str]]:
    """Keep what both have, in the order of the base; say which columns do not tell it apart."""
    names = dict.fromkeys(name for side in (base, new) for key in side.keys for name in key)
    kept, said = [], []
    for name in names:
        values = [{key.get(name) for key in side.keys} for side in (base, new)]
        if None not in values[0] | values[1] and not (
            name in LABELS and len(values[0]) == len(values[1]) == 1 != len(values[0] | values[1])
        ):
            kept.append(name)
        elif all(len(x) == 1 for x in values):
            old, other = (shown(str(*x)).replace("None", "not said") for x in values)
            said.append(f"{name} is {old} in the base and {other} in the new version")
        else:
            raise ParameterError(
                shown(name),
                must="be a column of both versions",
                got="one with and one without it",
                hint="Select one of its values, or leave it out of the version that has it.",
            )
    where = [
        {tuple(key[x] for x in kept): i for i, key in enumerate(side.keys)} for side in (base, new)
    ]
    common = [key for key in where[0] if key in where[1]]
    pair = [
        side.take([place[key] for key in common])
        for side, place in zip((base, new), where, strict=True)
    ]
    cut = [{name: key[name] for name in kept} for key in pair[0].keys]
    return replace(pair[0], keys=cut), replace(pair[1], keys=cut), said


def as_sessions(name: str, given: Any, *, stopped_too: bool = False) -> list[Measurements]:
    """Take a table or a list of tables, each or a result with its runs; so are paths of either.

    With `stopped_too` those of which no run ended count where a run was stopped.
    """
    several = isinstance(given, list | tuple)
    if several and not given:
        raise ParameterError(name, must="be a table or several", got="none", hint="Give runs.")
    kept, left_out = ended(
        given if several else [given], partial(_runs_of, name=name, stopped_too=stopped_too)
    )
    for text in left_out:
        warn_reader(name, [text])
    for i, one in enumerate(kept):
        if len(one) and one in kept[:i]:
            raise ParameterError(
                name,
                must="be tables of different runs",
                got=f"the runs of table {kept.index(one) + 1} again as table {i + 1}",
                hint="A table does not confirm itself: measure again.",
            )
    return kept


def _runs_of(given: Any, name: str, *, stopped_too: bool) -> Measurements:
    """Runs of a table, or of a result that has them."""
    try:
        runs = version_of(given, name).runs
    except NoRunEnded as refusal:
        if not stopped_too or refusal.stopped is None:
            raise
        runs = none_ended(refusal.stopped)
    if runs is None:
        raise ParameterError(
            name,
            must="be runs, or results with theirs",
            got=f"a {type(given).__name__} without runs",
            hint="Give tables of runs, or forecasts.",
        )
    return runs


def ended(given: Sequence[Any], read: Callable[[Any], Any]) -> tuple[list[Any], list[str]]:
    """Read several tables; say which are left out, as none of their runs ended."""
    kept, left_out = [], []
    for i, one in enumerate(given):
        try:
            kept.append(read(one))
        except NoRunEnded as refusal:
            if not kept and i == len(given) - 1:
                raise
            left_out.append(f"{refusal.path} is left out: none of its runs ended.")
    return kept, left_out
