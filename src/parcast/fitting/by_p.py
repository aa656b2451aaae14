"""A constant that differs with p: its value at each count, and a formula of p for a description.

    ln v(p) = ln v(p_0) + e * ln(p/p_0)

is offered where the values agree with it within their intervals, by an F test of lack of fit [1]_;
otherwise the values themselves, on a straight line of logarithms between two counts. Before the
first count such a line goes on, beyond the last the value stays [D]: a description that has it
says between which counts it was seen.

References
----------
.. [1] N. R. Draper and H. Smith, Applied Regression Analysis, 3rd ed., Wiley, 1998, chapter 2,
   :doi:`10.1002/9781118625590`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import Argument
from parcast.show.warning import Rank, RankedWarning
from parcast.units import Dimension, format_interval, format_quantity, in_percent, percent
from parcast.words import whole

LACK: Final = 0.05  # chance below which a power of p is not taken for the values [1]
TAIL: Final = 0.95
UNSURE: Final = 10.0  # standard deviation of a logarithm of which nothing is known
PLACES_NAMED: Final = 4
DIGITS: Final = 6
DIGITS_OF_POWERS: Final = 4


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ConstantByP:
    """One constant at each p, with its 90% intervals, and the formula that is offered."""

    name: str
    dimension: Dimension  # "count" where it is a formula, of which these are factors
    p: Array  # ascending [1]
    value: Array  # [SI]
    lower: Array
    upper: Array  # may be infinite
    formula: str  # as a description has it
    exponent: tuple[float, float, float] | None  # of a power of p, with its interval [1]

    @property
    def size(self) -> float:
        """Largest over least value, less 1. [1]."""
        return float(self.value.max() / self.value.min() - 1.0)

    @property
    def spread(self) -> float:
        """Half-width of the widest interval, as +- says it. [1]."""
        width = np.sqrt(self.upper / np.maximum(self.lower, 1e-300)) - 1.0
        return float(width.max())

    @property
    def text(self) -> str:
        """The formula with its uncertainty, as a description has it."""
        return f"{self.formula} +- {in_percent(self.spread)}%"

    def rows(self) -> Iterator[dict[str, Any]]:
        """The value at each p with its interval, `null`: no such end. [SI]."""
        columns = (self.p, self.value, self.lower, self.upper)
        for p, value, lower, upper in zip(*(x.tolist() for x in columns), strict=True):
            yield {
                "p": whole(p),
                "value": value,
                "lower": lower,
                "upper": upper if np.isfinite(upper) else None,
            }

    def __str__(self) -> str:
        """Give the value at each p, the first and the last of many."""
        columns = zip(self.value, self.lower, self.upper, strict=True)
        texts = [" ".join(format_interval(*x, self.dimension).split()) for x in columns]
        return at_each_p(self.p, texts)

    def warning(self, single: str, *, of_times: bool = False) -> str:
        """Say that one value, which `single` gives with its interval, does not hold for all p.

        `of_times`: other constants may be the cause, as no part of the times is known.
        """
        which = (
            "Times alone may mistake another rate for it: add their parts. " if of_times else ""
        )
        times = " times the formula" if self.dimension == "count" else ""
        return RankedWarning(
            f"{self.name} depends on p, by up to {percent(self.size)}: {self}{times}. One value, "
            f"{single}, was fitted for all, and its interval does not cover this. {which}Write a "
            f"formula of p ({Argument('by_p', True)}), or use only runs near the p that you "
            "predict.",
            kind=f"{self.name} with p",
            rank=Rank.SERIOUS,
            size=self.size,
        )


def constant_by_p(
    name: str,
    dimension: Dimension,
    p: Array,
    values: tuple[Array, Array, Array],
    *,
    freedom: float,
    of: str = "",
) -> ConstantByP:
    """Offer a formula for a constant with values, and the ends of their intervals, at each p.

    The intervals are based on `freedom` degrees; values are factors of the formula `of`, if any.
    """
    value, lower, upper = values
    quantile = float(special.stdtrit(freedom, TAIL))
    with np.errstate(divide="ignore"):
        sd = np.log(upper / np.maximum(lower, 1e-300)) / 2.0 / quantile
    sd = np.minimum(np.where(np.isfinite(sd), np.maximum(sd, 1e-9), UNSURE), UNSURE)
    design = np.stack([np.ones(len(p)), np.log(p / p[0])], axis=1) / sd[:, None]
    solved, *_ = np.linalg.lstsq(design, np.log(value) / sd, rcond=None)
    left = np.log(value) / sd - design @ solved
    more = len(p) - 2
    lacks = more > 0 and special.fdtrc(more, freedom, float(left @ left) / more) < LACK
    exponent = None
    if lacks:
        formula = _between(p, value, "count" if of else dimension)
    else:
        width = quantile * float(np.sqrt(np.linalg.inv(design.T @ design)[1, 1]))
        exponent = (float(solved[1]), float(solved[1]) - width, float(solved[1]) + width)
        first = float(np.exp(solved[0]))
        formula = _power(first, float(p[0]), exponent[0], "count" if of else dimension)
    return ConstantByP(
        name=name,
        dimension="count" if of else dimension,
        p=p,
        value=value,
        lower=lower,
        upper=upper,
        formula=f"({formula}) * ({of})" if of else formula,
        exponent=exponent,
    )


def _power(value: float, p: float, exponent: float, dimension: Dimension) -> str:
    """Write a power of p that has a value at one count."""
    over = "p" if p == 1 else f"(p/{p:g})"
    amount = format_quantity(value, dimension, digits=DIGITS)
    return f"{amount} * {over}^({exponent:.{DIGITS_OF_POWERS}g})"


def _between(p: Array, value: Array, dimension: Dimension) -> str:
    """Write lines of logarithms between counts; the last value stays."""
    parts = []
    for i in range(len(p) - 1):
        exponent = float(np.log(value[i + 1] / value[i]) / np.log(p[i + 1] / p[i]))
        power = _power(float(value[i]), float(p[i]), exponent, dimension)
        parts.append(f"{power} if p < {p[i + 1]:g} else ")
    return "".join(parts) + format_quantity(float(value[-1]), dimension, digits=DIGITS)


def at_each_p(p: Array, texts: Sequence[str]) -> str:
    """Name what holds at each p, the first and the last of many.

    >>> at_each_p(np.array([1.0, 2.0]), ["3 MB/s", "2 MB/s"])
    '3 MB/s at p = 1, 2 MB/s at p = 2'
    """
    named = [f"{text} at p = {x:g}" for x, text in zip(p, texts, strict=True)]
    if len(named) > PLACES_NAMED:
        named = [*named[: PLACES_NAMED - 1], f"... {named[-1]}"]
    return ", ".join(named)
