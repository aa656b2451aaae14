"""What programs whose runs vary several axes are forecast from, and what comes out of it.

All runs of a callpath on a machine are one program, forecast from together for every combination
of the values asked for. An axis that is not asked for takes each of its measured values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError
from parcast.forecasting.own_runs.cut_off import CutOffRuns, rows_of
from parcast.forecasting.own_runs.members import LAWS
from parcast.forecasting.own_runs.scaling import (
    ScalingReading,
    reading_of,
    size_of_runs,
    speedup_and_efficiency,
)
from parcast.forecasting.series.notes import SeriesNotes
from parcast.forecasting.series.question import ForecastQuestion
from parcast.forecasting.series.verdict import does_not_scale
from parcast.forecasting.surface.cut_off_notes import notes_with_stopped, stopped_in_words
from parcast.forecasting.surface.method import MOST_LEVELS
from parcast.forecasting.surface.notes import (
    SurfaceVerdict,
    notes_of_values,
    problem_axes,
    runs_faster,
    smaller_problems,
    verdicts_of_values,
)
from parcast.forecasting.surface.runs import (
    MOST_POINTS,
    Answered,
    SurfaceRuns,
    answered_at,
    axes_of_question,
    every_combination,
    grid_of,
    runs_by_label,
    why_refused,
)
from parcast.show.warning import RankedWarning
from parcast.timings.measure import Measure
from parcast.timings.series import Series, label_of

STEP = 2.0  # factor over which the slope of an axis is taken: the last doubling
SMALLER = 1.25  # factor by which a problem is smaller that should not run longer
LAW = (
    "over several axes: weighted mean of the laws along p "
    f"({', '.join(law.formula for law in LAWS.values())}) on a kriged surface, "
    "of the surface, and of a sum of products of powers"
)
SOURCES = (
    "along p: " + "; ".join(f"{name}: {law.source}" for name, law in LAWS.items()),
    "surface: Rasmussen and Williams 2006, ch. 2; trend, scales and split [D]",
    "sum of terms: Lawson and Hanson 1995, ch. 23; dictionary [D]",
    "weights by forward chaining, intervals: [D], docs/explanation/several-parameters.md",
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SurfaceCurves:
    """What one program is forecast to take, at every combination of values."""

    evidence: "SurfaceEvidence"
    answered: (
        Answered  # at the counts asked for first, then at measured counts, then beside the largest
    )
    table: Array  # (columns, combinations, points)
    verdicts: Sequence[SurfaceVerdict | None]  # one a combination
    does_not_scale: Mapping[int, RankedWarning]  # by the numbers of combinations

    def notes(self) -> list[SeriesNotes]:
        """What the forecast for each combination is based on."""
        p = self.evidence.p
        furthest = int(np.argmax(p))
        notes = notes_of_values(
            self.answered,
            self.evidence.combinations,
            p=p,
            furthest=furthest,
            slopes=_slopes(self.answered, furthest, float(p.max())),
            reading=self.evidence.reading,
            left_out=self.evidence.left_out,
            verdicts=self.verdicts,
            does_not_scale=self.does_not_scale,
        )
        return notes_with_stopped(notes, self.answered, p, self.evidence.measure)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SurfaceEvidence:
    """What programs are forecast from over several axes; made by `surface_evidence`."""

    p: Array  # (points,): counts asked for [1]
    programs: tuple[SurfaceRuns, ...]
    everything: tuple[SurfaceRuns, ...]  # the same with what is held out
    names: tuple[str, ...]  # of the axes besides p
    combinations: Array  # (combinations, axes besides p): of the values asked for
    left_out: tuple[str, ...]  # axes that go along with p and were passed over
    reading: ScalingReading  # of all runs: strong or weak scaling
    refused: Mapping[str, str]  # label of each program that has no answer, and why
    measure: Measure  # what the times are

    curve = None  # no line is drawn through a surface
    law = LAW
    sources = SOURCES

    def __len__(self) -> int:
        """Return the number of rows that are answered, one a program and combination."""
        return len(self.programs) * len(self.combinations)

    @property
    def by(self) -> tuple[str, ...]:
        """Columns that tell the rows apart."""
        return (*self.programs[0].key, *self.names)

    @property
    def measured(self) -> Series:
        """What was measured at each combination, a row each; a row may be empty."""
        keys = [
            {**runs.key, **dict(zip(self.names, values, strict=True))}
            for runs in self.programs
            for values in self.combinations.tolist()
        ]
        tables = [_measured(runs, self.combinations) for runs in self.programs]
        return _joined(tables, self.by, keys)

    @property
    def stopped(self) -> CutOffRuns | None:
        """Runs that were ended at each combination, a row each, where they exclude times."""
        return rows_of(
            [
                runs.bounds.along_p(values) if runs.bounds else {}
                for runs in self.programs
                for values in self.combinations.tolist()
            ]
        )

    def parts(self) -> Iterator["SurfaceEvidence"]:
        """Give the programs one after the other."""
        for runs, every in zip(self.programs, self.everything, strict=True):
            yield replace(self, programs=(runs,), everything=(every,))

    def curves(self) -> SurfaceCurves:
        """Forecast a single program at every count and combination of values."""
        (runs,), p = self.programs, self.p
        measured = np.unique(runs.axes[:, 0])
        some = np.unique(np.linspace(0, len(measured) - 1, MOST_LEVELS).round().astype(int))
        levels = measured[some]  # of which the first is what speedup is over
        points = np.concatenate([p, levels])
        beside = _stepped(runs, p.max(), self.combinations)
        problem = list(problem_axes(runs))
        smaller = smaller_problems(points, self.combinations, problem, SMALLER)
        answered = answered_at(runs, points, self.combinations, np.concatenate([beside, smaller]))
        time, half_width, skew = np.exp(answered.log_time), answered.half_width, answered.skew
        speedup, efficiency = speedup_and_efficiency(
            p=points,
            time=time,
            p0=np.full(len(time), levels[0]),
            time0=time[:, len(p)],
            strong=np.full(len(time), self.reading.is_strong),
        )
        beyond = answered.estimate.beyond[: time.size].reshape(*time.shape, -1)
        reach = np.exp(beyond.max(axis=-1))
        ends = time / np.exp(half_width * (1 - skew)), time * np.exp(half_width * (1 + skew))
        columns = [time, *ends, speedup, efficiency, reach]
        last = answered.told.log_time[time.size + len(beside) :]
        faster = runs_faster(
            answered, points, self.combinations, last.reshape(len(problem), *time.shape)
        )
        return SurfaceCurves(
            evidence=self,
            answered=answered,
            verdicts=[*verdicts_of_values(answered, self.combinations, points, len(p), faster)],
            does_not_scale=does_not_scale(
                np.tile(levels, (len(time), 1)),
                time[:, len(p) :],
                np.full(len(time), len(levels)),
                self.reading,
            ),
            table=np.stack([column[:, : len(p)] for column in columns]),
        )

    def together(self, table: Array, notes: list[SeriesNotes]) -> tuple[Array, list[SeriesNotes]]:
        """Leave the answers as they are: call paths are not made to add up over several axes."""
        return table, notes

    def judged(self, _: Array, notes: list[SeriesNotes]) -> list[SeriesNotes]:
        """Leave the notes as they are: verdicts on a surface stand among them."""
        return notes

    def observed(self) -> Array:
        """Median time measured at each count, NaN where none was: (rows, points) [s]."""
        at = every_combination(self.p, self.combinations)
        times = [runs.at(runs.time, at).reshape(-1, len(self.p)) for runs in self.everything]
        return np.concatenate(times)


def surface_evidence(question: ForecastQuestion) -> SurfaceEvidence:
    """Bring the runs of every program together, and refuse those that tell too little."""
    for name, value in (("donors", question.donors), ("by", question.by)):
        if value is not None:
            raise ParameterError(
                name,
                must=f"be left out where values of {', '.join(question.at)} are asked for",
                hint="All runs with the same callpath and machine are forecast from together.",
            )
    known, p = question.known(), question.p.ravel()
    values, left_out = axes_of_question(question.measurements, question.at)
    combinations = grid_of(values)
    if combinations.size * p.size > MOST_POINTS:
        raise ParameterError(
            ", ".join(values),
            must=f"make at most {MOST_POINTS} points with p",
            got=f"{len(combinations) * p.size}",
            hint="Ask for fewer values.",
        )
    names = list(values)
    by = [*question.measurements.labels, *names]
    everything = {tuple(x.key.values()): x for x in runs_by_label(question.measurements, names)}
    measure = question.measurements.measure
    programs, refused = [], {}
    for runs in runs_by_label(known, names):
        if why := why_refused(runs, p, values):
            if text := stopped_in_words(runs, runs.stopped, measure):
                why += f" {text}: no times."
            refused[label_of(runs.key) or "all runs"] = why
        else:
            programs.append(runs)
    if not programs:
        raise FitFailed(next(iter(refused.values())), outcome="No forecast.")
    return SurfaceEvidence(
        p=p,
        programs=tuple(programs),
        everything=tuple(everything[tuple(runs.key.values())] for runs in programs),
        names=tuple(names),
        combinations=combinations,
        left_out=left_out,
        reading=reading_of(
            question.scaling,
            size_of_runs(question.measurements, by),
            measure=measure,
        ),
        refused=refused,
        measure=measure,
    )


def _stepped(runs: SurfaceRuns, p: float, combinations: Array) -> Array:
    """Points beside each combination at `p`, one axis changed by a factor each."""
    here = np.column_stack([np.full(len(combinations), p), combinations])
    points = np.repeat(here[:, None, :], here.shape[1], axis=1)
    axis = np.arange(here.shape[1])
    positive = np.all(runs.axes > 0, axis=0)
    down = np.where(positive & ((axis > 0) | (p >= STEP)), 1 / STEP, 1.0)
    down[0] = down[0] if p >= STEP else STEP
    points[:, axis, axis] *= down
    return points.reshape(-1, here.shape[1])


def _slopes(answered: Answered, furthest: int, p: float) -> Array:
    """Slope of log time in the logarithm of each axis, shape (combinations, axes).

    The points beside those at `p` lie below them, but for p where it would be below 1.
    """
    axes, begin = answered.runs.axes.shape[1], answered.log_time.size
    here = answered.log_time[:, furthest, None]
    there = answered.told.log_time[begin : begin + len(here) * axes].reshape(-1, axes)
    steps = np.full(axes, np.log(STEP))
    if p < STEP:
        steps[0] = -steps[0]
    return np.asarray((here - there) / steps)


def _measured(runs: SurfaceRuns, combinations: Array) -> Series:
    """What was measured at each combination, one row each; a row may be empty."""
    counts = np.unique(runs.axes[:, 0])
    points = every_combination(counts, combinations)
    shape = (len(combinations), len(counts))
    time = runs.at(runs.time, points).reshape(shape)
    order = np.argsort(np.isnan(time), axis=1, kind="stable")
    absent = np.take_along_axis(np.isnan(time), order, axis=1)

    def sorted_rows(values: Array) -> Array:
        table = np.take_along_axis(values.reshape(shape), order, axis=1)
        return np.where(absent, np.nan, table)

    return Series(
        by=(),
        keys=[],
        count=(~absent).sum(axis=1),
        p=sorted_rows(points[:, 0]),
        time=sorted_rows(time),
        repetitions=np.nan_to_num(
            sorted_rows(runs.at(runs.repetitions.astype(np.float64), points))
        ).astype(np.int64),
        spread=sorted_rows(runs.at(runs.spread, points)),
    )


def _joined(
    tables: Sequence[Series], by: tuple[str, ...], keys: list[dict[str, str | float]]
) -> Series:
    """Stand the runs of all programs below each other, padded to one width."""
    width = max(table.p.shape[1] for table in tables)

    def joined(name: str, padding: float) -> NDArray[Any]:
        columns = [getattr(table, name) for table in tables]
        wider = [
            np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=padding) for x in columns
        ]
        return np.concatenate(wider)

    return replace(
        tables[0],
        by=by,
        keys=keys,
        count=np.concatenate([table.count for table in tables]),
        repetitions=joined("repetitions", 0),
        **{name: joined(name, np.nan) for name in ("p", "time", "spread")},
    )
