"""A primitive as its micro-benchmark measured it, whatever number of counts there are.

Of three counts of processors or more, `fit_primitive` chooses how startup and time of a byte
depend on P. With fewer, the line of the largest count is taken for every P [D], which a machine
file then says. Of one size, or of a barrier, there is a startup and nothing else. The startup is
half the time of the shortest message at least, see `parcast.laws.primitives.measured`.

The startup that a primitive has at least: no call of MPI takes none.

A line through long messages often meets the axis at 0 or below, and a sum with coefficients of at
least 0 then has no startup, so that a million short calls would cost next to nothing. The shortest
message that was measured is mostly startup: at least half of its time is taken for one [D].
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from scipy import optimize  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import FitFailed
from parcast.laws.primitives.price import (
    FEWEST_COUNTS,
    NO_BYTES,
    PrimitiveFit,
    fit_primitive,
    fit_startup,
    grows,
)
from parcast.laws.primitives.standard import fit_message

LEAST: Final = 0.5  # share of the time of the shortest message that its startup has at least [D]


def least_startup(times: Mapping[int, float]) -> float:
    """Least startup of a call.

    Parameters
    ----------
    times : mapping from bytes [B] to time
        Of one call, at least one. [s]

    Returns
    -------
    float
        [s]

    Examples
    --------
    >>> least_startup({1024: 3e-6, 8: 2e-6})
    1e-06
    """
    return LEAST * times[min(times)]


def with_least_startup(
    fit: PrimitiveFit, times: Mapping[int, Mapping[int, float]]
) -> PrimitiveFit:
    """Raise the startup of a formula where it is less than a call can have.

    Parameters
    ----------
    fit : PrimitiveFit
        Of a primitive that sends bytes.
    times : mapping from processors [1] to mapping from bytes [B] to time
        That it was fitted to; of fewer than three counts only those of the largest are looked at,
        which stands for every P. [s]

    Returns
    -------
    PrimitiveFit
        As it was where its startup suffices at each P that was measured. Else a(P) is raised to
        suffice at each, and b(P) is fitted anew to what it leaves of the times.

    Examples
    --------
    >>> through_0 = PrimitiveFit(
    ...     startup_form="constant", byte_form="constant", startup=(0, 0), byte=(1e-9, 0), error=0
    ... )
    >>> with_least_startup(through_0, {2: {8: 2e-6, 10**6: 1e-3}}).startup
    (1e-06, 0.0)
    """
    if len(times) < FEWEST_COUNTS:
        times = {max(times): times[max(times)]}
    counts = np.array(sorted(times), dtype=np.float64)
    least = np.array([least_startup(times[int(p)]) for p in counts])
    found = fit.time(counts, 0.0)
    if np.all(found >= least):
        return fit
    form, startup = "constant", (float(max(found[-1], least[-1])), 0.0)
    if len(counts) >= FEWEST_COUNTS:
        raised = fit_startup(counts, np.maximum(found, least))
        factor = max(float(np.max(least / raised.time(counts, 0.0))), 1.0)
        form, startup = (
            raised.startup_form,
            (factor * raised.startup[0], factor * raised.startup[1]),
        )
    fit = replace(fit, startup_form=form, startup=startup)
    runs = [(p, m, t) for p, of_size in times.items() for m, t in of_size.items()]
    p, volume, time = (np.array(x, dtype=np.float64) for x in zip(*runs, strict=True))
    fit = replace(fit, byte=_byte(fit, p, volume, time))
    error = float(np.sqrt(np.mean((fit.time(p, volume) / time - 1.0) ** 2)))
    return replace(fit, error=max(error, fit.error))


def _byte(fit: PrimitiveFit, p: Array, volume: Array, time: Array) -> tuple[float, float]:
    """Fit b(P) to what its startup leaves of the times; where that is nothing, it stays."""
    terms = np.stack([volume, volume * grows(fit.byte_form, p)], axis=1)
    left = np.maximum(time - fit.time(p, 0.0), 0.0)
    scale = max(float(volume.max()), 1.0)  # the solver likes numbers near 1
    (alpha, beta), _ = optimize.nnls(terms / time[:, None] / scale, left / time)
    byte = (float(alpha) / scale, float(beta) / scale)
    return byte if any(byte) else fit.byte


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
