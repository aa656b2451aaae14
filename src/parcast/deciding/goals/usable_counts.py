"""Counts that a program can use: squares, powers of two, divisors and multiples of a number.

Of other counts a program leaves processors idle, or refuses them: the time goes up and down along
p, and no forecast shows it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.units import shown

MOST_COUNTS: Final = 200_000  # that are looked at
HINT: Final = "Give square, power-of-two, divides:1280 or multiple:48."


@dataclass(frozen=True, slots=True)
class CountRule:
    """Which counts are usable."""

    text: str  # as it was written
    holds: Callable[[Array], NDArray[np.bool_]]
    upto: Callable[[float], Array]  # all of them up to a count

    def between(self, first: float, last: float) -> Array:
        """Give usable counts from one to another, at most `MOST_COUNTS` of them. [1]."""
        counts = self.upto(last)
        counts = counts[counts >= first]
        return counts[:: max(1, len(counts) // MOST_COUNTS + 1)] if len(counts) else counts


def rule_of(text: str) -> CountRule:
    """Read a rule.

    >>> rule_of("divides:12").between(1, 100).tolist(), rule_of("square").between(3, 20).tolist()
    ([1.0, 2.0, 3.0, 4.0, 6.0, 12.0], [4.0, 9.0, 16.0])
    """
    name, colon, number = str(text).partition(":")
    if not colon and name == "square":
        return CountRule(
            text,
            lambda p: np.asarray(np.round(np.sqrt(p)) ** 2 == p),
            lambda last: np.arange(1.0, np.floor(np.sqrt(last)) + 1) ** 2,
        )
    if not colon and name == "power-of-two":
        return CountRule(
            text,
            lambda p: np.asarray(np.exp2(np.round(np.log2(p))) == p),
            lambda last: 2.0 ** np.arange(np.floor(np.log2(last)) + 1),
        )
    if name in {"divides", "multiple"} and number.isascii() and number.isdigit() and int(number):
        of = float(number)
        if of <= 2**53 and name == "multiple":
            return CountRule(
                text,
                lambda p: np.asarray(p % of == 0),
                lambda last: of * np.arange(1.0, np.floor(min(last / of, 1e7)) + 1),
            )
        if of <= 2**53:
            return CountRule(text, lambda p: np.asarray(of % p == 0), lambda _: _divisors(of))
    raise ParameterError("counts", must="be a rule", got=shown(repr(text)), hint=HINT)


def _divisors(number: float) -> Array:
    """All divisors, ascending."""
    small = np.arange(1.0, min(np.floor(np.sqrt(number)), 1e7) + 1)
    small = small[number % small == 0]
    return np.unique(np.concatenate([small, number / small]))
