"""Counts at which a program takes longer than at its neighbours: its work divides badly there.

All laws of scaling are sums of powers of p with coefficients of at least 0, such as
``a + b/p + c*p``: in logarithms of both, such a sum is convex, so that no point lies above the
chord between its neighbours [1]_. A time above it by more than the noise is not a matter of
scaling. It is said where a rule of usable counts tells such counts from all others [D].

References
----------
.. [1] S. Boyd, S.-J. Kim, L. Vandenberghe and A. Hassibi, "A tutorial on geometric programming,"
   Optim. Eng., vol. 8, no. 1, pp. 67-127, 2007, section 2.2, :doi:`10.1007/s11081-007-9001-7`.
"""

from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.deciding.goals.usable_counts import rule_of
from parcast.errors import Argument
from parcast.forecasting.own_runs.measured import pooled_noise
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.series import Series
from parcast.units import percent
from parcast.words import listed, whole

DEVIATIONS: Final = 3.0  # of the noise, that a time lies above the chord [D]
LEAST: Final = 0.05  # of the time, that matters [D]


def above_chord(p: Array, time: Array) -> Array:
    """How far log times lie above the chord between their neighbours; 0 at both ends. [1].

    >>> above_chord(np.array([1.0, 2, 3, 4]), np.array([12.0, 6, 6, 3])).round(2).tolist()
    [0.0, -0.26, 0.41, 0.0]
    """
    x, y = np.log(p), np.log(time)
    chord = y.copy()
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    chord[1:-1] = y[:-2] + share * (y[2:] - y[:-2])
    return y - chord


def uneven_counts(series: Series) -> str:
    """Warn of counts of a single series that take longer than their neighbours; else ""."""
    last = int(series.count[0])
    if len(series) != 1 or last < 4:
        return ""
    p, time = series.p[0, :last], series.time[0, :last]
    noise = float(pooled_noise(series.spread, series.shows_spread)[0])
    above = above_chord(p, time)
    is_high = above > max(DEVIATIONS * noise * 1.5**0.5, np.log1p(LEAST))
    if not is_high.any():
        return ""
    rule = likely_rule(p[is_high], p[~is_high])
    if not rule:
        return ""  # a single count may be slow for other reasons, such as a second node
    worst = int(np.argmax(above))
    counts = listed([f"{whole(x)}" for x in p[is_high].tolist()])
    return RankedWarning(
        f"The time at p = {counts} lies above that of its neighbours, by up to "
        f"{percent(float(np.expm1(above[worst])))}: the work may divide badly there, which no "
        f"forecast shows. Consider only counts that divide it: {Argument('counts', rule)}.",
        kind="sawtooth",
        rank=Rank.SERIOUS,
    )


def likely_rule(high: Array, low: Array) -> str:
    """Name a rule that the low counts follow and the high ones do not; "" where there is none.

    >>> likely_rule(np.array([3.0, 6.0]), np.array([1.0, 2.0, 4.0, 8.0]))
    'power-of-two'
    """
    step = int(np.gcd.reduce(low.astype(np.int64)))
    for text in ("power-of-two", "square", f"multiple:{step}"):
        rule = rule_of(text)
        if rule.holds(low).all() and not rule.holds(high).any():
            return text
    return ""
