"""The answer to a question: times, their intervals, and what they are based on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import filterfalse
from math import isnan
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.forecasting.call_paths import PATH
from parcast.forecasting.curve import Columns, Curve
from parcast.forecasting.follows import Follows
from parcast.forecasting.scaling import Limit
from parcast.forecasting.totals import Totals, totals_of
from parcast.show.result import Result
from parcast.show.warning import is_remark, said_of, verdicts
from parcast.timings.measure import TIME, Measure
from parcast.timings.series import Key, Series, label_of
from parcast.words import whole

ANSWERS = ("time", "lower", "upper", "speedup", "efficiency", "reach", "observed")
SHARES = ("share_measured", "share")


class Donor(NamedTuple):
    """Another machine that was used, its weight in the forecast, and its own forecast."""

    machine: str
    weight: float  # of this machine in the forecast at `p` [1]
    p: float  # the largest count asked for at which donors have any weight [1]
    time: float  # at `p`, if scaling continues as on that machine, at the speed of this one [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesNotes:
    """What the forecast of one series is based on, in words and in numbers."""

    key: Key
    measured: tuple[float, float]  # smallest and largest measured count [1]
    scaling: str  # "strong" or "weak"
    scaling_reason: str
    limited_by: str  # what holds it back at the largest count asked for, in a sentence
    rests_on: str  # the runs that it is based on, and how it was tested
    backtest: float | None  # relative error of the largest count's forecast from the others
    noise: float | None  # relative standard deviation among repetitions; None without any
    warnings: tuple[str, ...]
    donors: tuple[Donor, ...] = ()  # other machines used, the heaviest first
    elsewhere: str = ""  # the time if scaling continues as on each of them, in words
    shares: tuple[float, float] | None = None  # of all time, without callees: measured, forecast
    limit: Limit = ""  # what holds it back, in one or two words; "" over several axes
    laws: tuple[tuple[str, float], ...] = ()  # their names and weights, the heaviest first [1]
    follows: Follows | None = None  # the law that the times follow, where one is recognised
    no_forecast: tuple[float, ...] = ()  # counts asked for at which there is no forecast [1]
    useful_upto: float | None = None  # the last count with a forecast, where some have none [1]

    @property
    def label(self) -> str:
        """The series in a few words: "T3E", or "" where there is only one."""
        return label_of(self.key)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Forecast(Result):
    """Forecast times with their 90 % intervals, and what each forecast is based on.

    The arrays have the shape of `p`; with columns that distinguish series (`by` is not empty), the
    series are one more axis, the first.
    """

    _sheet: ClassVar[str] = "parcast.forecasting.sheet:sheet_of"
    _picture: ClassVar[str] = "parcast.forecasting.picture:figure_of"
    _never_filled: ClassVar[tuple[str, ...]] = (  # times do not tell the parts
        "compute_s",
        "communication_s",
        "io_s",
        "synchronisation_s",
    )

    p: Array  # processors asked for [1]
    time: Array  # [s]
    lower: Array  # of the interval [s]
    upper: Array  # of the interval [s]
    speedup: Array  # over the smallest measured count [1]
    efficiency: Array  # [1]
    reach: Array  # how many times beyond the measured counts; 1 inside [1]
    observed: Array  # median time measured at these counts, held out or not; NaN where none [s]
    by: tuple[str, ...]  # the columns that distinguish the series
    notes: tuple[SeriesNotes, ...]  # one a series
    refused: Mapping[str, str]  # label of each series without a forecast, and why
    measured: Series  # the runs that the forecast is based on
    interval: float = 0.9  # nominal coverage of the intervals [1]
    law: str = "weighted median of simple laws"
    sources: tuple[str, ...] = ()
    is_surface: bool = False  # forecast over several axes at once: no line is drawn through it
    curve: Curve | None = None  # the same series at any other count; None of a surface
    inputs: Mapping[str, Any] | None = None  # file, columns, what was asked: set by who reads
    measure: Measure = TIME  # what the times are: wall times, or those that a rate gives
    # values of the axes that do not tell series apart; None where one goes with p
    parameters: Mapping[str, float | None] = field(default_factory=dict)

    def slowest(self, most: int) -> NDArray[np.intp]:
        """Numbers of the series with the largest times at the largest count, the largest first."""
        times = np.reshape(self.time, (len(self.notes), -1))[:, np.argmax(self.p)]
        return np.argsort(-times, kind="stable")[:most]

    def take(self, rows: NDArray[np.intp]) -> Forecast:
        """Keep some of the series, by their numbers and in that order.

        Call paths that were adjusted to agree with others stay as they are.
        """
        return replace(
            self,
            notes=tuple(self.notes[i] for i in rows.tolist()),
            measured=self.measured.take(rows),
            curve=None if self.curve is None else self.curve.choose(rows),
            **{
                name: getattr(self, name)[rows] if self.by else getattr(self, name)
                for name in ANSWERS
            },
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings of all series, each after the name of its series; verdicts come first."""
        of_series = [
            said_of(note.label, text) if note.label else text
            for note in self.notes
            for text in note.warnings
        ]
        left_out = [f"{name}: no forecast. {why}" for name, why in self.refused.items()]
        every = (*of_series, *left_out)
        return (*filterfalse(is_remark, every), *filter(is_remark, every))

    @property
    def verdict(self) -> tuple[str, ...]:
        """What the answer is worth: which series do not scale, and where there is no forecast."""
        return tuple(verdicts(self.warnings))

    @property
    def limited_by(self) -> tuple[str, ...]:
        """What limits each series at the largest count asked for."""
        return tuple(note.limited_by for note in self.notes)

    @property
    def totals(self) -> Totals | None:
        """Times of whole profiles, those of all their call paths; None without call paths."""
        if self.curve is None or PATH not in self.by:
            return None
        every = self.curve
        shape = (len(every.series), np.size(self.p))
        if every.chosen is None:
            columns = Columns(*(getattr(self, name) for name in Columns._fields))
            observed = np.reshape(self.observed, shape)
        else:
            every = replace(every, chosen=None)
            columns, observed = every.at(self.p), np.full(shape, np.nan)
        answers = Columns(*(np.reshape(column, shape) for column in columns))
        return totals_of(every, np.ravel(self.p), answers, observed)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one tidy row for each series and count, with the keys of the JSON document."""
        columns = (
            *(self.time, self.lower, self.upper),
            *(self.speedup, self.efficiency, self.reach, self.observed),
        )
        points = max(np.size(self.p), 1)
        tables = [np.reshape(column, (len(self.notes), points)).tolist() for column in columns]
        counts = [whole(x) for x in np.ravel(self.p).tolist()]
        for i, note in enumerate(self.notes):
            key = {name: whole(value) for name, value in note.key.items()}
            for j, p in enumerate(counts):
                time, lower, upper, speedup, efficiency, reach, observed = (
                    table[i][j] for table in tables
                )
                yield {
                    **key,
                    "p": p,
                    "time_s": time,
                    "lower_s": lower,
                    "upper_s": upper,
                    **_rates(self.measure, time, lower, upper),
                    **dict.fromkeys(self._never_filled),
                    "speedup": speedup,
                    "efficiency": efficiency,
                    "reach": reach,
                    "measured_s": None if isnan(observed) else observed,
                }

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/forecast/1``."""
        return {
            "schema": "parcast/forecast/1",
            "verdict": list(self.verdict),
            "rows": list(self.rows()),
            "interval": self.interval,
            **({} if self.measure.is_time else {"measured": self.measure.to_document()}),
            **({"parameters": dict(self.parameters)} if self.parameters else {}),
            "limited_by": list(self.limited_by),
            "warnings": list(self.warnings),
            "law": self.law,
            "sources": list(self.sources),
            "inputs": dict(self.inputs or {}),
            "series": [_note_document(note) for note in self.notes],
            "refused": [{"series": name, "why": why} for name, why in self.refused.items()],
            **_totals_document(self),
        }

    def __repr__(self) -> str:
        """Say how much was asked, in one line."""
        series = f"{len(self.notes)} series, " if self.by else ""
        counts = ", ".join(str(whole(x)) for x in np.ravel(self.p).tolist()[:6])
        more = ", ..." if np.size(self.p) > 6 else ""
        return f"Forecast({series}p = {counts}{more})"


def _rates(measure: Measure, time: float, lower: float, upper: float) -> dict[str, Any]:
    """Rates with their interval, that of the time turned over, where rates were measured."""
    if measure.quantity != "rate":
        return {}
    rate, most, least = measure.rates([time, lower, upper]).tolist()
    return {
        "rate": rate,
        "rate_lower": least,
        "rate_upper": most,
        "rate_unit": measure.rate_unit or None,
    }


def one_series(forecast: Forecast, series: int) -> Forecast:
    """One series of a forecast, counted from 0, as if there had been no other."""
    if not 0 <= series < len(forecast.notes):
        raise ParameterError(
            "series",
            must=f"be a number from 0 to {len(forecast.notes) - 1}",
            got=f"{series}",
            hint="The notes of the forecast name its series in this order.",
        )
    alone = forecast.take(np.array([series]))
    answers = {name: getattr(alone, name)[0] for name in ANSWERS} if forecast.by else {}
    return replace(alone, by=(), refused={}, **answers)


def _note_document(note: SeriesNotes) -> dict[str, Any]:
    """One series of the document: its key and its notes."""
    return {
        **{name: whole(value) for name, value in note.key.items()},
        "measured_p": [whole(x) for x in note.measured],
        "scaling": note.scaling,
        "scaling_reason": note.scaling_reason,
        "limited_by": note.limited_by,
        "limit": note.limit,
        "rests_on": note.rests_on,
        "laws": dict(note.laws),
        "follows": None if note.follows is None else note.follows._asdict(),
        "backtest_error": note.backtest,
        "noise": note.noise,
        "donors": [
            {"machine": x.machine, "weight": x.weight, "p": whole(x.p), "time_s": x.time}
            for x in note.donors
        ],
        **({} if note.shares is None else dict(zip(SHARES, note.shares, strict=True))),
        "no_forecast_p": [whole(x) for x in note.no_forecast],
        "useful_upto": None if note.useful_upto is None else whole(note.useful_upto),
        "warnings": list(note.warnings),
    }


def _totals_document(forecast: Forecast) -> dict[str, Any]:
    """Times of whole profiles that are sums of call paths, in the document."""
    totals = forecast.totals
    if totals is None:
        return {}

    def number(value: float) -> float | None:
        return None if isnan(value) else float(value)

    counts = [whole(x) for x in np.ravel(forecast.p).tolist()]
    rows = [
        {
            **{name: whole(value) for name, value in totals.keys[i].items()},
            **{"callpaths": int(totals.parts[i]), "p": p},
            "time_s": float(totals.time[i, j]),
            "lower_s": float(totals.lower[i, j]),
            "upper_s": float(totals.upper[i, j]),
            "speedup": number(totals.speedup[i, j]),
            "efficiency": number(totals.efficiency[i, j]),
            "measured_s": number(totals.observed[i, j]),
        }
        for i in range(len(totals.keys))
        for j, p in enumerate(counts)
        if totals.parts[i] > 1
    ]
    return {"totals": rows} if rows else {}
