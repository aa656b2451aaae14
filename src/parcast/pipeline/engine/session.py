"""A run on the ranks that there are: everything made, worked off, and gathered on rank 0."""

import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parcast.errors import ParcastError, RunFailed, cause_of
from parcast.files.document import require_umask
from parcast.mpi.find import available_cores
from parcast.mpi.folders import failing_for, folder_for
from parcast.mpi.launched import inside_run, is_inside_run
from parcast.mpi.messages import Channel, LoneChannel, MpiChannel
from parcast.mpi.payload import EMPTY
from parcast.pipeline.engine.checkpoint import (
    NUMBER,
    RunCheckpoint,
    damaged_of,
    taken,
)
from parcast.pipeline.engine.desk import WorkPlace
from parcast.pipeline.engine.failures import portable_failure, sent_result
from parcast.pipeline.engine.items import Items
from parcast.pipeline.engine.job import Job, Reduction, ServerStage, Skipped
from parcast.pipeline.engine.limits import require_main_thread, stopped_by_interrupt
from parcast.pipeline.engine.rank import EngineRank
from parcast.pipeline.engine.recording import Notes, RankClock, Sample, clock_from
from parcast.pipeline.engine.root import Root
from parcast.pipeline.engine.store import ValueStore
from parcast.pipeline.engine.tree import Combiner

if TYPE_CHECKING:
    from mpi4py import MPI

PREFIX: Final = "parcast-pipeline-"
TRIPS: Final = 20  # to each rank, before a run and after it


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a run gave; all ranks have the same but for the value and the events of a trace."""

    value: Any = None  # of the reduction, where there is one, on rank 0
    items: int = 0
    resumed_items: int = 0  # of these, those of an interrupted run
    is_of_two_codes: bool = False  # the job file has changed since that run
    damaged: tuple[tuple[int, int], ...] = ()  # spans of items whose saved results were not used
    retried: int = 0  # attempts at items whose task had failed
    seconds: float = 0.0  # wall time of the slowest rank
    reductions: int = 0
    skipped: tuple[Skipped, ...] = ()
    was_stopped: bool = False  # by an interrupt, before the items ended
    notes: tuple[Notes, ...] = ()  # of each rank
    begun: float = 0.0  # on the clock of rank 0 [s]
    clocks: tuple[RankClock, ...] = ()  # of each rank
    hosts: tuple[str, ...] = ()  # of each rank
    cores: int = 1  # that the ranks may use, together


@dataclass(slots=True)
class Served:
    """Passes completed reductions on, and keeps the value where there is only one.

    The static schedule makes several of them, which are merged here if nobody takes them.
    """

    job: Job
    call: ServerStage | None
    value: Any = None
    total: Combiner[Any] | None = None

    def __call__(self, reduction: Reduction) -> None:
        """Take a reduction."""
        if self.call is not None:
            self.call(Reduction(reduction.first, reduction.stop, self._plain(reduction.value)))
        if self.job.schedule == "source":
            if self.call is None:
                self.total = self.total or Combiner(self.job.merge.of, self.job.fan_in)
                self.total.add(reduction.value)
        elif self.job.every is None:
            self.value = reduction.value

    def result(self) -> Any:
        """Value of the run."""
        return self._plain(self.value if self.total is None else self.total.total())

    def _plain(self, value: Any) -> Any:
        """Give the result of no item for what is empty."""
        if self.job.shards > 1 and isinstance(value, list):
            return [copy(self.job.zero) if part is EMPTY else part for part in value]
        return copy(self.job.zero) if value is EMPTY else value


def run_here(
    job: Job,
    items: Iterable[Any],
    *,
    comm: "MPI.Intracomm | None" = None,
    progress: Callable[[Root], object] | None = None,
    report: Callable[[ParcastError], object] = lambda _: None,
    server: ServerStage | None = None,
    place: WorkPlace | None = None,
) -> Outcome:
    """Run a job on all ranks of a communicator, each of which calls this; None is one rank.

    `items`, `progress`, `report` and `server`, which takes the place of that of the job, are those
    of rank 0. What this rank works on is noted in `place`.
    """
    with ExitStack() as stack:
        channel: Channel = LoneChannel()
        own, is_inner = None, is_inside_run()
        if comm is not None and comm.Get_size() > 1:
            own = comm.Dup()
            channel = MpiChannel(own, sent_result)
        stack.enter_context(inside_run(on_ranks=own is not None))
        is_root = channel.rank == 0
        serves = channel.rank == (job.server_rank or 0)
        served = Served(job, server or job.server) if serves else None
        root = None
        with agreed(own):
            require_main_thread(job.timeout)
            store = stack.enter_context(_store(job))
            if is_root:
                source = Items(items)
                checkpoint = stack.enter_context(_checkpoint(job, source.total))
                root = Root(
                    job, source, channel.size, checkpoint, progress=progress, report=report
                )
        delivered = _resumed(job, root, own)
        with agreed(own):
            if served is not None and served.call is not None:
                served.call.resume(delivered)
        done = delivered * (job.every or 0)
        rank = EngineRank(job, channel, store, root=root, server=served, served=done, place=place)
        if not is_inner:  # else Ctrl-C ends the items of the outer run
            stack.enter_context(stopped_by_interrupt(root.items.interrupt if root else None))
        trips = _round_trips(own) if own is not None and job.is_traced else []
        begun = perf_counter()
        with ExitStack() as attended:
            if own is not None and channel.may_use_threads:
                rank.loop.turn_meanwhile()
                attended.callback(rank.loop.end_thread)
            rank.run()
        share = ShareOfRank(rank.notes, perf_counter() - begun, platform.node(), available_cores())
        shares = [share] if own is None else own.gather(share)
        last = _round_trips(own) if own is not None and job.is_traced else []
        outcome = Outcome()
        with agreed(own):
            if root is not None and shares is not None:
                value = served.result() if served is not None else None
                clocks = _clocks(shares, trips, last) if job.is_traced else ()
                outcome = _outcome(root, shares, value=value, begun=begun, clocks=clocks)
        if own is not None:
            facts = own.bcast(_without_value(outcome))
            own.Free()  # not after a failure: messages on their way would reach its successor
            return outcome if is_root else facts
        return outcome


def _without_value(outcome: Outcome) -> Outcome:
    """Give what all ranks get of a run: neither its value nor its events."""
    notes = tuple(replace(each, events=[]) for each in outcome.notes)
    return replace(outcome, value=None, notes=notes)


def _outcome(
    root: Root,
    shares: "Sequence[ShareOfRank]",
    *,
    value: Any,
    begun: float,
    clocks: tuple[RankClock, ...],
) -> Outcome:
    """Gather on rank 0 what the run gave, which needs its checkpoint no more."""
    if root.checkpoint is not None and not root.items.was_stopped:
        root.checkpoint.clear()
    return Outcome(
        value=value,
        items=root.done,
        resumed_items=root.done - sum(share.notes.tasks for share in shares),
        is_of_two_codes=root.checkpoint is not None and root.checkpoint.is_of_other_code,
        damaged=root.damaged,
        retried=sum(share.notes.retried for share in shares),
        seconds=max(share.seconds for share in shares),
        reductions=root.reductions,
        skipped=tuple(sorted(root.skipped, key=lambda each: each.index)),
        was_stopped=root.items.was_stopped,
        notes=tuple(share.notes for share in shares),
        begun=begun,
        clocks=clocks,
        hosts=tuple(share.host for share in shares),
        cores=len({(share.host, core) for share in shares for core in share.cores}),
    )


def _resumed(job: Job, root: Root | None, comm: "MPI.Intracomm | None") -> int:
    """Go on where an interrupted run ended, if this one is to; give the reductions delivered.

    Each rank looks at some of the files, and what is damaged is left out.
    """
    checkpoint = None if root is None else root.checkpoint
    earlier = None
    with agreed(comm):
        if checkpoint is not None:
            earlier = checkpoint.begun(resumes=job.resumes)
    if job.checkpoint is None or not job.resumes:
        return 0
    files = [] if earlier is None else earlier.files()
    if comm is None:
        damaged = damaged_of(files)
    else:
        own = comm.bcast(files)[comm.Get_rank() :: comm.Get_size()]
        damaged = [*chain.from_iterable(comm.allgather(damaged_of(own)))]
    with agreed(comm):
        if root is not None and checkpoint is not None and earlier is not None:
            checkpoint.forget(damaged)
            root.resume(earlier.without(damaged))
    delivered = 0 if root is None else root.reductions
    return delivered if comm is None else int(comm.bcast(delivered))


@contextmanager
def agreed(comm: "MPI.Intracomm | None") -> Iterator[None]:
    """Let the block fail on all ranks if it does on one, so that none waits for it.

    All ranks of the communicator must enter it.
    """
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        failure = error
    if comm is not None:
        for other in comm.allgather(None if failure is None else _sent(failure)):
            failure = failure or other
    if failure is not None:
        raise failure


def _sent(failure: Exception) -> ParcastError:
    """Give a failure that every rank can read."""
    if isinstance(failure, ParcastError):
        return portable_failure(failure)
    return RunFailed(cause_of(failure))


class ShareOfRank(NamedTuple):
    """What a rank tells of itself at the end."""

    notes: Notes
    seconds: float
    host: str
    cores: tuple[int, ...]


def _clocks(
    shares: Sequence[ShareOfRank],
    start: Sequence[Sequence[Sample]],
    end: Sequence[Sequence[Sample]],
) -> tuple[RankClock, ...]:
    """Clocks of all ranks; those on the host of rank 0 have the same monotonic clock."""
    host = shares[0].host
    others = zip(shares[1:], start, end, strict=True)
    estimated = (RankClock() if x.host == host else clock_from(a, b) for x, a, b in others)
    return (RankClock(), *estimated)


def _round_trips(comm: "MPI.Intracomm") -> list[list[Sample]]:
    """Measure round trips from rank 0 to each other rank; the others learn nothing."""
    rank, size = comm.Get_rank(), comm.Get_size()
    trips: list[list[Sample]] = []
    for other in range(1, size):
        if rank == other:
            for _ in range(TRIPS):
                comm.recv(source=0)
                comm.send(perf_counter(), 0)
        elif rank == 0:
            samples = []
            for _ in range(TRIPS):
                begun = perf_counter()
                comm.send(None, other)
                there = comm.recv(source=other)
                samples.append((begun, there, perf_counter()))
            trips.append(samples)
    comm.Barrier()  # the run begins when all clocks are known: it is timed on every rank
    return trips


@contextmanager
def folder_of(job: Job) -> Iterator[Path]:
    """Make a folder for results that do not fit into memory."""
    with ExitStack() as stack:
        with failing_for(job.directory or tempfile.gettempdir(), "the run"):
            folder = stack.enter_context(folder_for(PREFIX, job.directory))
        yield folder


@contextmanager
def _store(job: Job) -> Iterator[ValueStore]:
    """Make the store of a rank, with a folder for what does not fit into memory."""
    if job.memory is None:
        yield ValueStore(None, None)
        return
    with folder_of(job) as folder:
        yield ValueStore(folder, job.memory)


@contextmanager
def _checkpoint(job: Job, items: int | None) -> Iterator[RunCheckpoint | None]:
    """Take the checkpoint of a run, if it has one; the number of items is None if not known."""
    if job.checkpoint is None:
        yield None
        return
    signature = {
        **job.signature,
        "name": job.name,
        NUMBER: items,
        "fan_in": job.fan_in,
        "shards": job.shards,
        "every": job.every,
    }
    require_umask()
    with ExitStack() as stack:
        with failing_for(job.checkpoint, "the checkpoint"):
            job.checkpoint.mkdir(parents=True, exist_ok=True)
            stack.enter_context(taken(job.checkpoint))
        yield RunCheckpoint(job.checkpoint, job.checkpoint_every, signature)
