"""Timing laws in p only, as curves that are fitted to timings.

    gustafson     T(p) = a                           the work grows with p, the time is constant
    amdahl        T(p) = a + b/p                     fixed work with a serial part
    logarithmic   T(p) = a + b/p + c * log2(p)       and a cost that grows like a tree
    linear        T(p) = a + b/p + c * p             and a cost per processor
    usl           T(p) = a + b/p + c * (p - 1)       contention and coherency of shared resources
    quadratic     T(p) = a + b/p + c * p^2           and a cost per pair of processors
    power         T(p) = a * p^b                     each doubling of p has the same effect

gustafson    Weak scaling of programs that communicate little; its forecast is the measured time.
             Its scaled speedup is p - serial * (p - 1), with the serial fraction of the time on
             p processors; a constant time is its assumption [S in words] [1]_.
amdahl       Strong scaling when communication costs little: T = t1 * (serial + (1 - serial)/p)
             [S] [2]_ [3]_. It never predicts that more processors make a program slower.
logarithmic  Strong scaling with a broadcast, a reduction or a barrier by a tree of ceil(lg p)
             steps [S] [4]_, and weak scaling that slows down gently (then b is 0). That the steps
             are added to Amdahl's terms, without the ceiling, is common practice [D].
linear       A master that communicates with every processor, one message or one file each; too
             pessimistic if the cost grows like a tree. Time is least at p = sqrt(b/c). Overhead
             that grows with p is [S] [5]_, the linear form its simplest case [D].
usl          Shared data and locks: T = t1 * (1 + contention*(p - 1) + coherency*p*(p - 1)) / p, t1
             over the capacity C(p) [S] [6]_. `contention` is Amdahl's serial fraction, and
             `coherency` makes time rise beyond p = sqrt((1 - contention)/coherency).
quadratic    Exchanges between all pairs over one shared medium, if the time already increases
             steeply; far too pessimistic otherwise. The measured times of [7]_ agree with it
             within 2% on two machines of three; the fit is ours [D].
power        A few doublings, if little is known; its time never increases again, so do not use it
             far beyond the measured p. The straight line in a log-log plot [D].

The sums of terms have coefficients of at least 0, which minimise the sum of squared *relative*
residuals, ``((T(p_i) - t_i) / t_i)^2``, so a run of a second has the same weight as one of an
hour. Times are never negative, at any `p`, and a term that does not improve the fit is exactly 0.
No such sum decreases faster than 1/p, as the effect of caches would. Many series are fitted at
once; a law has at most three terms, so the problem [8]_ is solved exactly: every subset of the
terms is fitted without bounds, and the best one without a negative coefficient is kept [D].

Amdahl's and Gustafson's laws are one: their serial fractions are of different times [S] [9]_.

    sigma_1 = sigma_P / (sigma_P + P*(1 - sigma_P))

Put sigma_P into Amdahl's formula, and it seems that Gustafson contradicts it: 60% serial on ten
processors would give 1.6 and not 4.6. With the fraction of the time on one processor, 13%, both
say 4.6.

References
----------
.. [1] J. L. Gustafson, "Reevaluating Amdahl's law," Commun. ACM, vol. 31, no. 5, pp. 532-533,
   May 1988, :doi:`10.1145/42411.42415`.
.. [2] G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing
   capabilities," in Proc. AFIPS SJCC, 1967, pp. 483-485, :doi:`10.1145/1465482.1465560` (in
   prose).
.. [3] M. D. Hill and M. R. Marty, "Amdahl's law in the multicore era," Computer, vol. 41, no. 7,
   pp. 33-38, Jul. 2008, :doi:`10.1109/MC.2008.209` (the formula).
.. [4] R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication
   operations in MPICH," Int. J. High Perform. Comput. Appl., vol. 19, no. 1, pp. 49-66, 2005,
   :doi:`10.1177/1094342005051521`.
.. [5] H. P. Flatt and K. Kennedy, "Performance of parallel processors," Parallel Computing,
   vol. 12, no. 1, pp. 1-20, 1989, :doi:`10.1016/0167-8191(89)90003-3`.
.. [6] N. J. Gunther, "A general theory of computational scalability based on rational functions,"
   2008, :arxiv:`0808.1431`.
.. [7] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000.
.. [8] C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, SIAM, 1995, ch. 23.
.. [9] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import require

RIDGE = 1e-13  # relative; keeps the equations of coinciding terms solvable
TIE = 1e-9  # of squared relative residuals: fits closer than this are equally good
LARGEST = 200.0  # log of a time that no run has, and whose square a float still holds


@dataclass(frozen=True, slots=True)
class SumOfTerms:
    """A law that is a sum of terms: its name, its formula, its source, and the terms."""

    name: str  # as the registry and the user spell it
    formula: str  # "a + b/p"
    source: str  # where the law comes from
    terms: tuple[Callable[[Array], Array], ...]

    def design(self, p: Array) -> Array:
        """Value of each term at each `p`: shape of `p` with one more axis for the terms. [1]."""
        return np.stack([term(p) for term in self.terms], axis=-1)

    def fit(self, p: Array, time: Array, weight: Array) -> Array:
        """Coefficients [s], (series, terms), that explain measured times best.

        `p` [1], `time` [s] and `weight` of each relative residual, all (series, counts); a
        weight of 0 leaves a point out.
        """
        design = self.design(p) * (weight / time)[..., None]
        scale = design.max(axis=1)
        scale = np.where(scale > 0, scale, 1.0)
        design /= scale[:, None, :]
        gram = np.swapaxes(design, 1, 2) @ design
        target = (design * weight[..., None]).sum(axis=1)
        coefficients = _non_negative(gram, target, points=(weight > 0).sum(axis=1))
        return np.asarray(coefficients / scale)

    def time(self, p: Array, coefficients: Array) -> Array:
        """Time at `p`, shape (series, points), for `coefficients`, shape (series, terms). [s]."""
        return np.asarray(np.einsum("spk,sk->sp", self.design(p), coefficients))


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerLaw:
    """The power law, fitted by ordinary linear regression of log T against log p."""

    name: str = "power"
    formula: str = "a * p^b"
    source: str = "straight line in log T against log p"

    def fit(self, p: Array, time: Array, weight: Array) -> Array:
        """Logarithm of `a` and exponent `b`, (series, 2), as `SumOfTerms.fit`; b = 0 of one p."""
        x, y = np.log(p), np.log(time)
        share = weight**2 / (weight**2).sum(axis=1, keepdims=True)
        mean_x, mean_y = ((share * v).sum(axis=1, keepdims=True) for v in (x, y))
        variance = (share * (x - mean_x) ** 2).sum(axis=1, keepdims=True)
        covariance = (share * (x - mean_x) * (y - mean_y)).sum(axis=1, keepdims=True)
        slope = np.divide(covariance, variance, out=np.zeros_like(variance), where=variance > 0)
        return np.concatenate([mean_y - slope * mean_x, slope], axis=1)

    def time(self, p: Array, coefficients: Array) -> Array:
        """Time at `p`, shape (series, points). [s]."""
        log_time = coefficients[:, :1] + coefficients[:, 1:] * np.log(p)
        return np.exp(np.minimum(log_time, LARGEST))


def constant(p: Array) -> Array:
    """Time that no number of processors changes: 1. [1]."""
    return np.ones_like(p)


def shared(p: Array) -> Array:
    """Work that the processors share: 1/p. [1]."""
    return 1.0 / p


def logarithmic(p: Array) -> Array:
    """Cost of a tree over the processors, a broadcast or a reduction: log2 p. [1]."""
    return np.log2(p)


def linear(p: Array) -> Array:
    """Cost of one message for every processor: p. [1]."""
    return p


def linear_beyond_one(p: Array) -> Array:
    """Cost of one message for every *other* processor: p - 1. [1]."""
    return p - 1.0


def quadratic(p: Array) -> Array:
    """Cost of one message for every pair of processors: p^2. [1]."""
    return p * p


GUSTAFSON = SumOfTerms("gustafson", "a", "Gustafson 1988, doi:10.1145/42411.42415", (constant,))
AMDAHL = SumOfTerms(
    "amdahl", "a + b/p", "Amdahl 1967, doi:10.1145/1465482.1465560", (constant, shared)
)
LOGARITHMIC = SumOfTerms(
    "logarithmic",
    "a + b/p + c*log2(p)",
    "Thakur et al. 2005, doi:10.1177/1094342005051521, with Amdahl's terms",
    (constant, shared, logarithmic),
)
LINEAR = SumOfTerms(
    "linear",
    "a + b/p + c*p",
    "Flatt and Kennedy 1989, doi:10.1016/0167-8191(89)90003-3",
    (constant, shared, linear),
)
USL = SumOfTerms(  # a = t1*contention, b = t1*(1 - contention), c = t1*coherency
    "usl",
    "a + b/p + c*(p - 1)",
    "Gunther 2008, arXiv:0808.1431",
    (constant, shared, linear_beyond_one),
)
QUADRATIC = SumOfTerms(
    "quadratic",
    "a + b/p + c*p^2",
    "fitted to the times of In et al., c. 2000",
    (constant, shared, quadratic),
)
POWER = PowerLaw()


def serial_of_one(p: ArrayLike, *, serial: ArrayLike) -> Array:
    """Serial fraction of the time on one processor, which Amdahl's law takes, from that on `p`.

    >>> float(serial_of_one(10, serial=0.6).round(4))
    0.1304
    """
    p, serial = (np.asarray(x, dtype=np.float64) for x in (p, serial))
    ok = (p >= 1) & np.isfinite(p)
    require("p", p, ok, must="be at least 1", hint="Count processors from 1.")
    ok = (serial >= 0) & (serial <= 1)
    require("serial", serial, ok, must="lie in [0, 1]", hint="Write 5% as 0.05.")
    return np.asarray(serial / (serial + p * (1.0 - serial)))


def _non_negative(gram: Array, target: Array, points: NDArray[np.int_]) -> Array:
    """Minimise ``x'Gx - 2 x'h`` over ``x >= 0`` for a stack of small G and h, exactly.

    Of equally good solutions the one with fewer terms is taken, then the one whose terms stand
    first in the law: with two counts Amdahl's two terms and a growing law's fit equally.
    """
    series, terms = target.shape
    best = np.full(series, np.inf)
    solution = np.zeros((series, terms))
    for size in range(1, terms + 1):
        subsets = np.array(list(combinations(range(terms), size)))
        g = gram[:, subsets[:, :, None], subsets[:, None, :]]
        h = target[:, subsets]
        # at least 1: a term that is 0 wherever there is a weight (log2 p at p = 1) gets 0
        ridge = RIDGE * np.maximum(g.max(axis=(2, 3)), 1.0)[..., None, None] * np.eye(size)
        x = _solve(g + ridge, h)
        residual = np.einsum("sci,scij,scj->sc", x, g, x) - 2 * (x * h).sum(axis=2)
        possible = (x >= 0).all(axis=2) & (points >= size)[:, None]
        for i, chosen in enumerate(subsets):
            better = np.flatnonzero(possible[:, i] & (residual[:, i] < best - TIE))
            best[better] = residual[better, i]
            solution[better] = 0.0
            solution[better[:, None], chosen] = x[better, i]
    return solution


def _solve(g: Array, h: Array) -> Array:
    """Solve ``Gx = h`` for a stack of positive definite G, (..., rows, rows), of few rows.

    Elimination without pivots, all of the stack at once; LAPACK takes them one by one.
    """
    rows = range(h.shape[-1])
    a = [[g[..., i, j] for j in rows] for i in rows]
    x = [h[..., i] for i in rows]
    for k in rows:
        for i in rows[k + 1 :]:
            factor = a[i][k] / a[k][k]
            for j in rows[k + 1 :]:
                a[i][j] = a[i][j] - factor * a[k][j]
            x[i] = x[i] - factor * x[k]
    for k in reversed(rows):
        for j in rows[k + 1 :]:
            x[k] = x[k] - a[k][j] * x[j]
        x[k] = x[k] / a[k][k]
    return np.stack(x, axis=-1)
