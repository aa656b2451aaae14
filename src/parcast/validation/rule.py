"""When a law holds: rules as data, and what decides by them.

A law holds only where the runs could have refused it. On a machine that is never idle most runs
are disturbed, of the calibration as of the comparison: then they count, the limits are
wider, and the answer says so.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What is asked of errors and intervals; None: nothing."""

    tolerance: float | None = None  # error that `share` of the cases may have [1]
    share: float | None = None  # of the cases [1]
    median: float | None = None  # of the absolute errors [1]
    worst: float | None = None  # of them [1]
    chance: float | None = None  # of more points outside their intervals with a correct law [1]
    far: float = 2.0  # half widths of an interval from which one point alone refuses a law [1]
    widest: float = 2.5  # upper over lower end, above which a wrong law would pass [1] [D]
    measured: float = 0.5  # of the cases, at least [1]
    busy: float = 2.0  # times as wide limits where most runs were disturbed [1] [D]
    cases: str = "case"  # what one is called
    remedy: str = "Repeat on an idle machine"  # where the runs decide nothing
