"""Runs of the same program on other machines, and which of them serve which series."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.series import Series


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Elsewhere:
    """Donors of every series of a forecast. Made by `parcast.verbs.donors.gather`."""

    runs: Series  # every donor, each of two counts of processors or more
    names: tuple[str, ...]  # of the donors: their machines
    of: NDArray[np.intp]  # (series, donors): which donors a series has; -1 as padding
    told: tuple[tuple[str, ...], ...]  # for each series, what became of donors not used
    likeness: NDArray[np.float64]  # (series, donors): of their machines to the series' own [1]
    described: bool  # whether it comes from descriptions; otherwise it is 1
    grows: bool  # whether the problem size grows with the processors among the donors

    def adding(self, remarks: tuple[str, ...]) -> "Elsewhere":
        """Tell more of every series, of what is not empty."""
        more = [remark for remark in remarks if remark]
        return replace(self, told=tuple((*told, *more) for told in self.told))

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "Elsewhere":
        """Keep the donors of some of the series, by a mask, their numbers or a slice."""
        place = np.arange(len(self.told))[rows].tolist()
        told = tuple(self.told[i] for i in place)
        return replace(self, of=self.of[rows], likeness=self.likeness[rows], told=told)
