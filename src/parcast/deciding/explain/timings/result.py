"""What explains measured times: shared, constant and growing work, and serial fractions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from parcast.aliases import Array
from parcast.deciding.explain.timings.serial import SerialFractions
from parcast.forecasting.next_runs.result import PlannedRun
from parcast.forecasting.own_runs.parts import PARTS, TimeParts
from parcast.saved.call import Call
from parcast.show.result import Result
from parcast.timings.series import Key, label_of
from parcast.words import whole


@dataclass(frozen=True, kw_only=True, slots=True)
class LessWork:
    """A part of the work that is smaller: `serial/2`."""

    text: str  # as it was asked for
    part: str  # `shared`, `constant` or `growing`
    divisor: float  # by which it is divided, above 0 [1]

    @property
    def saved(self) -> float:
        """Share of that part that is saved [1]."""
        return 1.0 - 1.0 / self.divisor


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeriesExplained:
    """What one series of times consists of."""

    key: Key  # the columns that distinguish the series
    p: Array  # (points,): the largest measured count, and those that are forecast [1]
    time: Array  # (points,) [s]
    lower: Array  # of the 90% interval [s]
    upper: Array
    parts: TimeParts
    serial: SerialFractions
    scaling: str  # `strong` or `weak`, and why
    rests_on: str  # the runs that it is based on, and how it was tested
    next_run: (
        PlannedRun | None
    )  # the run that would narrow the forecast most; None where none does
    warnings: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The series in a few words, or "" where there is only one."""
        return label_of(self.key)

    def shares(self, i: int) -> dict[str, tuple[float, float, float]]:
        """Share of each part at point `i`, with its interval."""
        arrays = (self.parts.share, self.parts.lower, self.parts.upper)
        return {
            name: (float(arrays[0][i, k]), float(arrays[1][i, k]), float(arrays[2][i, k]))
            for k, name in enumerate(PARTS)
        }

    def saving(self, less: LessWork, i: int) -> tuple[float, float, float]:
        """Share of the time that less work saves at point `i`, with its interval."""
        value, lower, upper = (less.saved * x for x in self.shares(i)[less.part])
        return value, min(lower, upper), max(lower, upper)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TimingsExplained(Result):
    """What measured and forecast times consist of, and what less of it would save."""

    _schema = "parcast/explain-timings/1"
    _axes = "*time_s"
    _outline = """
        rows interval serial_fractions=_serial_rows what_if?=_what_if_rows laws=_law_rows
        next_runs=_next_rows warnings refused sources inputs call?
    """
    _picture = "parcast.deciding.explain.timings.picture:figure_of"

    series: tuple[SeriesExplained, ...]  # the slowest at the largest count first
    what_if: tuple[LessWork, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)  # series without an answer, and why
    sources: tuple[str, ...] = ()
    interval: float = 0.9  # probability of the intervals [1]
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    call: Call | None = None  # what made it: for `parcast.load`

    def __repr__(self) -> str:
        """Say how much was explained, in one line."""
        return f"TimingsExplained({len(self.series)} series)"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of all series, each after the name of its series."""
        named = [
            f"{x.label}: {text}" if x.label else text for x in self.series for text in x.warnings
        ]
        return (*named, *(f"{name}: {why}" for name, why in self.refused.items()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each series and count: the time, and the share of each part."""
        for x in self.series:
            for i, p in enumerate(x.p.tolist()):
                row = {
                    **x.key,
                    "p": whole(p),
                    "time_s": float(x.time[i]),
                    "lower_s": float(x.lower[i]),
                    "upper_s": float(x.upper[i]),
                }
                for name, (value, lower, upper) in x.shares(i).items():
                    row |= {name: value, f"{name}_lower": lower, f"{name}_upper": upper}
                yield row

    @property
    def _serial_rows(self) -> list[dict[str, Any]]:
        """Serial fraction (Karp-Flatt) of each series by count, with `is_forecast`."""
        return [
            {
                **x.key,
                "p": whole(float(x.serial.p[i])),
                "serial_fraction": float(x.serial.fraction[i]),
                "lower": float(x.serial.lower[i]),
                "upper": float(x.serial.upper[i]),
                "is_forecast": bool(x.serial.is_forecast[i]),
            }
            for x in self.series
            for i in range(len(x.serial.p))
        ]

    @property
    def _what_if_rows(self) -> list[dict[str, Any]]:
        """With `--what-if`: share of the time that less work saves, by series and count."""
        rows = []
        for x in self.series:
            for less in self.what_if:
                for i, p in enumerate(x.p.tolist()):
                    value, lower, upper = x.saving(less, i)
                    at = {**x.key, "what_if": less.text, "p": whole(p)}
                    rows.append({**at, "saved": value, "saved_lower": lower, "saved_upper": upper})
        return rows

    @property
    def _law_rows(self) -> list[dict[str, Any]]:
        """Laws that have a say in each series, and their weights."""
        return [
            {**x.key, "law": name, "weight": weight}
            for x in self.series
            for name, weight in x.parts.laws
        ]

    @property
    def _next_rows(self) -> list[dict[str, Any]]:
        """The run of each series that would narrow its forecast most."""
        return [x.next_run.to_document() for x in self.series if x.next_run is not None]
