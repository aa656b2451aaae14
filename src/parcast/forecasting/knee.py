"""The knee: the largest processor count at which efficiency holds and time still falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError, as_number, as_whole, require
from parcast.forecasting.donors.curve import INSIDE
from parcast.forecasting.evidence import SeriesEvidence, series_evidence
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.forecasting.request import Request, request_for
from parcast.forecasting.series.question import question_of
from parcast.forecasting.series.verdict import (
    counts_between,
    is_useful,
    tested_errors,
    verdicts_on_scaling,
)
from parcast.importers.registry import as_measurements
from parcast.show.answers import Answers
from parcast.show.outline import document_of
from parcast.timings.measure import Measure
from parcast.timings.measurements import MeasurementsLike
from parcast.timings.series import Key, label_of
from parcast.units import percent
from parcast.words import whole

if TYPE_CHECKING:
    from parcast.descriptions.toml_files import MachineLike


DIGITS = 9  # of logarithms of times and of efficiencies; what follows is rounding
REACH_OF_KNEE = 16  # times the largest measured count: how far a knee is looked for by default


@dataclass(frozen=True, kw_only=True, slots=True)
class Knee:
    """Largest processor count worth using, of one series, considered up to `upto`."""

    _outline = """
        *key# p lower upper lower_is_limit upper_is_limit because fastest efficiency
        min_efficiency upto no_forecast_beyond=is_cut time_s *request scaling verdict
    """

    key: Key  # the columns that distinguish the series
    p: int  # the largest count that is worth it; `upto` if the knee is not reached [1]
    lower: int  # the knee of the upper ends of the times' intervals [1]
    upper: int  # the knee of the lower ends of the times' intervals [1]
    efficiency: float  # efficiency at `p` [1]
    fastest: int  # the count with the least time; `upto` where it still falls there [1]
    because: str  # `efficiency`, `time` or `not reached`
    min_efficiency: float  # the threshold asked for [1]
    upto: int  # the largest count looked at: at most the last one with a forecast [1]
    is_cut: bool  # whether there is no forecast beyond `upto`, where more was to be looked at
    time: float  # forecast time at `p` [s]
    request: Request | None  # what a run at `p` needs; None where times are not those of runs
    scaling: str  # `strong` or `weak`: how the runs were read
    verdict: str  # that the program does not scale, and what to do; None where it does

    @property
    def label(self) -> str:
        """The series in a few words: "T3E", or "" where there is only one."""
        return label_of(self.key)

    @property
    def interval(self) -> str:
        """Ends of the interval; one beyond the search is ">64"."""
        return f"{self.lower} to {f'>{self.upto}' if self.upper_is_limit else self.upper}"

    @property
    def why(self) -> str:
        """Say what ends it."""
        if self.because == "not reached":
            text = f"not reached up to p = {self.upto}"
            return f"{text}; beyond it there is no forecast" if self.is_cut else text
        if self.because == "time":
            return "beyond it time stops falling"
        return f"beyond it efficiency falls below {percent(self.min_efficiency)}"

    @property
    def lower_is_limit(self) -> bool:
        """Whether the search ended there: that end of the interval is larger."""
        return self.lower >= self.upto

    @property
    def upper_is_limit(self) -> bool:
        """Whether the search ended there: that end of the interval is larger."""
        return self.upper >= self.upto

    def __repr__(self) -> str:
        """Say the series and its knee."""
        return f"Knee({self.label}{': ' if self.label else ''}{self})"

    def to_document(self) -> dict[str, Any]:
        """Give the knee as it stands in a JSON document."""
        return document_of(self) | {"verdict": self.verdict or None}

    def __str__(self) -> str:
        """Give the knee in a sentence."""
        if self.because != "not reached":
            return f"p = {self.p} (90% interval {self.interval}): {self.why}"
        interval = "" if self.lower_is_limit else f" (90% interval {self.interval})"
        where, *beyond = self.why.split("; ")
        text = f"{where}{interval}: efficiency there is {percent(self.efficiency)}"
        return "; ".join([text, *beyond])


class Knees(Answers[Knee]):
    """A list of knees, one for each series."""

    _sheet = "parcast.forecasting.sheet:sheet_of_knees"


def knee(
    measurements: MeasurementsLike,
    *,
    upto: int | None = None,
    min_efficiency: float = 0.5,
    donors: MeasurementsLike | Sequence[MeasurementsLike] | None = None,
    machines: Sequence[MachineLike] = (),
    by: Sequence[str] | None = None,
    scaling: Scaling = "auto",
    beyond: bool = False,
) -> Knees:
    """Find the largest processor count that is still worth using.

    That is the largest count up to `upto` at which the efficiency is at least `min_efficiency`
    and, in strong scaling, the time still falls.

    Parameters
    ----------
    measurements, donors, machines, by, scaling
        As for `parcast.forecast`.
    upto : int, optional
        Largest count to consider, above the smallest measured one. By default 16 times the largest
        measured count. [1]
    min_efficiency : float, default 0.5
        Efficiency that is required, in (0, 1]. [1]
    beyond : bool, default False
        Whether to consider counts at which there is no forecast, too: where the 90% interval
        spans more than thirtyfold, or the forecast was more than 100% too high when tested.

    Returns
    -------
    list of Knee
        One for each series that can be forecast, with a 90% interval; as a table with
        `to_pandas()`. An end of the interval that
        lies beyond `upto` is `upto`; `lower_is_limit` and `upper_is_limit` say so.

    Raises
    ------
    ParameterError, FileProblems, FitFailed
        As `parcast.forecast`, and if `upto` or `min_efficiency` lies outside its domain.

    Examples
    --------
    >>> import parcast
    >>> [first] = parcast.knee({"p": [1, 2, 4, 8], "time": [100.0, 52.0, 28.0, 16.0]})
    >>> first.because, first.lower < first.p < first.upper
    ('efficiency', True)
    """
    hint = "Write 50% as 0.5."
    share = as_number("min_efficiency", min_efficiency, hint=hint)
    require("min_efficiency", share, 0 < share <= 1, must="lie in (0, 1]", hint=hint)
    hint = "Give the largest count worth looking at."
    measurements = as_measurements(measurements)
    first = int(measurements.p.min())
    upto = REACH_OF_KNEE * int(measurements.p.max()) if upto is None else upto
    if not first < as_number("upto", upto, hint=hint) < np.inf:
        raise ParameterError(
            "upto", must=f"be above the smallest measured p ({first})", got=f"{upto}", hint=hint
        )
    upto = as_whole("upto", upto, least=1, hint=hint)
    counts = counts_between(first, upto)
    question = question_of(
        knee, measurements, counts, donors=donors, machines=machines, by=by, scaling=scaling
    )
    evidence = series_evidence(question)
    for key, start in zip(evidence.measured.keys, evidence.measured.p[:, 0].tolist(), strict=True):
        if start >= upto:
            raise ParameterError(
                "upto",
                must="be above the smallest measured p of every series",
                got=f"{upto} where {label_of(key)} starts at {whole(start)}",
                hint="Give a larger one, or select other series.",
            )
    return Knees(_knees(evidence, counts, share, question.measurements.measure, beyond=beyond))


def _knees(
    evidence: SeriesEvidence, counts: Array, share: float, measure: Measure, *, beyond: bool
) -> list[Knee]:
    """Look for the knee of every series among `counts`, ascending [1], by its efficiency [1].

    They say what a run needs if times are those of runs.
    """
    columns, strong = evidence.curve.at(counts), evidence.curve.strong
    started = counts >= evidence.measured.p[:, :1]
    useful = np.ones_like(started)
    if not beyond:
        useful = is_useful(columns, tested_errors(evidence.curve))
    unbroken = np.cumprod(useful | (columns.reach <= INSIDE) | ~started, axis=1)
    last = unbroken.sum(axis=1) - 1  # the last count up to which there is a forecast
    place, low, high = (
        _largest(
            _worth(times, columns.efficiency * columns.time / times, share, started, strong),
            (unbroken > 0) & useful & started,
        )
        for times in (columns.time, columns.upper, columns.lower)
    )
    fastest = _fastest(columns.time, started & (unbroken > 0))

    verdicts = verdicts_on_scaling(evidence.measured, evidence.reading, evidence.curve.elsewhere)
    knees = []
    for i, key in enumerate(evidence.measured.keys):
        is_reached = place[i] < last[i]
        by_time = strong[i] and place[i] == fastest[i]
        because = ("time" if by_time else "efficiency") if is_reached else "not reached"
        time, lower, upper = (
            float(x[i, place[i]]) for x in (columns.time, columns.lower, columns.upper)
        )
        knees.append(
            Knee(
                key=key,
                p=int(counts[place[i]]),
                lower=int(min(counts[low[i]], counts[place[i]])),
                upper=int(max(counts[high[i]], counts[place[i]])),
                efficiency=float(columns.efficiency[i, place[i]]),
                fastest=int(counts[fastest[i]]),
                because=because,
                min_efficiency=share,
                upto=int(counts[last[i]]),
                is_cut=bool(last[i] < len(counts) - 1),
                time=time,
                request=request_for(
                    float(counts[place[i]]),
                    time,
                    lower,
                    upper,
                    is_of_nodes=measure.counts_nodes,
                )
                if measure.is_of_a_run
                else None,
                scaling=evidence.reading.name,
                verdict=verdicts.get(i, ""),
            )
        )
    return knees


def _largest(worth: NDArray[np.bool_], useful: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Place of the largest count that is both, of each series; its first one if none is."""
    both = worth & useful
    both[np.arange(len(both)), np.argmax(worth, axis=1)] = True
    return np.asarray(both.shape[1] - 1 - np.argmax(both[:, ::-1], axis=1))


def _worth(
    time: Array,
    efficiency: Array,
    threshold: float,
    started: NDArray[np.bool_],
    strong: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which counts come before the knee, shape (series, counts): those after it are all False."""
    still_falls = np.arange(time.shape[1]) <= _fastest(time, started)[:, None]
    worth = (efficiency.round(DIGITS) >= threshold) & (still_falls | ~strong[:, None])
    unbroken = np.cumprod(worth | ~started, axis=1).astype(bool)
    return np.asarray(unbroken & started)


def _fastest(time: Array, started: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Number of the count with the least time, (series,); the first of equal ones."""
    return np.asarray(np.argmin(np.where(started, np.log(time).round(DIGITS), np.inf), axis=1))
