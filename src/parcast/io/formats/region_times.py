"""Times of regions, rank by rank, in 24 bytes each until they are added up."""

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Path = tuple[str, ...]


class RegionTimes:
    """The times of one run by region and rank."""

    def __init__(self) -> None:
        self._numbers: dict[Path, int] = {}
        self._regions, self._ranks, self._times = array("q"), array("q"), array("d")

    def __len__(self) -> int:
        """Return how many times there are."""
        return len(self._times)

    def add(self, path: Path, rank: int, time: float) -> None:
        """Take in a time; several of one region and rank are added up.

        Parameters
        ----------
        path : tuple of str
            The region, below those that called it.
        rank : int
            At least 0.
        time : float
            At least 0. [s]
        """
        self._regions.append(self._numbers.setdefault(path, len(self._numbers)))
        self._ranks.append(rank)
        self._times.append(time)

    def slowest(self) -> Iterator[tuple[Path, float]]:
        """Go through the regions with the time of the slowest rank in each. [s]."""
        regions, times = self._by_rank()
        starts = np.flatnonzero(np.diff(regions, prepend=-1))
        yield from zip(self._numbers, np.maximum.reduceat(times, starts).tolist(), strict=True)

    def total(self) -> Iterator[tuple[Path, float]]:
        """Go through the regions with the sum over the ranks. [s]."""
        sums = np.bincount(np.asarray(self._regions), weights=np.asarray(self._times))
        yield from zip(self._numbers, sums.tolist(), strict=True)

    def _by_rank(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Add up what is of one region and rank; the regions in order. [s]."""
        ranks = np.asarray(self._ranks)
        span = int(ranks.max()) + 1
        keys, place = np.unique(np.asarray(self._regions) * span + ranks, return_inverse=True)
        times = np.bincount(place, weights=np.asarray(self._times)).astype(np.float64, copy=False)
        return keys // span, times
