"""A client: it describes what it holds, and answers what servers ask of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import Box, Point
from parcast.arrays.library.checking import as_refusal
from parcast.arrays.library.distribution import Array, Held, HeldPart
from parcast.arrays.library.gathering import inside, joined
from parcast.arrays.library.schema import Operation, Stored
from parcast.errors import ParcastError, RunFailed
from parcast.mpi.loop import EventLoop, Role
from parcast.mpi.messages import Message

if TYPE_CHECKING:
    from parcast.arrays.library.plans import WritePlan


class Lost(RunFailed):
    """An earlier request to the same path has failed, and the program had not waited for it."""

    @classmethod
    def of(cls, failure: ParcastError | None) -> "Lost":
        """Say so once, however many requests were refused since."""
        if isinstance(failure, Lost):
            return failure
        return cls(f"An earlier request to the same path has failed: {failure}")


class Own(NamedTuple):
    """What a client says that it holds of an array, or wants."""

    shape: Point  # of the array
    dtype: str
    boxes: tuple[Box, ...]
    mesh: Point = ()  # of its blocks; () where it is given in boxes


@dataclass(frozen=True)
class DescribedRequest:
    """What a client says of a request, for the client master to compare."""

    operation: Operation
    path: str
    options: Mapping[str, Any]  # the same on all clients
    arrays: tuple[tuple[str, Own], ...] = ()
    refusal: ParcastError | None = None  # of this client
    storage: Mapping[str, Any] = field(default_factory=dict)  # of client 0: for the files alone


@dataclass(frozen=True, slots=True)
class Spent:
    """What a server did for a request. Times in seconds of wall time."""

    server: int
    seconds: float = 0.0  # from the schema message to the last byte
    gathering: float = 0.0  # asking clients, and waiting for their overlaps
    accessing: float = 0.0  # opening, reading and writing files
    messages: int = 0  # requests to clients
    subchunks: int = 0
    size: int = 0  # of elements [B]
    begun: float = 0.0  # on the clock of its host, `time.perf_counter` [s]


@dataclass(slots=True)
class ClientRequest:
    """A request of this client that is under way."""

    number: int
    held: Sequence[Held]  # of each array; of a read, where its elements go
    path: str = ""
    expected: int = 0  # elements that have not arrived, of a read
    targets: "Callable[[Sequence[Stored]], Sequence[Held]] | None" = None
    has_ended: bool = False
    failure: ParcastError | None = None
    spent: tuple[Spent, ...] = ()
    cleared: tuple[str, ...] = ()  # what an interrupted write had left, and what was done with it
    plan: "WritePlan | None" = None
    is_superseded: bool = False  # by a later request to the same path

    @property
    def is_done(self) -> bool:
        """Whether nothing of it is left to do."""
        return self.has_ended and (self.expected == 0 or self.failure is not None)


@dataclass
class Client(Role):
    """The role of a rank that holds elements."""

    loop: EventLoop
    master: int  # rank of the client master
    number: int  # of this client
    jobs: dict[int, ClientRequest] = field(default_factory=dict)
    has_quit: bool = False
    failure: ParcastError | None = None  # that ended all requests
    unheard: dict[int, ClientRequest] = field(
        default_factory=dict
    )  # that have failed, without a wait
    _count: int = 0

    @property
    def is_idle(self) -> bool:
        """It only answers: requests end when all leave."""
        return True

    def __post_init__(self) -> None:
        """Have what is read arrive where it belongs."""
        self.loop.rooms["give"] = self._room

    def submit(
        self, described: DescribedRequest, job_held: Sequence[Held], targets: Any = None
    ) -> ClientRequest:
        """Begin a request, which every client submits in the same order."""
        with self.loop.lock:
            job = ClientRequest(self._count, job_held, described.path, targets=targets)
            self._count += 1
            if self.has_quit:
                job.has_ended = True
                job.failure = self.failure or RunFailed(
                    "The connection to the servers is closed. Open a new one with connect()."
                )
                return job
            self.jobs[job.number] = job
            try:
                self.loop.send(self.master, "describe", job.number, self.number, described)
            except BaseException:  # it cannot be pickled
                del self.jobs[job.number]
                raise
            return job

    def unheard_of(self) -> ParcastError | None:
        """Give the first failure of a request without a `wait`."""
        return next((job.failure for job in self.unheard.values()), None)

    def lost(self, path: str) -> Lost | None:
        """Take out the first failure of a path to which nothing was written since."""
        for number, job in self.unheard.items():
            if job.path == path and not job.is_superseded:
                del self.unheard[number]
                return Lost.of(job.failure)
        return None

    def hear(self, message: Message) -> bool:
        """Take a message; tell whether it was for a client."""
        kind, *facts = message.content
        match kind:
            case "want" | "give" | "opened" | "end" if self.has_quit:
                pass  # of a request that has failed
            case "want":
                self._send(message.source, *facts)
            case "give":
                number, arrays, boxes = facts
                self._place(number, arrays, boxes, message.value)
            case "opened":
                self._open(*facts)
            case "end":
                self._end(*facts)
            case "quit":
                self._quit(*facts)
            case _:
                return False
        return True

    def _send(
        self, server: int, number: int, unit: int, arrays: Sequence[int], boxes: Sequence[Any]
    ) -> None:
        """Send the overlaps that a server wants, unless the request has failed meanwhile."""
        job = self.jobs.get(number)
        if job is None:
            return
        try:
            views = [
                _box(job.held[array].parts[part], start, count)
                for array in arrays
                for part, start, count in boxes
            ]
            self.loop.send(server, "have", number, unit, self.number, value=joined(views))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            refusal = RunFailed(f"Client {self.number} cannot send its elements: {why}.")
            self.loop.send(server, "lack", number, refusal)

    def _place(
        self, number: int, arrays: Sequence[int], boxes: Sequence[Any], value: Array
    ) -> None:
        """Put elements that a server has read where they belong; a failed request wants none."""
        job = self.jobs.get(number)
        if job is None:
            return
        begin = 0
        for array in arrays:
            for part, start, count in boxes:
                target = _box(job.held[array].parts[part], start, count)
                end = begin + target.nbytes
                given = value[begin:end].view(target.dtype).reshape(count)
                if given.ctypes.data != target.ctypes.data:  # it has arrived elsewhere
                    target[...] = given
                begin = end
                job.expected -= prod(count)
        self._forget(job)

    def _room(self, facts: tuple[Any, ...], size: int) -> memoryview | None:
        """Memory for one box that lies in a row in what is read into."""
        number, arrays, boxes = facts
        if len(arrays) != 1 or len(boxes) != 1 or number not in self.jobs:
            return None
        part, start, count = boxes[0]
        target = _box(self.jobs[number].held[arrays[0]].parts[part], start, count)
        if target.nbytes != size or not target.flags.c_contiguous:
            return None
        return target.reshape(-1).view(np.uint8).data

    def _open(self, number: int, stored: Sequence[Stored]) -> None:
        """Make room for what is read, and say which boxes are wanted."""
        job = self.jobs[number]
        assert job.targets is not None
        refusal = None
        try:
            job.held = job.targets(stored)
        except Exception as error:
            refusal = as_refusal(error, "Making room for the arrays: ")
        job.expected = sum(part.box.size for held in job.held for part in held.parts)
        wanted = owned((each.name for each in stored), job.held)
        described = DescribedRequest("read", "", {}, wanted, refusal)
        self.loop.send(self.master, "describe", number, self.number, described)

    def _end(
        self,
        number: int,
        failure: ParcastError | None,
        spent: tuple[Spent, ...],
        cleared: tuple[str, ...] = (),
        plan: "WritePlan | None" = None,
    ) -> None:
        job = self.jobs.get(number)
        if job is None:
            return  # this client takes no part in it
        job.has_ended, job.failure, job.spent = True, failure, spent
        job.cleared, job.plan = cleared, plan
        if failure is not None:
            clear_frames(failure.__traceback__)  # they may hold subchunks
            self.unheard[number] = replace(job, held=(), targets=None)
        else:
            for each in self.unheard.values():
                each.is_superseded |= each.path == job.path
        self._forget(job)

    def _forget(self, job: ClientRequest) -> None:
        """Let go of the elements of a request that is done."""
        if job.is_done:
            del self.jobs[job.number]
            self.loop.turn_meanwhile(bool(self.jobs))

    def _quit(self, failure: ParcastError | None) -> None:
        """End all requests, as the servers have left."""
        self.has_quit, self.failure = True, failure
        for job in list(self.jobs.values()):
            self._end(job.number, failure or RunFailed("The servers have left."), ())


def owned(names: Iterable[str], held: Iterable[Held]) -> tuple[tuple[str, Own], ...]:
    """Say what a client holds of each array; equal ones share one object, pickled once."""
    known: dict[Own, Own] = {}
    said = []
    for name, each in zip(names, held, strict=False):
        boxes = tuple(part.box for part in each.parts)
        own = Own(each.shape, each.dtype.str, boxes, each.mesh)
        said.append((name, known.setdefault(own, own)))
    return tuple(said)


def _box(part: HeldPart, start: Point, count: Point) -> Array:
    """View of a box of the array in what a client holds."""
    if start == part.start and count == part.values.shape:
        return part.values
    return inside(part.values, part.start, start, count)
