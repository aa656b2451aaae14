"""The default schedule in simulated time: the coordinator of the engine decides.

Its orders reach a rank after the latency of the network, and so do the reports of ranks; results
take the channel as well. A rank does what the engine does first: merges, then, on rank 0, fetching
items, then blocks. As there, rank 0 fetches between two pieces of its work only.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from parcast.pipeline.engine.coordinator import Combine, Coordinator, Deliver, Order, TaskBlock
from parcast.pipeline.engine.items import SLOW
from parcast.pipeline.engine.tree import Node
from parcast.pipeline.simulation.clock import Action, Channels, SimulatedClock, Times
from parcast.pipeline.simulation.scenario import Scenario, SimulatedRun

FETCHING: Final = 0.005  # that rank 0 fetches items at a time, as in the engine [s]
SIZE: Final = 1.0  # of every result, as the coordinator sees it


@dataclass(slots=True)
class SimulatedMerge:
    """A merge that was ordered on a rank."""

    order: Combine
    remote: int  # inputs on other ranks
    missing: int  # of these, not arrived
    sent: float  # when the first of them was ordered to be sent [s]


Watch: TypeAlias = Callable[
    [float, int, TaskBlock | SimulatedMerge], object
]  # hears what a rank begins, when


@dataclass(slots=True)
class SimulatedRank:
    """What a rank does, and has to do."""

    blocks: deque[TaskBlock] = field(default_factory=deque)
    merges: deque[SimulatedMerge] = field(default_factory=deque)
    is_busy: bool = False
    since: float = 0.0  # it works, or rests [s]
    owed: float = 0.0  # time for messages, to be added to its work [s]
    until: float = 0.0  # messages occupy it, while it rests [s]


class AdaptiveSimulation:
    """One run."""

    def __init__(
        self, scenario: Scenario, seed: np.random.SeedSequence, watch: Watch | None = None
    ) -> None:
        self._scenario, self._watch = scenario, watch
        self._times = Times(scenario, seed)
        self._clock = SimulatedClock(scenario.cores, scenario.ranks)
        self._channels = Channels(scenario, self._times, self._clock)
        self._coordinator = Coordinator(
            range(scenario.ranks),
            fan_in=scenario.fan_in,
            pipelines=scenario.pipelines,
            batch=scenario.batch,
            items=scenario.items,
        )
        self._ranks = [SimulatedRank() for _ in range(scenario.ranks)]
        self._half = 0.5 * scenario.overhead
        self._fetches = scenario.prefetch and scenario.fetch > 0
        self._awake = list(range(scenario.ranks))  # ranks that may have something to do
        self._is_new = False  # whether the coordinator has heard something
        self._fetched = 0
        self._ended = self._is_slow = False
        self._work = self._overhead = self._waiting = self._end = 0.0

    def run(self) -> SimulatedRun:
        """Run it."""
        self._settle()
        self._clock.run()
        assert self._coordinator.is_over
        spent = self._work, self._overhead, self._waiting
        return self._channels.ended(self._end, *spent)

    # ---- rank 0 coordinates

    def _settle(self) -> None:
        """Post new orders, and let ranks begin that rest, until nothing changes."""
        while self._is_new or self._awake:
            if self._is_new:
                self._is_new = False
                for order in self._coordinator.orders(partial=self._is_slow):
                    self._post(order)
            awake, self._awake = self._awake, []
            for rank in awake:
                state = self._ranks[rank]
                if not state.is_busy:
                    self._begin(rank, state)

    def _post(self, order: Order) -> None:
        if isinstance(order, Combine):
            rank = order.rank
            remote = [each.rank for each in order.inputs if each.rank != rank]
            merge = SimulatedMerge(order, len(remote), len(remote), self._clock.now)
            for source in remote:
                self._tell(source, partial(self._send, source, merge))
            if not remote:
                self._tell(rank, partial(self._ready, merge))
        elif isinstance(order, Deliver):
            rank = max(order.rank, 0)
            self._tell(rank, partial(self._deliver, rank))
        else:
            if order.rank and self._half:
                self._occupy(self._ranks[0])
            self._tell(order.rank, partial(self._granted, order.rank, order.block))

    def _tell(self, rank: int, action: Action) -> None:
        """Let an order reach a rank, or a report of a rank reach rank 0."""
        latency = self._scenario.latency
        if rank == 0 or not latency:
            action()
        else:
            self._clock.at(self._clock.now + latency, partial(self._told, action))

    def _told(self, action: Action) -> None:
        """Do what a message says that has arrived."""
        action()
        self._settle()

    def _fetch(self) -> bool:
        """Let rank 0 fetch items, if more are wanted; tell whether that occupies it."""
        coordinator, items = self._coordinator, self._scenario.items
        while not self._ended and self._fetched < coordinator.wants:
            wants = coordinator.wants
            if self._fetches:
                seconds = self._fetching(wants)
                self._start(0, self._ranks[0], seconds, self._has_fetched)
                return True
            self._ended = wants > items
            self._fetched = min(wants, items)
            self._has_fetched()
        return False

    def _fetching(self, wants: int) -> float:
        """Fetch some items, as many as the engine does at a time, and give the time [s]."""
        seconds = 0.0
        self._is_slow = False
        while self._fetched < wants:
            if self._fetched == self._scenario.items:
                self._ended = True
                break
            each = self._times.fetch()
            seconds += each
            self._fetched += 1
            self._is_slow = each > SLOW
            if self._is_slow or seconds > FETCHING:
                break
        return seconds

    def _has_fetched(self) -> None:
        self._coordinator.fetched(self._fetched, ended=self._ended)
        self._is_new = True

    # ---- ranks work

    def _begin(self, rank: int, state: SimulatedRank) -> None:
        """Let a rank that rests do what comes first."""
        times = self._times
        if state.merges:
            merge = state.merges.popleft()
            seconds = times.merge()
            for _ in range(len(merge.order.inputs) - 2):
                seconds += times.merge()
            if self._watch is not None:
                self._watch(self._clock.now, rank, merge)
            if merge.remote:
                self._waiting += self._clock.now - max(state.since, merge.sent)
            action = partial(self._merged, rank, merge.order.node)
            self._start(rank, state, seconds, action, messages=merge.remote)
        elif rank == 0 and self._fetch():
            pass
        elif state.blocks:
            block = state.blocks.popleft()
            seconds = times.block(block.stop - block.first)
            if self._watch is not None:
                self._watch(self._clock.now, rank, block)
            action = partial(self._done, rank, block)
            self._start(rank, state, seconds, action, messages=min(rank, 1))

    def _start(
        self, rank: int, state: SimulatedRank, seconds: float, action: Action, *, messages: int = 0
    ) -> None:
        """Let a rank work, for which it has received so many messages."""
        now = self._clock.now
        state.is_busy, state.since = True, now
        self._work += seconds
        if self._half:
            own = messages * self._half
            self._overhead += own
            seconds += own + max(state.until - now, 0.0)
        self._clock.work(seconds, partial(self._stop, rank, state, action))

    def _stop(self, rank: int, state: SimulatedRank, action: Action) -> None:
        """End the work of a rank, when it has had the time for its messages."""
        if state.owed:
            seconds, state.owed = state.owed, 0.0
            self._clock.work(seconds, partial(self._stop, rank, state, action))
            return
        action()
        state.is_busy, state.since = False, self._clock.now
        self._awake.append(rank)
        self._settle()

    def _occupy(self, state: SimulatedRank) -> None:
        """Let a rank send a message, in the middle of its work if it has some."""
        self._overhead += self._half
        if state.is_busy:
            state.owed += self._half
        else:
            state.until = max(state.until, self._clock.now) + self._half

    def _granted(self, rank: int, block: TaskBlock) -> None:
        self._ranks[rank].blocks.append(block)
        self._awake.append(rank)

    def _done(self, rank: int, block: TaskBlock) -> None:
        seconds = self._clock.now - self._ranks[rank].since
        self._tell(rank, partial(self._hear_done, rank, block, seconds))

    def _hear_done(self, rank: int, block: TaskBlock, seconds: float) -> None:
        self._coordinator.done(rank, block, (SIZE,), seconds)
        self._is_new = True

    def _merged(self, rank: int, node: Node) -> None:
        self._tell(rank, partial(self._hear_merged, rank, node))

    def _hear_merged(self, rank: int, node: Node) -> None:
        self._coordinator.merged(rank, node, SIZE)
        self._is_new = True

    # ---- results travel

    def _send(self, source: int, merge: SimulatedMerge) -> None:
        """Let a rank send a result, which takes it some time."""
        if self._half:
            self._occupy(self._ranks[source])
            departure = self._clock.now + self._half
            self._clock.at(departure, partial(self._depart, source, merge))
        else:
            self._depart(source, merge)

    def _depart(self, source: int, merge: SimulatedMerge) -> None:
        arrival = self._channels.send(source)
        self._clock.at(arrival, partial(self._arrive, merge))

    def _arrive(self, merge: SimulatedMerge) -> None:
        merge.missing -= 1
        if not merge.missing:
            self._ready(merge)
            self._settle()

    def _ready(self, merge: SimulatedMerge) -> None:
        self._ranks[merge.order.rank].merges.append(merge)
        self._awake.append(merge.order.rank)

    def _deliver(self, rank: int) -> None:
        """Send the completed reduction to the server stage, which is on rank 0."""
        self._end = self._channels.send(rank) if rank else self._clock.now
