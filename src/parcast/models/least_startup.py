"""The startup that a primitive has at least: no call of MPI takes none.

A line through long messages often meets the axis at 0 or below, and a sum with coefficients of at
least 0 then has no startup, so that a million short calls would cost next to nothing. The shortest
message that was measured is mostly startup: at least half of its time is taken for one [D].
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.models.primitives import FEWEST_COUNTS, PrimitiveFit, fit_startup, grows

Array = NDArray[np.float64]

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
