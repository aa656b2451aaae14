"""One series, ready to be drawn: what was measured, what is forecast, what was held out.

Everything is in processors, seconds and fractions. Speedup and efficiency are over the median time
of the runs at the smallest measured count, and over several axes over the forecast for that count.
Their intervals are those of the time divided into that baseline, whose own uncertainty is not
included.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.curve import Line
from parcast.forecasting.knee import Knee
from parcast.forecasting.result import Forecast, one_series
from parcast.timings.measure import TIME, Measure
from parcast.timings.series import Key
from parcast.words import whole

if TYPE_CHECKING:
    from parcast.forecasting.next_runs.result import PlannedRun


Quantity = Literal["time", "rate", "speedup", "efficiency"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trace:
    """One series, ready to be drawn; made by `traces_of`."""

    label: str
    key: Key  # what tells the series apart
    p: Array  # measured counts [1]
    time: Array  # medians measured there [s]
    spread: Array  # sd of log time among repetitions; 0 where there were none [1]
    line: Line  # over the counts measured, asked for and planned
    within: NDArray[np.bool_]  # points of the line that lie within the measured counts
    base: tuple[float, float]  # what speedup is over: a count [1] and its time [s]
    is_strong: bool
    interval: float  # share of forecasts whose interval is meant to contain the measured time [1]
    requested_p: Array  # asked for and not measured [1]
    requested_time: Array  # [s]
    held_out_p: Array  # [1]
    held_out_time: Array  # [s]
    knee: int | None  # the largest count worth it, where it was asked for and found [1]
    planned_p: Array  # of runs to make next, the best first [1]
    planned_time: Array  # their forecast times [s]
    at: float | None = None  # the count of processors, where another axis takes the place of p [1]
    ideal: Array | None = None  # ideal times along the line then [s]
    measure: Measure = TIME

    @property
    def counts(self) -> Array:
        """The counts that matter: measured, asked for, held out, planned. [1]."""
        ends = self.line.p[[0, -1]]
        return np.unique(
            np.concatenate([self.p, self.requested_p, self.held_out_p, self.planned_p, ends])
        )

    def ideal_time(self, p: Array) -> Array:
        """Time of a program that scales ideally from the baseline. [s]."""
        if self.ideal is not None:
            return np.interp(p, self.line.p, self.ideal)
        shared = p / self.base[0] if self.is_strong else np.ones_like(p)
        return np.asarray(self.base[1] / shared)

    def value(self, quantity: Quantity, p: Array, time: Array) -> Array:
        """What to draw for `time` [s] at `p` [1].

        The time itself [s], the rate [`measure.rate_unit`], the speedup or efficiency [1].
        """
        if quantity == "time":
            return time
        if quantity == "rate":
            return self.measure.rates(time)
        efficiency = self.ideal_time(p) / time
        more = (p if self.at is None else self.at) / self.base[0]
        return efficiency if quantity == "efficiency" else efficiency * more


def traces_of(
    forecast: Forecast,
    rows: Sequence[int],
    *,
    knees: Sequence[Knee] = (),
    planned: "Sequence[PlannedRun]" = (),
) -> list[Trace]:
    """Gather what is drawn of some series; refuse series that are not there."""
    owns = [one_series(forecast, i) for i in rows]
    keys = [own.notes[0].key for own in owns]
    knee_of = {tuple(knee.key.values()): knee for knee in knees}
    runs_of = [[run for run in planned if run.key == key] for key in keys]
    if forecast.curve is None:
        lines = [_through_answers(own) for own in owns]
    else:
        ends = [
            np.array([*np.ravel(own.p), *(run.at["p"] for run in runs)])
            for own, runs in zip(owns, runs_of, strict=True)
        ]
        along = forecast.curve.choose(np.array(rows)).along(ends)
        lines = [_between_runs(line, own) for line, own in zip(along, owns, strict=True)]
    return [
        _trace(own, *line, knee=knee_of.get(tuple(key.values())), planned=runs)
        for own, line, key, runs in zip(owns, lines, keys, runs_of, strict=True)
    ]


def _through_answers(own: Forecast) -> tuple[Line, NDArray[np.bool_]]:
    """Line through the counts asked for, where several axes are forecast at once."""
    p, order = np.unique(np.ravel(own.p), return_index=True)
    time, lower, upper = (np.ravel(x)[order] for x in (own.time, own.lower, own.upper))
    line = Line(p=p, time=time, lower=lower, upper=upper, elsewhere={})
    return line, np.ravel(own.reach)[order] <= 1 + 1e-9


def _between_runs(line: Line, own: Forecast) -> tuple[Line, NDArray[np.bool_]]:
    """Line with an even band between the measured counts.

    The interval is narrow at a measured count and widest about halfway to the next. Drawn as it
    is, close counts would look like beads on a string; so the band is led straight from one count
    of the table, measured or asked for, to the next. Beyond the measured counts it is as computed.
    """
    p = own.measured.p[0, : int(own.measured.count[0])]
    within = (line.p >= p[0]) & (line.p <= p[-1])
    known = np.isin(line.p, p)
    knots, first = np.unique(
        np.log(np.concatenate([line.p[known], np.ravel(own.p)])), return_index=True
    )
    evened = {}
    for name in ("lower", "upper"):
        end, answers = getattr(line, name), np.ravel(getattr(own, name) / own.time)
        widths = np.log(np.concatenate([end[known] / line.time[known], answers]))[first]
        even = line.time * np.exp(np.interp(np.log(line.p), knots, widths))
        evened[name] = np.where(within, even, end)
    return replace(line, **evened), within


def _trace(
    own: Forecast,
    line: Line,
    within: NDArray[np.bool_],
    *,
    knee: Knee | None,
    planned: "Sequence[PlannedRun]",
) -> Trace:
    """Bring one series and its line together."""
    measured, count, note = own.measured, int(own.measured.count[0]), own.notes[0]
    p, time = measured.p[0, :count], measured.time[0, :count]
    requested, observed = np.ravel(own.p), np.ravel(own.observed)
    is_measured = np.isin(requested, p)
    held_out = ~np.isnan(observed) & ~is_measured
    is_strong = note.scaling == "strong"
    base = (note.measured[0], float(np.ravel(own.speedup * own.time)[0]))
    if own.curve is not None:
        base = (float(p[0]), float(time[0]))
    elif not is_strong:
        base = (base[0], base[1] * base[0] / float(requested[0]))
    return Trace(
        label=note.label,
        key=note.key,
        p=p,
        time=time,
        spread=np.where(measured.shows_spread, measured.spread, 0.0)[0, :count],
        line=line,
        measure=own.measure,
        within=within,
        base=base,
        is_strong=is_strong,
        interval=own.interval,
        requested_p=requested[~is_measured],
        requested_time=np.ravel(own.time)[~is_measured],
        held_out_p=requested[held_out],
        held_out_time=observed[held_out],
        knee=knee.p if knee and knee.because != "not reached" else None,
        planned_p=np.array([run.at["p"] for run in planned]),
        planned_time=np.array([run.time for run in planned]),
    )


def along_axis(traces: Sequence[Trace], axis: str) -> Trace:
    """Join series of a single count each, in the order of an axis, to one along that axis."""
    values = np.array([float(trace.key[axis]) for trace in traces])
    (at,) = {float(trace.line.p[0]) for trace in traces}

    def joined(name: str, of: str) -> tuple[Array, Array]:
        """Values of the axis and what was noted at this count."""
        found = [np.asarray(getattr(x, name))[getattr(x, of) == at] for x in traces]
        return np.repeat(values, [len(x) for x in found]), np.concatenate(found)

    line = {
        x: np.array([getattr(y.line, x)[0] for y in traces]) for x in ("time", "lower", "upper")
    }
    p, time = joined("time", "p")
    held_out_p, held_out_time = joined("held_out_time", "held_out_p")
    requested_p, requested_time = joined("requested_time", "requested_p")
    return replace(
        traces[0],
        p=p,
        time=time,
        spread=joined("spread", "p")[1],
        line=Line(p=values, elsewhere={}, **line),
        within=np.array([trace.within[0] for trace in traces]),
        requested_p=requested_p,
        requested_time=requested_time,
        held_out_p=held_out_p,
        held_out_time=held_out_time,
        at=at,
        ideal=np.array([float(x.ideal_time(np.array([at]))[0]) for x in traces]),
    )


def baseline(traces: Sequence[Trace]) -> str:
    """Say what speedups are over, where it is the same count for all: "p = 4"."""
    counts = {trace.base[0] for trace in traces}
    return f"p = {whole(counts.pop())}" if len(counts) == 1 else "the smallest measured p"
