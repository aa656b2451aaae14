"""Call paths of a profile: which one calls which, and forecasts made to add up.

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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.measured import curve_from, pooled_noise
from parcast.timings.series import Series

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
    """Log times, (series, points), that add up in every call path, from forecasts made apart.

    `log_own` is the time that a call path with children spends itself, -inf for none.
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


CALLS = "->"  # between a caller and what it calls
PATH = "callpath"
INCLUDES = 0.98  # part of its largest child that an inclusive time has at least
DIGITS = 9  # of such parts; what follows is rounding, which the unit of time decides
OWN = 0.01  # part of its time that a call path spends itself at some count, to be told apart
EXACT = 0.02  # part of its time by which children may miss it and still make all of it ...
NOISY = 0.06  # ... and by which they may miss it at some counts, if they do not at most


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Profile:
    """The call paths of some series as a tree, and what they spend themselves."""

    tree: CallTree
    own: Array  # (series, counts): time without that of the children; NaN where there is none [s]


def profile_of(series: Series) -> Profile | None:
    """Find which call path calls which, where their times are inclusive; None where none does.

    They are where, at every measured count, each time is at least as long as each of its children.
    """
    if PATH not in series.by:
        return None
    parent, depth, group = callers_of(series)
    parent = np.where(series.count > 1, parent, -1)  # a single count tells no own time
    called = parent >= 0
    if not called.any():
        return None
    time = np.nan_to_num(series.time)
    largest = np.zeros_like(time)
    np.maximum.at(largest, parent[called], time[called])
    part = np.divide(time, largest, out=np.ones_like(time), where=largest > 0).round(DIGITS)
    excluded = np.unique(group[(part < INCLUDES).any(axis=1)])
    parent = np.where(np.isin(group, excluded), -1, parent)
    if not (parent >= 0).any():
        return None
    tree = CallTree(parent=parent, depth=depth, adds_up=np.zeros(len(series), dtype=bool))
    own = time - tree.summed(time)
    is_count = np.isfinite(series.time)
    left = np.divide(own, time, out=np.full(time.shape, np.nan), where=is_count).round(DIGITS)
    has_own = np.all(~is_count | (left > 0), axis=1) & np.any(left > OWN, axis=1)
    missed = np.abs(left)
    exact = (np.nanmedian(missed, axis=1) <= EXACT) & (np.nanmax(missed, axis=1) <= NOISY)
    return Profile(
        tree=replace(tree, adds_up=has_own | exact),
        own=np.where(is_count & has_own[:, None], own, np.nan),
    )


def made_consistent(series: Series, profile: Profile, table: Array, targets: Array) -> Array:
    """Make the parts and totals of a `table`, (columns, series, points), agree in all columns."""
    log_time = np.log(table[0])
    half_width = np.log(table[2] / table[1]) / 2
    log_own, own_half_width = _own(series, profile, targets)
    moved = reconciled(
        profile.tree,
        log_time=log_time,
        half_width=half_width,
        log_own=log_own,
        own_half_width=own_half_width,
    )
    measured = (series.p[:, :, None] == targets).any(axis=1)
    factor = np.where(measured, 1.0, np.exp(moved - log_time))  # what was measured stays
    changed = table.copy()
    changed[:3] *= factor
    changed[3:5] /= factor
    return changed


def _own(series: Series, profile: Profile, targets: Array) -> tuple[Array, Array]:
    """Forecast what call paths with children spend themselves: log time and its half-width."""
    log_own = np.full((len(series), len(targets)), -np.inf)
    half_width = np.zeros_like(log_own)
    rows = profile.tree.totals
    rows = rows[np.isfinite(profile.own[rows, 0])]
    if rows.size:
        noise = pooled_noise(series.spread, series.shows_spread)[rows]
        alone = curve_from(
            series.p[rows],
            profile.own[rows],
            series.count[rows],
            noise,
            targets,
            weight=series.weight[rows],
        )
        log_own[rows], half_width[rows] = alone.log_time, alone.half_width
    return log_own, half_width


def callers_of(
    series: Series,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Row of the nearest caller (-1 without), callers above, and number of the profile."""
    paths = [tuple(map(str.strip, str(key[PATH]).split(CALLS))) for key in series.keys]
    profiles = [tuple(v for name, v in key.items() if name != PATH) for key in series.keys]
    number = {profile: i for i, profile in enumerate(dict.fromkeys(profiles))}
    named = list(zip(profiles, paths, strict=True))
    row = {name: i for i, name in enumerate(named)}
    parent = np.full(len(series), -1, dtype=np.intp)
    for i, (profile, path) in enumerate(named):
        for length in range(len(path) - 1, 0, -1):
            caller = row.get((profile, path[:length]))
            if caller is not None:
                parent[i] = caller
                break
    called = np.flatnonzero(parent >= 0)
    same = np.array_equal  # counts in common are needed to add up
    for i in called.tolist():
        if not same(series.p[i], series.p[parent[i]], equal_nan=True):
            parent[i] = -1
    depth = np.zeros(len(series), dtype=np.intp)
    above = parent.copy()
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parent[above], -1)
    return parent, depth, np.array([number[profile] for profile in profiles], dtype=np.intp)
