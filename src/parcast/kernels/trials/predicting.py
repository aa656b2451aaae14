"""Sizes and rank counts as a calibrated law predicts them, with the interval of a run."""

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from parcast.kernels.trials.calibration import Calibration
from parcast.kernels.trials.case import Cells
from parcast.kernels.trials.interval import (
    allowance,
    doubt_of_law,
    doubt_of_small_sizes,
    interval,
    scatter,
)
from parcast.validation.subject import Predicted

LARGER: Final = 1.5  # size over the largest calibrated one from which it is another [1]


def affordable(
    calibration: Calibration, sizes: Sequence[int], counts: Sequence[int], *, longest: float
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
    calibration: Calibration, cells: Cells, sizes: Sequence[int], counts: Sequence[int]
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
