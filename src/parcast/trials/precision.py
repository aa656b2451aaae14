"""How well runs determine a time.

Times of equal runs scatter, by 24% on a machine that shares its cores with others: the median of
five was 5 to 16% off there. So the number of runs depends on how far they are apart.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from math import log, sqrt
from statistics import median, stdev
from typing import Final, NamedTuple

CONFIDENCE: Final = 0.9  # of the interval of a median [1]
FEWEST: Final = 5  # times whose range is an interval of that confidence [1]
PRECISION: Final = 0.1  # of a median or mean, with which it is known [1] [D]


class Interval(NamedTuple):
    """Where a median lies, with a probability of 90% or more."""

    lower: float
    upper: float


def interval_of(times: Sequence[float]) -> Interval:
    """Give the interval of the median of so many equal runs.

    It lies between two of the times, whatever their distribution is: how many of n independent
    times are below the median follows the binomial law. Of fewer than five times it is their
    range, of a smaller probability.
    """
    ordered = sorted(times)
    left_out = _left_out(len(ordered))
    return Interval(ordered[left_out], ordered[-1 - left_out])


@cache
def _left_out(count: int) -> int:
    """How many of the least times, and of the most, the interval of a median does without."""
    choices, left_out = count, 0
    missed = 2 / 2**count  # probability that the median is not between the two times [1]
    while (missed := missed + 2 * choices / 2**count) <= 1.0 - CONFIDENCE:
        left_out += 1
        choices = choices * (count - left_out) // (left_out + 1)
    return left_out


def half_width(logarithms: Sequence[float]) -> float:
    """Half of the 90% interval of the mean of two logarithms or more, by Student's t. [1]."""
    from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

    count = len(logarithms)
    quantile = float(special.stdtrit(count - 1, 0.5 + CONFIDENCE / 2))
    return quantile * stdev(logarithms) / sqrt(count)


def intervals_named(runs: Iterable[int]) -> tuple[str, str]:
    """Name the intervals of the medians of so many runs each, and say what they are.

    >>> intervals_named([3, 1]), intervals_named([5, 9])
    (('range', 'of the runs'), ('90% interval', 'of the median'))
    >>> intervals_named([3, 5])
    ('interval', '90% interval of the median, or range of fewer than 5 runs')
    """
    few = {count < FEWEST for count in runs if count > 1}
    if few == {True}:
        return "range", "of the runs"
    if True in few:
        return "interval", f"90% interval of the median, or range of fewer than {FEWEST} runs"
    return "90% interval", "of the median"


def precision_of(times: Sequence[float]) -> float:
    """Give the farther end of the interval of a median, relative to it."""
    middle, (lower, upper) = median(times), interval_of(times)
    return max(upper - middle, middle - lower) / middle


def is_known(times: Sequence[float]) -> bool:
    """Whether the interval of their median ends within 10% of it."""
    return bool(times) and precision_of(times) <= PRECISION


def is_mean_known(times: Sequence[float]) -> bool:
    """Whether the 90% interval of their geometric mean ends within 10% of it.

    It is Student's, of their logarithms; a single time is taken to be exact.
    """
    logs = [log(time) for time in times]
    return half_width(logs) <= log(1.0 + PRECISION) if len(logs) > 1 else bool(logs)
