"""Runs that others on the machine disturbed: which they are, which of them count, what is said.

A processor that a rank has to itself does the same work in the same processor time. Where somebody
else computes on the second thread of its core, as guests of one host do, the same work takes half
as long again, and the accounts of the system, which count time and not work, do not show it. So a
fixed work quantum [1]_ is timed around and in a run. Where more than `SHARE` of the quanta took
longer than the least known of as many ranks by more than `TOLERANCE`, the run was disturbed. So it
was where a rank waited for its core for more than `WAITING` of the time, by the run delay of the
scheduler: the system had given it to another program. Neither looks at how long the run took: no
run is judged by its own time. A disturbed run counts only where too few of its kind were not.

In profiles of a program the slowest quantum of a run on a host is compared, and the waiting with
that of other runs of the same program, ranks and parameters: where ranks share cores, or have a
share of one only, they always wait, and for how long depends on what they compute.

References
----------
.. [1] M. Sottile and R. Minnich, "Analysis of microbenchmarks for performance tuning of
   clusters," IEEE Cluster 2004, pp. 371-377.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from parcast.show.warning import Rank, RankedWarning
from parcast.timings.profile import RunProfile
from parcast.units import percent
from parcast.words import disturbance, listed

OVERSUBSCRIBED_TIME: Final = (
    "oversubscribed_time"  # in place of time_s: no other reader takes it for a time
)
LEFT_OUT: Final = ("disturbed", "oversubscribed")  # status of runs that ended and do not count
USED: Final = "ok-disturbed"  # status of a run that was disturbed and counts for lack of others
TOLERANCE: Final = 0.2  # over the least, above which a quantum is a slow one [1] [D]
SHARE: Final = 0.15  # of slow quanta, above which a run was disturbed [1] [D]
WAITING: Final = 0.05  # of a run, above which somebody else had a core [1] [D]
OWN: Final = 2e-4  # waiting that may be for the second thread of the rank itself [s]
MOST_NAMED: Final = 3  # places of runs that are left out


def used_though_disturbed(count: int, runs: int) -> RankedWarning:
    """Say how many runs others disturbed that count."""
    return RankedWarning(
        f"{count} of {runs} runs {'were' if runs > 1 else 'was'} disturbed by other programs, and "
        "count for lack of others. Repeat on an idle machine.",
        kind="disturbed",
        rank=Rank.VERDICT if count == runs else Rank.SERIOUS,
    )


def name_of_time(p: int, cores: int, *, counts: bool = True) -> str:
    """Name the time of a run on p ranks in the column `metric`; `counts`: it was not disturbed.

    >>> name_of_time(2, 2), name_of_time(2, 2, counts=False), name_of_time(4, 2)
    ('time_s', 'disturbed_time', 'oversubscribed_time')
    """
    if p > cores:
        return OVERSUBSCRIBED_TIME
    return "time_s" if counts else "disturbed_time"


class Oversubscribed:
    """Runs of a table that are left out, as there were more ranks than cores.

    Ranks that take turns on a core show no speedup, whatever the program does. Hardware threads
    count as cores, as the system counts them.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()  # by p, as it is written

    def look_at(self, metrics: Sequence[str], p: Sequence[str]) -> None:
        """Take in the metric and the p of some rows."""
        self._counts.update(
            x.strip()
            for metric, x in zip(metrics, p, strict=True)
            if metric.strip() == OVERSUBSCRIBED_TIME
        )

    @property
    def notes(self) -> list[str]:
        """What a reader of the table must know."""
        runs = self._counts.total()
        if not runs:
            return []
        were = f"{runs} runs were" if runs > 1 else "1 run was"
        return [
            f"{were} left out: more ranks than cores (p = {listed(self._counts)}), so that ranks "
            "took turns on a core"
        ]


def slowdown(quanta: Sequence[float], least: float) -> float:
    """How much longer quanta [s] of a run took than the least, all but a share of `SHARE`. [1].

    >>> slowdown((1.0, 1.5), 1.0), slowdown([1.5] + [1.25] * 20, 1.0), slowdown((), 1.0)
    (1.5, 1.25, 1.0)
    """
    if not quanta:
        return 1.0
    return sorted(quanta)[-1 - int(SHARE * len(quanta))] / least


def is_disturbed(quanta: Sequence[float], least: float, waiting: float = 0.0) -> bool:
    """Whether a run was, by its quanta [s] and the share of it that a rank waited for its core."""
    return waiting > WAITING or slowdown(quanta, least) > 1.0 + TOLERANCE


def least_quantum(of_runs: Iterable[Sequence[float]]) -> float | None:
    """Work quantum of quiet processors, of runs on as many ranks: the least median. [s].

    None where no run has any, or the clock does not show them.
    """
    least = min((median(quanta) for quanta in of_runs if quanta), default=0.0)
    return least if least > 0 else None


def counting(kinds: Sequence[Hashable], quiet: Sequence[bool]) -> list[bool]:
    """Whether each run counts: quiet ones, and all of a kind of which none is.

    >>> counting(["a", "a", "b"], [True, False, False])
    [True, False, True]
    """
    known = {kind for kind, is_quiet in zip(kinds, quiet, strict=True) if is_quiet}
    return [is_quiet or kind not in known for kind, is_quiet in zip(kinds, quiet, strict=True)]


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
    """Leave out disturbed runs where undisturbed ones of the same kind are at hand, and say so.

    Runs of profiles that tell nothing of it are never left out.
    """
    disturbances = _disturbances(runs)
    counts = counting([_kind(run) for run in runs], [not seen for seen in disturbances])
    both = list(zip(runs, disturbances, counts, strict=True))
    kept = [run for run, _, is_kept in both if is_kept]
    left = [(run.place, seen) for run, seen, is_kept in both if not is_kept]
    stay = [seen for _, seen, is_kept in both if is_kept and seen]
    warnings = []
    if left:
        places = [place for place, _ in left]
        more = len(places) - MOST_NAMED
        listed = "; ".join(places[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
        warnings.append(
            f"{len(left)} of {len(runs)} runs were disturbed by other processes and are left "
            f"out: {_words([seen for _, seen in left])}. Other runs with the same parameters "
            f"were not. Left out: {listed}."
        )
    if stay:
        warnings.append(
            RankedWarning(
                f"{len(stay)} of {len(runs)} runs were disturbed by other processes: "
                f"{_words(stay)}. They are used, as no other run with the same parameters is "
                "better. Repeat them on an idle machine.",
                rank=Rank.SERIOUS,
            )
        )
    waited = [share for run in kept if (share := _waiting(run) or 0.0) > WAITING]
    if waited:
        warnings.append(
            f"In {len(waited)} of {len(kept)} runs, ranks waited for a core for up to "
            f"{percent(max(waited))} of the time: they share cores with each other or with other "
            "processes. Wall times include this, processor times do not."
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
    most = max(seen.slowdown for seen in disturbances)
    waiting = max(seen.waiting for seen in disturbances)
    more = " more than in other runs" if waiting > WAITING else ""
    return disturbance(most, waiting) + more


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
