"""Kriging of log time over several axes: main effects are smooth, interactions small, all shrunk.

    log T(u) = a + sum b_j u_j                                  trend: free
             + sum c_j u_j^2 + sum d_ij u_i u_j                 curvature and interaction: shrunk
             + sum f_j(u_j) + sum f_ij(u_i, u_j) + f(u)         smooth departures: shrunk more
             + lambda * split(u)                                how work and overhead part
             + noise

Every term is Gaussian, so that the whole is one covariance and the answer one linear system. Two
scales, how far time departs from a product of powers and how much runs scatter, are those of a
small grid that make the measurements most likely. Beyond the measured range the departures die
away and the trend, with what is left of the curvature, goes on. Runs along single axes alone
determine the main effects; the interactions then stay at what is expected of them before any run.

`split` is what tells apart the two ways in which an axis that makes a program slower can meet
more processors. Either everything grows with it (time is a product), or the work alone does, which
the processors share, and what the processors themselves cost does not. `lambda` is 0 in the one
case and 1 in the other; it is expected half-way, and learnt where runs vary both at once.

Use it for interpolation in all axes and for short extrapolation. Its standard deviation is that
of the model; whether the model holds beyond the measured range it cannot know.

The covariance is the similarity of log time at two points: a sum over axes, pairs, and all axes.
Points are coordinates in [-1, 1].

References
----------
.. [1] C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press,
   2006, eqs. 2.25, 2.26, 2.30 (answer, likelihood), 4.17 (Matern 3/2), sec. 2.7 (trend) [S].
.. [2] N. Durrande, D. Ginsbourger, O. Roustant and L. Carraro, "ANOVA kernels and RKHS of zero
   mean functions for model-based sensitivity analysis," J. Multivar. Anal., vol. 115, pp. 57-67,
   2013,
   :doi:`10.1016/j.jmva.2012.08.016` (sums and products over axes [S]; scales and `split` [D]).
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.scaling import falls_with_p

FREE = 10.0  # standard deviation of the trend's coefficients: as good as unknown
CURVED, MIXED = 0.3, 0.2  # of squares and of products of two axes [D]
ALONE, PAIRED, ALL_TOGETHER = 0.3, 0.1, 0.03  # of smooth departures [D]
MOST_BENDS = 4  # degree of what a single axis may do, where interactions are looked for


def parts(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Covariance between points of the trend, and of what departs from it, each at scale 1.

    The departures of the single axes, and those of several axes together.
    """
    axes = range(a.shape[1])
    product = [np.outer(a[:, j], b[:, j]) for j in axes]
    smooth = [matern(np.abs(a[:, j, None] - b[None, :, j])) for j in axes]
    straight, single = np.full((len(a), len(b)), FREE**2), np.zeros((len(a), len(b)))
    joint = ALL_TOGETHER**2 * np.prod(smooth, axis=0)
    for x, k in zip(product, smooth, strict=True):
        straight += FREE**2 * x
        single += CURVED**2 * x * x + ALONE**2 * k
    for i, j in combinations(axes, 2):
        joint += MIXED**2 * product[i] * product[j] + PAIRED**2 * smooth[i] * smooth[j]
    return straight, single, joint


def together(straight: Array, single: Array, joint: Array, departure: float) -> Array:
    """Add up the parts; what several axes do together stays small, however curved each is."""
    return np.asarray(straight + departure**2 * single + min(departure, 1.0) ** 2 * joint)


def rowwise(a: Array, b: Array, departure: float) -> Array:
    """Covariance of the points of `a` and `b` row by row: `parts` without the other pairs."""
    product, smooth = a * b, matern(np.abs(a - b))
    straight = FREE**2 * (1.0 + product.sum(axis=1))
    single = (CURVED**2 * product**2 + ALONE**2 * smooth).sum(axis=1)
    joint = MIXED**2 * pairs(product) + PAIRED**2 * pairs(smooth)
    joint += ALL_TOGETHER**2 * np.prod(smooth, axis=1)
    return together(straight, single, joint, departure)


def pairs(factors: Array) -> Array:
    """Sum of the products of every two columns, shape (rows,)."""
    return np.asarray((factors.sum(axis=1) ** 2 - (factors**2).sum(axis=1)) / 2)


def matern(distance: Array) -> Array:
    """Correlation at a distance, of functions with one derivative [1], eq. 4.17."""
    scaled = np.sqrt(3.0) * distance
    return np.asarray((1.0 + scaled) * np.exp(-scaled))


def vary_together(u: Array) -> NDArray[np.bool_]:
    """Whether runs vary two axes at once, beyond what each does alone, shape (axes, axes)."""
    axes = u.shape[1]
    degrees = [min(len(np.unique(u[:, j])) - 1, MOST_BENDS) for j in range(axes)]
    alone = [u[:, j, None] ** np.arange(1, degrees[j] + 1) for j in range(axes)]
    is_known = np.ones((axes, axes), dtype=bool)
    for i, j in combinations(range(axes), 2):
        single = np.column_stack([np.ones(len(u)), alone[i], alone[j]])
        both = np.column_stack([single, u[:, i] * u[:, j]])
        varies = degrees[i] and degrees[j]
        known = np.linalg.matrix_rank(both) > np.linalg.matrix_rank(single)
        is_known[i, j] = is_known[j, i] = not varies or known
    return is_known


SPLIT_EXPECTED, SPLIT_SPREAD = 0.5, 0.5  # of lambda: half-way between its two cases [D]
DEPARTURES = (0.1, 0.3, 1.0, 3.0)  # scales of curvature, interaction and departure together
SCATTERS = (0.003, 0.01, 0.03, 0.1)  # of the runs, as log time
FURTHEST = 50.0  # logarithm of how much larger than the corner anything counts
LEAST = 1e-3  # of the time, where a split would leave less than nothing
MOST_SEARCHED = 300  # runs that choose the scales; every so many where there are more
AT_ONCE = 100_000  # pairs of points whose covariance is computed together: bounds memory


@dataclass(frozen=True, kw_only=True, slots=True)
class Surface:
    """Log time over axes, each brought to [-1, 1]; made by `krige`."""

    u: Array  # (runs, axes): where it was measured
    split: "Split | None"
    departure: float  # scale of what is no product of powers [1]
    scatter: float  # standard deviation of log time among runs [1]
    shift: float  # mean log time
    weights: Array  # (runs,): inverse covariance times what was measured
    lower: Array  # (runs, runs): Cholesky factor of the covariance

    def log_time(self, v: Array) -> Array:
        """Log time at `v`, shape (points, axes)."""
        return self.with_spread(v, spread=False)[0]

    def with_spread(self, v: Array, *, spread: bool = True) -> tuple[Array, Array]:
        """Log time at `v`, shape (points, axes), and its standard deviation."""
        time, deviation = np.empty(len(v)), np.zeros(len(v))
        step = max(1, AT_ONCE // len(self.u))
        for start in range(0, len(v), step):  # over blocks of points, for memory
            part = slice(start, start + step)
            at = v[part]
            shared = together(*parts(at, self.u), self.departure)
            expected = np.full(len(at), self.shift)
            own = rowwise(at, at, self.departure) if spread else 0.0
            if self.split is not None:
                here = self.split.at(at)
                shared += SPLIT_SPREAD**2 * np.outer(here, self.split.at(self.u))
                expected += SPLIT_EXPECTED * here
                own = own + (SPLIT_SPREAD * here) ** 2
            time[part] = expected + shared @ self.weights
            if spread:
                known = np.linalg.solve(self.lower, shared.T)
                left = np.clip(own - (known**2).sum(axis=0), 0.0, None)
                deviation[part] = np.sqrt(left + self.scatter**2)
        return time, deviation

    def left_after(self, points: Array, runs: Array) -> Array:
        """Deviation at points when one more run is made for each, both of shape (points, axes).

        What a run will take does not matter: the deviation depends on where it is made.
        """
        shared_run = self._half(runs)
        shared = self._half(points)
        between = self._own(points, runs) - (shared * shared_run).sum(axis=0)
        run = self._own(runs, runs) - (shared_run**2).sum(axis=0) + self.scatter**2
        left = self._own(points, points) - (shared**2).sum(axis=0)
        left = np.clip(left - between**2 / run, 0.0, None)
        return np.asarray(np.sqrt(left + self.scatter**2))

    def with_run(self, run: Array, log_time: float) -> "Surface":
        """Add a run, shape (axes,), with the same scales."""
        u = np.concatenate([self.u, run[None]])
        known = np.append(self.log_time(self.u), log_time)
        here = np.zeros(len(u)) if self.split is None else self.split.at(u)
        _, lower, weights = _solved(parts(u, u), known, here, self.departure, self.scatter)
        return replace(self, u=u, lower=lower, weights=weights, shift=float(known.mean()))

    def _half(self, points: Array) -> Array:
        """Half-solved covariance with the runs, shape (runs, points)."""
        shared = together(*parts(self.u, points), self.departure)
        if self.split is not None:
            shared += SPLIT_SPREAD**2 * np.outer(self.split.at(self.u), self.split.at(points))
        return np.asarray(np.linalg.solve(self.lower, shared))

    def _own(self, a: Array, b: Array) -> Array:
        """Covariance of each point of `a` with the point of `b` in the same row."""
        own = rowwise(a, b, self.departure)
        if self.split is not None:
            own += SPLIT_SPREAD**2 * self.split.at(a) * self.split.at(b)
        return own


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """Log of the time where the work alone grows with the axes, over that where everything does.

    It is 0 wherever a single axis leaves the point `corner`, the best-measured one.
    """

    surface: Surface  # without a split
    corner: Array  # (axes,)
    grows: Array  # (axes,): 1 where time grows with the axis, 0 elsewhere
    shares: float  # how the work falls with the first axis: per unit of it

    def at(self, v: Array) -> Array:
        """Value at `v`, shape (points, axes)."""
        on_first = np.tile(self.corner, (len(v), 1))
        on_first[:, 0] = v[:, 0]
        sizes = np.where(self.grows > 0, v, self.corner)
        sizes[:, 0] = self.corner[0]
        log_first, log_sizes, log_corner = np.split(
            self.surface.log_time(np.concatenate([on_first, sizes, self.corner[None]])),
            [len(v), 2 * len(v)],
        )
        more = np.clip(log_sizes - log_corner, -FURTHEST, FURTHEST)
        work = np.minimum(log_corner - self.shares * (v[:, 0] - self.corner[0]), log_first)
        whole = 1.0 + np.exp(work - log_first) * np.expm1(more)
        return np.asarray(np.log(np.maximum(whole, LEAST)) - more)


def krige(u: Array, log_time: Array, *, doubling: float) -> Surface:
    """Fit log time, (runs,), at `u`, (runs, axes) in [-1, 1] with both ends measured and p first.

    `doubling` is the change of log p where the first axis changes by 1; 0 where p does not vary.
    """
    plain = _fit(u, log_time, None)
    split = _split(u, plain, doubling)
    if split is None:
        return plain
    return _fit(u, log_time, split)


def _fit(u: Array, log_time: Array, split: Split | None) -> Surface:
    """Choose the two scales by the likelihood, and solve with them."""
    some = slice(None, None, -(-len(u) // MOST_SEARCHED))
    here = np.zeros(len(u)) if split is None else split.at(u)
    covariances = parts(u[some], u[some])
    best = max(
        ((departure, scatter) for departure in DEPARTURES for scatter in SCATTERS),
        key=lambda scales: _solved(covariances, log_time[some], here[some], *scales)[0],
    )
    if len(u) > MOST_SEARCHED:
        covariances = parts(u, u)
    _, lower, weights = _solved(covariances, log_time, here, *best)
    departure, scatter = best
    return Surface(
        u=u,
        split=split,
        departure=departure,
        scatter=scatter,
        shift=float(log_time.mean()),
        weights=weights,
        lower=lower,
    )


def _solved(
    covariances: tuple[Array, Array, Array],
    log_time: Array,
    here: Array,
    departure: float,
    scatter: float,
) -> tuple[float, Array, Array]:
    """Log likelihood of the measured times [1], eq. 2.30, Cholesky factor, and weights.

    `here` is the value of the split at the runs, 0 where there is none.
    """
    left = log_time - log_time.mean() - SPLIT_EXPECTED * here
    covariance = together(*covariances, departure) + SPLIT_SPREAD**2 * np.outer(here, here)
    covariance[np.diag_indices(len(left))] += scatter**2
    lower = np.linalg.cholesky(covariance)
    half = np.linalg.solve(lower, left)
    likely = -0.5 * float(half @ half) - float(np.log(np.diag(lower)).sum())
    return likely, np.asarray(lower, float), np.asarray(np.linalg.solve(lower.T, half), float)


def _split(u: Array, plain: Surface, doubling: float) -> Split | None:
    """Find the corner that most runs share, and which axes make the program slower there."""
    if doubling == 0:
        return None
    others, place = np.unique(u[:, 1:], axis=0, return_inverse=True)
    first, level = np.unique(u[:, 0], return_inverse=True)
    corner = np.concatenate(
        [
            [first[np.argmax(np.bincount(level.ravel()))]],
            others[np.argmax(np.bincount(place.ravel()))],
        ]
    )
    ends = np.repeat(corner[None], 2 * u.shape[1], axis=0)
    axes = np.arange(u.shape[1])
    ends[2 * axes, axes], ends[2 * axes + 1, axes] = 1.0, -1.0
    at_ends = plain.log_time(ends)
    grows = (at_ends[::2] > at_ends[1::2]).astype(np.float64)
    grows[0] = 0.0
    if not grows.any():
        return None
    line = np.repeat(corner[None], len(first), axis=0)
    line[:, 0] = first
    time = np.exp(plain.log_time(line) - plain.shift)
    p = np.exp(doubling * (first - first[0]))
    falls = bool(falls_with_p(p[None], time[None], np.array([len(p)]))[0])
    return Split(surface=plain, corner=corner, grows=grows, shares=doubling if falls else 0.0)
