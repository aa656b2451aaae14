"""What times are spent on, by how it goes with the processors: shared, constant, growing work.

Each of the laws that are sums of terms splits a time T(p) into

    shared      b/p          work that the processors divide
    constant    a            work that each of them repeats, or waits for
    growing     c * g(p)     costs of more processors, g = log2 p, p or p^2

Which law holds is not known, and the counts have noise. So the counts are varied `SAMPLES` times
by their error, every law is fitted to each of these, and one law is drawn with a probability of
``exp(-chi^2/2) * n^(-k/2)`` for k terms and n counts [1]_. The splits that were drawn are the
answer: their median, and their 5 % and 95 % quantiles. With two counts or three, the constant and
the growing part are hardly told apart, and the interval says so.

References
----------
.. [1] G. Schwarz, "Estimating the dimension of a model," Ann. Stat., vol. 6, no. 2, pp. 461-464,
   1978, :doi:`10.1214/aos/1176344136`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.laws.curves import (
    AMDAHL,
    GUSTAFSON,
    LINEAR,
    LOGARITHMIC,
    QUADRATIC,
    SumOfTerms,
    constant,
    shared,
)

PARTS: Final = ("shared", "constant", "growing")
SPLITTING: Final[tuple[SumOfTerms, ...]] = (GUSTAFSON, AMDAHL, LOGARITHMIC, LINEAR, QUADRATIC)
SAMPLES: Final = 400  # of the counts with their errors
OF_LAW: Final = 0.02  # standard deviation of log time about the law that holds [D]
QUANTILES: Final = (0.05, 0.5, 0.95)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Splits:
    """Splits of some series by every law, for every sample."""

    coefficients: tuple[Array, ...]  # of each law, (series, samples, terms) [s]
    likely: Array  # (laws, series, samples): logarithm of how probable each law is there

    def drawn(self, likely: Array | None = None) -> NDArray[np.intp]:
        """Draw a law for each series and sample, by `likely` or else its own probabilities."""
        log = self.likely if likely is None else likely
        weight = np.exp(log - log.max(axis=0))
        share = np.cumsum(weight / weight.sum(axis=0), axis=0)
        series, samples = share.shape[1:]
        even = (np.arange(samples) + 0.5) / samples  # the same in each series and version
        order = np.random.default_rng(0).permutation(samples)
        draw = np.broadcast_to(even[order], (series, samples))
        return np.asarray(np.minimum((share < draw).sum(axis=0), len(share) - 1))

    def at(self, p: Array, drawn: NDArray[np.intp]) -> Array:
        """Parts of the time at counts, (series, points), by drawn laws. [s].

        Of shape (series, samples, points, parts).
        """
        series, samples = drawn.shape
        parts = np.zeros((series, samples, p.shape[1], len(PARTS)))
        for i, (law, own) in enumerate(zip(SPLITTING, self.coefficients, strict=True)):
            values = law.design(p)[:, None] * own[:, :, None, :]
            split = np.zeros_like(parts)
            for j, term in enumerate(law.terms):
                split[..., _part_of(term)] += values[..., j]
            parts = np.where((drawn == i)[..., None, None], split, parts)
        return parts


def _part_of(term: object) -> int:
    """Number of the part that a term belongs to."""
    return 0 if term is shared else 1 if term is constant else 2


def split(
    p: Array, time: Array, count: NDArray[np.int64], error: Array, *, version: int = 0
) -> Splits:
    """Split the times of some series.

    `p` [1] and `time` [s], (series, counts), are padded after the first `count` of a row; `error`
    is the standard deviation of log time at each count, that of the runs. Two versions of one
    program depart from a law together, and have noise of their own, by the number of the version.
    """
    series, width = p.shape
    is_there = np.arange(width) < count[:, None]
    p, time = np.where(is_there, p, 1.0), np.where(is_there, time, 1.0)
    error = np.where(is_there, error, 1.0)
    spread = np.hypot(error, OF_LAW)
    of_law, of_runs = (
        np.random.default_rng(seed).standard_normal((SAMPLES, width)) for seed in (0, version + 1)
    )
    of_law[0] = of_runs[0] = 0.0  # the counts as they are
    varied = time[:, None] * np.exp(OF_LAW * of_law + error[:, None] * of_runs)
    weight = np.where(is_there, OF_LAW / spread, 0.0)
    rows = (series * SAMPLES, width)
    many_p, many_time, many_weight = (
        np.broadcast_to(x if x.ndim == 3 else x[:, None], (series, SAMPLES, width)).reshape(rows)
        for x in (p, varied, weight)
    )
    coefficients, likely = [], []
    for law in SPLITTING:
        own = law.fit(many_p, many_time, many_weight).reshape(series, SAMPLES, -1)
        said = law.time(p, own[:, 0])
        chi = np.where(is_there, (said / time - 1) / spread, 0.0) ** 2
        terms = (own > 0).sum(axis=2).max(axis=1)
        log = -0.5 * chi.sum(axis=1) - 0.5 * terms * np.log(count)
        coefficients.append(own)
        likely.append(np.broadcast_to(log[:, None], (series, SAMPLES)))
    return Splits(coefficients=tuple(coefficients), likely=np.stack(likely))
