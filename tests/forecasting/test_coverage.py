"""Of many made-up programs, how many times lie inside the interval that forecast them?

Each program draws its law, its coefficients and the noise of its runs from the family below; it is
measured five times at four or five counts, and one and two doublings beyond are forecast.

    strong   T(p) = a + b/p + c*log2(p)  or  a + b/p + c*p,   b = 1,
             log10 of a in [-3, -0.5], of c in [-4, -1] (log2 p) or [-5, -2] (p)
    weak     T(p) = a + c*log2(p),  c in [0, 0.2] of a;   or  a * p^s,  s in [0, 0.2]
    noise    log-normal, 2%, of each of five repetitions

What it shows: on programs whose time follows one smooth formula the intervals hold at least as
often as they promise, and the widths are of use. It catches a formula that
was broken or a constant that was mistyped.

What it does not show: that they hold on real programs. Those change their behaviour (caches,
congestion, a turn of the curve) where nothing in the runs announces it, which is why the
intervals are calibrated on measured programs (docs/explanation/forecasting.md) and are too wide
here: the coverage on these smooth programs is nearer to all than to nine in ten.
"""

from functools import cache

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements

pytestmark = pytest.mark.usefixtures("uncovered")

PROGRAMS = 1000  # of each family
RUNS, NOISE = 5, 0.02
COUNTS = (4, 5)
FAMILIES = ("strong, log2 p", "strong, p", "weak, log2 p", "weak, power")

# Medians over programs of upper / lower, one and two doublings beyond, when this was written.
WIDTH = {
    "strong, log2 p": (1.67, 2.50),
    "strong, p": (1.66, 2.52),
    "weak, log2 p": (1.60, 2.11),
    "weak, power": (1.59, 2.09),
}
MARGIN = 1.3  # for constants tuned by a few per cent, and for draws of other numpy versions


def true_times(family, p, draw):
    """Times of `PROGRAMS` programs without noise, shape (programs, counts)."""
    column = (PROGRAMS, 1)
    if family == "strong, log2 p":
        a, c = (10 ** draw.uniform(*ends, column) for ends in ((-3, -0.5), (-4, -1)))
        return a + 1 / p + c * np.log2(p)
    if family == "strong, p":
        a, c = (10 ** draw.uniform(*ends, column) for ends in ((-3, -0.5), (-5, -2)))
        return a + 1 / p + c * p
    a, growth = 10 ** draw.uniform(-2, 2, column), draw.uniform(0, 0.2, column)
    return a * (1 + growth * np.log2(p)) if family == "weak, log2 p" else a * p**growth


@cache
def answers(family, counts):
    """The forecast one and two doublings beyond, and the times that are true there."""
    draw = np.random.default_rng([FAMILIES.index(family), counts])
    p = 2.0 ** np.arange(counts + 2)
    true = true_times(family, p, draw)
    runs = true[:, :counts, None] * draw.lognormal(0, NOISE, (PROGRAMS, counts, RUNS))
    measurements = Measurements(
        p=np.tile(np.repeat(p[:counts], RUNS), PROGRAMS),
        time=runs.ravel(),
        machine=np.repeat([f"program {i}" for i in range(PROGRAMS)], counts * RUNS),
    )
    return forecast(measurements, p[counts:]), true[:, counts:]


def over_counts(family, of):
    """Mean over the numbers of counts of what `of` says of each doubling."""
    return np.mean([of(*answers(family, counts)) for counts in COUNTS], axis=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_nine_in_ten_intervals_hold_the_true_time(family):
    inside = over_counts(
        family, lambda told, true: np.mean((told.lower <= true) & (true <= told.upper), axis=0)
    )
    assert (inside >= 0.85).all(), inside


@pytest.mark.parametrize("family", FAMILIES)
def test_the_intervals_are_narrow_enough_to_be_of_use(family):
    width = over_counts(family, lambda told, _: np.median(told.upper / told.lower, axis=0))
    assert (np.log(width) <= MARGIN * np.log(WIDTH[family])).all(), width
