"""What changed between two versions: shared, constant or growing work, at the largest count."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.deciding.compare.cells import Cells, cells_of
from parcast.deciding.compare.sides import timed_runs
from parcast.forecasting.own_runs.parts import PARTS, QUANTILES, split
from parcast.timings.measurements import Measurements
from parcast.timings.series import Key, label_of

FEWEST: Final = 3  # counts in common, below which no part is told from another
MOST: Final = 200  # series that are split, the longest


@dataclass(frozen=True, kw_only=True, slots=True)
class PartChange:
    """How much more time one kind of work takes in the new version, at one count."""

    _outline = "series p# part base_s new_s change change_lower=lower change_upper=upper"

    series: str  # its name; "" where there is one
    p: float  # the largest count in common [1]
    part: str  # `shared`, `constant` or `growing`
    base: float  # time of that work in the base [s]
    new: float  # the same in the new version: that of the base and the change [s]
    change: float  # new less base, over the whole time of the base there [1]
    lower: float  # lower end of the 90% interval of the change [1]
    upper: float  # upper end of the 90% interval of the change [1]

    @property
    def is_seen(self) -> bool:
        """Whether the interval has one sign."""
        return self.lower * self.upper > 0


def series_of(key: Key) -> str:
    """Name the series of a cell: by all that tells cells apart but the processors."""
    return label_of({x: y for x, y in key.items() if x != "p"})


def changes_between(
    base: Measurements, new: Measurements, differing: Collection[str]
) -> tuple[PartChange, ...]:
    """Split the times of both versions at the counts that both have, and compare the parts.

    Of many series those that are `differing` come first, then the longest.
    """
    both = cells_of([base], [new])
    cells = both.take(both.in_both)
    groups: dict[str, list[int]] = {}
    for i, key in enumerate(cells.keys):
        groups.setdefault(series_of(key), []).append(i)
    enough = {name: places for name, places in groups.items() if len(places) >= FEWEST}
    if not enough:
        return ()
    longest = sorted(enough, key=lambda name: -float(cells.mean[0, enough[name]].max()))
    first = sorted(longest, key=lambda name: name not in differing)[:MOST]
    return tuple(_compared(cells, {name: enough[name] for name in first}))


def _compared(cells: Cells, groups: dict[str, list[int]]) -> Iterator[PartChange]:
    """Split all series of both versions at once."""
    width = max(map(len, groups.values()))
    count = np.array([len(places) for places in groups.values()])
    place = np.array([[*x, *[x[-1]] * (width - len(x))] for x in groups.values()])
    p = np.array([float(key["p"]) for key in cells.keys])[place]
    runs = [timed_runs(cells.sessions(cells.new == new)) for new in (False, True)]
    time, error = (
        np.stack([values[place] for values in of_runs])
        for of_runs in ([np.exp(x.log_time) for x in runs], [x.error for x in runs])
    )
    last = p[np.arange(len(p)), count - 1]
    parts, largest = split(p, time, count, error).at(last[:, None])
    (old, new), (most_old, most_new) = parts[:, :, :, 0], largest[:, :, :, 0]
    whole = old.sum(axis=2, keepdims=True)
    low, middle, high = (
        np.quantile(change / whole, at, axis=1)
        for change, at in zip((new - most_old, new - old, most_new - old), QUANTILES, strict=True)
    )
    before = np.median(old, axis=1)
    after = np.maximum(before + middle * np.median(whole, axis=1), 0.0)
    for i, name in enumerate(groups):
        for j, part in enumerate(PARTS):
            ends = (float(x[i, j]) for x in (before, after, middle, low, high))
            yield PartChange(
                **dict(zip(("base", "new", "change", "lower", "upper"), ends, strict=True)),
                series=name,
                p=float(last[i]),
                part=part,
            )
