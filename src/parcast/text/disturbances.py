"""What others on a machine did to runs, in words."""

from typing import Final

from parcast.units import percent

MARK: Final = "~"  # behind the times of runs that others disturbed
OTHERS: Final = "others used the processors"  # what it says
TOLD: Final = (1.1, 0.02)  # least that is told: slower so many times, share of time without a core


def disturbance(slowdown: float, waiting: float) -> str:
    """Say how far runs were disturbed.

    Parameters
    ----------
    slowdown : float
        Times as long that processors took for the same work, at most. [1]
    waiting : float
        Share of a run that a rank waited for its core, at most. [1]

    Examples
    --------
    >>> disturbance(1.7, 0.0)
    'processors took up to 1.7 times as long for the same work around them'
    >>> disturbance(1.0, 0.31)
    'ranks waited for their core for up to 31% of a run'
    """
    told = []
    if slowdown >= TOLD[0]:
        told.append(
            f"processors took up to {slowdown:.2g} times as long for the same work around them"
        )
    if waiting >= TOLD[1]:
        told.append(f"ranks waited for their core for up to {percent(waiting)} of a run")
    return ", and ".join(told)
