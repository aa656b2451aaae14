"""Rounds of runs in which the machine was equally fast: what it can do changes within a minute.

How fast it was in a round is the median, over the requests of the round, of their times over what
these usually take. All of them are in every round, so that none of them decides alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log
from statistics import median
from typing import Final

from parcast.arrays.running.observation import Observed, Turn

CHANGE: Final = 0.1  # of the times of requests, above which the machine is another one [1] [D]


def changed_turns(runs: Iterable[Observed], usual: Mapping[int, float]) -> set[Turn]:
    """Rounds in which requests took over 10 % longer or shorter than usual, by place [s]."""
    return {turn for turn, speed in _speeds(runs, usual).items() if abs(speed) > log(1 + CHANGE)}


def steadiest(runs: Sequence[Observed]) -> list[Observed]:
    """Runs of the rounds that differ by up to 10 % from one of them: as many rounds as possible.

    Of equally many those are taken which are around a later round.
    """
    times = defaultdict[int, list[float]](list)
    for run in runs:
        times[run.request].append(run.time)
    speeds = _speeds(runs, {place: median(own) for place, own in times.items()})
    near = {
        turn: {other for other, x in speeds.items() if abs(x - speed) <= log(1 + CHANGE)}
        for turn, speed in speeds.items()
    }
    best = max(near, key=lambda turn: (len(near[turn]), turn))
    return [run for run in runs if run.turn in near[best]]


def _speeds(runs: Iterable[Observed], usual: Mapping[int, float]) -> dict[Turn, float]:
    """Logarithm of how much longer than usual the requests of each round took."""
    ratios = defaultdict[Turn, list[float]](list)
    for run in runs:
        ratios[run.turn].append(log(run.time / usual[run.request]))
    return {turn: median(own) for turn, own in ratios.items()}
