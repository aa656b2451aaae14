"""When a law holds: limits of its errors, as data.

A law holds only where the runs could have refused it. On a machine that is never idle most runs
are disturbed, of the calibration as of the comparison: then they count, the limits are
wider, and the answer says so.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What is asked of errors; None: nothing."""

    tolerance: float | None = None  # error that `share` of the cases may have [1]
    share: float | None = None  # of the cases [1]
    median: float | None = None  # of the absolute errors [1]
    worst: float | None = None  # of them [1]
    measured: float = 0.5  # of the cases, at least [1]
    busy: float = 2.0  # times as wide limits where most runs were disturbed [1] [D]
    cases: str = "case"  # what one is called
