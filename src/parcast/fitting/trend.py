"""Whether what a fit leaves over depends on p: then one set of constants does not hold for all.

To the parameters of a fit others are added: one by which times, or one constant, change as a power
of p, or one for each p. They are there if they lower the sum of squared residuals by more than
chance would, by an F test of the extra sum of squares [1]_. Each of both is asked at half of the
level. The scatter that is compared with is that about the fit with the added parameters; with few
runs it is filled up by what is expected beforehand, as in `fitting.runs`. A trend that parameters
of the law explain is none.

Found in 95% of tables or more where times differ by 20% between p, with a scatter of 3% and
two runs for each p, and in less than 5% where they do not: `tests/fitting/test_trend.py`.

References
----------
.. [1] N. R. Draper and H. Smith, Applied Regression Analysis, 3rd ed., Wiley, 1998, chapter 6,
   :doi:`10.1002/9781118625590`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.fitting.by_p import at_each_p
from parcast.fitting.runs import noise_of
from parcast.show.warning import Rank, RankedWarning
from parcast.units import percent

CHANCE: Final = 0.05  # of seeing a trend where there is none [1]
LEAST: Final = 0.05  # largest over least ratio, less 1, from which it matters [1] [D]
EXPLAINED: Final = 1e-3  # share of an added parameter that others leave: what is less is rounding
FREE: Final = 2  # runs beyond the first at each p, without which only a power of p is looked for


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trend:
    """How times differ from a fit at each p."""

    p: Array  # ascending [1]
    ratio: Array  # measured over fitted, geometric mean of the runs at each p [1]

    @property
    def size(self) -> float:
        """Largest over least ratio, less 1. [1]."""
        return float(self.ratio.max() / self.ratio.min() - 1.0)


def trend_with_p(
    p: Array,
    residuals: Array,
    jacobian: Array,
    *,
    level: float = 1.0,
    repetitions: float | None = None,
) -> Trend | None:
    """Find how logarithms of fitted over measured times depend on p; None if they do not.

    `residuals` (rows,) and their `jacobian` (rows, parameters) are over `level`; rows beyond those
    of the runs say what is known of parameters. `repetitions` is the scatter of repeated runs.
    """
    counts, group = np.unique(p, return_inverse=True)
    if len(counts) < 2:
        return None
    each = np.eye(len(counts))[np.ravel(group)]
    mean = each.T @ residuals[: len(p)] / each.sum(axis=0)
    found = Trend(p=counts, ratio=np.exp(-level * mean))
    if found.size < LEAST:
        return None
    chance = chance_of_trend(p, residuals, jacobian, level=level, repetitions=repetitions)
    return found if chance < CHANCE else None


def chance_of_trend(
    p: Array,
    residuals: Array,
    jacobian: Array,
    *,
    of: Array | None = None,
    beside: Sequence[Array] = (),
    level: float = 1.0,
    repetitions: float | None = None,
) -> float:
    """Probability of what residuals show of p, where there is no trend; as `trend_with_p`. [1].

    `of` are the derivatives of the logarithms by that of one constant, if it alone differs with
    p; `beside` those of others that do.
    """
    part = np.ones(len(p)) if of is None else of
    counts, group = np.unique(p[part != 0], return_inverse=True)
    each = (p[:, None] == counts).astype(np.float64)
    others = [_padded(x[:, None] * each, len(residuals)) for x in beside]
    fitted = _basis(np.concatenate([jacobian, *others], axis=1))
    added = [part[:, None] * np.log(p / counts[0])[:, None]]
    if len(counts) > 2 and len(group) - len(counts) >= FREE:
        added.append(part[:, None] * each)
    chances = [
        _chance(columns, fitted, residuals, level=level, repetitions=repetitions)
        for columns in added
    ]
    return min(1.0, min(chances) * len(added))


def chance_of_term(
    term: Array, residuals: Array, jacobian: Array, *, level: float, repetitions: float | None
) -> tuple[float, float]:
    """How much of another term lowers the residuals most, and the chance of it; as above. [1].

    `term`, (runs,), are the derivatives of the residuals by its amount.
    """
    fitted = _basis(jacobian)
    column = _padded(term[:, None], len(residuals))
    own = column - fitted @ (fitted.T @ column)
    left = residuals - fitted @ (fitted.T @ residuals)
    amount = -float(own[:, 0] @ left) / max(float(own[:, 0] @ own[:, 0]), 1e-300)
    return amount, _chance(term[:, None], fitted, residuals, level=level, repetitions=repetitions)


def _padded(columns: Array, rows: int) -> Array:
    """Columns with rows of 0 behind them."""
    return np.pad(columns, ((0, rows - len(columns)), (0, 0)))


def _chance(
    columns: Array, fitted: Array, residuals: Array, *, level: float, repetitions: float | None
) -> float:
    """Probability that added parameters explain as much where there is no trend. [1]."""
    runs = len(columns)
    norms = np.linalg.norm(columns, axis=0)
    added = _padded(columns / np.where(norms > 0, norms, 1.0), len(residuals))
    added = _basis(added - fitted @ (fitted.T @ added))
    number = added.shape[1]
    if not number:
        return 1.0
    left = residuals - fitted @ (fitted.T @ residuals)
    parts = added.T @ left
    after = (left - added @ parts)[:runs]
    determined = float((fitted[:runs] ** 2).sum() + (added[:runs] ** 2).sum())
    noise = noise_of(float(after @ after) * level**2, runs, determined, repetitions)
    ratio = float(parts @ parts) * level**2 / number / noise.level**2
    return float(special.fdtrc(number, noise.freedom, ratio))


def _basis(columns: Array) -> Array:
    """Orthonormal columns that span the same, without those that rounding alone keeps apart."""
    if not columns.shape[1]:
        return columns
    vectors, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(vectors[:, sizes > EXPLAINED * max(1.0, sizes[0])])


def trend_of_fit(trend: Trend, *, or_else: str = "") -> RankedWarning:
    """Say how the runs of a fit depend on p beyond their law, and what to do."""
    texts = [f"{x:.2f}" for x in trend.ratio]
    return RankedWarning(
        f"The runs depend on p otherwise than the fitted law, by up to {percent(trend.size)}: "
        f"measured over fitted time is {at_each_p(trend.p, texts)}. The intervals do not cover "
        f"this. Fit only runs near the p that you predict{or_else}.",
        kind="trend with p",
        rank=Rank.SERIOUS,
        size=trend.size,
    )
