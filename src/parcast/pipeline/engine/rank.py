"""A rank of a run: it works, and moves messages on while it works.

Only tasks, merges and other functions of the user run in the main thread; everything else, what
comes in and what is sent away, is done by turns of the event loop: between items, and in another
thread while a task takes long.
"""

import sys
import threading
import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from parcast.errors import FAILURES, ParcastError, RunFailed, cause_of, one_line
from parcast.mpi.loop import EventLoop
from parcast.mpi.messages import Channel, Message
from parcast.mpi.payload import EMPTY, size_of
from parcast.pipeline.engine.coordinator import Input, TaskBlock
from parcast.pipeline.engine.desk import WorkPlace, span
from parcast.pipeline.engine.failures import calling, portable_failure, unsendable
from parcast.pipeline.engine.job import Job, Reduction
from parcast.pipeline.engine.limits import Alarm, Limit, TimeUp, Turn
from parcast.pipeline.engine.recording import Lap, Notes
from parcast.pipeline.engine.root import Root
from parcast.pipeline.engine.store import ValueStore
from parcast.pipeline.engine.tree import Node
from parcast.pipeline.engine.working import BlockWork, parcel

OFTEN: Final = 0.002  # between items, messages are looked after so often [s]
SELDOM: Final = 0.02  # by the other thread, during a task [s]
LAST_WORDS: Final = 0.2  # until mpiexec, which is about to end, has passed a line on [s]
GRACE: Final = 3.0  # for a task that runs when the run fails [s]
IDLE: Final = 0.3  # for ranks in a task to say first that the time is up, and in which one [s]
LATE: Final = 1.0  # for a main thread to be interrupted by its alarm [s]
LEAVING: Final = 0.25  # of the memory for results, for those on their way to a rank [1]
FETCHING: Final = 0.005  # at a time, before messages are looked after [s]


@dataclass(slots=True)
class Merging:
    """A merge that waits for its inputs."""

    node: Node
    inputs: tuple[Input, ...]


@dataclass(slots=True)
class Waiting:
    """What the main thread has to do, by kind."""

    blocks: deque[tuple[TaskBlock, tuple[int, ...], Sequence[Any]]] = field(default_factory=deque)
    merges: deque[Merging] = field(default_factory=deque)
    deliveries: deque[tuple[Any, ...]] = field(default_factory=deque)
    reductions: deque[Reduction] = field(default_factory=deque)
    # Of the static schedule: the step, what must be here, and what is done then.
    steps: deque[tuple[float, tuple[Node, ...], Callable[[], None]]] = field(default_factory=deque)


@dataclass(slots=True)
class ArrivedShards:
    """The shards of a reduction that have arrived."""

    stop: int
    values: dict[int, Any] = field(default_factory=dict)


class EngineRank:
    """What this rank has, and what it does."""

    def __init__(
        self,
        job: Job,
        channel: Channel,
        store: ValueStore,
        *,
        root: Root | None = None,
        server: Callable[[Reduction], Any] | None = None,
        served: int = 0,
        place: WorkPlace | None = None,
    ) -> None:
        """Begin on a rank; rank 0 has the root, and that of the server stage what it calls.

        `served` is the number of items whose reductions an interrupted run has delivered. What the
        rank works on is noted in `place`.
        """
        self._job, self._channel, self._store, self._root = job, channel, store, root
        self._server = server
        self._turn = Turn()
        self._limit = Limit(job.time_limit, job.name)
        self._alarm = Alarm(self._limit, self._turn, timeout=job.timeout)
        self._place = place or WorkPlace()
        self.loop = EventLoop(
            channel,
            lock=self._turn,
            meanwhile=self._attend,
            every=SELDOM,
            crashed=lambda crash: self._refuse(self._refusal(crash)),
        )
        self.loop.roles.append(self)
        self._is_static = job.schedule == "source"
        self._where = f" on rank {channel.rank}" if channel.size > 1 else ""
        self._work = BlockWork(
            job, self._alarm, place=self._place, where=self._where, pulse=self._pulse
        )
        self._waiting = Waiting()
        self._incomplete: dict[Node, Merging] = {}
        self._promised: dict[Node, tuple[Input, int]] = {}  # sent when they are here
        self._is_granted = False  # rank 0 has a block that is not among those that wait yet
        self._outgoing: deque[tuple[Input, int]] = deque()  # values, and ranks that want them
        others = max(channel.size - 1, 1)
        self._most_leaving = inf if job.memory is None else LEAVING * job.memory / others  # [B]
        self._parts: dict[
            int, ArrivedShards
        ] = {}  # of reductions that are not whole, by first item
        self._served = served  # items whose reductions were passed on, in their order
        self._fetching = threading.Lock()  # items, in one thread at a time
        self._block_time = SELDOM  # of the last block [s]
        self._fetch_time = 0.0  # spent on items since then [s]
        self._has_refused = False  # to go on, and waits for rank 0 to end the run
        self._heard: dict[str, Callable[..., None]] = {
            "work": self._on_work,
            "combine": self._on_combine,
            "value": self._on_value,
            "send": self._on_send,
            "deliver": self._on_deliver,
            "reduction": self._on_reduction,
            "save": self._on_save,
            "load": self._on_load,
            "refused": lambda _, refusal: self._stop(refusal),
            "quit": lambda *_: None,  # the loop has heard it
        }
        self.notes = Notes(channel.rank, job.is_traced)

    def run(self) -> None:
        """Work until the run is over; what failed is raised, on every rank."""
        try:
            with self._alarm:
                while not self.loop.has_quit:
                    self._turn_over()
                self._raise()
        except TimeUp:  # between two pieces of work
            if not self._limit.is_over:  # that of a run which this one is in
                raise
            failure = self._limit.failure()
            self._refuse(failure)
            raise failure from None
        except BaseException as crash:
            if crash is not self.loop.failure and not self._has_refused:
                self._refuse(self._refusal(crash))
            raise
        finally:
            self.loop.failed_at = inf  # no task runs that would have to be ended
            self.loop.drain(GRACE)

    def _turn_over(self) -> None:
        """Look after messages, and do one piece of work if there is one."""
        loop = self.loop
        if loop.turn():
            loop.stir()
        self._raise()
        try:
            self._require_time(IDLE)
            self._turn.may_be_interrupted = True
            is_busy = not self._has_refused and self._step()
            self._turn.may_be_interrupted = False
            if is_busy:
                loop.stir()
            else:
                loop.rest()
        except TimeUp:
            if not self._limit.is_over:
                raise
            self._alarm.stop()
            self._time_is_up()
        except ParcastError as refusal:  # rank 0 tells all, this one as well
            self._refuse(refusal)
        finally:
            self._turn.may_be_interrupted = False

    def _require_time(self, patience: float = 0.0) -> None:
        """Interrupt the main thread at the limit of the run, if no alarm has done it before."""
        if time.monotonic() > self._limit.end + patience and not self._has_refused:
            raise TimeUp

    def _time_is_up(self) -> None:
        """End the run at its limit, and say what this rank was doing."""
        place = str(self._place)
        self._refuse(self._limit.failure([f"{place}{self._where}"] if place else []))

    def _refusal(self, crash: BaseException) -> ParcastError:
        if isinstance(crash, ParcastError):
            return crash
        return RunFailed(f"Rank {self._channel.rank} ended: {cause_of(crash).rstrip('.')}.")

    def _raise(self) -> None:
        if self.loop.failure is not None:
            raise self.loop.failure

    def _pulse(self) -> None:
        """Look after messages between items, if that is due."""
        if time.perf_counter() - self.loop.turned > OFTEN:
            self.loop.turn()
            self._require_time()

    # ---- the other side of the lock: messages

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do; runs end when rank 0 says so."""
        return self.loop.has_quit

    def _attend(self) -> bool:
        """Look after messages from the other thread, if the main thread has not for a while."""
        loop = self.loop
        if loop.crash is None and time.perf_counter() - loop.turned >= SELDOM:
            self._fetch_meanwhile()
            loop.turn()
        if time.monotonic() > self._limit.end + LATE and not self._has_refused:
            self._time_is_up()  # the main thread is in what no alarm interrupts
        if time.monotonic() - loop.failed_at > GRACE:
            self._abort()
        return False

    def advance(self) -> bool:
        """Send what follows from what has arrived."""
        self._send_values()
        if self._root is not None and self.loop.failure is None:
            self._follow()
        return False

    def _follow(self) -> None:
        assert self._root is not None
        try:
            for target, content, value in self._root.orders():
                self._order(target, content, value)
        except ParcastError as refusal:
            self._stop(refusal)

    def _order(self, target: int, content: tuple[Any, ...], value: Any) -> None:
        """Send an order; where items fail to be sent does not depend on the rank that has them."""
        if content[0] == "work":
            self._is_granted |= target == self._channel.rank
            if self._channel.size > 1:
                value = [parcel(i, item) for i, item in enumerate(value, start=content[1].first)]
        self._channel.send(target, content, value)

    def hear(self, message: Message) -> bool:
        """Do what a message says, or note it for the main thread."""
        kind, *facts = message.content
        if kind in self._heard:
            self._heard[kind](message, *facts)
            return True
        assert self._root is not None
        try:
            self._root.hear(message.source, kind, facts)
        except ParcastError as refusal:
            self._stop(refusal)
        return True

    def _on_work(self, message: Message, block: TaskBlock, shards: tuple[int, ...]) -> None:
        self._is_granted = False
        if self._is_static:
            step = partial(self._run_block, block, shards, message.value)
            self._in_order(block.node.level, (), step)
        else:
            self._waiting.blocks.append((block, shards, message.value))

    def _on_combine(self, _: Message, node: Node, inputs: tuple[Input, ...]) -> None:
        merging = Merging(node, inputs)
        if self._is_static:
            names = tuple(x.name for x in inputs)
            self._in_order(node.level, names, partial(self._merge, merging))
        else:
            self._incomplete[node] = merging
            self._ready()

    def _on_deliver(self, _: Message, *facts: Any) -> None:
        if self._is_static:
            self._in_order(facts[0].level + 0.5, (facts[0],), partial(self._deliver, *facts))
        else:
            self._waiting.deliveries.append(facts)

    def _in_order(self, step: float, names: tuple[Node, ...], run: Callable[[], None]) -> None:
        """Note what a step of the static schedule does; a short message may overtake others."""
        insort(self._waiting.steps, (step, names, run), key=itemgetter(0))

    def _on_value(self, message: Message, name: Node, sent: float, first: int, stop: int) -> None:
        self.notes.message(message.source, sent, message.size, first, stop)
        self._store.put(name, message.value, (first, stop))
        self._ready()

    def _on_send(self, _: Message, item: Input, target: int) -> None:
        """Send a value to the rank that merges it: when it is here, and memory allows."""
        if item.name not in self._store:
            self._promised[item.name] = (item, target)
        else:
            self._outgoing.append((item, target))

    def _send_values(self) -> None:
        """Send values that other ranks want, no more at a time than memory allows."""
        while self._outgoing and self._channel.leaving <= self._most_leaving:
            self._send_value(*self._outgoing.popleft())

    def _send_value(self, item: Input, target: int) -> None:
        value = self._store.take(item.name)
        content = ("value", item.name, time.perf_counter(), item.first, item.stop)
        size = self._sent(target, content, value, item.first, item.stop)
        self.notes.messages += 1
        self.notes.sent += size

    def _on_save(self, _: Message, names: list[tuple[Node, Path]]) -> None:
        """Write values to files of a checkpoint; those that are gone are left out."""
        there = [each for each in names if each[0] in self._store]
        try:
            saved = [(name, self._store.save(name, path)) for name, path in there]
        except ParcastError as failure:
            self._refuse(failure)
        else:
            self._channel.send(0, ("saved", saved))

    def _on_load(self, _: Message, files: Sequence[tuple[Any, ...]]) -> None:
        for each in files:
            self._store.adopt(*each)

    def _ready(self) -> None:
        """Pass merges on that have all their inputs."""
        for node, merging in list(self._incomplete.items()):
            if all(x.name in self._store for x in merging.inputs):
                self._waiting.merges.append(self._incomplete.pop(node))

    def _sent(
        self, target: int, content: tuple[Any, ...], value: Any, first: int, stop: int
    ) -> int:
        try:
            return self._channel.send(target, content, value)
        except FAILURES as error:
            result = f"The result of {span(first, stop)} cannot be sent{self._where}"
            self._refuse(RunFailed(f"{result}: {unsendable(error)}."))
            return 0

    def _on_reduction(self, message: Message, shard: int, first: int, stop: int) -> None:
        """Take a shard of a completed reduction, and pass on those that are whole."""
        parts = self._parts.setdefault(first, ArrivedShards(stop))
        parts.values[shard] = message.value
        count = self._job.shards
        while (whole := self._parts.get(self._served)) and len(whole.values) == count:
            del self._parts[self._served]
            values = [whole.values[shard] for shard in range(count)]
            given = values if count > 1 else values[0]
            self._waiting.reductions.append(Reduction(self._served, whole.stop, given))
            if whole.stop == self._served:
                return
            self._served = whole.stop

    def _refuse(self, refusal: ParcastError) -> None:
        """End the run: tell all ranks, or have rank 0 tell them."""
        self._has_refused = True
        refusal = portable_failure(refusal)
        with self._turn:
            if self._root is None:
                self._channel.send(0, ("refused", refusal))
            else:
                self._stop(refusal)

    def _stop(self, refusal: ParcastError) -> None:
        """Tell all ranks, from rank 0, that the run has failed."""
        assert self._root is not None
        if self.loop.failure is not None:
            return
        self.loop.quit(refusal)
        told = portable_failure(refusal)
        self._root.report(told)
        for target in range(1, self._channel.size):
            self._channel.send(target, ("quit", told))

    def _abort(self) -> None:
        """End all ranks, as this one is in a task that does not end."""
        from mpi4py import MPI

        place = one_line(str(self._place)) or "a task"
        print(  # noqa: T201 - nothing can be raised: the main thread is busy
            f"parcast: rank {self._channel.rank} was stopped while it worked on {place}: "
            f"{self.loop.failure or self.loop.crash}",
            file=sys.stderr,
            flush=True,
        )
        time.sleep(LAST_WORDS)
        MPI.COMM_WORLD.Abort(1)

    # ---- the main thread: functions of the user

    def _step(self) -> bool:
        """Do one piece of work; tell whether there was one."""
        waiting = self._waiting
        if waiting.steps and all(name in self._store for name in waiting.steps[0][1]):
            waiting.steps.popleft()[2]()
        elif waiting.deliveries:  # before merges, as they free memory
            self._deliver(*waiting.deliveries.popleft())
        elif waiting.merges:
            self._merge(waiting.merges.popleft())
        elif waiting.reductions:
            self._serve(waiting.reductions.popleft())
        elif self._fetches_first and self._fetch():
            pass
        elif waiting.blocks:
            self._run_block(*waiting.blocks.popleft())
        else:
            return False
        return True

    @property
    def _fetches_first(self) -> bool:
        """Whether rank 0 fetches items before it runs a block, so that the others have some."""
        if self._root is None or not (self._waiting.blocks or self._is_granted):
            return True
        is_next = self._fetch_time < self._block_time
        return is_next and not self._root.items.may_pause(self._block_time)

    def _fetch(self) -> bool:
        """Fetch items for a moment, if more are wanted; tell whether there were.

        Where items come slowly, blocks of this rank have their turn in between.
        """
        root = self._root
        if root is None:
            return False
        with self._turn:
            wanted = root.wanted()
        if wanted is None:
            return False
        with self._fetching, Lap() as lap:
            before = root.items.fetched
            root.items.fetch(
                wanted,
                patience=FETCHING,
                is_needed=root.coordinator.is_needed,
                is_alone=self._channel.size == 1,
            )
        self._fetch_time += lap.seconds
        self.notes.fetch(root.items.fetched - before, lap)
        return True

    def _fetch_meanwhile(self) -> None:
        """Fetch items in the other thread, so that a long task leaves no rank without."""
        root = self._root
        if root is None or not self._fetching.acquire(blocking=False):
            return
        try:
            with self._turn:
                wanted = root.wanted()
            if wanted is not None:
                before = root.items.fetched
                with Lap() as lap:
                    root.items.fetch_ready(wanted, is_needed=root.coordinator.is_needed)
                self.notes.fetch(root.items.fetched - before, lap)
        finally:
            self._fetching.release()

    def _run_block(self, block: TaskBlock, shards: tuple[int, ...], items: Sequence[Any]) -> None:
        with Lap() as lap:
            done = self._work.on(block, items)
        self._block_time, self._fetch_time = lap.seconds, 0.0
        self.notes.task(block.first, block.stop, lap, retried=done.retried)
        with self._turn:
            sizes: list[float | None] = [None] * self._job.shards
            for shard in shards:
                if self._is_static or done.values[shard] is not EMPTY:
                    node = block.node._replace(shard=shard)
                    items = block.first, block.stop
                    sizes[shard] = self._kept(node, done.values[shard], items)
            facts = ("done", block, tuple(sizes), lap.seconds, done.skipped)
            self._channel.send(0, facts)

    def _merge(self, merging: Merging) -> None:
        """Merge values whose inputs are all here, and tell rank 0."""
        with self._turn:
            values = [self._store.take(x.name) for x in merging.inputs]
        first, stop = merging.inputs[0].first, merging.inputs[-1].stop
        with Lap() as lap:
            what = f"The merge of {span(first, stop)}"
            with calling(what, self._where), self._place.at("the merge of", first, stop):
                value = self._job.merge.of(values)
        values.clear()
        self.notes.merge(first, stop, len(merging.inputs), lap)
        with self._turn:
            size = self._kept(merging.node, value, (first, stop))
            self._channel.send(0, ("merged", merging.node, size, lap.seconds))

    def _kept(self, name: Node, value: Any, items: tuple[int, int]) -> float:
        """Keep a value of this rank, or send it where it was promised; give its size [B]."""
        size = self._store.put(name, value, items)
        if name in self._promised:
            self._on_send(Message(self._channel.rank, ()), *self._promised.pop(name))
        return size

    def _deliver(self, name: Node, shard: int, first: int, stop: int, server: int) -> None:
        """Finish a completed reduction, and send it to the server stage."""
        with self._turn:
            value = self._store.take(name)
        if self._job.finish is not None and value is not EMPTY:
            args = (value,) if self._job.shards == 1 else (value, shard)
            what = f"finish() of {span(first, stop)}"
            with calling(what, self._where), self._place.at("finish() of", first, stop):
                value = self._job.finish(*args)
        with self._turn:
            self._sent(server, ("reduction", shard, first, stop), value, first, stop)

    def _serve(self, reduction: Reduction) -> None:
        size = size_of(reduction.value) if self._job.is_traced else 0.0
        first, stop = reduction.first, reduction.stop
        with Lap() as lap:
            if self._server is not None:
                what = f"server() of {span(first, stop)}"
                with calling(what, self._where), self._place.at("server() of", first, stop):
                    self._server(reduction)
        self.notes.deliver(first, stop, size, lap)
        self.loop.send(0, "delivered", first, stop)
