"""How much narrower an interval becomes with one more run, told before it is made.

Beyond the measured counts the half-width falls with the reach that is left,

    half-width' = half-width * (reach' / reach)^0.7

and by 0.65 more where a third count lets the forecast be tested for the first time; between two
counts with the square root of the distance to the nearer one, as
`parcast.forecasting.own_runs.measured` has it. The other axes go by the same power. The deviation
of the kriging follows exactly, as it depends on where runs are made and not on what they take; the
noise of the runs stays. The power and the factor are what runs of real programs did [D]: see
``docs/explanation/several-parameters.md``, also for how often a run does not narrow anything,
because it contradicts the others.

What the donors tell depends on where the last own run is, and little on what it takes: a run is
pretended to take what is forecast, and the forecast is made again with it. What the own runs tell
would become far too sure in this way, as a run that is pretended never contradicts them; their
half-width falls by the rule of `parcast.forecasting.next_runs.method` instead. The two are mixed
by the share that the donors have in the forecast at the target before the run,

    half-width' = share * half-width of the forecast made again + (1 - share) * half-width * rule

Told and found half-widths are compared in ``docs/explanation/donors.md`` [D].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.donors.curve import (
    DonatedCurve,
    Elsewhere,
    Timings,
    curve_with_donors,
    donated_curve,
    timings_of,
)
from parcast.forecasting.next_runs.result import (
    MOST_TARGETS,
    TELLING,
    PlannedRun,
    WantedRuns,
    costs_of,
    words_of_reach,
)
from parcast.forecasting.own_runs.cut_off import CutOffRuns
from parcast.forecasting.own_runs.measured import NORMAL_90
from parcast.forecasting.series.curve import curve_of
from parcast.forecasting.series.verdict import WIDEST_USEFUL
from parcast.forecasting.surface.kriging import Surface
from parcast.forecasting.surface.method import Doubts, SurfaceForecast
from parcast.timings.series import Series

SHORTENED = 0.7  # power of the reach with which the half-width falls [D]
CLOSER = 0.5  # the same between two measured counts
FIRST_TEST = 0.65  # of a third count, beyond what it shortens the reach [D]
POINTS_AT_ONCE = 200_000  # of all runs, counts and donors together: bounds the memory


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPlan:
    """What is known of the targets, before and after runs that are planned."""

    targets: Array  # (targets, axes): coordinates, logarithms
    doubts: Doubts  # of the targets, each part of shape (targets,)
    surface: Surface
    middle: Array  # (axes,): of the coordinates of the surface
    half: Array  # (axes,)
    least: Array  # (axes,): the range that runs cover
    most: Array  # (axes,)
    levels: Array  # (levels,): logarithms of the counts with runs
    has_other_axes: bool

    def after(self, runs: Array) -> Doubts:
        """Parts of the uncertainty of every target after each of some runs: (runs, targets)."""
        targets, made = self.targets[None, :, :], runs[:, None, :]
        along = shortened(self.targets[:, 0], runs[:, 0], self.levels)

        least, most = np.minimum(self.least, made), np.maximum(self.most, made)
        out = np.maximum(np.maximum(targets - most, least - targets), 0.0)[..., 1:].sum(axis=-1)
        was = np.maximum(np.maximum(self.targets - self.most, self.least - self.targets), 0.0)
        other = _share(out, was[:, 1:].sum(axis=1)) ** SHORTENED

        deviation = np.broadcast_to(self.doubts.deviation, along.shape)
        if self.has_other_axes:
            known = np.clip(
                np.broadcast_to(targets, least.shape[:1] + targets.shape[1:]), least, most
            )
            level = self.levels[np.abs(self.targets[:, :1] - self.levels).argmin(axis=1)]
            nearest = np.abs(self.targets[:, :1] - self.levels).min(axis=1)
            is_closer = np.abs(targets[..., 0] - made[..., 0]) < nearest
            known[..., 0] = np.where(is_closer, made[..., 0], level)
            points = (known - self.middle) / self.half
            each = np.broadcast_to((made - self.middle) / self.half, points.shape)
            axes = points.shape[-1]
            left = self.surface.left_after(points.reshape(-1, axes), each.reshape(-1, axes))
            deviation = left.reshape(along.shape)
        return Doubts(
            along=self.doubts.along * along,
            beyond=self.doubts.beyond * other,
            deviation=deviation,
            disagreement=self.doubts.disagreement * np.minimum(along, other),
            noise=np.broadcast_to(self.doubts.noise, along.shape),
        )

    def with_run(self, run: Array, log_time: float) -> "RunPlan":
        """Plan on after a run, shape (axes,), that takes what was forecast."""
        after = self.after(run[None])
        surface = self.surface
        if self.has_other_axes:
            surface = surface.with_run((run - self.middle) / self.half, log_time)
        return replace(
            self,
            doubts=after.each(lambda part: part[0]),
            surface=surface,
            least=np.minimum(self.least, run),
            most=np.maximum(self.most, run),
            levels=np.unique(np.append(self.levels, run[0])),
        )


def plan_of(estimate: SurfaceForecast, axes: Array, targets: Array) -> RunPlan:
    """Begin a plan for `targets`, (targets, axes), from runs at `axes`, (runs, axes).

    The `estimate` is at the targets first; there may be further points.
    """
    coordinates = estimate.coordinates
    logs, count = coordinates.logs(axes), len(targets)
    return RunPlan(
        targets=coordinates.logs(targets),
        doubts=estimate.doubts.each(lambda part: part[:count]),
        surface=estimate.surface,
        middle=coordinates.middle,
        half=coordinates.half,
        least=logs.min(axis=0),
        most=logs.max(axis=0),
        levels=np.unique(logs[:, 0]),
        has_other_axes=axes.shape[1] > 1,
    )


def shortened(targets: Array, made: Array, levels: Array) -> Array:
    """Part of the half-width along p, (runs, targets), left after each of some runs alone.

    All arguments are logarithms of counts: of targets, runs, and those with runs, ascending.
    """
    nearest = np.abs(targets[:, None] - levels).min(axis=1)
    beyond = (targets > levels[-1]) | (targets < levels[0])
    closer = np.minimum(nearest, np.abs(targets - made[:, None]))
    left = _share(closer, nearest) ** np.where(beyond, SHORTENED, CLOSER)
    if len(levels) == 2:
        is_third = np.abs(made[:, None] - levels).min(axis=1) > 0
        left = left * np.where(is_third[:, None] & beyond, FIRST_TEST, 1.0)
    return np.asarray(left)


def _share(left: Array, before: Array) -> Array:
    """What is left of a distance; all of it where there was none."""
    before = np.broadcast_to(before, left.shape)
    return np.divide(left, before, out=np.ones(left.shape), where=before > 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class DonatedPlan:
    """What is known of the targets of each series, before and after runs that are planned."""

    here: Timings  # the series, and the runs planned for them so far
    elsewhere: Timings  # all donors
    of: NDArray[np.intp]  # (series, donors): which of them each series has; -1 as padding
    likeness: Array  # (series, donors)
    targets: Array  # (targets,): counts [1]
    half_width: Array  # (series, targets): of log time, now
    share: Array  # (series, targets): of the donors in the forecast, now

    def after(self, series: NDArray[np.intp], counts: Array, times: Array) -> tuple[Array, Array]:
        """Half-widths and shares of donors, (runs, targets), after each of some runs alone.

        Each is for one `series`, ascending, at a new count, pretended to take its `times` [s].
        """
        curves = 1 + self.of.shape[1]
        points = curves * (2 * len(self.targets) + self.here.p.shape[1] + 1)
        at_once = max(1, POINTS_AT_ONCE // points)
        parts = [slice(start, start + at_once) for start in range(0, len(counts), at_once)]
        remade = [self._again(series[x], counts[x], times[x]) for x in parts]
        again = np.concatenate([x.curve.half_width for x in remade])
        mine = self.share[series]
        mixed = mine * again + (1 - mine) * self.half_width[series] * self._rule(series, counts)
        least = NORMAL_90 * self.here.noise[series, None]
        return np.maximum(mixed, least), np.concatenate([x.share for x in remade])

    def with_runs(
        self,
        series: NDArray[np.intp],
        counts: Array,
        times: Array,
        *,
        half_width: Array,
        share: Array,
    ) -> "DonatedPlan":
        """Plan on after a run for each of some series, as `after` has told of it."""
        width = ((0, 0), (0, 1))
        p, time = (np.pad(x, width, constant_values=np.nan) for x in (self.here.p, self.here.time))
        weight = np.pad(self.here.weight, width, constant_values=1.0)
        p[series, -1], time[series, -1] = counts, times
        count = self.here.count.copy()
        count[series] += 1
        now, of_donors = self.half_width.copy(), self.share.copy()
        now[series], of_donors[series] = half_width, share
        here = _ordered(p, time, weight, count=count, noise=self.here.noise)
        return replace(self, here=here, half_width=now, share=of_donors)

    def _rule(self, series: NDArray[np.intp], counts: Array) -> Array:
        """Part of the half-width that own runs leave, by the rule for them: (runs, targets)."""
        targets, made = np.log(self.targets), np.log(counts)
        rows, start = np.unique(series, return_index=True)
        left = [
            shortened(targets, some, np.log(self.here.p[i, : self.here.count[i]]))
            for i, some in zip(rows.tolist(), np.split(made, start[1:]), strict=True)
        ]
        return np.concatenate(left)

    def _again(self, series: NDArray[np.intp], counts: Array, times: Array) -> DonatedCurve:
        """Make the forecast again with each of some runs alone: a series for each."""
        had = (self.here.p, self.here.time, self.here.weight)
        p, time, weight = (
            np.concatenate([column[series], new[:, None]], axis=1)
            for column, new in zip(had, (counts, times, np.ones_like(counts)), strict=True)
        )
        count, noise = self.here.count[series] + 1, self.here.noise[series]
        here = _ordered(p, time, weight, count=count, noise=noise)
        likeness = self.likeness[series]
        return donated_curve(here, self.elsewhere, self.of[series], self.targets, likeness)


def _ordered(
    p: Array, time: Array, weight: Array, *, count: NDArray[np.int64], noise: Array
) -> Timings:
    """Bring the counts of every series into their order; NaN, the padding, comes last."""
    order = np.argsort(p, axis=1)
    p, time, weight = (np.take_along_axis(x, order, axis=1) for x in (p, time, weight))
    return Timings(p=p, time=time, count=count, noise=noise, weight=weight)


def planned_with_donors(
    series: Series,
    elsewhere: Elsewhere,
    requested: Array,
    candidates: Sequence[Array],
    wanted: WantedRuns,
    *,
    cut_off: CutOffRuns | None = None,
) -> list[list[PlannedRun]]:
    """Plan one run after the other for series with donors, each the best one for its cost.

    Fewer than are `wanted` where no further one would narrow the interval by `TELLING`.
    """
    if len(requested) > MOST_TARGETS:
        at_once = 1  # each series has targets of its own
    else:
        points = 2 * (len(requested) + max(map(len, candidates), default=0)) + series.p.shape[1]
        at_once = max(1, POINTS_AT_ONCE // points // (1 + elsewhere.of.shape[1]))
    planned: list[list[PlannedRun]] = []
    for start in range(0, len(series), at_once):
        part = slice(start, start + at_once)
        some, donors = series.take(part), elsewhere.take(part)
        bounds = None if cut_off is None else cut_off.take(part)
        own = candidates[part]
        planned += _planned(some, donors, requested, own, wanted, cut_off=bounds)
    return planned


def _planned(
    measured: Series,
    elsewhere: Elsewhere,
    requested: Array,
    candidates: Sequence[Array],
    wanted: WantedRuns,
    *,
    cut_off: CutOffRuns | None,
) -> list[list[PlannedRun]]:
    """Plan for some series at once."""
    planned: list[list[PlannedRun]] = [[] for _ in candidates]
    counts = np.concatenate(candidates)
    every = np.unique(counts)
    plan, donated = _begun(measured, elsewhere, requested, every, cut_off)
    series = np.repeat(np.arange(len(measured)), [len(x) for x in candidates])
    place = len(requested) + np.searchsorted(every, counts)
    curve = donated.curve
    time, lower, upper = (np.exp(x[series, place]) for x in (curve.log_time, *curve.ends))
    costs = costs_of(wanted.cost, counts, time)
    widest = np.argmax(plan.half_width, axis=1)
    target_times = np.exp(curve.log_time[:, : len(requested)])

    left = np.flatnonzero(wanted.beyond | (upper / lower <= WIDEST_USEFUL))  # not planned yet
    for _ in range(wanted.runs):
        if not left.size:
            break
        of = series[left]
        half_width, share = plan.after(of, counts[left], time[left])
        before = plan.half_width[of].mean(axis=1)
        saved = before - half_width.mean(axis=1)
        shown = np.arange(len(of)), widest[of]  # the target whose interval is told
        is_narrower = half_width[shown] <= plan.half_width[of, widest[of]]
        worth = np.where(is_narrower & (saved > TELLING * before), saved / costs[left], -np.inf)
        best = _best_of_each(of, worth)
        chosen = left[best]
        following = plan.with_runs(
            of[best],
            counts[chosen],
            time[chosen],
            half_width=half_width[best],
            share=share[best],
        )
        for i, k in zip(of[best].tolist(), chosen.tolist(), strict=True):
            target = float(plan.targets[widest[i]])
            levels = plan.here.p[i, : plan.here.count[i]]
            run = PlannedRun(
                key=measured.keys[i],
                at={"p": float(counts[k])},
                time=float(time[k]),
                lower=float(lower[k]),
                upper=float(upper[k]),
                cost=float(costs[k]),
                target={"p": target},
                target_time=float(target_times[i, np.searchsorted(requested, target)]),
                before=float(plan.half_width[i, widest[i]]),
                after=float(following.half_width[i, widest[i]]),
                because=_because(target, levels, float(counts[k])),
            )
            planned[i].append(run)
        left = left[np.isin(of, of[best]) & ~np.isin(left, chosen)]
        plan = following
    return planned


def _begun(
    series: Series,
    elsewhere: Elsewhere,
    requested: Array,
    every: Array,
    cut_off: CutOffRuns | None,
) -> tuple[DonatedPlan, DonatedCurve]:
    """Forecast at what is asked and at every count that a run may have; begin the plan."""
    targets = np.concatenate([requested, every])
    donated = curve_with_donors(series, elsewhere, targets)
    if cut_off is not None:
        given = curve_of(series, np.arange(len(series)), cut_off, elsewhere)
        donated = replace(donated, curve=given.estimate(targets).curve)
    half_width, share = (
        donated.curve.half_width[:, : len(requested)],
        donated.share[:, : len(requested)],
    )
    kept = np.arange(len(requested))
    if len(requested) > MOST_TARGETS:
        kept = np.argsort(-half_width[0], kind="stable")[:MOST_TARGETS]
    plan = DonatedPlan(
        here=timings_of(series),
        elsewhere=timings_of(elsewhere.runs),
        of=elsewhere.of,
        likeness=elsewhere.likeness,
        targets=requested[kept],
        half_width=half_width[:, kept],
        share=share[:, kept],
    )
    return plan, donated


def _best_of_each(series: NDArray[np.intp], worth: Array) -> NDArray[np.intp]:
    """Place of the run that is worth most of each series; none of a series without any."""
    order = np.lexsort((-worth, series))
    first = order[np.unique(series[order], return_index=True)[1]]
    return first[np.isfinite(worth[first])]


def _because(target: float, counts: Array, run: float) -> str:
    """Say what a run is good for: to come nearer to the target, or to test the forecast."""
    if abs(np.log(target / run)) < np.abs(np.log(target / counts)).min():
        return words_of_reach(target, counts, np.append(counts, run))
    return "tests the donors, and the forecast from the own runs"
