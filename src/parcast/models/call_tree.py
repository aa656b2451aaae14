"""Times of call paths that add up: forecasts of parts and of their total made to agree.

In a tree of inclusive times a call path takes as long as what it calls and its own statements
together. Forecast apart, the two sides differ. They are made equal [D]_: from the leaves up, a
total is taken between its own forecast and that of its parts, each by the inverse square of its
half-width in log time; then from the root down the parts are moved until they add up to their
total, each in log time by its share times the square of its half-width, as least squares in log
time would to first order. What is known well or matters little hardly moves, and no time turns
negative. The half-width of a sum takes the errors of its parts to be correlated by one half; the
two forecasts of a total are not taken to be independent, so that agreeing narrows nothing.

Where each time is that of the slowest rank, parts add up to more than their total, by no rule.
There nothing is made equal, but no call path takes longer than its caller.

References
----------
.. [D] parcast's own; the additive counterpart is the reconciliation of hierarchical forecasts:
   S. L. Wickramasuriya, G. Athanasopoulos and R. J. Hyndman, J. Am. Stat. Assoc., vol. 114,
   no. 526, pp. 804-819, 2019, :doi:`10.1080/01621459.2018.1448825`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parcast.models.terms import Array

CORRELATED = 0.5  # errors of the parts of one total [D]
STEPS = 60  # Newton's steps for the parts; a few suffice
AGREED = 1e-12  # relative, between a total and the sum of its parts
LONGEST = 2.0  # step in log time
TINY = 1e-300


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CallTree:
    """Which call path is called by which, one entry a series."""

    parent: NDArray[np.intp]  # (series,): row of the caller; -1 for a root
    depth: NDArray[np.intp]  # (series,): callers above it [1]
    adds_up: NDArray[np.bool_]  # (series,): whether its own time and its children make its time

    @property
    def totals(self) -> NDArray[np.intp]:
        """Rows that have children."""
        return np.unique(self.parent[self.parent >= 0])

    def summed(self, values: Array) -> Array:
        """Sum over the children of each row, shape of `values`; 0 for a leaf."""
        total = np.zeros_like(values)
        called = self.parent >= 0
        np.add.at(total, self.parent[called], values[called])
        return total


def reconciled(
    tree: CallTree,
    *,
    log_time: Array,
    half_width: Array,
    log_own: Array,
    own_half_width: Array,
) -> Array:
    """Log times that add up in every call path, shape (series, points).

    Parameters
    ----------
    tree : CallTree
    log_time, half_width : ndarray, shape (series, points)
        Forecasts made apart: log of time in seconds, and half-width of its interval.
    log_own, own_half_width : ndarray, shape (series, points)
        The same of the time that a call path with children spends itself; -inf and 0 for none.

    Returns
    -------
    ndarray, shape (series, points)
    """
    time, width, own = np.exp(log_time), half_width.copy(), np.exp(log_own)
    deepest = int(tree.depth.max(initial=0))
    for depth in range(deepest - 1, -1, -1):
        here = tree.totals[tree.depth[tree.totals] == depth]
        here = here[tree.adds_up[here]]
        parts = (own + tree.summed(time))[here]
        doubt = time * width
        squares = (own * own_half_width) ** 2 + tree.summed(doubt**2)
        linear = own * own_half_width + tree.summed(doubt)
        spread = np.sqrt((1.0 - CORRELATED) * squares + CORRELATED * linear**2)
        of_parts = spread[here] / parts
        share = width[here] ** 2 / np.maximum(width[here] ** 2 + of_parts**2, TINY)
        time[here] = np.exp((1.0 - share) * log_time[here] + share * np.log(parts))
        width[here] = (1.0 - share) * width[here] + share * of_parts
    for depth in range(deepest):
        here = tree.totals[tree.depth[tree.totals] == depth]
        _share_out(tree, (time, own), (width, own_half_width), here[tree.adds_up[here]])
        below = np.flatnonzero(np.isin(tree.parent, here))
        time[below] = np.minimum(time[below], time[tree.parent[below]])
    return np.asarray(np.log(time))


def _share_out(
    tree: CallTree,
    times: tuple[Array, Array],
    widths: tuple[Array, Array],
    here: NDArray[np.intp],
) -> None:
    """Move the children of the rows `here`, in the first of `times`, until all adds up."""
    time, own = times
    if not here.size:
        return
    total = time
    children = np.flatnonzero(np.isin(tree.parent, here))
    caller = tree.parent[children]
    ease, own_ease = widths[0][children] ** 2 * time[children], widths[1] ** 2 * own
    largest = np.maximum(own_ease, TINY)
    np.maximum.at(largest, caller, ease)
    ease, own_ease = ease / largest[caller], own_ease / largest
    moved = np.zeros_like(total)  # in log time, how far the part that moves most is moved
    for _ in range(STEPS):  # pragma: no branch - it converges
        parts = time[children] * np.exp(moved[caller] * ease)
        own_now = own * np.exp(moved * own_ease)
        now, slope = own_now.copy(), own_now * own_ease
        np.add.at(now, caller, parts)
        np.add.at(slope, caller, parts * ease)
        off = np.log(total[here] / now[here])  # rows of `here` are no children of each other
        if (np.abs(off) <= AGREED).all():
            break
        moved[here] += np.clip(off * now[here] / slope[here], -LONGEST, LONGEST)
    left = np.ones_like(total)
    left[here] = total[here] / now[here]
    time[children] = parts * left[caller]
