"""One machine in the picture of a match, laid out: its curve, interval, colour and marker."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.match_result import Candidate

Array = NDArray[np.float64]

# Of M. Okabe and K. Ito, "Color Universal Design", 2008, each with a marker of its own.
COLOURS: Final = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#757575"),
)
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "h")
WIDEST_BAND: Final = 20.0  # seen of an interval, times what is told


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One machine as it is drawn: x and y, in the middle and at the ends of the interval."""

    x: Array
    y: Array
    low: tuple[Array, Array]
    high: tuple[Array, Array]
    useful: NDArray[np.bool_]  # counts to which none is preferred in time and cost both

    def within(self) -> "Curve":
        """Keep the useful counts only."""
        keep = self.useful
        low, high = ((ends[0][keep], ends[1][keep]) for ends in (self.low, self.high))
        return Curve(self.x[keep], self.y[keep], low, high, keep[keep])


def curve_of(candidate: Candidate, *, has_cost: bool) -> Curve:
    """Lay out one machine: cost over time [s], or time [s] over processors.

    Parameters
    ----------
    candidate : Candidate
        The machine.
    has_cost : bool
        Whether cost is drawn over time.

    Returns
    -------
    Curve
        Intervals are cut where they reach further than `WIDEST_BAND` times.
    """
    time, cost = candidate.time, candidate.cost
    lower, upper = (np.clip(t, time / WIDEST_BAND, time * WIDEST_BAND) for t in _ends(candidate))
    if not has_cost or cost is None:
        everything = np.ones(len(time), dtype=bool)
        return Curve(candidate.p, time, (candidate.p, lower), (candidate.p, upper), everything)
    least = cost if candidate.cost_lower is None else candidate.cost_lower
    most = cost if candidate.cost_upper is None else candidate.cost_upper
    least, most = (np.clip(c, cost / WIDEST_BAND, cost * WIDEST_BAND) for c in (least, most))
    no_worse = (time[:, None] >= time) & (cost[:, None] >= cost)
    better = no_worse & ((time[:, None] > time) | (cost[:, None] > cost))
    useful = np.logical_not(np.any(better, axis=1, keepdims=True)).ravel()
    useful[candidate.chosen] = True
    return Curve(time, cost, (lower, least), (upper, most), useful)


def _ends(candidate: Candidate) -> tuple[Array, Array]:
    """Ends of the interval of time. [s]."""
    return candidate.lower, candidate.upper
