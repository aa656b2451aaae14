"""Strong or weak scaling: whether the work of the runs was fixed.

Under strong scaling the work is fixed and time should fall as 1/p; under weak scaling the work
grows with p and time should stay constant::

    strong:  speedup = T(p0) / T(p),         efficiency = speedup * p0 / p
    weak:    speedup = p/p0 * T(p0) / T(p),  efficiency = T(p0) / T(p)

with p0 the smallest measured count, as many programs do not fit on one processor. The weak speedup
is Gustafson's scaled speedup [1]_, of the work and not of the time.

A column `n`, the problem size, decides which it was: where it grows with p scaling is weak, where
it is the same at every count strong. Otherwise the times decide: where the time at some count was
at least a quarter of the ideal fall (in logarithms) below that at the smallest count, the work was
fixed [D]; likewise where it is a sixth less at the largest count than at the smallest, as work
that grows with p is not done in less time [D]. For a single count the majority of its donors
decides. All call paths of a run were timed together and scale in the same way: the one that takes
longest at the smallest count decides for all of them, as it most likely holds the work itself.

References
----------
.. [1] J. L. Gustafson, "Reevaluating Amdahl's law," Commun. ACM, vol. 31, no. 5, 1988,
   :doi:`10.1145/42411.42415` [S].
"""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.call_paths import CALLS, PATH
from parcast.forecasting.donors.curve import Elsewhere
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series
from parcast.units import format_quantity
from parcast.words import whole

SHARE_OF_IDEAL = 0.25  # of the slope -1 that work shared by the processors would have [D]
FALL = 0.175  # of the logarithm of time: a sixth less, which noise seldom makes of it [1] [D]


Scaling = Literal["auto", "strong", "weak"]
Limit = Literal["", "scales well", "overhead", "growing cost"]  # in a word or two
Size = Literal["", "grows", "fixed"]  # of the problem, over the counts of processors

FIXED: Final = (
    "n is the same at every p, although the time does not fall (if n is the size per processor, "
    "choose weak scaling)"
)
AS_REQUESTED: Final = "as requested"
WITH_P: Final = "n grows with p"


def scaling_with_donors(
    series: Series, elsewhere: Elsewhere | None, scaling: Scaling, *, size: Size
) -> tuple[NDArray[np.bool_], Sequence[str]]:
    """Decide between strong and weak scaling, with a single count by the donors; say why.

    All call paths of a run scale in the same way: that of one with several counts or, if there is
    none, of the longest.
    """
    if elsewhere is None:
        return scaling_of_runs(series, scaling, size=size)
    single = series.count == 1
    strong, reasons = np.zeros(len(series), dtype=bool), [""] * len(series)
    if not single.all():
        strong[~single], several = scaling_of_runs(series.take(~single), scaling, size=size)
        for i, reason in zip(np.flatnonzero(~single).tolist(), several, strict=True):
            reasons[i] = reason
    if not single.any():
        return strong, reasons
    if scaling != "auto" or size == "grows" or elsewhere.grows:
        why = AS_REQUESTED if scaling != "auto" else WITH_P
        strong[single] = scaling == "strong"
        return strong, [reason or why for reason in reasons]
    runs = elsewhere.runs
    alone = is_strong(runs.p, runs.time, runs.count)
    theirs = np.where(elsewhere.of >= 0, alone[elsewhere.of], False).sum(axis=1)
    donors = (elsewhere.of >= 0).sum(axis=1)
    strong[single] = (2 * theirs >= donors)[single]
    teller = _longest_parts(series)
    for i in np.flatnonzero(single).tolist():
        alike = theirs[i] if strong[i] else donors[i] - theirs[i]
        others = f"{alike} of {donors[i]} other machines" if donors[i] > 1 else "the other machine"
        why = f"as on {others} (a single count does not show it)"
        reasons[i] = why if teller[i] == i else as_for(str(series.keys[teller[i]]["callpath"]))
    return strong[teller], reasons


def scaling_at_values(
    levels: Array, time: Array, scaling: Scaling, *, names: Sequence[str]
) -> tuple[NDArray[np.bool_], Sequence[str]]:
    """Tell strong from weak scaling for values of other axes, and say why.

    By the `time` forecast for each of them, (values, levels) [s], at measured counts, (levels,);
    `names` are those of the axes: for a value of n the problem is the same at every count.
    """
    values = len(time)
    if scaling != "auto":
        return np.full(values, scaling == "strong"), [AS_REQUESTED] * values
    if len(levels) < 2:
        return np.zeros(values, dtype=bool), ["measured at one count only"] * values
    strong = is_strong(np.tile(levels, (values, 1)), time, np.full(values, len(levels)))
    if "n" in names and not strong.all():
        return np.ones_like(strong), [FIXED] * values
    first, last = (whole(float(x)) for x in levels[[0, -1]])
    ends = [[format_quantity(x, "time") for x in pair] for pair in time[:, [0, -1]].tolist()]
    return strong, [
        f"at these values time goes from {begin} at p = {first} to {end} at p = {last}"
        for begin, end in ends
    ]


def scaling_of_runs(
    series: Series, scaling: Scaling, *, size: Size = ""
) -> tuple[NDArray[np.bool_], Sequence[str]]:
    """Tell strong from weak scaling for every series of two counts or more, and say why.

    What the user says counts, "auto" leaves it to the `size` of the problem and the times.
    """
    if scaling != "auto":
        return np.full(len(series), scaling == "strong"), [AS_REQUESTED] * len(series)
    if size == "grows":
        return np.zeros(len(series), dtype=bool), [WITH_P] * len(series)
    alone = is_strong(series.p, series.time, series.count)
    teller = _longest_parts(series)
    tellers = set(teller.tolist())
    if size == "fixed":
        known = {i: FIXED for i in tellers if not alone[i]}
        alone = np.ones_like(alone)
    else:
        known = {}
    reason = {i: known.get(i) or _reason(series, i, bool(alone[i])) for i in tellers}
    reasons = [
        reason[i] if i == own else as_for(str(series.keys[i]["callpath"]))
        for own, i in enumerate(teller.tolist())
    ]
    return alone[teller], reasons


def is_strong(p: Array, time: Array, count: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the times of each series fall as those of a fixed work do, (series,).

    `p` [1] and `time` [s], (series, counts), ascend, padded after the first `count` of a row.
    """
    measured = np.arange(p.shape[1]) < count[:, None]
    fall = np.where(measured, np.log(time[:, :1] / time), -np.inf)
    ideal = np.log(p / p[:, :1])
    whole_range = ideal[np.arange(len(p)), count - 1]
    shared = np.any(fall > SHARE_OF_IDEAL * ideal, axis=1)
    last = fall[np.arange(len(p)), count - 1]
    return np.asarray((shared & (fall.max(axis=1) > 0.1 * whole_range)) | (last > FALL))


def speedup_and_efficiency(
    *, p: Array, time: Array, p0: Array, time0: Array, strong: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Speedup and efficiency, (series, points), of `time` [s] at `p`, (points,) [1].

    Over `time0` [s], measured at `p0` [1], (series,) both.
    """
    faster = time0[:, None] / time
    more = p / p0[:, None]
    speedup = np.where(strong[:, None], faster, faster * more)
    return speedup, speedup / more


def size_of_runs(measurements: Measurements, by: Sequence[str]) -> Size:
    """Whether the problem size `n` grows along with the processors, or is the same at all."""
    size = measurements.axes.get("n")
    if size is None:
        return ""
    if "n" in by or np.all(size == size[0]):
        return "fixed"
    share = size / np.abs(size).max()  # of the largest, so that its square is a float
    return "grows" if np.corrcoef(np.log(measurements.p), share)[0, 1] > 0 else ""


def _longest_parts(series: Series) -> NDArray[np.intp]:
    """For every series the number of the longest call path of the same run, or its own if alone.

    One of several counts rather than of a single one. Of equal times at the smallest count those
    at the larger ones decide, then the outer call path: not the order of the rows.
    """
    longest: dict[tuple[object, ...], int] = {}
    runs = [tuple(value for name, value in key.items() if name != PATH) for key in series.keys]
    measured = zip(series.count.tolist(), series.time.tolist(), strict=True)
    lengths = [
        (count > 1, times[:count], -str(key.get(PATH)).count(CALLS))
        for key, (count, times) in zip(series.keys, measured, strict=True)
    ]
    for i, run in enumerate(runs):
        if run not in longest or lengths[i] > lengths[longest[run]]:
            longest[run] = i
    return np.array([longest[run] for run in runs])


def as_for(callpath: str) -> str:
    """Say that another call path of the same run decides the scaling."""
    return f"as for {callpath}, the longest call path"


def _reason(series: Series, i: int, strong: bool) -> str:
    """Say which times of a series tell its scaling."""
    count = int(series.count[i])
    p, time = series.p[i, :count], series.time[i, :count]
    best = int(np.argmin(time))
    first, least, last = (format_quantity(time[j], "time") for j in (0, best, -1))
    began = f"{first} at p = {whole(float(p[0]))}"
    if strong:
        return f"time falls from {began} to {least} at p = {whole(float(p[best]))}"
    return (
        f"time goes from {began} to {last} at p = {whole(float(p[-1]))} and does not fall as that "
        "of fixed work would (if the work was fixed, choose strong scaling)"
    )
