"""Runs as capacities are found from: the median of the repetitions, and how well it is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.breakdown import Array
from parcast.errors import ParameterError
from parcast.measurements import Measurements
from parcast.units import shown

DISK: Final = "disk_s"  # column of seconds that the disk took
FARTHEST: Final = 10.0  # logarithm of a time from the measured one
OF_MEDIAN: Final = 1.2533  # its standard deviation over that of the mean, normal law


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TimedRuns:
    """Configurations that were timed, each once."""

    axes: Mapping[str, Array]  # each of shape (runs,)
    time: Array  # median of the repetitions [s]
    disk: Array | None  # of them, median [s]
    deviation: Array | None  # of the logarithm of a median; None without repetitions [1]
    freedom: float  # degrees of it: repetitions beyond the first of each configuration [1]


def timed_runs(runs: Measurements) -> TimedRuns:
    """Group measurements into configurations.

    Parameters
    ----------
    runs : Measurements
        Rows that agree in all axes but `disk_s` are repetitions.

    Raises
    ------
    ParameterError
        If they are of several machines or call paths.

    Examples
    --------
    >>> timed = timed_runs(Measurements(p=[1, 1, 2], n=8, time=[4.0, 4.4, 2.5]))
    >>> timed.time, timed.axes["p"]
    (array([4.2, 2.5]), array([1., 2.]))
    """
    for label, values in runs.labels.items():
        names = sorted({str(x) for x in values})
        if len(names) > 1:
            raise ParameterError(
                f"runs must be of one {label}, got {shown(', '.join(names))}. "
                f"Select one value: select({label}={names[0]!r})."
            )
    axes = {name: column for name, column in runs.axes.items() if name != DISK}
    table, group = np.unique(np.stack(list(axes.values())), axis=1, return_inverse=True)
    group = np.ravel(group)
    groups = [np.flatnonzero(group == i) for i in range(table.shape[1])]
    disk = runs.axes.get(DISK)
    logs = np.log(runs.time)
    sizes = np.array([len(rows) for rows in groups])
    deviation, freedom = None, float((sizes - 1).sum())
    if freedom > 0:
        squares = sum(float(((logs[rows] - logs[rows].mean()) ** 2).sum()) for rows in groups)
        noise = np.sqrt(squares / freedom)
        deviation = np.where(sizes > 2, OF_MEDIAN, 1.0) * noise / np.sqrt(sizes)
    return TimedRuns(
        axes=dict(zip(axes, table, strict=True)),
        time=np.array([np.median(runs.time[rows]) for rows in groups]),
        disk=None if disk is None else np.array([np.median(disk[rows]) for rows in groups]),
        deviation=deviation,
        freedom=freedom,
    )


def sampled(timed: TimedRuns, samples: int, seed: int) -> tuple[Array, Array]:
    """Times and disk times as they may have been, the measured ones first.

    Logarithms follow Student's law: what few repetitions say of the noise is itself unsure.

    Returns
    -------
    times, disk : ndarray, shape (samples + 1, runs)
        One row without repetitions. Disk times are 0 where none were measured. [s]
    """
    disk = np.zeros_like(timed.time) if timed.disk is None else timed.disk
    if timed.deviation is None:
        return timed.time[None], disk[None]
    random = np.random.default_rng(seed)
    normal = random.normal(size=(samples + 1, 1, len(timed.time)))
    unsure = np.sqrt(timed.freedom / random.chisquare(timed.freedom, size=(samples + 1, 1, 1)))
    factors = np.exp(np.clip(normal * unsure * timed.deviation, -FARTHEST, FARTHEST))
    factors[0] = 1.0
    return timed.time * factors[:, 0], disk * factors[:, 0]
