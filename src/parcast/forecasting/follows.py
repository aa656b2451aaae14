"""The law that measured times follow, where one is recognised."""

from typing import Final, NamedTuple

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.ensemble import NAMEABLE, LawsOfAll
from parcast.forecasting.members import LAWS
from parcast.laws.curves import POWER

CLOSE: Final = 0.02  # log residual up to which a law is named [D]
ALIKE: Final = 1.25  # times the least residual up to which a law with fewer terms is preferred [D]
LEAST: Final = 1e-300  # time whose logarithm is a number [s]
AS_FORECAST: Final = 0.05  # log distance between a forecast and the law it is said to follow [D]

NAMES: Final = [list(LAWS)[i] for i in NAMEABLE]
SIMPLEST_FIRST: Final = sorted(range(len(NAMES)), key=lambda i: LAWS[NAMES[i]].formula.count("+"))


class Follows(NamedTuple):
    """A law through all counts of a series that its forecast agrees with."""

    law: str  # its name in the registry
    formula: str  # "a + b/p"
    coefficients: dict[str, float]  # by their letters in the formula [s]; an exponent [1]
    residual: float  # root mean square of the relative residuals [1]


def laws_followed(laws: LawsOfAll, log_time: Array, p: float) -> list[Follows | None]:
    """For each series the simplest law that fits it within 2 %, and forecasts as is forecast.

    `log_time`, (series,), is what is forecast for `p` processors. A law has been recognised where
    the laws have half of the say or more.
    """
    residual = np.where(np.isfinite(laws.residual), laws.residual, np.inf)
    least = residual.min(axis=1, keepdims=True)
    at = np.full((len(residual), 1), p)
    said = [
        np.log(np.maximum(LAWS[name].time(at, x), LEAST))[:, 0]
        for name, x in zip(NAMES, laws.coefficients, strict=True)
    ]
    apart = np.abs(np.stack(said, axis=1) - log_time[:, None])
    fits = (residual <= CLOSE) & (residual <= np.maximum(ALIKE * least, CLOSE / 10))
    fits &= (apart <= AS_FORECAST) & (laws.share.sum(axis=1, keepdims=True) >= 0.5)
    chosen = np.argmax(fits[:, SIMPLEST_FIRST], axis=1)
    return [
        _named(laws, i, SIMPLEST_FIRST[j]) if any_fits else None
        for i, (j, any_fits) in enumerate(zip(chosen.tolist(), fits.any(axis=1), strict=True))
    ]


def _named(laws: LawsOfAll, series: int, j: int) -> Follows:
    """One law as it was fitted to one series."""
    name = NAMES[j]
    values = laws.coefficients[j][series].tolist()
    if name == POWER.name:
        values = [float(np.exp(values[0])), values[1]]
    letters = dict(zip("abc", values, strict=False))
    return Follows(name, LAWS[name].formula, letters, float(laws.residual[series, j]))
