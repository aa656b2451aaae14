"""The time that the rest of a run takes: the laws of both schedules, from what was measured.

The default schedule, by the law of `pipeline.law.adaptive` for the items that are left [D]::

    T = max(W/(c*e) + u*path + longest, rounds + path)
    W = sum(load) + left*T_task + joins*T_join      of tasks begun, tasks not begun, merges
    path = log_f(joins*(f - 1) + 1)*T_join
    load = T_block - (1 - cv^2)*elapsed , at least 0

T_task and T_join are the means so far of an item and of a merge with another rank's result; a
block of b items varies by cv, and `elapsed` of its time has passed: all of it counts where tasks
take the same time, none where they are exponential. c ranks have something to do, u = 1 - 1/c,
and e is the share of time in which ranks have worked so far: waiting for items and messages is in
it. `longest` and `rounds` are those of that law, with the load of each rank known.

The published schedule, by the overlapped form of `parcast.pipeline.law.formulas` [D]::

    T = k*step + lg P*T_join - elapsed

with k the steps that are left to the pipeline with most items, and `step` their mean time so far.

Plain numbers: rank 0 evaluates this during a run, and loads neither NumPy nor SciPy for it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

LEAST: Final = 1e-6  # share of time in which ranks work


@dataclass(slots=True)
class GivenLoad:
    """What a rank has been given."""

    blocks: int = 0
    items: int = 0  # in them
    since: float = 0.0  # it works on the first of them [s]


class Remaining:
    """What has been measured in a run."""

    def __init__(
        self,
        ranks: Iterable[int],
        *,
        fan_in: int = 2,
        shards: int = 1,
        every: int | None = None,
    ) -> None:
        """Begin, with the ranks that run tasks."""
        self._loads = {rank: GivenLoad() for rank in ranks}
        self._fan_in, self._shards, self._every = fan_in, shards, every
        self._begun: float | None = None  # when the first block was granted [s]
        self._latest = 0.0  # when something was done last [s]
        self._batch = 1  # items of the block granted last
        self._given = 0  # items of blocks that are not done
        self._blocks = 0  # that are done
        self._items = 0  # in them
        self._seconds = 0.0  # of them
        self._squares = 0.0  # of their times, over their items [s^2]
        self._joins = 0
        self._join_seconds = 0.0
        self._working = 1.0  # share of time in which ranks worked while items were left

    def granted(self, rank: int, items: int, now: float) -> None:
        """Hear that a rank was given a block."""
        if self._begun is None:
            self._begun = now
        load = self._loads[rank]
        if not load.blocks:
            load.since = now
        load.blocks += 1
        load.items += items
        self._given += items
        self._batch = items or self._batch

    def done(self, rank: int, items: int, seconds: float, now: float) -> None:
        """Hear that a rank has worked on a block."""
        load = self._loads[rank]
        load.blocks -= 1
        load.items -= items
        load.since = self._latest = now
        self._given -= items
        if items:
            self._blocks += 1
            self._items += items
            self._seconds += seconds
            self._squares += seconds**2 / items

    def merged(self, rank: int, seconds: float, now: float) -> None:
        """Hear that a rank has merged results."""
        self._loads[rank].since = self._latest = now
        self._joins += 1
        self._join_seconds += seconds

    @property
    def _join(self) -> float:
        """Mean time of a merge with a result of another block [s]."""
        return self._join_seconds / self._joins if self._joins else 0.0

    @property
    def _variation(self) -> float:
        """Variance of the time of a block over its mean squared, at most 1.

        That of b items has b times the variance, and so have its squares over b on average.
        """
        if self._blocks < 2 or not self._seconds:
            return 0.0
        mean = self._seconds / self._items
        variance = (self._squares - mean * self._seconds) / (self._blocks - 1)
        return min(max(variance / (mean**2 * self._batch), 0.0), 1.0)

    def adaptive(self, total: int, done: int, now: float) -> float | None:
        """Time until the end of a run of the default schedule, None if unknown [s]."""
        if not self._items or self._begun is None:
            return None
        batch, ranks = self._batch, len(self._loads)
        elapsed = [now - x.since if x.blocks else 0.0 for x in self._loads.values()]
        variation = self._variation
        # The short ones are done first: where tasks vary, those that run count as well.
        task = (self._seconds + variation * sum(elapsed)) / self._items
        loads = sorted(
            max(x.items * task - (1 - variation) * spent, 0.0)
            for x, spent in zip(self._loads.values(), elapsed, strict=True)
        )
        left = max(total - done - self._given, 0)
        if left and now > self._begun:
            worked = self._seconds + self._join_seconds + sum(elapsed)
            self._working = min(max(worked / (ranks * (now - self._begun)), LEAST), 1.0)
        more = -(-left // batch)
        joins = self._joins_left(left + self._given, more)
        busy = sum(x.blocks > 0 for x in self._loads.values()) + more
        working = min(max(busy, math.ceil(joins)), ranks)
        if not working:
            return 0.0
        own = sum(loads) + left * task + joins * self._join
        share = 1 - 1 / working
        reductions = 1 if self._every is None else max((left + self._given) / self._every, 1.0)
        path = self._levels(joins / reductions / self._shards) * self._join
        harmonic = sum(1 / i for i in range(1, min(max(busy, 1), ranks) + 1))
        longest = math.sqrt(variation) * batch * task * (harmonic - 1)
        even = own / (working * self._working) + share * path + longest
        return max(even, self._rounds(loads, left, task) + path)

    def _rounds(self, loads: list[float], left: int, task: float) -> float:
        """Time until the last block is done, by ranks with sorted loads and items left [s]."""
        if not left:
            return loads[-1]
        more, block = -(-left // self._batch), self._batch * task
        whole, rest = divmod(more - 1, len(loads))  # the last block may be a partial one
        last = loads[rest] + whole * block + (left - (more - 1) * self._batch) * task
        before = loads[rest - 1] + (whole + 1) * block if rest else 0.0
        return max(last, before, loads[-1] + whole * block)

    def _joins_left(self, items: int, more: int) -> float:
        """Merges with other blocks that are left [1]."""
        blocks = self._blocks + sum(load.blocks for load in self._loads.values()) + more
        trees = 1.0
        if self._every is not None:
            trees = max((self._items + items) / self._every, 1.0)
        whole = max(blocks - trees, 0.0) / (self._fan_in - 1) * self._shards
        return max(whole - self._joins, 0.0)

    def _levels(self, joins: float) -> float:
        """Levels of a tree with so many merges; no whole number [1]."""
        return math.log(joins * (self._fan_in - 1) + 1) / math.log(self._fan_in)

    def published(self, total: int, done: int, now: float, *, pipelines: int = 1) -> float | None:
        """Time until the end of a run of the published schedule, None if unknown [s]."""
        if not self._items or self._begun is None:
            return None
        processors = len(self._loads) // pipelines
        if processors == 1:
            work = (total - done) * (self._seconds / self._items + self._join)
            return max(work / pipelines - (now - self._latest), 0.0)
        at_once = processors * pipelines
        levels = processors.bit_length() - 1
        cycle = at_once // 2 * levels
        rounds, rest = divmod(max(total - at_once, 0), cycle)
        # The pipeline with most items has a whole cycle where others have none.
        steps = rounds * levels + min(rest / (processors // 2), levels)
        behind = (done - at_once) / (at_once // 2)
        task = self._seconds / self._items
        step = max(task, self._join)
        if behind >= 1:
            step = max(step, (self._latest - self._begun) / (1 + behind))
        rest_of_first = max(1 - done / at_once, 0.0) * task
        more = rest_of_first + (steps - max(behind, 0.0)) * step + levels * self._join
        return max(more - (now - self._latest), 0.0)
