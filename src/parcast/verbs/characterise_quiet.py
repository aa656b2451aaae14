"""Which runs of a program others disturbed, as work quanta before and after them tell.

Runs on as many ranks of a host are compared with the fastest quantum of all of them: see
`parcast.run.kernels.quanta`, whose tolerance holds. A disturbed run is left out where another of
the same program, ranks and parameters was not disturbed; else it stays. Both are told.
"""

from collections.abc import Mapping, Sequence

from parcast.profile import RunProfile
from parcast.run.kernels.quanta import is_disturbed, slowdown
from parcast.text.disturbances import disturbance


def without_disturbed(
    runs: Sequence[RunProfile],
) -> tuple[tuple[RunProfile, ...], tuple[str, ...]]:
    """Leave out disturbed runs where undisturbed ones of the same kind are at hand.

    Parameters
    ----------
    runs : sequence of RunProfile
        In any order. Runs without work quanta are never left out.

    Returns
    -------
    runs : tuple of RunProfile
        That are left, in their order.
    warnings : tuple of str
        What was left out, and what was disturbed and stays.
    """
    least: dict[tuple[str, int], float] = {}
    for run in runs:
        for rank in run.ranks:
            for quantum in rank.quanta:
                place = (rank.host, rank.p)
                least[place] = min(quantum, least.get(place, quantum))
    slowed = [_slowdown(run, least) for run in runs]
    quiet = {_kind(run) for run, times in zip(runs, slowed, strict=True) if not times}
    kept: list[RunProfile] = []
    left: list[float] = []
    stay: list[float] = []
    for run, times in zip(runs, slowed, strict=True):
        is_left_out = times > 0 and _kind(run) in quiet
        (left if is_left_out else stay).append(times)
        kept += [] if is_left_out else [run]
    stay = [times for times in stay if times]
    warnings = []
    if left:
        warnings.append(
            f"{len(left)} of {len(runs)} runs were disturbed and are left out: "
            f"{disturbance(max(left), 0.0)}. Others of the same processors and size were not."
        )
    if stay:
        warnings.append(
            f"{len(stay)} of {len(runs)} runs were disturbed: {disturbance(max(stay), 0.0)}. No "
            "other run of the same processors and size was better, so that they count. Repeat "
            "them at a quieter time."
        )
    return tuple(kept), tuple(warnings)


def _slowdown(run: RunProfile, least: Mapping[tuple[str, int], float]) -> float:
    """How many times as long quanta of the slowest rank took; 0 if it was not disturbed. [1]."""
    times = [
        slowdown(rank.quanta, least[rank.host, rank.p])
        for rank in run.ranks
        if rank.quanta and is_disturbed(rank.quanta, least[rank.host, rank.p])
    ]
    return max(times, default=0.0)


def _kind(run: RunProfile) -> tuple[object, ...]:
    """Give what repetitions of a run share."""
    return (run.program, run.p, *sorted(run.parameters.items()))
