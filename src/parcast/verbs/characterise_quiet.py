"""Which runs of a program others disturbed, as its profiles tell.

The slowest work quantum of a run on a host is compared with that of the other runs on as many
ranks. The share of the run that a rank waited for its core is compared with that of other runs of
the same program, ranks and parameters: where ranks share cores, or have a share of one only, they
always wait, and for how long depends on what they compute. The tolerances of
`parcast.run.kernels.quanta` hold. A disturbed run is left out where another of the same kind was
not disturbed; else it stays. Both are told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from parcast.profile import RunProfile
from parcast.run.kernels.quanta import OWN, TOLERANCE, WAITING
from parcast.text.disturbances import disturbance
from parcast.units import percent

MOST_NAMED: Final = 3  # places of runs that are left out


@dataclass(frozen=True, kw_only=True, slots=True)
class Disturbance:
    """How far others disturbed a run."""

    slowdown: float = 1.0  # times as long that processors took for the same work [1]
    waiting: float = 0.0  # share of the run that a rank waited more than in others [1]

    def __bool__(self) -> bool:
        """Whether they did."""
        return self.slowdown > 1.0 + TOLERANCE or self.waiting > WAITING


def without_disturbed(
    runs: Sequence[RunProfile],
) -> tuple[tuple[RunProfile, ...], tuple[str, ...]]:
    """Leave out disturbed runs where undisturbed ones of the same kind are at hand.

    Parameters
    ----------
    runs : sequence of RunProfile
        In any order. Runs of profiles that tell nothing of it are never left out.

    Returns
    -------
    runs : tuple of RunProfile
        That are left, in their order.
    warnings : tuple of str
        What was left out, and what was disturbed and stays.
    """
    found = _disturbances(runs)
    quiet = {_kind(run) for run, seen in zip(runs, found, strict=True) if not seen}
    kept: list[RunProfile] = []
    left: list[Disturbance] = []
    places: list[str] = []  # of the runs that are left out
    stay: list[Disturbance] = []
    for run, seen in zip(runs, found, strict=True):
        if not seen:
            kept.append(run)
        elif _kind(run) in quiet:
            left.append(seen)
            places.append(run.place)
        else:
            kept.append(run)
            stay.append(seen)
    warnings = []
    if left:
        warnings.append(
            f"{len(left)} of {len(runs)} runs were disturbed and are left out: "
            f"{_words(left)}. Others of the same processors and size were less. They are "
            f"{_listed(places)}."
        )
    if stay:
        warnings.append(
            f"{len(stay)} of {len(runs)} runs were disturbed: {_words(stay)}. No "
            "other run of the same processors and size was better, so that they count. Repeat "
            "them at a quieter time."
        )
    waited = [share for run in kept if (share := _waiting(run) or 0.0) > WAITING]
    if waited:
        warnings.append(
            f"In {len(waited)} of {len(kept)} runs that count, ranks waited for their core for up "
            f"to {percent(max(waited))} of the time: they share cores, or others use them. Wall "
            "times hold that, processor times do not."
        )
    return tuple(kept), tuple(warnings)


def _disturbances(runs: Sequence[RunProfile]) -> list[Disturbance]:
    """Compare every run with the others on as many ranks."""
    slowest, waiting = [_slowest(run) for run in runs], [_waiting(run) for run in runs]
    quantum: dict[tuple[str, int], float] = {}
    least_waiting: dict[tuple[object, ...], float] = {}
    for run, of_hosts, share in zip(runs, slowest, waiting, strict=True):
        for host, taken in of_hosts.items():
            quantum[host, run.p] = min(taken, quantum.get((host, run.p), taken))
        if share is not None:
            least_waiting[_kind(run)] = min(share, least_waiting.get(_kind(run), share))
    return [
        Disturbance(
            slowdown=max((x / quantum[host, run.p] for host, x in of_hosts.items()), default=1.0),
            waiting=0.0 if share is None else share - least_waiting[_kind(run)],
        )
        for run, of_hosts, share in zip(runs, slowest, waiting, strict=True)
    ]


def _words(disturbances: Sequence[Disturbance]) -> str:
    """Say the worst of some disturbances."""
    most = max(seen.slowdown for seen in disturbances)
    waiting = max(seen.waiting for seen in disturbances)
    more = " more than in others" if waiting > WAITING else ""
    return disturbance(most, waiting) + more


def _listed(places: Sequence[str]) -> str:
    """Name the first places, and how many more there are."""
    more = len(places) - MOST_NAMED
    return "; ".join(places[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _slowest(run: RunProfile) -> Mapping[str, float]:
    """Slowest quantum of the ranks on each host that timed any. [s]."""
    slowest: dict[str, float] = {}
    for rank in run.ranks:
        if rank.quanta:
            slowest[rank.host] = max(*rank.quanta, slowest.get(rank.host, 0.0))
    return slowest


def _waiting(run: RunProfile) -> float | None:
    """Share of the run that a rank waited for its core, of the one that waited most [1].

    None where no rank can tell; `OWN` seconds are for what parcast does itself.
    """
    shares = [
        max(rank.waited - OWN, 0.0) / rank.span
        for rank in run.ranks
        if rank.waited is not None and rank.span > 0
    ]
    return max(shares, default=None)


def _kind(run: RunProfile) -> tuple[object, ...]:
    """Give what repetitions of a run share."""
    return (run.program, run.p, *sorted(run.parameters.items()))
