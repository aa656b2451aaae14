"""The next runs that narrow the interval of a forecast most for their cost.

They may be at counts and values that were measured, are asked for, or lie between and beyond.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError, as_whole
from parcast.forecasting.donors.curve import Elsewhere
from parcast.forecasting.donors.gather import gather, table_of_donors
from parcast.forecasting.next_runs.method import RunPlan, plan_of, planned_with_donors
from parcast.forecasting.next_runs.result import (
    MOST_TARGETS,
    TELLING,
    Cost,
    PlannedRun,
    PlannedRuns,
    WantedRuns,
    costs_of,
    words_of_reach,
)
from parcast.forecasting.own_runs.call_paths import profile_of
from parcast.forecasting.own_runs.cut_off import CutOffRuns, cut_off_runs, told_of
from parcast.forecasting.series.curve import Curve, curve_of
from parcast.forecasting.series.question import ForecastQuestion, counts_of, question_of
from parcast.forecasting.series.verdict import FURTHEST_RUN, WIDEST_USEFUL
from parcast.forecasting.surface.method import coordinates_of
from parcast.forecasting.surface.runs import (
    SurfaceRuns,
    answered_at,
    axes_of_question,
    every_combination,
    grid_of,
    runs_by_label,
    why_refused,
)
from parcast.timings.measurements import MeasurementsLike
from parcast.timings.series import Series
from parcast.units import percent
from parcast.words import joined

if TYPE_CHECKING:
    from parcast.descriptions.toml_files import MachineLike


MOST_CANDIDATES = 400  # runs that are compared; those nearest to what is asked for where more


def candidates_of(
    program: SurfaceRuns, combinations: Array, allowed: Array | None, upto: float
) -> Array:
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
    requested = np.column_stack([np.full(len(combinations), upto), combinations])
    near, far = (coordinates.unit(coordinates.logs(x)) for x in (every, requested))
    distance = np.abs(near[:, None] - far).sum(axis=-1).min(axis=1)
    return every[np.sort(np.argsort(distance, kind="stable")[:MOST_CANDIDATES])]


def _towards(measured: Array, requested: Array) -> Array:
    """Values of an axis that runs may have: measured, asked for, and doublings between them."""
    values = np.union1d(measured, requested)
    if measured[0] <= 0 or requested[0] <= 0:
        return values
    up = measured[-1] * 2.0 ** np.arange(1, np.ceil(np.log2(requested[-1] / measured[-1])))
    down = measured[0] / 2.0 ** np.arange(1, np.ceil(np.log2(measured[0] / requested[0])))
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
    runs: Array, requested: Array, combinations: Array, *, beyond: bool
) -> NDArray[np.bool_]:
    """Whether runs would be what is asked for, or as large: they leave nothing to forecast."""
    if beyond:
        return np.asarray(runs[:, 0] >= requested.max())
    other = np.all(runs[:, None, 1:] == combinations, axis=-1).any(axis=1)
    return np.asarray(np.isin(runs[:, 0], requested) & other)


def _smaller_runs(
    program: SurfaceRuns,
    requested: Array,
    combinations: Array,
    allowed: Array | None,
    reach: float,
) -> Array:
    """Runs that are smaller than what is asked for, up to `reach` times the largest measured p."""
    largest, most = float(program.axes[:, 0].max()), float(requested.max())
    runs = candidates_of(program, combinations, allowed, min(most, reach * largest))
    return runs[~answers_itself(runs, requested, combinations, beyond=most > largest)]


def plan_runs(
    measurements: MeasurementsLike,
    p: ArrayLike | None = None,
    *,
    runs: int = 3,
    upto: int | None = None,
    counts: ArrayLike | None = None,
    cost: Cost | None = None,
    donors: MeasurementsLike | Sequence[MeasurementsLike] | None = None,
    machines: Sequence[MachineLike] = (),
    by: Sequence[str] | None = None,
    beyond: bool = False,
    **at: ArrayLike,
) -> PlannedRuns:
    """Plan the next runs: those that narrow the interval of a forecast most for their cost.

    Parameters
    ----------
    measurements : Measurements, table or path
        Measured times, as for `parcast.forecast`.
    p : int or array_like, optional
        Processor counts whose forecast is to be narrowed: whole numbers of at least 1. By default
        the next two doublings of the largest measured count. [1]
    runs : int, default 3
        Number of runs to plan for each series, at least 1. [1]
    upto : int, optional
        Largest count of a planned run. By default below the largest of `p` and, without `counts`
        and `donors`, at most four times the largest measured one; where the largest of `p` was
        measured at other values, any run but those in `p`. [1]
    counts : array_like, optional
        Counts that planned runs may have. By default the measured ones, the next ones by factors
        of two, and those between measured ones that lie more than a factor of two apart. [1]
    cost : callable, optional
        Takes two arrays, processor counts [1] and times [s], and returns the cost of each run. By
        default their product, processor-seconds.
    donors, machines
        As for `parcast.forecast`; with `donors`, one own count is enough. Cannot be combined with
        `at`.
    by : sequence of str, optional
        Columns that distinguish the series, as for `parcast.forecast`. Cannot be combined with
        `at`.
    beyond : bool, default False
        Whether a run may be planned where there is no forecast: where the 90% interval of its own
        time spans more than thirtyfold.
    **at : float or array_like
        Values of other axes, as for `parcast.forecast`. A planned run takes measured values of
        these axes, the given ones, or doublings between them.

    Returns
    -------
    list of PlannedRun
        The best first. Fewer than `runs` where no further run would narrow the interval by 5%.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or a keyword is no axis.
    FileProblems
        If a file cannot be read, or something in it is wrong.
    FitFailed
        If nothing can be forecast.

    Examples
    --------
    >>> import parcast
    >>> timed = parcast.Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0])
    >>> parcast.plan_runs(timed, p=128, upto=128)
    [PlannedRun(p = 64, time 4.63 s)]
    """
    requested = None if p is None else counts_of("p", p)
    question = question_of(
        plan_runs, measurements, requested, donors=donors, machines=machines, by=by, at=at
    )
    requested = question.p
    runs = as_whole("runs", runs, least=1, hint="Plan 3.")
    allowed = None if counts is None else counts_of("counts", counts)
    most = np.inf if upto is None else float(counts_of("upto", upto)[0])
    programs, values, series = _programs(question)
    elsewhere = _elsewhere(question, series)
    wanted = WantedRuns(runs, cost, beyond)
    bounds = _bounds(question, series)
    combinations = grid_of(values)
    planned: dict[int, list[PlannedRun]] = {}
    refused, with_donors = [], {}
    for i, program in enumerate(programs):
        has_donors = elsewhere is not None and bool((elsewhere.of[i] >= 0).any())
        if not has_donors and (why := why_refused(program, requested, values)):
            refused.append(why)
            continue
        if upto is not None:
            candidates = candidates_of(program, combinations, allowed, most)
        else:
            reach = np.inf if has_donors or allowed is not None else FURTHEST_RUN
            candidates = _smaller_runs(program, requested, combinations, allowed, reach)
        planned[i] = []
        if has_donors:
            with_donors[i] = candidates[:, 0]
        else:
            own = _given(series, i, bounds)
            planned[i] += _planned(program, requested, combinations, candidates, wanted, given=own)
    if series is not None and elsewhere is not None and with_donors:
        rows = np.array(list(with_donors))
        lists = planned_with_donors(
            series.take(rows),
            elsewhere.take(rows),
            requested,
            list(with_donors.values()),
            wanted,
            cut_off=None if bounds is None else bounds.take(rows),
        )
        planned |= dict(zip(with_donors, lists, strict=True))
    if len(refused) == len(programs):
        raise FitFailed(refused[0], outcome="No forecast.")
    measure = question.measurements.measure
    return PlannedRuns(
        replace(run, measure=measure) for i in sorted(planned) for run in planned[i]
    )


def _programs(
    question: ForecastQuestion,
) -> tuple[list[SurfaceRuns], dict[str, Array], Series | None]:
    """Runs of each program, the values asked for of other axes; without any, the series too."""
    if question.at:
        if question.by is not None:
            raise ParameterError(
                "by", must=f"be left out where values of {', '.join(question.at)} are asked for"
            )
        values, _ = axes_of_question(question.measurements, question.at)
        return runs_by_label(question.measurements, list(values)), values, None
    series = question.measurements.series(question.by)
    programs = []
    for i, key in enumerate(series.keys):
        points = slice(0, int(series.count[i]))
        programs.append(
            SurfaceRuns(
                key=key,
                names=("p",),
                axes=series.p[i, points, None],
                time=series.time[i, points],
                repetitions=series.repetitions[i, points],
                spread=series.spread[i, points],
            )
        )
    return programs, {}, series


def _bounds(question: ForecastQuestion, series: Series | None) -> CutOffRuns | None:
    """Find the runs that were ended, where forecasts use them."""
    if series is None or profile_of(series) is not None:
        return None
    return cut_off_runs(question.measurements.cut_off, series)


def _given(series: Series | None, row: int, bounds: CutOffRuns | None) -> Curve | None:
    """Curve of a series with its runs that were ended; None of one without."""
    if series is None or bounds is None or not bounds.runs[row].any():
        return None
    return curve_of(series, np.array([row]), bounds)


def _elsewhere(question: ForecastQuestion, series: Series | None) -> Elsewhere | None:
    """Find the donors of every series, where there are any."""
    if question.donors is None:
        return None
    if series is None:
        raise ParameterError(
            "donors",
            must=f"be left out where values of {', '.join(question.at)} are asked for",
            hint="All runs with the same callpath and machine are used together.",
        )
    donors, _ = table_of_donors(question.donors)  # `forecast` gives the remarks on them
    return gather(donors, question.measurements, series, question.machines)


def _planned(
    program: SurfaceRuns,
    requested: Array,
    combinations: Array,
    candidates: Array,
    wanted: WantedRuns,
    *,
    given: Curve | None,
) -> Iterator[PlannedRun]:
    """Plan one run after the other, each the best one for its cost.

    `given` is the series with runs that were ended, which exclude shorter times.
    """
    if not len(candidates):
        return
    answered = answered_at(program, requested, combinations, candidates)
    every = every_combination(requested, combinations)
    kept = program.used
    told = answered.told
    plan = plan_of(answered.estimate, program.axes[:, kept], every[:, kept])
    if given is not None:
        curve = given.estimate(np.concatenate([every, candidates])[:, 0]).curve
        told = told_of(curve, 0, np.arange(len(curve.log_time[0])))
    log_time, now = told.log_time, told.half_width
    if given is not None or answered.at_bounds is not None:
        plan = _scaled(plan, now[: len(every)] / plan.doubts.half_width())
    ends = log_time - now + now * told.skew, log_time + now + now * told.skew
    widest = np.argsort(-now[: len(every)], kind="stable")[:MOST_TARGETS]
    plan = _only(plan, widest)
    target = dict(zip(program.names, every[widest[0]].tolist(), strict=True))
    target_time = float(np.exp(log_time[widest[0]]))

    log_time, own = log_time[len(every) :], now[len(every) :]
    time, lower, upper = (np.exp(x[-len(candidates) :]) for x in (log_time, *ends))
    costs = costs_of(wanted.cost, candidates[:, 0], time)
    places = answered.estimate.coordinates.logs(candidates[:, kept])
    free = np.full(len(candidates), wanted.beyond) | (np.exp(2 * own) <= WIDEST_USEFUL)
    before = plan.doubts.half_width()
    for _ in range(min(wanted.runs, len(candidates))):
        after = plan.after(places).half_width()
        saved = before.mean() - after.mean(axis=1)
        is_worth = free & (saved > TELLING * before.mean())
        if not is_worth.any():
            return
        best = int(np.argmax(np.where(is_worth, saved / costs, -np.inf)))
        free[best] = False
        following = plan.with_run(places[best], float(log_time[best]))
        yield PlannedRun(
            key=program.key,
            at=dict(zip(program.names, candidates[best].tolist(), strict=True)),
            time=float(time[best]),
            lower=float(lower[best]),
            upper=float(upper[best]),
            cost=float(costs[best]),
            target=target,
            target_time=target_time,
            before=float(before[0]),
            after=float(after[best, 0]),
            because=_because(plan, following, [program.names[j] for j in kept]),
        )
        plan, before = following, after[best]


def _scaled(plan: RunPlan, factor: Array) -> RunPlan:
    """Multiply the half-width of each target of a plan."""
    return replace(plan, doubts=plan.doubts.each(lambda part: part * factor))


def _only(plan: RunPlan, targets: NDArray[np.intp]) -> RunPlan:
    """Keep some of the targets of a plan."""
    doubts = plan.doubts.each(lambda part: part[targets])
    return replace(plan, targets=plan.targets[targets], doubts=doubts)


def _because(plan: RunPlan, following: RunPlan, names: Sequence[str]) -> str:
    """Say which part of the uncertainty at the target the run reduces most."""
    now, then = plan.doubts, following.doubts
    if then.half_width()[0] > (1 - TELLING) * now.half_width()[0]:
        return "narrows the intervals at other counts, not the widest one"
    falls = {
        "along": float(now.along[0] ** 2 - then.along[0] ** 2)
        + float(now.noise[0] ** 2 - then.noise[0] ** 2),
        "beyond": float(now.beyond[0] ** 2 - then.beyond[0] ** 2),
        "deviation": float(10 * (now.deviation[0] ** 2 - then.deviation[0] ** 2)),
    }
    most = max(falls, key=lambda name: falls[name])
    if most == "along":
        counts = (np.exp(x.levels) for x in (plan, following))
        return words_of_reach(float(np.exp(plan.targets[0, 0])), *counts)
    if most == "beyond":
        changed = [
            name
            for j, name in enumerate(names)
            if following.most[j] > plan.most[j] or following.least[j] < plan.least[j]
        ]
        return f"extends the measured range of {' and '.join(changed)}"
    saved = 1 - float(then.deviation[0] / now.deviation[0])
    return (
        f"shows the combined effect of {joined(names)}: {percent(saved)} less uncertainty from it"
    )
