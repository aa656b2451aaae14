"""The published schedule in simulated time: each rank repeats its steps.

A rank that sends goes on at once, or when the message has arrived if ranks wait for their
messages; one that receives waits in any case. As in the engine no rank is more than 2 lg P + 1
steps ahead of another one of its pipeline. Items that are fetched ahead are there one after the
other. The delivery of a cycle takes no time. One processor alone works on one block after the
other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, repeat
from typing import Final

import numpy as np

from parcast.pipeline.published.schedule import (
    FIRST_TAKE,
    Step,
    dealt,
    label,
    last_step,
    share,
    steps,
)
from parcast.pipeline.simulation.clock import Channels, SimulatedClock, Times
from parcast.pipeline.simulation.scenario import Scenario, SimulatedRun

NEVER: Final = -1.0


@dataclass(slots=True)
class Group:
    """The ranks of a pipeline, none of which is far ahead of the others."""

    ahead: int  # steps that a rank may be ahead of the last one
    ranks: list["StaticRank"] = field(default_factory=list)
    behind: int = FIRST_TAKE  # first step that not all ranks have done
    done: dict[int, int] = field(default_factory=dict)  # how many have done a later one
    held: list["StaticRank"] = field(default_factory=list)  # ranks that are too far ahead


@dataclass(slots=True)
class StaticRank:
    """Where a rank is in its schedule."""

    group: Group
    number: int  # of all ranks
    steps: tuple[Step, ...]  # of a cycle
    labels: tuple[int, ...]  # blocks that it takes in the steps of the first cycle
    pipeline: int
    blocks: int  # of the pipeline
    last: int  # step
    step: int = FIRST_TAKE
    items: int = 0  # in its result
    inbox: dict[int, tuple[float, int]] = field(default_factory=dict)  # arrival and items, by step
    waits: float = NEVER  # since when, for a message [s]


class StaticSimulation:
    """One run."""

    def __init__(self, scenario: Scenario, seed: np.random.SeedSequence) -> None:
        self._scenario = scenario
        self._times = Times(scenario, seed)
        self._clock = SimulatedClock(scenario.cores, scenario.ranks)
        self._channels = Channels(scenario, self._times, self._clock)
        self._half = 0.5 * scenario.overhead
        self._work = self._overhead = self._waiting = self._end = 0.0
        self._there: list[float] = []  # when blocks have been fetched [s]
        size = scenario.processors
        self._is_alone = size == 1
        fetches = scenario.prefetch and scenario.fetch > 0 and not self._is_alone
        self._ready = self._fetched() if fetches else repeat(0.0)
        self._taken = size // 2 * (size.bit_length() - 1)  # blocks of a cycle
        self._ranks: list[StaticRank] = []
        for pipeline in range(scenario.pipelines):
            group = Group(2 * size.bit_length() - 1, behind=0 if size == 1 else FIRST_TAKE)
            group.ranks = [self._rank(group, pipeline, rank) for rank in range(size)]
            self._ranks += group.ranks

    def _rank(self, group: Group, pipeline: int, rank: int) -> StaticRank:
        scenario = self._scenario
        size, of = scenario.processors, scenario.pipelines
        blocks = share(scenario.blocks, size, pipeline=pipeline, pipelines=of)
        own = steps(rank, size)
        return StaticRank(
            group=group,
            number=pipeline * size + rank,
            steps=own,
            labels=tuple(label(rank, step, size) for step in range(len(own))) if size > 1 else (),
            pipeline=pipeline,
            blocks=blocks,
            step=0 if size == 1 else FIRST_TAKE,
            last=last_step(blocks, size) if size > 1 else blocks - 1,
        )

    def run(self) -> SimulatedRun:
        """Run it."""
        size = self._scenario.processors
        for rank in self._ranks:
            if self._is_alone:
                self._begin(rank)
            else:
                self._take(rank, label(rank.number % size, FIRST_TAKE, size))
        self._clock.run()
        spent = self._work, self._overhead, self._waiting
        return self._channels.ended(self._end, *spent)

    def _fetched(self) -> Iterator[float]:
        """Give the times at which blocks have been fetched, one after the other [s]."""
        fetch, size = self._times.fetch, self._scenario.block
        return accumulate(sum(fetch() for _ in range(size)) for _ in repeat(0))

    def _take(self, rank: StaticRank, block: int) -> None:
        """Take a block, when it is there, and begin with the next step after its tasks."""
        if block >= rank.blocks:
            rank.items = 0
            self._clock.at(self._clock.now, partial(self._next, rank))
            return
        scenario = self._scenario
        size, of = scenario.processors, scenario.pipelines
        number = dealt(block, size, pipeline=rank.pipeline, pipelines=of)
        rank.items = min(scenario.block, scenario.items - number * scenario.block)
        while len(self._there) <= number:
            self._there.append(next(self._ready))
        if self._there[number] > self._clock.now:
            self._clock.at(self._there[number], partial(self._run_task, rank))
        else:
            self._run_task(rank)

    def _run_task(self, rank: StaticRank) -> None:
        seconds = self._times.block(rank.items)
        if self._is_alone:
            seconds += self._times.merge() if rank.step > 0 else 0.0
            if self._scenario.prefetch:  # there is no other rank that could do it
                seconds += sum(self._times.fetch() for _ in range(rank.items))
        self._work += seconds
        self._clock.work(seconds, partial(self._next, rank))

    def _next(self, rank: StaticRank) -> None:
        """End a step, and begin with the next one unless others are far behind."""
        group, step = rank.group, rank.step
        rank.step += 1
        done = group.done.get(step, 0) + 1
        group.done[step] = done
        if rank.step > group.behind + group.ahead:
            group.held.append(rank)
        else:
            self._begin(rank)
        while group.done.get(group.behind) == len(group.ranks):
            del group.done[group.behind]
            group.behind += 1
            held, group.held = group.held, []
            for each in held:
                if each.step > group.behind + group.ahead:
                    group.held.append(each)
                else:
                    self._begin(each)

    def _begin(self, rank: StaticRank) -> None:
        if rank.step > rank.last:
            self._end = max(self._end, self._clock.now)
        elif self._is_alone:
            self._take(rank, rank.step)
        elif rank.steps[rank.step % len(rank.steps)].kind == "merge":
            self._receive(rank)
        elif self._half and rank.items:
            self._overhead += self._half
            self._clock.work(self._half, partial(self._send, rank))
        else:
            self._send(rank)

    def _send(self, rank: StaticRank) -> None:
        """Send the result, and go on with a new block."""
        cycle, position = divmod(rank.step, len(rank.steps))
        partner = rank.steps[position].partner
        assert partner is not None
        now = self._clock.now
        arrival = self._channels.send(rank.number) if rank.items else now
        target = self._ranks[rank.number - rank.number % self._scenario.processors + partner]
        target.inbox[rank.step] = (arrival, rank.items)
        if target.waits >= 0 and target.step == rank.step:
            self._receive(target)
        block = rank.labels[position] + cycle * self._taken
        if self._scenario.waits and arrival > now:
            self._waiting += arrival - now
            self._clock.at(arrival, partial(self._take, rank, block))
        else:
            self._take(rank, block)

    def _receive(self, rank: StaticRank) -> None:
        now = self._clock.now
        if rank.step not in rank.inbox:
            rank.waits = now
            return
        arrival, items = rank.inbox.pop(rank.step)
        rank.waits = NEVER
        if arrival > now:
            self._waiting += arrival - now
            self._clock.at(arrival, partial(self._merge, rank, items))
        else:
            self._merge(rank, items)

    def _merge(self, rank: StaticRank, items: int) -> None:
        """Merge a result that has arrived."""
        position = rank.step % len(rank.steps)
        seconds = 0.0
        if items:
            seconds = self._times.merge() if rank.items else 0.0
            self._work += seconds
            self._overhead += self._half
            seconds += self._half
        rank.items = 0 if rank.steps[position].delivers else rank.items + items
        self._clock.work(seconds, partial(self._next, rank))
