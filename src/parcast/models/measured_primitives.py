"""A primitive as its micro-benchmark measured it, whatever number of counts there are.

Of three counts of processors or more, `fit_primitive` chooses how startup and time of a byte
depend on P. With fewer, the line of the largest count is taken for every P [D], which a machine
file then says. Of one size, or of a barrier, there is a startup and nothing else. The startup is
half the time of the shortest message at least, see `parcast.models.least_startup`.
"""

from collections.abc import Mapping

import numpy as np

from parcast.errors import FitFailed
from parcast.models.least_startup import with_least_startup
from parcast.models.point_to_point import fit_message
from parcast.models.primitives import (
    FEWEST_COUNTS,
    NO_BYTES,
    PrimitiveFit,
    fit_primitive,
    fit_startup,
)

Times = Mapping[int, Mapping[int, float]]  # by processors and bytes [s]
MOST_SIZES = 12  # of messages at each count that are fitted: more cost time and tell little


def measured_primitive(times: Times) -> PrimitiveFit:
    """Formula of a primitive for every P and size.

    Parameters
    ----------
    times : mapping from processors [1] to mapping from bytes [B] to time
        Of one call, above 0. Each count has one size or more. [s]

    Returns
    -------
    PrimitiveFit
        Its error is cross-validated where there are three counts or more, and else the mean
        absolute relative residual of the line.

    Raises
    ------
    FitFailed
        If there is no time.
    ParameterError
        If one of them lies outside its domain.

    Examples
    --------
    >>> fit = measured_primitive({4: {8: 2.008e-6, 1000: 3e-6, 1000000: 1.002e-3}})
    >>> fit.startup_form, round(fit.startup[0] * 1e6, 6), round(1 / fit.byte[0] / 1e9, 6)
    ('constant', 2.0, 1.0)
    """
    runs = [(p, m, t) for p, of_size in times.items() for m, t in of_size.items()]
    if not runs:
        raise FitFailed("A primitive must have been measured, got no time. Measure it.")
    counts, sizes, seconds = (np.array(x, dtype=np.float64) for x in zip(*runs, strict=True))
    many = len(times) >= FEWEST_COUNTS
    if len(np.unique(sizes)) < 2:
        return fit_startup(counts, seconds) if many else _only_startup(times)
    if many:
        return with_least_startup(fit_primitive(counts, sizes, seconds), times)
    largest = times[max(times)]
    if len(largest) < 2:
        return _only_startup(times)
    line = fit_message(list(largest), list(largest.values()))
    return of_line(line.startup, line.byte, line.error, times)


def of_line(startup: float, byte: float, error: float, times: Times) -> PrimitiveFit:
    """Formula of a line, which stands for every P.

    Parameters
    ----------
    startup : float
        At least 0; half the time of the shortest message is the least that is taken. [s]
    byte : float
        Time of a byte, at least 0. [s/B]
    error : float
        Mean absolute relative residual. [1]
    times : mapping from processors [1] to mapping from bytes [B] to time
        That the line, of the largest count, is of. [s]

    Examples
    --------
    >>> of_line(0.0, 1e-9, 0.1, {2: {8: 2e-6, 1000000: 1.001e-3}}).startup
    (1e-06, 0.0)
    """
    fit = PrimitiveFit(
        startup_form="constant",
        byte_form="constant",
        startup=(startup, 0.0),
        byte=(byte, 0.0),
        error=error,
    )
    return with_least_startup(fit, times)


def chosen_sizes(sizes: list[int]) -> list[int]:
    """Sizes spread evenly over those that were measured, not too many. [B]."""
    if len(sizes) <= MOST_SIZES:
        return sizes
    chosen = np.linspace(0, len(sizes) - 1, MOST_SIZES).round().astype(int)
    return [sizes[i] for i in chosen]


def _only_startup(times: Times) -> PrimitiveFit:
    """Startup of the largest count, for every P."""
    seconds = list(times[max(times)].values())
    return PrimitiveFit(
        startup_form="constant",
        byte_form=NO_BYTES,
        startup=(float(np.median(seconds)), 0.0),
        byte=(0.0, 0.0),
        error=0.0,
    )
