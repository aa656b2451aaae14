"""Sizes and rank counts as a calibrated law predicts them, and how far a run may lie from that.

    ln(time / predicted)  in  -sqrt(q_5^2 + (z s)^2)  to  +sqrt(q_95^2 + (z s)^2) ,   z = 1.645
    s^2 = s_fit^2 + s_law^2 + ((a + f c) * log10 k)^2 + (b * log2 k_P)^2 + (e (h_0 - h))^2  [D]

q_5 and q_95 are quantiles of how runs of one size scatter around their median, among those
calibrated; they differ, since what happens to a run makes it longer, never shorter. s_fit is what
other launches would have made of the calibration, s_law how badly the law fits the calibrated
sizes. The next two are allowances for how such laws fail when they are extended: by k in size, and
by k_P in ranks from the nearest calibrated count. f is the share of files in the predicted time:
what the system writes behind a program's back makes large files slower than small ones, now and
then. h is the share of the time that half sizes account for, h_0 that at the largest calibrated
size: what weighs on small runs is known from them only, and a part of it may stay: the last term.
a is what the reference programs ask for, the others are set by hand [D]:
`docs/explanation/validation.md`.
"""

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.kernels.trials.calibration import KernelCalibration
from parcast.kernels.trials.case import Cells
from parcast.validation.comparison import INTERVAL, Z
from parcast.validation.subject import Predicted

SIZE_ALLOWANCE: Final = 0.04  # a: standard deviation for ten times the size [1] [D]
FILE_ALLOWANCE: Final = 0.40  # c: the same of the time of files, more [1] [D]
COUNT_ALLOWANCE: Final = 0.10  # b: standard deviation for twice the ranks [1] [D]
SMALL_ALLOWANCE: Final = 0.5  # e: standard deviation of what half sizes take, as a share [1] [D]
LARGE: Final = 0.5  # calibrated sizes that count for the scatter, of the largest [1]
FEW: Final = 20  # runs below which quantiles are not read off [1]


def scatter(cells: Cells) -> tuple[float, float]:
    """5% and 95% quantile of how the logarithm of a run's time differs from its cell's median.

    The larger sizes of the calibration count, as short runs scatter more.
    """
    largest = max(n for n, _ in cells)
    times = [
        np.array([run.time for sample in samples for run in sample.runs])
        for (n, _), samples in cells.items()
        if n >= LARGE * largest
    ]
    apart = np.concatenate([np.log(x / np.median(x)) for x in times])
    if apart.size < FEW:
        wide = Z * float(np.sqrt(np.mean(apart**2))) * 1.2
        return -wide, wide
    low, high = np.percentile(apart, [50 * (1 - INTERVAL), 50 * (1 + INTERVAL)])
    return float(low), float(high)


def doubt_of_law(residuals: Array, columns: int) -> float:
    """Standard deviation of the calibrated cells around the law [1]."""
    freedom = max(len(residuals) - columns, 1)
    return float(np.sqrt((residuals @ residuals) / max(freedom, len(residuals) / 2)))


def allowance(factor: Array, p: Array, counts: Sequence[int], files: Array | float = 0.0) -> Array:
    """Standard deviation that is allowed for extending a law, in logarithms, (points,).

    `factor` is the size over the largest calibrated one, `files` the share of the predicted time.
    """
    apart = np.abs(np.log2(p[:, None] / np.array(counts, dtype=np.float64))).min(axis=1)
    by_size = (SIZE_ALLOWANCE + FILE_ALLOWANCE * files) * np.log10(np.maximum(factor, 1.0))
    return np.asarray(np.hypot(by_size, COUNT_ALLOWANCE * apart))


def doubt_of_small_sizes(there: Array, calibrated: Array) -> Array:
    """Standard deviation for what weighs on small sizes and is extended away, in logarithms.

    Both are shares of the time that half sizes account for, on as many ranks.
    """
    return np.asarray(SMALL_ALLOWANCE * np.maximum(calibrated - there, 0.0))


def interval(
    predicted: Array, spread: tuple[float, float], deviation: Array
) -> tuple[Array, Array]:
    """Ends of the 90% interval of a run [s], from what `scatter` gave and its law's deviation."""
    low, high = (np.hypot(x, Z * deviation) for x in spread)
    return np.asarray(predicted * np.exp(-low)), np.asarray(predicted * np.exp(high))


LARGER: Final = 1.5  # size over the largest calibrated one from which it is another [1]


def affordable(
    calibration: KernelCalibration, sizes: Sequence[int], counts: Sequence[int], *, longest: float
) -> tuple[int, ...]:
    """Bring sizes down, at most to the first, where ranks take longer than `longest` [s]."""
    first, last = sizes[0], sizes[-1]
    p = np.array(counts, dtype=np.float64)
    while last > first:
        if calibration.time(calibration.form.terms(np.full(p.shape, last), p)).max() <= longest:
            break
        last = max(round(0.9 * last), first)
    kept = [n for n in sizes if n < 0.9 * last]
    return tuple(dict.fromkeys([*kept, last]))


def predictions(
    calibration: KernelCalibration, cells: Cells, sizes: Sequence[int], counts: Sequence[int]
) -> dict[tuple[int, int], Predicted]:
    """Predict every size on every count."""
    form = calibration.form
    places = list(product(sizes, counts))
    n, p = (np.array(x, dtype=np.float64) for x in zip(*places, strict=True))
    terms = form.terms(n, p)
    time = calibration.time(terms)
    largest = max(size for size, _ in cells)
    factor = n / largest
    calibrated_share = calibration.of_small_sizes(form.terms(np.full(n.shape, largest), p))
    parts = calibration.parts(terms)
    deviation = np.sqrt(
        calibration.doubt(terms) ** 2
        + doubt_of_law(calibration.residuals, len(form.columns)) ** 2
        + allowance(factor, p, form.counts, parts[2] / time) ** 2
        + doubt_of_small_sizes(calibration.of_small_sizes(terms), calibrated_share) ** 2
    )
    lower, upper = interval(time, scatter(cells), deviation)
    return {
        place: Predicted(
            time=float(time[i]),
            lower=float(lower[i]),
            upper=float(upper[i]),
            facts={
                "factor": float(factor[i]),
                **{
                    f"{name}_s": float(part[i])
                    for name, part in zip(("compute", "communication", "disk"), parts, strict=True)
                },
                "shared_cores": bool(p[i] > form.cores),
                "calibrated_p": int(p[i]) in form.counts,
                "extrapolated": bool(factor[i] >= LARGER or int(p[i]) not in form.counts),
            },
        )
        for i, place in enumerate(places)
    }
