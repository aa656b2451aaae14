"""What forecasts of series along p are based on, and why some series have no forecast.

The runs of each series that are not held out, its donors, and how it scales. What is computed
from them is in `parcast.forecasting.series.curve`; what is said of it in `series.notes`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import FitFailed
from parcast.forecasting.donors.curve import Elsewhere
from parcast.forecasting.donors.gather import gather, require_same_measure, table_of_donors
from parcast.forecasting.own_runs.call_paths import made_consistent, profile_of
from parcast.forecasting.own_runs.cut_off import CutOffRuns, cut_off_runs
from parcast.forecasting.own_runs.ensemble import MEMBERS
from parcast.forecasting.own_runs.members import LAWS
from parcast.forecasting.own_runs.scaling import ScalingReading, reading_of, size_of_runs
from parcast.forecasting.series import donor_notes as words
from parcast.forecasting.series.curve import Columns, Curve, CurveEstimate
from parcast.forecasting.series.cut_off_notes import (
    ended_in_words,
    notes_with_cut_off,
    notes_without_cut_off,
)
from parcast.forecasting.series.notes import SeriesNotes, notes_of, notes_of_profile
from parcast.forecasting.series.question import ForecastQuestion, remedy_of_lone_runs
from parcast.forecasting.series.verdict import judged
from parcast.numerics import distinct
from parcast.timings.measure import Measure
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series, label_of
from parcast.words import whole


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeriesCurves:
    """Forecast times of some series."""

    evidence: "SeriesEvidence"
    estimate: CurveEstimate  # at the counts asked for, and at one more that tells the slope

    @property
    def table(self) -> Array:
        """Answers at the counts asked for: (columns, series, points)."""
        return self.estimate.table[:, :, :-1]

    def notes(self) -> list[SeriesNotes]:
        """Notes on the forecast of each series."""
        curve, estimate = self.evidence.curve, self.estimate
        p, donated = self.evidence.p, estimate.donated
        notes = notes_of(
            curve.series,
            estimate,
            reading=self.evidence.reading,
            measure=self.evidence.measure,
            helped=None if donated is None else donated.share[:, np.argmax(p)] >= words.MATTERS,
        )
        if curve.elsewhere is not None and donated is not None:
            notes = words.notes_with_donors(
                notes, curve.series, curve.elsewhere, donated, p, measure=self.evidence.measure
            )
        return notes_with_cut_off(notes, curve, estimate, self.evidence.measure)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeriesEvidence:
    """What forecasts of series along p are based on; made by `series_evidence`."""

    p: Array  # (points,): counts asked for [1]
    curve: Curve
    reading: ScalingReading  # of all series: strong or weak scaling
    measure: Measure  # what the times are
    refused: Mapping[str, str]  # label of each series that has no answer, and why
    everything: Series  # with what is held out
    unused: int = 0  # runs that were ended, where it does not use them

    def __len__(self) -> int:
        """Return the number of series that are answered."""
        return len(self.curve.series)

    @property
    def by(self) -> tuple[str, ...]:
        """Columns that tell the series apart."""
        return self.curve.series.by

    @property
    def measured(self) -> Series:
        """What is forecast from."""
        return self.curve.series

    @property
    def stopped(self) -> CutOffRuns | None:
        """Runs that were ended, where they exclude shorter times."""
        return self.curve.cut_off

    @property
    def law(self) -> str:
        """Name the method."""
        formulas = ", ".join(law.formula for law in LAWS.values())
        median = f"weighted median of {len(MEMBERS)} forecasts by {len(LAWS)} laws ({formulas})"
        median += ", further away the mean of those without fast growth, and the law recognised"
        return median + (words.LAW if self.curve.elsewhere else "")

    @property
    def sources(self) -> tuple[str, ...]:
        """Sources of the laws."""
        return tuple(f"{name}: {law.source}" for name, law in LAWS.items())

    def parts(self) -> Iterator["SeriesEvidence"]:
        """Cut it into parts that are answered one after the other, by themselves."""
        for part in self.curve.parts(len(self.p)):
            yield replace(self, curve=self.curve.only(part))

    def curves(self) -> SeriesCurves:
        """Forecast all series at once."""
        furthest = self.p.max()
        is_within = furthest >= 2 * self.curve.series.p[:, 0].min()
        beside = furthest / 2 if is_within else furthest * 2
        return SeriesCurves(evidence=self, estimate=self.curve.estimate(np.append(self.p, beside)))

    def together(self, table: Array, notes: list[SeriesNotes]) -> tuple[Array, list[SeriesNotes]]:
        """Make the answers of call paths that must add up agree."""
        profile = profile_of(self.curve.series)
        if profile is None:
            return table, notes
        table = made_consistent(self.curve.series, profile, table, self.p)
        return table, notes_of_profile(notes, profile)

    def judged(self, table: Array, notes: list[SeriesNotes]) -> list[SeriesNotes]:
        """Say first what the answers are worth."""
        notes = notes_without_cut_off(notes, self.unused, "for call paths that add up")
        return judged(self.curve, self.p, Columns(*table), notes, self.reading)

    def observed(self) -> Array:
        """Median time measured at each count, NaN where none was: (series, points) [s]."""
        row_of = {tuple(key.values()): row for row, key in enumerate(self.everything.keys)}
        rows = np.array([row_of[tuple(key.values())] for key in self.curve.series.keys])
        observed = np.full((len(rows), len(self.p)), np.nan)
        for column in range(self.everything.p.shape[1]):
            here = self.everything.p[rows, column, None] == self.p
            observed = np.where(here, self.everything.time[rows, column, None], observed)
        return observed


def _all_stopped(cut_off: Measurements | None, series: Series) -> dict[str, str]:
    """Say of programs of which no run ended that they have no answer, by their labels."""
    if cut_off is None or any(name not in cut_off.columns for name in series.by):
        return {}
    ended = {tuple(key.values()) for key in series.keys}
    keys = Counter(zip(*(cut_off.columns[x].tolist() for x in series.by), strict=True))
    return {
        label_of(dict(zip(series.by, key, strict=True))): (
            f"{'The only run was' if count == 1 else f'All {count} runs were'} stopped before the "
            "end. Give more time."
        )
        for key, count in keys.items()
        if key not in ended
    }


def series_evidence(question: ForecastQuestion) -> SeriesEvidence:
    """Group the runs into series, find their donors, and refuse series with too few counts."""
    everything = question.measurements.series(question.by)
    known, cut_off = everything, question.measurements.cut_off
    if question.hold_out is not None:
        kept = question.known()
        known, cut_off = kept.series(everything.by), kept.cut_off
    is_brief = question.donors is not None or bool((known.count >= 2).any())
    remedies = [remedy_of_lone_runs(question.measurements, everything, briefly=is_brief)]
    elsewhere = _donors(question, known, remedies)
    has_donors = False if elsewhere is None else elsewhere.of[:, 0] >= 0
    is_answered = (known.count >= 2) | has_donors
    bounds = cut_off_runs(cut_off, known)
    refused = _refused(everything, known, is_answered, elsewhere, remedies)
    if bounds is not None:
        measure = question.measurements.measure
        for i in np.flatnonzero(~is_answered).tolist():
            if text := ended_in_words(bounds, i, measure):
                refused[label_of(known.keys[i])] += f" {text}: no times."
    refused |= _all_stopped(question.measurements.cut_off, everything)
    if not is_answered.any():
        is_held_out = question.hold_out is not None
        raise _no_forecast(known, refused, remedies, is_held_out=is_held_out)
    series = known.take(is_answered)
    elsewhere = None if elsewhere is None else elsewhere.take(is_answered)
    size = size_of_runs(question.measurements, series.by)
    is_silent = size == "" or bool(np.all(series.count == 1))  # of how the work changes with p
    grows_elsewhere = is_silent and elsewhere is not None and elsewhere.grows
    measure = question.measurements.measure
    reading = reading_of(question.scaling, size, measure=measure, grows_elsewhere=grows_elsewhere)
    strong = np.full(len(series), reading.is_strong)
    adds_up = profile_of(series) is not None
    return SeriesEvidence(
        p=question.p.ravel(),
        curve=Curve(
            series=series,
            elsewhere=elsewhere,
            strong=strong,
            cut_off=None if adds_up else cut_off_runs(cut_off, series),
        ),
        reading=reading,
        measure=measure,
        refused=refused,
        everything=everything,
        unused=len(cut_off) if adds_up and cut_off is not None else 0,
    )


def _donors(question: ForecastQuestion, known: Series, remedies: list[str]) -> Elsewhere | None:
    """Find the donors of every series; add to the remedies what helps the donors' own runs."""
    if question.donors is None:
        return None
    donors, remarks = table_of_donors(question.donors)
    require_same_measure(question.measurements, donors, "donors")
    elsewhere = gather(donors, question.measurements, known, question.machines)
    if any(x.both is not None or x.once or x.is_alone for x in elsewhere.left_out):
        whose = "of the donors"
        remedies.append(remedy_of_lone_runs(donors, donors.series(), of=whose, briefly=True))
    return elsewhere.adding((*remarks, *remedies))


def _refused(
    everything: Series,
    known: Series,
    is_answered: NDArray[np.bool_],
    elsewhere: Elsewhere | None,
    remedies: Sequence[str],
) -> dict[str, str]:
    """Label of each series that has no forecast, and why."""
    refused = {}
    for i in np.flatnonzero(~is_answered).tolist():
        left_out = () if elsewhere is None else tuple(words.words_of_left_out(elsewhere, i))
        refused[label_of(known.keys[i])] = _too_few(float(known.p[i, 0]), left_out, remedies)
    kept = {tuple(key.values()) for key in known.keys}
    return refused | {
        label_of(key): "All counts are held out. Hold out fewer."
        for key in everything.keys
        if tuple(key.values()) not in kept
    }


def _too_few(p: float, left_out: Sequence[str], remedies: Sequence[str]) -> str:
    """Say why a series of a single count has no forecast."""
    at = f"All times are at p = {whole(p)}"
    if remedies[0]:
        return " ".join([f"{at}.", *(left_out or remedies)])
    needs = (
        f"{at}, and a forecast requires at least two processor counts. Measure another, best "
        "two or four times as large, or give runs on other machines as donors."
    )
    return " ".join([needs, *left_out])


def _no_forecast(
    known: Series, refused: Mapping[str, str], remedies: Sequence[str], *, is_held_out: bool
) -> FitFailed:
    """Say why no series has a forecast, and what to do."""
    if remedies[0]:
        why = " ".join(filter(None, remedies))
    elif is_held_out:
        why = "Fewer than two counts are left to forecast from. Hold out fewer."
    elif len(distinct(known.p[:, 0])) > 1:
        why = (
            f"Grouped by {', '.join(known.by)} the runs form {len(known)} series of one processor "
            "count each. Ignore columns that are no parameter of the program, or measure each "
            "series at two counts or more."
        )
    else:
        why = next(iter(refused.values()))
    return FitFailed(why, outcome="No forecast.")
