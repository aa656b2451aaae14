"""Serial fractions that Karp and Flatt define, of runs relative to the smallest count p0.

    e = (1/S - 1/k) / (1 - 1/k)             S = T(p0)/T(p), k = p/p0                     [S]

Under weak scaling S is the scaled speedup k T(p0)/T(p) [R]. An e that is the same at every count
is serial work; one that grows is overhead.

References
----------
.. [1] A. H. Karp and H. P. Flatt, "Measuring parallel processor performance," Commun. ACM,
   vol. 33, no. 5, pp. 539-543, 1990, :doi:`10.1145/78607.78614`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.measured import NORMAL_90, pooled_noise
from parcast.timings.series import Series


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SerialFractions:
    """Serial fractions of a series by count, relative to its smallest count."""

    p: Array  # (counts,) [1]
    fraction: Array  # [1]
    lower: Array  # of the 90% interval [1]
    upper: Array
    is_forecast: NDArray[np.bool_]  # whether the time there is forecast


def serial_fractions(
    series: Series, row: int, p: Array, ends: tuple[Array, Array, Array], *, is_strong: bool
) -> SerialFractions:
    """Serial fractions at the measured counts, and at counts `p` with forecast times [s]."""
    points = slice(0, int(series.count[row]))
    counts, time, repetitions = (
        x[row, points] for x in (series.p, series.time, series.repetitions)
    )
    noise = float(pooled_noise(series.spread, series.shows_spread)[row])
    own = noise / np.sqrt(np.maximum(repetitions, 1))
    half = NORMAL_90 * np.hypot(own[1:], own[0])
    first = NORMAL_90 * own[0]
    beyond = p > counts[-1]
    forecast, lower, upper = (x[beyond] for x in ends)
    every = np.concatenate([counts[1:], p[beyond]])
    ratio = np.concatenate([time[1:], forecast]) / time[0]  # 1/S of fixed work
    down = np.concatenate([half, np.hypot(np.log(forecast / lower), first)])
    up = np.concatenate([half, np.hypot(np.log(upper / forecast), first)])
    k = every / counts[0]
    scale = np.ones_like(k) if is_strong else 1.0 / k

    def fraction(inverse: Array) -> Array:
        return np.asarray((inverse * scale - 1.0 / k) / (1.0 - 1.0 / k))

    return SerialFractions(
        p=every,
        fraction=fraction(ratio),
        lower=fraction(ratio * np.exp(-down)),
        upper=fraction(ratio * np.exp(up)),
        is_forecast=np.arange(len(every)) >= len(counts) - 1,
    )
