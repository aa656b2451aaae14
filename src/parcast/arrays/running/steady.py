"""Rounds of runs in which the machine was about equally fast: its speed may change in seconds.

How fast it was in a round is the median, over the requests of the round, of their times over what
these usually take. All of them are in every round, so that none of them decides alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf, log
from statistics import median
from typing import Final

from parcast.arrays.running.observation import Observed, RoundId

CHANGE: Final = 0.1  # of the times of requests, above which the machine has changed [1] [D]


def speeds(runs: Sequence[Observed], usual: Mapping[int, float]) -> dict[RoundId, float]:
    """Logarithm of how much longer than usual, by place [s], the requests of each round took.

    Infinite for a round that was cut off before all of these requests were run.
    """
    made = Counter(run.round_id for run in runs)
    found = _speeds(runs, usual)
    return {each: x if made[each] == len(usual) else inf for each, x in found.items()}


def is_steady(speed: float) -> bool:
    """Whether requests took up to 10 % longer or shorter than usual."""
    return abs(speed) <= log(1 + CHANGE)


def is_centered(steady: Sequence[float]) -> bool:
    """Whether they took up to 5 % longer or shorter in the median of some rounds."""
    return bool(steady) and abs(median(steady)) <= log(1 + CHANGE / 2)


def largest_steady_set(runs: Sequence[Observed]) -> list[Observed]:
    """Runs of the rounds that differ by up to 10 % from one of them: as many rounds as possible.

    Of equally many those are taken which are around a later round.
    """
    times = defaultdict[int, list[float]](list)
    for run in runs:
        times[run.request].append(run.time)
    found = _speeds(runs, {place: median(own) for place, own in times.items()})
    near = {
        each: {other for other, x in found.items() if is_steady(x - speed)}
        for each, speed in found.items()
    }
    center = max(near, key=lambda each: (len(near[each]), each))
    return [run for run in runs if run.round_id in near[center]]


def _speeds(runs: Iterable[Observed], usual: Mapping[int, float]) -> dict[RoundId, float]:
    """Logarithm of how much longer than usual the requests of each round took."""
    ratios = defaultdict[RoundId, list[float]](list)
    for run in runs:
        ratios[run.round_id].append(log(run.time / usual[run.request]))
    return {each: median(own) for each, own in ratios.items()}
