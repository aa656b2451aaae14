"""Strong or weak scaling: how the runs are read, and what that makes of their times.

Under strong scaling the work is fixed and time should fall as 1/p; under weak scaling the work
grows with p and time should stay constant::

    strong:  speedup = T(p0) / T(p),         efficiency = speedup * p0 / p
    weak:    speedup = p/p0 * T(p0) / T(p),  efficiency = T(p0) / T(p)

with p0 the smallest measured count, as many programs do not fit on one processor. The weak speedup
is Gustafson's scaled speedup [1]_, of the work and not of the time.

Which it was is not given by times: 100 s at 1 and at 8 processors are an efficiency of 100% if
the work grew, and of 12.5% if it did not. So it is weak scaling where the user says so or where a
column `n`, the problem size, grows with p, and strong scaling otherwise. The rule is the same for
all series of a question, for a forecast, a knee and a match, and over several axes.

Rates and speedups compare equal work whatever the problem size, so their times, those of one unit
of work, are read as of strong scaling.

References
----------
.. [1] J. L. Gustafson, "Reevaluating Amdahl's law," Commun. ACM, vol. 31, no. 5, 1988,
   :doi:`10.1145/42411.42415` [S].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import Argument, ParameterError
from parcast.timings.measure import TIME, Measure
from parcast.timings.measurements import Measurements
from parcast.timings.series import number_groups

Scaling = Literal["auto", "strong", "weak"]
Limit = Literal["", "scales well", "constant work", "overhead", "growing work"]
Size = Literal["", "grows", "fixed", "mixed"]  # of the problem, over the counts of processors

SHARE_OF_IDEAL: Final = 0.25  # of the slope -1 that work shared by the processors would have [D]
OF_RANGE: Final = 0.1  # the same over all counts: closer ones may differ by noise alone [D]
REASONS: Final[dict[Size, str]] = {
    "": "assumed: nothing says that the work grows with p",
    "mixed": "assumed: n changes, but does not grow with p",
    "fixed": "n is the same at every p",
    "grows": "n grows with p",
}


@dataclass(frozen=True, slots=True)
class ScalingReading:
    """Whether the work of the runs is taken to be fixed, and why."""

    is_strong: bool
    reason: str  # why it is taken to be so
    remedy: str = ""  # what to do if that is wrong; "" where it was given
    size: Size = ""  # of the problem, where nothing else was asked for

    @property
    def name(self) -> Literal["strong", "weak"]:
        """How the runs were read: `strong` or `weak`; `null` for a program."""
        return "strong" if self.is_strong else "weak"

    def __str__(self) -> str:
        """Give it as a fact: "strong (as requested)"."""
        return f"{self.name} ({self.reason})"

    @property
    def scaling(self) -> Scaling:
        """What to ask for a part of these runs, so that it is read as all of them are."""
        is_clear = self.is_strong and self.remedy and self.size != "mixed"
        return "auto" if is_clear else self.name


def reading_of(
    scaling: Scaling, size: Size, *, measure: Measure = TIME, grows_elsewhere: bool = False
) -> ScalingReading:
    """Read runs as of strong or weak scaling, by what the user says or by the problem size.

    Rates and speedups are of fixed work, and weak scaling is refused for them.
    `grows_elsewhere` where runs at a single count cannot show that, and those of donors do.

    >>> reading_of("auto", "").reason, reading_of("auto", "grows").name
    ('assumed: nothing says that the work grows with p', 'weak')
    """
    if measure.fixed_work and scaling == "weak":
        raise ParameterError(
            "scaling", must=f"be strong, because {measure.fixed_work}", got='"weak"'
        )
    if measure.fixed_work and scaling == "auto":
        return ScalingReading(is_strong=True, reason=measure.fixed_work)
    if scaling != "auto":
        return ScalingReading(scaling == "strong", "as requested")
    if grows_elsewhere:
        return ScalingReading(is_strong=False, reason="n grows with p on the other machines")
    return ScalingReading(size != "grows", REASONS[size], _remedy(size), size)


def size_of_runs(measurements: Measurements, by: Sequence[str]) -> Size:
    """Whether the problem size `n` grows along with the processors, or is the same at all.

    It grows where it is nowhere smaller at a larger count, and larger at the largest one, in every
    series; `by` are the columns that tell these apart.
    """
    size = measurements.axes.get("n")
    if size is None:
        return ""
    if "n" in by or np.all(size == size[0]):
        return "fixed"
    p = measurements.p
    group = number_groups([measurements.columns[name] for name in by], len(p))[0]
    order = np.lexsort((size, p, group))
    group, p, size = group[order], p[order], size[order]
    is_next = np.diff(group) == 0
    first, last = (
        np.flatnonzero(np.append(True, ~is_next)),
        np.flatnonzero(np.append(~is_next, True)),
    )
    several = p[last] > p[first]
    rises = np.all(np.diff(size)[is_next] >= 0) and np.all((size[last] > size[first])[several])
    return "grows" if several.any() and rises else "mixed"


def falls_with_p(p: Array, time: Array, count: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the times of each series fall as those of shared work do, if slowly: (series,).

    At some count, by a quarter of the ideal fall in logarithms. `p` [1] and `time` [s], (series,
    counts), ascend in p, padded after the first `count` of a row.
    """
    measured = np.arange(p.shape[1]) < count[:, None]
    fall = np.where(measured, np.log(time[:, :1] / time), -np.inf)
    ideal = np.log(p / p[:, :1])
    whole_range = ideal[np.arange(len(p)), count - 1]
    shared = np.any(fall > SHARE_OF_IDEAL * ideal, axis=1)
    return np.asarray(shared & (fall.max(axis=1) > OF_RANGE * whole_range))


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


def _remedy(size: Size) -> str:
    """Say what to do if the runs were read otherwise than they were made."""
    if size == "grows":
        return ""
    choose = f"choose weak scaling: {Argument('scaling', 'weak')}"
    if size == "fixed":
        return f"If n is the size per processor, {choose}."
    return f"If the work grew with p, {choose}, or give the problem size in a column n."
