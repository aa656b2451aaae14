"""One axis of a picture: from values to places, and round ticks where none are given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, isfinite, log10
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from parcast.aliases import Array
from parcast.show.pictures.scales import even_ticks, round_ticks

Kind: TypeAlias = Literal["linear", "log"]
UPRIGHT, ACROSS = 24.0, 45.0  # room that a tick asks for [pt]
MARGIN: Final = 0.05  # beside what is drawn, as a share of the axis, as matplotlib has it


@dataclass(slots=True)
class Scale:
    """Values along one axis, at places from `start` to `end` [pt]."""

    kind: Kind = "linear"
    low: float | None = None  # as set; None: that of what is drawn
    high: float | None = None
    ticks: Sequence[float] | None = None
    labels: Sequence[str] | None = None
    title: str = ""
    grid: str | None = None  # its colour; None: no grid
    length: float = 3.5  # of ticks [pt]
    is_labelled: bool = True
    is_upright: bool = False
    limits: tuple[float, float] = (0.0, 1.0)  # once it is fitted
    start: float = 0.0
    end: float = 1.0
    sticky: set[float] = field(default_factory=set)  # ends beside which no room is left
    is_flattened: bool = False  # linear from 0 on, where a picture asked for a logarithm
    factor: float = 1.0  # what is written beside a tick of such a scale, over its value
    is_whole: bool = False  # whether such a scale has whole numbers beside its ticks alone

    def flatten(self) -> None:
        """Make it linear from 0 on, where its picture makes it logarithmic."""
        self.kind, self.is_flattened = "linear", True

    def take_ticks(self, ticks: Sequence[float], labels: Sequence[str] | None) -> None:
        """Set the ticks; a flattened scale has even ones in their unit, if these are numbers."""
        if self.is_flattened:
            factor = _factor(ticks, labels)
            if factor is not None:
                self.factor = factor
                self.is_whole = all(float(x) % 1 == 0 for x in labels or ())
                return
            self.kind, self.is_flattened = "log", False
        self.ticks, self.labels = list(ticks), labels

    def fit(self, values: Array) -> None:
        """Choose the limits that were not set, by what is drawn."""
        known = values[np.isfinite(values)]
        if self.kind == "log":
            known = known[known > 0]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        a, b = self._to(low), self._to(high)
        room = MARGIN * (b - a) or 0.5
        low = low if low in self.sticky else self._from(a - room)
        high = high if high in self.sticky else self._from(b + room)
        self.limits = (
            (low if self.low is None else self.low) if not self.is_flattened else 0.0,
            high if self.high is None else self.high,
        )

    def at(self, values: Any) -> Array:
        """Places of values [pt]; NaN of those that have none."""
        given = np.asarray(values, dtype=np.float64)
        if self.kind == "log":
            given = np.log10(np.where(given > 0, given, np.nan))
        low, high = (self._to(x) for x in self.limits)
        share = (given - low) / ((high - low) or 1.0)
        return np.asarray(self.start + share * (self.end - self.start))

    def is_inside(self, value: float) -> bool:
        """Whether a value lies within the limits."""
        low, high = sorted(self.limits)
        room = 1e-9 * (high - low)
        return isfinite(value) and low - room <= value <= high + room

    def marks(self) -> list[tuple[float, str]]:
        """Give the ticks within the limits, and what is written beside each."""
        ticks = self.chosen()
        own = (f"{x * self.factor:.6g}" for x in ticks)
        labels = self.labels if self.labels is not None else [*own]
        return [(x, y) for x, y in zip(ticks, labels, strict=True) if self.is_inside(x)]

    def chosen(self) -> list[float]:
        """Give the ticks that were set, or round ones."""
        if self.ticks is not None:
            return [float(x) for x in self.ticks]
        low, high = sorted(self.limits)
        most = max(int(abs(self.end - self.start) / (UPRIGHT if self.is_upright else ACROSS)), 3)
        if self.kind == "log":
            decades = [10.0**k for k in range(floor(log10(low)), ceil(log10(high)) + 1)]
            return round_ticks(low, high, most) or decades
        ends = (low * self.factor, high * self.factor)
        return [x / self.factor for x in even_ticks(*ends, most, is_whole=self.is_whole)]

    def writer(self) -> Callable[[float], str]:
        """Give what writes values as the labels of the ticks do, by the factor of these."""
        marks = self.marks()
        for tick, label in marks:
            if tick == 0:
                continue
            try:
                factor = float(label.replace(",", "")) / tick
            except ValueError:
                break
            if factor:
                return lambda value: f"{value * factor:.4g}"
        known = {tick: label.replace("\n", " ") for tick, label in reversed(marks)}
        return lambda value: known.get(value) or f"{value:.4g}"

    def _to(self, value: float) -> float:
        return log10(value) if self.kind == "log" and value > 0 else value

    def _from(self, value: float) -> float:
        return float(10.0**value) if self.kind == "log" else value


def _factor(ticks: Sequence[float], labels: Sequence[str] | None) -> float | None:
    """Ratio of what is written beside ticks to their values; None where it is no number."""
    known = zip(ticks, labels or (), strict=False)
    try:
        return next((float(label) / tick for tick, label in known if tick), 1.0)
    except ValueError:
        return None
