"""Simulated time: events in their order, random times, channels, and cores that ranks share."""

import heapq
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Final, TypeAlias

import numpy as np

from parcast.pipeline.simulation.scenario import Scenario, SimulatedRun
from parcast.queueing.simulation.cycle import Law, sampler

Action: TypeAlias = Callable[[], object]

DRAWN: Final = 4096  # random times at once
INF: Final = float("inf")


class SimulatedClock:
    """Events in the order of their times; work of ranks that share cores equally.

    Shared work is kept by its place in a time that runs slower the more ranks are busy: that of
    each of them, processor sharing. So the next to end is at the head of a heap.
    """

    def __init__(self, cores: float | None, ranks: int) -> None:
        self.now = 0.0
        self.events = 0
        self._order = 0  # of events at the same time
        self._heap: list[tuple[float, int, Action]] = []
        self._cores = cores if cores is not None and cores < ranks else 0.0  # 0: not shared
        self._shared: list[tuple[float, int, Action]] = []
        self._served = 0.0  # what every busy rank has got since the beginning [s]

    def at(self, time: float, action: Action) -> None:
        """Let something happen at a time."""
        self._order += 1
        heapq.heappush(self._heap, (time, self._order, action))

    def work(self, seconds: float, action: Action) -> None:
        """Let something happen when a rank that works from now on has had so much time."""
        self._order += 1
        if self._cores:
            heapq.heappush(self._shared, (self._served + seconds, self._order, action))
        else:
            heapq.heappush(self._heap, (self.now + seconds, self._order, action))

    def run(self) -> None:
        """Let everything happen."""
        if self._cores:
            while self._heap or self._shared:
                self._next()
            return
        heap, pop = self._heap, heapq.heappop
        while heap:
            self.now, _, action = pop(heap)
            self.events += 1
            action()

    def _next(self) -> None:
        """Let the next event happen, where cores are shared."""
        slowed = max(len(self._shared) / self._cores, 1.0)
        ends = self.now + (self._shared[0][0] - self._served) * slowed if self._shared else INF
        self.events += 1
        if self._heap and self._heap[0][0] <= ends:
            time, _, action = heapq.heappop(self._heap)
            self._served += (time - self.now) / slowed
        else:
            self._served, _, action = heapq.heappop(self._shared)
            time = ends
        self.now = max(time, self.now)
        action()


def draws(
    mean: float, law: Law, name: str, rng: np.random.Generator, *, sums_of: int = 1
) -> Iterator[float]:
    """Give random times without end, or sums of so many of them [s]."""
    if not mean or (isinstance(law, str) and law == "none"):
        return repeat(mean * sums_of)
    return _drawn(mean, law, name, rng, sums_of)


def _drawn(
    mean: float, law: Law, name: str, rng: np.random.Generator, sums_of: int
) -> Iterator[float]:
    """Give random times without end."""
    draw = sampler(f"{name}_law", law)
    rows = max(DRAWN // sums_of, 1)
    while True:
        times = mean * draw(rng, rows * sums_of).reshape(rows, sums_of).sum(axis=1)
        yield from times.tolist()


class Times:
    """Random times of a run, each kind with random numbers of its own."""

    def __init__(self, scenario: Scenario, seed: np.random.SeedSequence) -> None:
        task, merge, message, fetch, blocks = map(np.random.default_rng, seed.spawn(5))
        self.task = draws(scenario.task, scenario.task_law, "task", task).__next__
        self.merge = draws(scenario.merge, scenario.merge_law, "merge", merge).__next__
        self.fetch = draws(scenario.fetch, scenario.fetch_law, "fetch", fetch).__next__
        mean = scenario.service if scenario.given is None else scenario.given
        self.message = draws(mean, scenario.message_law, "message", message).__next__
        b = scenario.block
        self._batch, self._fetches = b, not scenario.prefetch and scenario.fetch > 0
        parts = [draws(scenario.task, scenario.task_law, "task", blocks, sums_of=b)]
        if scenario.merge and b > 1:
            law = scenario.merge_law
            parts.append(draws(scenario.merge, law, "merge", blocks, sums_of=b - 1))
        if self._fetches:
            parts.append(draws(scenario.fetch, scenario.fetch_law, "fetch", blocks, sums_of=b))
        self._whole = parts[0].__next__ if len(parts) == 1 else map(sum, zip(*parts)).__next__  # noqa: B905 - none of them ends

    def block(self, items: int) -> float:
        """Time of the tasks and merges of a block, with fetching if that is a part of them [s]."""
        if items == self._batch:
            return self._whole()
        total = sum(self.task() for _ in range(items))
        total += sum(self.merge() for _ in range(items - 1))
        return total + (sum(self.fetch() for _ in range(items)) if self._fetches else 0.0)


class Channels:
    """Where messages with results go: channels of pipelines or links of ranks, in turn."""

    def __init__(self, scenario: Scenario, times: Times, clock: SimulatedClock) -> None:
        self._clock, self._time, self._latency = clock, times.message, scenario.latency
        ranks, groups = range(scenario.ranks), scenario.pipelines
        if scenario.given is not None:
            self._of = list(ranks)
        elif scenario.is_shared:
            self._of = [0 for _ in ranks]
        else:
            self._of = [rank * groups // scenario.ranks for rank in ranks]
        self._free = [0.0 for _ in ranks]
        self.messages, self.delay, self.busy = 0, 0.0, 0.0

    def send(self, rank: int) -> float:
        """Send a result from a rank now, and give the time at which it arrives [s]."""
        channel, now, takes = self._of[rank], self._clock.now, self._time()
        free = self._free[channel]
        end = (now if now > free else free) + takes
        self._free[channel] = end
        end += self._latency
        self.messages += 1
        self.delay += end - now
        self.busy += takes
        return end

    def ended(self, time: float, work: float, overhead: float, waiting: float) -> SimulatedRun:
        """Give a run that took some time, of which its ranks spent so much on each [s]."""
        return SimulatedRun(
            time=time,
            work=work,
            overhead=overhead,
            waiting=waiting,
            messages=self.messages,
            delay=self.delay,
            busy=self.busy,
            events=self._clock.events,
        )
