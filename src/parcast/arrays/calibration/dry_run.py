"""A dry run of a request: the library's own geometry and packing, without files or messages.

The roles of all ranks run in this process. What they send is pickled as it is for MPI, and handed
over as bytes; what a server writes is encoded, and goes nowhere; what it reads is memory. Each
step is timed by itself. Of a large request only a few subchunks are gathered, as all are equal.

What the law calls by a name is here [D]:

    t_con    client 0 describes what it holds; the master reads all descriptions, compares them,
             makes the schema and pickles it
    t_par    a server reads the schema and begins
    t_find   a server begins a subchunk, beside what it does for each client, and has it written
    t_bnd    what it says to one client
    t_proc   a client reads a request for nothing
    t_ext    the rest of what it does for a request, o/R_copy; t_run,c is 0
    t_asm    a server reads what a client sent and puts it into its place, o/R_place; t_run is 0

For a read, t_ext is that of a server and 1/R_place that of a client. What is received into memory
that the system has yet to provide takes longer, by 1/touch_rate for a byte.

Encoding (checksums and compression) is the compression_rate. All are those of this very request.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from statistics import median
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import Point
from parcast.arrays.library.client import Client, DescribedRequest, Spent
from parcast.arrays.library.distribution import Array, Held, HeldPart
from parcast.arrays.library.gathering import inside as box_inside
from parcast.arrays.library.master import Master
from parcast.arrays.library.schema import Schema, Subchunk
from parcast.arrays.library.server import Server
from parcast.arrays.library.storing import Catalogue, specs_of
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.store.layout import layout_of
from parcast.arrays.trials.request import PATH, ArrayRequest
from parcast.instrument.memory import provide
from parcast.mpi.loop import EventLoop
from parcast.mpi.messages import Message, Room, anywhere, as_received, as_sent
from parcast.mpi.payload import EMPTY, unpacked

Clock = Callable[[], float]

SAMPLE: Final = 1 << 25  # bytes that are gathered in a pass [B]
MOST_UNITS: Final = 64  # in a pass
PASSES: Final = 5  # after one that is discarded
PATIENCE: Final = 0.6  # after which no further pass is made [s]
_COLD: Final = np.zeros(1 << 24, np.uint8)


@dataclass(frozen=True, kw_only=True, slots=True)
class DryRun:
    """What the library's own code takes for a request, without files and messages."""

    request: ArrayRequest
    construct_schema: float  # t_con, with that of client 0 [s]
    parse_schema: float  # t_par [s]
    find: float  # t_find [s]
    boundary: float  # t_bnd [s]
    decode: float  # t_proc [s]
    copy_rate: float  # of packing: by clients of a write, by the server of a read [B/s]
    place_rate: float  # of putting what has arrived into its place, by the others [B/s]
    encode_rate: float  # of checksums and compression [B/s]
    touch_rate: float  # of what a message takes longer that is received into new memory [B/s]
    schema_length: float  # of messages [B]
    request_length: float
    quit_length: float
    passes: int  # that the medians are of


def dry_run(request: ArrayRequest, *, clock: Clock = perf_counter) -> DryRun:
    """Run a request without files and messages, several times, and give the medians.

    >>> found = dry_run(ArrayRequest(shape=[16, 16], client_mesh=[2, 1], servers=1))
    >>> found.find > 0, found.request_length > 0
    (True, True)
    """
    rehearsal = Rehearsal(request, clock)
    rehearsal.made()
    began, passes = clock(), [rehearsal.made()]
    while len(passes) < PASSES and clock() - began < PATIENCE:
        passes.append(rehearsal.made())

    def each(name: str) -> float:
        return median(sums.each(name) for sums in passes)

    def rate(name: str) -> float:
        return median(sums.rate(name) for sums in passes)

    def length(name: str) -> float:
        return passes[0].amounts[name] / passes[0].calls[name]

    return DryRun(
        request=request,
        construct_schema=each("construct"),
        parse_schema=each("parse"),
        find=each("find"),
        boundary=each("boundary"),
        decode=each("decode"),
        copy_rate=rate("pack"),
        place_rate=rate("place"),
        encode_rate=rate("encode"),
        touch_rate=rate("touch"),
        schema_length=length("schema length"),
        request_length=length("request length"),
        quit_length=length("quit length"),
        passes=len(passes),
    )


class Sent(NamedTuple):
    """A message as it travels."""

    kind: str
    head: bytes
    buffers: tuple[memoryview, ...]
    target: int
    began: float  # [s]
    ended: float  # [s]

    @property
    def seconds(self) -> float:
        """Time of the call that sent it. [s]."""
        return self.ended - self.began


class Stage:
    """Stands in for the channel of a rank: it keeps what is sent, in the bytes that travel."""

    rank, size, leaving, may_use_threads = 0, 1, 0, False

    def __init__(self, clock: Clock) -> None:
        self.room: Room = anywhere
        self._clock = clock
        self._sent: list[Sent] = []

    def send(self, target: int, content: tuple[Any, ...], value: Any = EMPTY) -> int:
        """Keep a message."""
        began = self._clock()
        head, buffers = as_sent(content, value)
        self._sent.append(Sent(content[0], head, buffers, target, began, self._clock()))
        return len(head)

    def poll(self) -> list[Message]:
        """Nothing arrives by itself."""
        return []

    def drain(self) -> bool:
        """Nothing is on its way."""
        return True

    def moved(self, source: int, sent: Sent) -> list[memoryview]:
        """Copy the buffers of a message of another rank to where they belong, as MPI does."""
        content, _, sizes = as_received(sent.head)
        room = self.room(source, content, *sizes) if len(sizes) == 1 else None
        views = []
        for buffer in sent.buffers:
            view = room if room is not None else np.empty(buffer.nbytes, np.uint8).data
            view[:] = buffer.cast("B")
            views.append(view)
        return views

    def taken(self) -> list[Sent]:
        """Give what was sent since it was last asked for."""
        sent, self._sent = self._sent, []
        return sent


class Blocks(Sequence[Held]):
    """What a client holds of each array, in memory of its own once it is asked for."""

    def __init__(self, request: ArrayRequest, client: int) -> None:
        self._request = request
        self.box = request.block(client)
        self._held: dict[int, Held] = {}

    def __len__(self) -> int:
        """Count the arrays."""
        return self._request.arrays

    def __getitem__(self, index: Any) -> Any:
        """Give what it holds of an array."""
        if index not in self._held:
            dtype = np.dtype(self._request.dtype)
            values = np.empty(self.box.count, dtype)
            self._held[index] = Held(
                self._request.shape, dtype, (HeldPart(self.box.start, values),)
            )
        return self._held[index]


@dataclass
class Sums:
    """Times [s], bytes and counts of one pass."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    amounts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, name: str, seconds: float, amount: int = 0, *, calls: int = 1) -> None:
        """Add to what has a name."""
        self.seconds[name] += seconds
        self.amounts[name] += amount
        self.calls[name] += calls

    def each(self, name: str) -> float:
        """Mean time of one. [s]."""
        count = self.calls.get(name, 0)
        return max(self.seconds[name], 0.0) / count if count else 0.0

    def rate(self, name: str) -> float:
        """Amount in a second."""
        seconds = self.seconds.get(name, 0.0)
        return self.amounts[name] / seconds if seconds > 0 and self.amounts[name] else inf


class Rehearsal:
    """All ranks of a request in one process."""

    def __init__(self, request: ArrayRequest, clock: Clock) -> None:
        self._request, self._clock = request, clock
        self._clients, self._servers = request.clients, request.servers
        table = request.carried.tables[-1].overlaps.subchunks  # of the last arrays
        self._server = int(np.bincount(table.server, table.size).argmax())
        self._held = [Blocks(request, client) for client in range(self._clients)]
        self._is_first = True

    def made(self) -> Sums:
        """Run all of it once."""
        sums = Sums()
        np.add(_COLD, 1, out=_COLD)  # fills the caches of the processor, as a program does
        if self._request.operation == "read":
            provide(min(self._request.size, 2 * SAMPLE))
            self._held = [Blocks(self._request, client) for client in range(self._clients)]
        schema = self._described(sums)
        self._served(schema, sums)
        self._is_first = False
        return sums

    def _described(self, sums: Sums) -> bytes:
        """Have clients describe what they hold, and the master make the schema."""
        request, stage = self._request, Stage(self._clock)
        loop = EventLoop(stage)
        ranks = range(self._clients + self._servers)
        master = Master(loop, ranks[: self._clients], ranks[self._clients :])
        if request.operation == "read":
            master.opened[0] = request.told, Catalogue(request.stored())
        for client in range(self._clients):
            began = self._clock()
            loop.send(0, "describe", 0, client, request.described(client))
            sums.add("describe", self._clock() - began)
        descriptions, construct = stage.taken(), sums.each("describe")
        for sent in descriptions:
            began = self._clock()
            content, _, _ = as_received(sent.head)
            master.hear(Message(sent.target, content))
            construct += self._clock() - began
        sums.add("construct", construct)
        answer = stage.taken()[-1]
        (kind, *facts), _, _ = as_received(answer.head)
        if kind != "schema":  # refused
            raise facts[1]
        sums.add("schema length", 0.0, len(answer.head))
        spent = tuple(Spent(server) for server in range(self._servers))
        loop.send(0, "end", 0, None, spent)
        sums.add("quit length", 0.0, len(stage.taken()[0].head))
        return answer.head

    def _served(self, head: bytes, sums: Sums) -> None:
        """Have a server do some of its subchunks."""
        self._stage = stage = Stage(self._clock)
        ranks = range(self._clients + self._servers)
        files: list[NullFiles] = []

        def opened(schema: Schema, _: Any) -> NullFiles:
            files.append(NullFiles(schema, self._clock))
            return files[-1]

        server = Server(
            EventLoop(stage),
            number=self._server,
            clients=ranks[: self._clients],
            servers=ranks[self._clients :],
            files=opened,
        )
        began = self._clock()
        (_, number, schema), _, _ = as_received(head)
        if self._servers > 1:  # the server master has forwarded it
            (_, number, schema), _, _ = as_received(as_sent(("work", number, schema))[0])
        plain = replace(schema, writer="write-behind")  # by this thread
        server.hear(Message(0, ("work", number, plain, None)))
        sums.add("parse", self._clock() - began)
        clients = [self._client(client) for client in range(self._clients)]
        for _ in range(MOST_UNITS):
            idle = files[0].seconds if files else 0.0
            began = self._clock()
            server.advance()
            took = self._clock() - began - files[0].seconds + idle
            sent = stage.taken()
            if sent and sent[-1].kind == "finished":
                (_, _, failure, _), _, _ = as_received(sent.pop().head)
                if failure is not None:
                    raise failure
            if not sent:
                break
            if self._request.operation == "read":
                self._given(sent, took, clients, sums)
            else:
                self._asked(sent, took, clients, server, sums)
            if sums.amounts["overlaps"] > SAMPLE:
                break
        sums.add("encode", files[0].seconds, files[0].size)

    def _client(self, number: int) -> tuple[Client, Stage]:
        """Make a client that has submitted the request."""
        stage = Stage(self._clock)
        client = Client(EventLoop(stage), master=0, number=number)
        job = client.submit(
            DescribedRequest(self._request.operation, PATH, {}), self._held[number]
        )
        job.expected = self._request.size  # which never ends
        stage.taken()
        return client, stage

    def _asked(
        self,
        wants: Sequence[Sent],
        took: float,
        clients: Sequence[tuple[Client, Stage]],
        server: Server,
        sums: Sums,
    ) -> None:
        """Have clients answer a server that writes, and the server take it."""
        gaps = _gaps(wants)
        sums.add("find", took - sum(gaps))
        sums.add("boundary", sum(gaps), calls=len(gaps))
        answers = []
        for want in wants:
            client, stage = clients[want.target]
            began = self._clock()
            (_, *facts), _, _ = as_received(want.head)
            decode = self._clock() - began
            number, unit, arrays, boxes = facts
            sums.add("request length", 0.0, len(want.head))
            if self._is_first:
                _touch(self._held[want.target], arrays, boxes)
            began = self._clock()
            client.hear(Message(self._clients, ("want", number, unit, arrays, ())))
            nothing = self._clock() - began
            stage.taken()
            began = self._clock()
            client.hear(Message(self._clients, ("want", *facts)))
            packing = self._clock() - began - nothing
            sums.add("decode", decode + nothing)
            [answer] = stage.taken()
            answers.append(answer)
            whole = self._held[want.target].box.count
            is_free = len(arrays) == len(boxes) == 1 and boxes[0][2] == whole
            sums.add("given as it is" if is_free else "pack", packing, _length(answer))
        stage = self._stage
        for want, answer in zip(wants, answers, strict=True):
            moved = stage.moved(want.target, answer)
            began = self._clock()
            content, inside, _ = as_received(answer.head)
            server.hear(Message(want.target, content, unpacked(inside or b"", moved)))
            sums.add("place", self._clock() - began, _length(answer))
            sums.add("overlaps", 0.0, _length(answer))

    def _given(
        self,
        gives: Sequence[Sent],
        took: float,
        clients: Sequence[tuple[Client, Stage]],
        sums: Sums,
    ) -> None:
        """Have clients take what a server that reads has sent."""
        gaps, calls = _gaps(gives), [give.seconds for give in gives]
        size = sum(_length(give) for give in gives)
        is_alone = len(gives) == 1
        packing = 0.0 if is_alone else sum(gaps) - sum(calls)
        sums.add("boundary", sum(calls), calls=len(calls))
        sums.add("find", took - sum(calls) - packing)
        sums.add("pack", packing, 0 if is_alone else size)
        for give in gives:
            client, stage = clients[give.target]
            times = [self._clock()]
            for _ in range(2):  # the memory of the client is new the first time
                moved = stage.moved(self._clients, give)
                times.append(self._clock())
            sums.add("touch", 2 * times[1] - times[0] - times[2], _length(give))
            began = self._clock()
            content, inside, _ = as_received(give.head)
            client.hear(Message(self._clients, content, unpacked(inside or b"", moved)))
            sums.add("place", self._clock() - began, _length(give))
            sums.add("request length", 0.0, len(give.head))
            sums.add("overlaps", 0.0, _length(give))


def _gaps(sent: Sequence[Sent]) -> list[float]:
    """Time that each message took with what came before it; the first as long as the others."""
    later = [b.ended - a.ended for a, b in pairwise(sent)]
    return [sum(later) / len(later) if later else sent[0].seconds, *later]


def _length(sent: Sent) -> int:
    """Length of the elements of a message. [B]."""
    _, inside, _ = as_received(sent.head)
    return int(unpacked(inside or b"", sent.buffers).nbytes)


def _touch(held: Blocks, arrays: Sequence[int], boxes: Sequence[Any]) -> None:
    """Write what is going to be packed: memory that was never written is not read like others."""
    for array in arrays:
        for part, start, count in boxes:
            own = held[array].parts[part]
            box_inside(own.values, own.start, start, count)[...] = 1


NOWHERE: Final = os.devnull


class NullFiles:
    """The files of a request, without files; `clock` times what they do."""

    def __init__(self, schema: Schema, clock: Callable[[], float]) -> None:
        self.seconds, self.size = 0.0, 0  # of encoding what was written [s], [B]
        self._schema, self._clock = schema, clock
        self._file = os.open(NOWHERE, os.O_WRONLY)
        self._chunk: tuple[int, Point] | None = None
        self._target: ChunkWriter | None = None
        if schema.operation != "read":
            [spec] = specs_of(replace(schema, arrays=schema.arrays[:1]))  # all are alike
            self._layout = layout_of(spec.document(), is_whole=True)
            self.compresses = not self._layout.chain.keeps_length

    def write(self, array: int, subchunk: Subchunk, values: Array, *, more: bool = False) -> None:
        """Encode a subchunk."""
        began = self._clock()
        if self._chunk != (array, subchunk.chunk):
            self._chunk = array, subchunk.chunk
            self._target = ChunkWriter(self._layout, subchunk.chunk, self._file)
        assert self._target is not None
        self._target.write(values, more=more)
        self.seconds += self._clock() - began
        self.size += values.nbytes

    def read(self, array: int, subchunk: Subchunk) -> Array:
        """Give elements in memory."""
        began = self._clock()
        kind = self._schema.kinds[self._schema.arrays[array].kind]
        values = np.ones(subchunk.count, kind.dtype)
        self.seconds += self._clock() - began
        return values

    def flush(self) -> None:
        """Nothing is to be flushed."""

    def close(self) -> None:
        """Let go of the device."""
        os.close(self._file)
