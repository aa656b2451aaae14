"""A measured number with its spread: the median of repetitions, and medians of resampled ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np

from parcast.units import Dimension

UNLIMITED: Final = 1e13  # rate of what takes no time, as flushing a file system in memory [B/s]
RESAMPLED: Final = 200  # times, for the spread
ENDS: Final = (0.05, 0.95)  # of the 90 % interval

Draw = Callable[[Sequence[float]], float]  # one number of several


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A measured number, and its spread over the repetitions."""

    key: str  # "servers.write_rate"
    value: float  # [SI]
    lower: float  # of the 90 % interval
    upper: float
    dimension: Dimension
    method: str

    def row(self) -> dict[str, Any]:
        """As the JSON document and the CSV file have it."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


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
