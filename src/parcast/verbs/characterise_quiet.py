"""Which runs of a program others disturbed, as work quanta before and after them tell.

The slowest quantum of a run on a host is compared with that of the other runs on as many ranks;
the tolerance of `parcast.run.kernels.quanta` holds. A disturbed run is left out where another of
the same program, ranks and parameters was not disturbed; else it stays. Both are told.
"""

from collections.abc import Sequence

from parcast.profile import RunProfile
from parcast.run.kernels.quanta import TOLERANCE
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
    slowest = [_slowest(run) for run in runs]
    least: dict[tuple[str, int], float] = {}
    for run, of_hosts in zip(runs, slowest, strict=True):
        for host, quantum in of_hosts.items():
            least[host, run.p] = min(quantum, least.get((host, run.p), quantum))
    slowed = [
        max((quantum / least[host, run.p] for host, quantum in of_hosts.items()), default=1.0)
        for run, of_hosts in zip(runs, slowest, strict=True)
    ]
    slowed = [times if times > 1.0 + TOLERANCE else 0.0 for times in slowed]
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


def _slowest(run: RunProfile) -> dict[str, float]:
    """Slowest quantum of the ranks on each host that timed any. [s]."""
    slowest: dict[str, float] = {}
    for rank in run.ranks:
        if rank.quanta:
            slowest[rank.host] = max(*rank.quanta, slowest.get(rank.host, 0.0))
    return slowest


def _kind(run: RunProfile) -> tuple[object, ...]:
    """Give what repetitions of a run share."""
    return (run.program, run.p, *sorted(run.parameters.items()))
