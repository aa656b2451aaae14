"""What a picture shows of the values of all messages: how often they occur, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from scipy import stats  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array

BINS: Final = 40
MOST_POINTS: Final = 2000  # of successive values: more are a blot, and a large file


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Occurrences:
    """How often values occur between 0 and the largest, in classes of equal width."""

    counts: tuple[int, ...]  # (BINS,)
    largest: float  # in the unit of the values
    mean: float

    @classmethod
    def of(cls, values: Array) -> Self:
        """Count values of at least 0."""
        largest, mean = (float(f()) if len(values) else 0.0 for f in (values.max, values.mean))
        edges = np.linspace(0, (largest or 1.0) * (1 + 1e-9), BINS + 1)
        counts, _ = np.histogram(values, edges)
        return cls(counts=tuple(counts.tolist()), largest=largest, mean=mean)

    @property
    def edges(self) -> Array:
        """Ends of the classes."""
        return np.linspace(0, self.largest * (1 + 1e-9), len(self.counts) + 1)

    @property
    def expected(self) -> Array:
        """How often values of an exponential distribution with the same mean would occur."""
        return np.asarray(sum(self.counts) * -np.diff(np.exp(-self.edges / self.mean)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Successive:
    """Places of values among all, the least first, and those of the next, evenly thinned."""

    first: Array  # from 1; the mean where values are equal [1]
    second: Array  # [1]
    count: int  # of all values

    @classmethod
    def of(cls, values: Array) -> Self:
        """Rank values that follow one another."""
        ranks = stats.rankdata(values)
        pairs = max(len(values) - 1, 0)
        kept = np.unique(np.linspace(0, pairs - 1, min(pairs, MOST_POINTS)).astype(int))
        return cls(first=ranks[kept], second=ranks[kept + 1], count=len(values))

    def in_percent(self) -> tuple[Array, Array]:
        """Give both as shares of all values. [%]."""
        first, second = (100 * (x - 0.5) / self.count for x in (self.first, self.second))
        return first, second
