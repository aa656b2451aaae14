"""Whether the runs behind some series scaled strongly or weakly, and which times tell it.

All call paths of a run were timed together, so they cannot differ. The one that takes longest at
the smallest count tells it for all of them: it is the most likely to hold the work itself.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from parcast.measurements import Measurements
from parcast.models.scaling import is_strong
from parcast.result import whole
from parcast.series import Series
from parcast.units import format_quantity

Scaling = Literal["auto", "strong", "weak"]


def scaling_of_runs(
    series: Series, scaling: Scaling, *, grows: bool = False
) -> tuple[NDArray[np.bool_], Sequence[str]]:
    """Tell strong from weak scaling for every series, and say why.

    Parameters
    ----------
    series : Series
        What was measured, at two counts or more each.
    scaling : {"auto", "strong", "weak"}
        What the user says; "auto" leaves it to the problem size and the times.
    grows : bool, default False
        Whether the table has a problem size `n` that grows with the processors.

    Returns
    -------
    strong : ndarray of bool, shape (series,)
    reasons : sequence of str, one for each series
    """
    if scaling != "auto":
        return np.full(len(series), scaling == "strong"), ["as you said"] * len(series)
    if grows:
        return np.zeros(len(series), dtype=bool), ["n grows with p"] * len(series)
    alone = is_strong(series.p, series.time, series.count)
    longest: dict[tuple[object, ...], int] = {}
    runs = [
        tuple(value for name, value in key.items() if name != "callpath") for key in series.keys
    ]
    first = series.time[:, 0].tolist()
    for i, run in enumerate(runs):
        if run not in longest or first[i] > first[longest[run]]:
            longest[run] = i
    teller = np.array([longest[run] for run in runs])
    reason = {i: _reason(series, i, bool(alone[i])) for i in longest.values()}
    reasons = [
        reason[i] if i == own else f"as for {series.keys[i]['callpath']}, its longest part"
        for own, i in enumerate(teller.tolist())
    ]
    return alone[teller], reasons


def size_grows(measurements: Measurements, by: Sequence[str]) -> bool:
    """Whether the problem size `n` goes along with the processors and grows with them."""
    size = measurements.axes.get("n")
    if size is None or "n" in by or np.all(size == size[0]):
        return False
    return bool(np.corrcoef(np.log(measurements.p), size)[0, 1] > 0)


def _reason(series: Series, i: int, strong: bool) -> str:
    """Say which times of a series tell its scaling."""
    count = int(series.count[i])
    p, time = series.p[i, :count], series.time[i, :count]
    best = int(np.argmin(time))
    first, least, last = (format_quantity(time[j], "time") for j in (0, best, -1))
    began = f"{first} at p = {whole(float(p[0]))}"
    if strong:
        return f"time falls from {began} to {least} at {whole(float(p[best]))}"
    return (
        f"time goes from {began} to {last} at {whole(float(p[-1]))}: "
        "it does not fall as shared work would (if the work was fixed, say so: strong scaling)"
    )
