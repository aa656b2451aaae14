"""What to ask a batch system for: a wall-time limit that is kept with 95% certainty, core-hours.

The upper end of a 90% interval is exceeded by one run in twenty: it is kept with 95%. An
interval is log-normal about its middle, each side with its own width, so that the time kept with
a probability ``c`` is

    t * (upper / t) ** (z(c) / z(0.95))

with z the quantile of the normal distribution: 0.78 of the way up for 90%, in logarithms.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from parcast.words import clock, rounded_interval

LIMIT_HOLDS: Final = 0.95  # probability with which a run ends within its wall-time limit [D]
NORMAL: Final = NormalDist()
STEPS: Final = ((3600.0, 60.0), (36000.0, 300.0), (np.inf, 1800.0))  # [s]: up to, in steps of [D]


def time_kept(time: float, upper: float, certainty: float) -> float:
    """Time that a run does not exceed with a probability of at least 1/2. [s].

    >>> round(time_kept(100.0, 200.0, 0.9), 1), time_kept(100.0, 200.0, 0.95)
    (171.6, 200.0)
    """
    return float(time * (upper / time) ** way_up(certainty))


def way_up(certainty: float) -> float:
    """How far the time kept with a certainty lies towards the upper end, in logarithms. [1].

    >>> round(way_up(0.9), 3), way_up(0.95)
    (0.779, 1.0)
    """
    return NORMAL.inv_cdf(certainty) / NORMAL.inv_cdf(0.95)


def wall_time_limit(seconds: float) -> float:
    """Round a time up to what one requests: whole minutes, of long runs more of them. [s].

    >>> wall_time_limit(61), wall_time_limit(2 * 3600 + 1), wall_time_limit(20 * 3600 + 1)
    (120.0, 7500.0, 73800.0)
    """
    step = next(step for most, step in STEPS if seconds <= most)
    return float(max(np.ceil(seconds / step - 1e-9), 1) * step)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What one run needs, at one count of processors, or of nodes of an unknown size."""

    _outline = """
        time_limit_s time_limit=clock time_limit_certainty=certainty core_hours
        core_hours_lower core_hours_upper node_hours?
    """

    time_limit: float  # wall-time limit to request [s]
    certainty: float  # probability with which a run ends within it [1]
    hours: float  # processors, or nodes, times the time [h]
    lower: float  # lower end of the 90% interval of the hours [h]
    upper: float  # upper end of the 90% interval of the hours [h]
    is_of_nodes: bool  # whether the hours are node-hours

    @property
    def core_hours(self) -> float | None:
        """Processors times the time; None where only nodes are known [h]."""
        return None if self.is_of_nodes else self.hours

    @property
    def core_hours_lower(self) -> float | None:
        """Lower end of the 90% interval of the core-hours [h]."""
        return None if self.is_of_nodes else self.lower

    @property
    def core_hours_upper(self) -> float | None:
        """Upper end of the 90% interval of the core-hours [h]."""
        return None if self.is_of_nodes else self.upper

    @property
    def node_hours(self) -> float | None:
        """Nodes times the time, where their cores are not known [h]."""
        return self.hours if self.is_of_nodes else None

    @property
    def clock(self) -> str:
        """The limit as `HH:MM:SS`."""
        return clock(self.time_limit)

    def __str__(self) -> str:
        """Give it in words."""
        hours, lower, upper = rounded_interval(self.hours, self.lower, self.upper)
        return (
            f"wall-time limit {self.clock} (kept with "
            f"{self.certainty:.0%} certainty), {hours} "
            f"{'node' if self.is_of_nodes else 'core'}-hours ({lower} to {upper})"
        )


def request_for(
    p: float,
    time: float,
    lower: float,
    upper: float,
    *,
    certainty: float = LIMIT_HOLDS,
    is_of_nodes: bool = False,
) -> Request:
    """What a run of `time` [s], from `lower` to `upper` [s], needs on `p` processors, or nodes."""
    hours = p / 3600
    return Request(
        time_limit=wall_time_limit(time_kept(time, upper, certainty)),
        certainty=certainty,
        hours=time * hours,
        lower=lower * hours,
        upper=upper * hours,
        is_of_nodes=is_of_nodes,
    )
