"""A measured number with its spread: the median of repetitions, and medians of resampled ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from parcast.units import Dimension

UNLIMITED: Final = 1e13  # rate of what takes no time, as flushing a file system in memory [B/s]
RESAMPLED: Final = 200  # times, for the spread
ENDS: Final = (0.05, 0.95)  # of the 90% interval

Draw = Callable[[Sequence[float]], float]  # one number of several


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A measured number, and its spread over the repetitions."""

    _outline = "key value lower upper dimension method"

    key: str  # table and key, such as `servers.write_rate`; `computing.` is not in the file
    value: float  # with which the law comes closest to the times of reference requests [SI]
    lower: float  # lower end of its 90% interval [SI]
    upper: float  # upper end of it [SI]
    dimension: Dimension  # `time`, `rate`, `size` or `count`
    method: str  # the reference requests that determine it, or the dry run


def figure_of(key: str, dimension: Dimension, method: str, of: Callable[[Draw], float]) -> Figure:
    """Make a figure of what is computed from medians of repetitions."""
    rng = np.random.default_rng(1)

    def resampled(values: Sequence[float]) -> float:
        return float(np.median(rng.choice(values, len(values))))

    value = float(of(median))
    lower, upper = np.quantile([of(resampled) for _ in range(RESAMPLED)], ENDS)
    return Figure(
        key=key,
        value=value,
        lower=min(float(lower), value),
        upper=max(float(upper), value),
        dimension=dimension,
        method=method,
    )
