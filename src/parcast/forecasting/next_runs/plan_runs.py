"""The next runs that would narrow the interval at what is asked for most, for what they cost.

Runs that may be planned: at counts and values measured, asked for, and between and beyond.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError, as_whole
from parcast.forecasting.donors.gather import gather
from parcast.forecasting.donors.tables import table_of_donors
from parcast.forecasting.next_runs.method import Plan, plan_of
from parcast.forecasting.next_runs.result import (
    MOST_TARGETS,
    TELLING,
    Cost,
    PlannedRun,
    costs_of,
    said_of_reach,
)
from parcast.forecasting.next_runs.with_donors import Help, help_of, planned_with_donors
from parcast.forecasting.questions import check_keywords
from parcast.forecasting.surface.forecast import answered
from parcast.forecasting.surface.runs import (
    Runs,
    axes_of_question,
    counts_of,
    runs_by_label,
    why_refused,
)
from parcast.forecasting.surface.terms import coordinates_of
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series
from parcast.units import percent

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine


MOST_CANDIDATES = 400  # runs that are compared; those nearest to what is asked for where more


def candidates_of(program: Runs, combinations: Array, allowed: Array | None, upto: float) -> Array:
    """Runs that may be made and were not, shape (runs, axes)."""
    measured = np.unique(program.axes[:, 0])
    if allowed is None:
        allowed = _counts(measured, upto)
    allowed = allowed[allowed <= upto]
    values = [
        _towards(np.unique(program.axes[:, j]), np.unique(combinations[:, j - 1]))
        for j in range(1, program.axes.shape[1])
    ]
    every = np.stack([x.ravel() for x in np.meshgrid(allowed, *values, indexing="ij")], axis=1)
    is_new = np.isnan(program.at(program.time, every))
    every = every[is_new]
    if len(every) <= MOST_CANDIDATES:
        return every
    coordinates = coordinates_of(program.axes)
    asked = np.column_stack([np.full(len(combinations), upto), combinations])
    near, far = (coordinates.unit(coordinates.logs(x)) for x in (every, asked))
    distance = np.abs(near[:, None] - far).sum(axis=-1).min(axis=1)
    return every[np.sort(np.argsort(distance, kind="stable")[:MOST_CANDIDATES])]


def _towards(measured: Array, asked: Array) -> Array:
    """Values of an axis that runs may have: measured, asked for, and doublings between them."""
    values = np.union1d(measured, asked)
    if measured[0] <= 0 or asked[0] <= 0:
        return values
    up = measured[-1] * 2.0 ** np.arange(1, np.ceil(np.log2(asked[-1] / measured[-1])))
    down = measured[0] / 2.0 ** np.arange(1, np.ceil(np.log2(measured[0] / asked[0])))
    return np.unique(np.concatenate([values, up, down]))


def _counts(measured: Array, upto: float) -> Array:
    """Measured counts, the next ones by factors of two, and those in the gaps between."""
    most = max(upto, float(measured[-1]))
    doublings = int(np.ceil(np.log2(most / measured[0]))) + 1
    grown = measured[:, None] * 2.0 ** np.arange(doublings)
    apart = np.abs(np.log(grown[..., None] / measured)).min(axis=-1)
    fits = (grown <= upto) & ((apart >= np.log(2.0) - 1e-9) | (apart == 0))
    return np.union1d(measured[measured <= upto], np.round(grown[fits]))


def answers_itself(
    runs: Array, asked: Array, combinations: Array, *, beyond: bool
) -> NDArray[np.bool_]:
    """Whether runs would be what is asked for, or as large: they leave nothing to forecast."""
    if beyond:
        return np.asarray(runs[:, 0] >= asked.max())
    other = np.all(runs[:, None, 1:] == combinations, axis=-1).any(axis=1)
    return np.asarray(np.isin(runs[:, 0], asked) & other)


def plan_runs(
    measurements: Measurements | Any,
    p: ArrayLike,
    *,
    runs: int = 3,
    upto: int | None = None,
    counts: ArrayLike | None = None,
    cost: Cost | None = None,
    donors: Measurements | Sequence[Any] | Any | None = None,
    machines: Sequence["Machine"] = (),
    by: Sequence[str] | None = None,
    **at: ArrayLike,
) -> list[PlannedRun]:
    """Next runs that would narrow the interval most for their cost, the best first.

    Parameters
    ----------
    measurements : Measurements, or a table that `Measurements.from_table` accepts
        What was measured.
    p : array_like
        Processors asked for: whole numbers of at least 1. [1]
    runs : int, default 3
        How many runs to plan for each series, from 1.
    upto : int, optional
        Largest count that a run may have. By default below the largest of `p`, and where that
        was measured at other values, any run but those asked for. [1]
    counts : array_like, optional
        Counts that runs may have. By default those measured, the next ones by factors of two,
        and those between measured ones that lie more than a factor of two apart. [1]
    cost : callable, optional
        Cost of runs with so many processors that take so long [s], two arrays in, one out; by
        default processors times time.
    donors, machines
        As for `parcast.forecast`, which one own count is enough for; not with `at`.
    by : sequence of str, optional
        Columns that tell series apart, as for `parcast.forecast`; not with `at`.
    **at : array_like
        Values of other axes asked for, as for `parcast.forecast`; a run takes measured values of
        these, those asked for, or doublings between them.

    Returns
    -------
    list of PlannedRun
        Fewer than asked for where no further run would save 5 % of the interval's width.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or a keyword is no axis.
    FitFailed
        If nothing can be forecast.

    Examples
    --------
    >>> from parcast import Measurements
    >>> timed = Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0])
    >>> [run.at["p"] for run in plan_runs(timed, p=128, upto=128)]
    [32.0, 128.0]
    """
    if not isinstance(measurements, Measurements):
        measurements = Measurements.from_table(measurements)
    check_keywords(plan_runs, at, measurements)
    runs = as_whole("runs", runs, least=1, hint="Plan 3.")
    asked = counts_of("p", p)
    allowed = None if counts is None else counts_of("counts", counts)
    most = float(asked.max()) if upto is None else float(counts_of("upto", upto)[0])
    programs, wanted, series = _programs(measurements, by, at)
    helped = _help(measurements, series, donors, machines, at)
    options: dict[str, Any] = {"runs": runs, "cost": cost}
    combinations = (
        np.stack([x.ravel() for x in np.meshgrid(*wanted.values(), indexing="ij")], axis=1)
        if wanted
        else np.empty((1, 0))
    )
    planned: dict[int, list[PlannedRun]] = {}
    refused, with_donors = [], {}
    for i, program in enumerate(programs):
        has_donors = helped is not None and helped.is_there(i)
        if not has_donors and (why := why_refused(program, asked, wanted)):
            refused.append(why)
            continue
        candidates = candidates_of(program, combinations, allowed, most)
        if upto is None:
            beyond = most > program.axes[:, 0].max()
            candidates = candidates[
                ~answers_itself(candidates, asked, combinations, beyond=beyond)
            ]
        planned[i] = []
        if has_donors:
            with_donors[i] = candidates[:, 0]
        else:
            planned[i] += _planned(program, asked, combinations, candidates, **options)
    if helped is not None and with_donors:
        rows, counts_of_each = list(with_donors), list(with_donors.values())
        told = planned_with_donors(helped, rows, asked, counts_of_each, **options)
        planned |= dict(zip(rows, told, strict=True))
    if len(refused) == len(programs):
        raise FitFailed(refused[0], outcome="No forecast.")
    return [run for i in sorted(planned) for run in planned[i]]


def _programs(
    measurements: Measurements, by: Sequence[str] | None, at: Mapping[str, ArrayLike]
) -> tuple[list[Runs], dict[str, Array], Series | None]:
    """Runs of each program, the values asked for of other axes; without any, the series too."""
    if at:
        if by is not None:
            raise ParameterError(
                "by", must=f"be left out where values of {', '.join(at)} are asked for"
            )
        wanted, _ = axes_of_question(measurements, at)
        return runs_by_label(measurements, list(wanted)), wanted, None
    series = measurements.series(by)
    found = []
    for i, key in enumerate(series.keys):
        points = slice(0, int(series.count[i]))
        found.append(
            Runs(
                key=key,
                names=("p",),
                axes=series.p[i, points, None],
                time=series.time[i, points],
                repetitions=series.repetitions[i, points],
                spread=series.spread[i, points],
            )
        )
    return found, {}, series


def _help(
    measurements: Measurements,
    series: Series | None,
    donors: Measurements | Any | None,
    machines: Sequence["Machine"],
    at: Mapping[str, ArrayLike],
) -> Help | None:
    """Find the donors of every series, where there are any."""
    if donors is None:
        return None
    if series is None:
        raise ParameterError(
            "donors",
            must=f"be left out where values of {', '.join(at)} are asked for",
            hint="All runs with the same callpath and machine are planned from together.",
        )
    others, _ = table_of_donors(donors)  # what is to be said of them, `forecast` says
    return help_of(series, gather(others, measurements, series, machines))


def _planned(
    program: Runs,
    asked: Array,
    combinations: Array,
    candidates: Array,
    *,
    runs: int,
    cost: Cost | None,
) -> Iterator[PlannedRun]:
    """Plan one run after the other, each the best one for its cost."""
    if not len(candidates):
        return
    told = answered(program, asked, combinations, candidates)
    every = np.column_stack(
        [np.tile(asked, len(combinations)), np.repeat(combinations, len(asked), axis=0)]
    )
    kept = program.used
    now = told.half_width.ravel()
    widest = np.argsort(-now, kind="stable")[:MOST_TARGETS]
    plan = plan_of(told.said, program.axes[:, kept], every[:, kept])
    plan = _only(plan, widest)
    target = dict(zip(program.names, every[widest[0]].tolist(), strict=True))
    target_time = float(np.exp(told.log_time.ravel()[widest[0]]))

    log_time = told.said.log_time[len(every) :]
    own = told.said.doubts.half_width()[len(every) :]
    time = np.exp(log_time)
    costs = costs_of(cost, candidates[:, 0], time)
    places = told.said.coordinates.logs(candidates[:, kept])
    free = np.ones(len(candidates), dtype=bool)
    before = plan.doubts.half_width()
    for _ in range(min(runs, len(candidates))):
        after = plan.after(places).half_width()
        saved = before.mean() - after.mean(axis=1)
        telling = free & (saved > TELLING * before.mean())
        if not telling.any():
            return
        best = int(np.argmax(np.where(telling, saved / costs, -np.inf)))
        free[best] = False
        following = plan.with_run(places[best], float(log_time[best]))
        yield PlannedRun(
            key=program.key,
            at=dict(zip(program.names, candidates[best].tolist(), strict=True)),
            time=float(time[best]),
            lower=float(np.exp(log_time[best] - own[best])),
            upper=float(np.exp(log_time[best] + own[best])),
            cost=float(costs[best]),
            target=target,
            target_time=target_time,
            before=float(before[0]),
            after=float(after[best, 0]),
            because=_because(plan, following, [program.names[j] for j in kept]),
        )
        plan, before = following, after[best]


def _only(plan: Plan, targets: NDArray[np.intp]) -> Plan:
    """Keep some of the targets of a plan."""
    parts = {x.name: getattr(plan.doubts, x.name)[targets] for x in fields(plan.doubts)}
    return replace(plan, targets=plan.targets[targets], doubts=replace(plan.doubts, **parts))


def _because(plan: Plan, following: Plan, names: Sequence[str]) -> str:
    """Say which doubt the run removes most of, at the target."""
    told, then = plan.doubts, following.doubts
    falls = {
        "along": float(told.along[0] ** 2 - then.along[0] ** 2)
        + float(told.noise[0] ** 2 - then.noise[0] ** 2),
        "beyond": float(told.beyond[0] ** 2 - then.beyond[0] ** 2),
        "deviation": float(10 * (told.deviation[0] ** 2 - then.deviation[0] ** 2)),
    }
    most = max(falls, key=lambda name: falls[name])
    if most == "along":
        counts = (np.exp(x.levels) for x in (plan, following))
        return said_of_reach(float(np.exp(plan.targets[0, 0])), *counts)
    if most == "beyond":
        changed = [
            name
            for j, name in enumerate(names)
            if following.most[j] > plan.most[j] or following.least[j] < plan.least[j]
        ]
        return f"it goes beyond the measured {' and '.join(changed)}"
    saved = 1 - float(then.deviation[0] / told.deviation[0])
    act = " and ".join([", ".join(names[:-1]), names[-1]])
    return f"it tells how {act} act together: {percent(saved)} of that doubt goes"
