"""The client master: it compares what clients describe, and makes the schema of it."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from parcast.arrays.geometry.boxes import Point
from parcast.arrays.geometry.chunks import listed_chunks
from parcast.arrays.library.checking import as_refusal
from parcast.arrays.library.client import DescribedRequest, Lost, Spent
from parcast.arrays.library.plans import WritePlan, by_plan, planner
from parcast.arrays.library.schema import Kind, NamedArray, Schema, Stored, layout_for
from parcast.arrays.library.storing import Catalogue, catalogue, is_npy, no_zarr
from parcast.errors import ParcastError, RunFailed
from parcast.mpi.loop import EventLoop, Role
from parcast.mpi.messages import Message

CALLED: Final = {"limit": "subchunk", "names": "names of arrays"}  # options, as users do


@dataclass
class Master(Role):
    """The role of client 0."""

    loop: EventLoop
    clients: Sequence[int]  # rank of each client
    servers: Sequence[int]  # rank of each server
    described: dict[int, dict[int, DescribedRequest]] = field(default_factory=dict)
    opened: dict[int, tuple[DescribedRequest, Catalogue]] = field(default_factory=dict)  # reads
    leaving: set[str] = field(default_factory=set)  # clients that have closed
    lost: ParcastError | None = None  # of a request that a client has not waited for
    has_ended: bool = False  # all were let go
    costs: Any = None  # of the machine, for plans: what `connect` was given
    plans: dict[int, WritePlan] = field(default_factory=dict)  # of requests under way
    known: dict[Hashable, WritePlan] = field(default_factory=dict)  # by what they depend on

    @property
    def is_idle(self) -> bool:
        """It only answers."""
        return True

    def hear(self, message: Message) -> bool:
        """Take a message; tell whether it was for the client master."""
        kind, *facts = message.content
        match kind:
            case "describe" | "done" | "close" if self.has_ended:
                pass  # nobody waits for an answer any more, and servers begin nothing
            case "describe":
                self._describe(*facts)
            case "done":
                self._tell(*facts)
            case "close":
                self._close(*facts)
            case _:
                return False
        return True

    def _describe(self, number: int, client: int, described: DescribedRequest) -> None:
        """Note what a client says; go on when all have."""
        all_of_them = self.described.setdefault(number, {})
        all_of_them[client] = described
        if len(all_of_them) < len(self.clients):
            self._refuse_incomplete()
            return
        del self.described[number]
        try:
            self._go_on(number, [all_of_them[i] for i in range(len(self.clients))])
        except Exception as error:
            self._tell(number, as_refusal(error, f"{all_of_them[0].path}: "), ())

    def _go_on(self, number: int, described: Sequence[DescribedRequest]) -> None:
        """Send the schema to the server master, or have clients lay out what they read."""
        require_agreement(described)
        first = described[0]
        if first.operation == "read" and number not in self.opened:
            there = catalogue(first.path, first.options["names"])
            self.opened[number] = first, there
            for rank in self.clients:
                self.loop.send(rank, "opened", number, there.arrays)
            return
        told, stamp = first, None
        if first.operation == "append":
            stored = _grown(first)
        elif first.operation == "write":
            stored = laid_out(first, servers=len(self.servers))
        else:
            told, (stored, stamp) = self.opened.pop(number)
        schema = replace(schema_of(described, told, stored), stamp=stamp)
        if told.options.get("plan") is not None:
            schema = self._planned(number, schema, told.options["plan"])
        self.loop.send(self.servers[0], "schema", number, schema)

    def _planned(self, number: int, schema: Schema, wanted: Any) -> Schema:
        """Choose a plan for a request, once for requests that are equal, or take the given one."""
        plans, servers = planner(), len(self.servers)
        key = plans.key_of(schema, wanted)
        if key not in self.known:
            of_client = {rank: number for number, rank in enumerate(self.clients)}
            serving = [of_client.get(rank, -1) for rank in self.servers]
            self.known[key] = plans.plan_for(schema, wanted, self.costs, serving=serving)
        self.plans[number] = self.known[key]
        return by_plan(schema, self.known[key], servers=servers)

    def _tell(
        self,
        number: int,
        failure: ParcastError | None,
        spent: tuple[Spent, ...],
        cleared: tuple[str, ...] = (),
    ) -> None:
        """Tell all clients how a request has ended."""
        self.opened.pop(number, None)
        plan = self.plans.pop(number, None)
        for rank in self.clients:
            self.loop.send(rank, "end", number, failure, spent, cleared, plan)

    def _close(
        self, who: str, failure: ParcastError | None, lost: ParcastError | None = None
    ) -> None:
        """Let all leave when every client wants to, or a rank has failed."""
        self.leaving.add(who)
        self.lost = self.lost or lost
        if failure is None and len(self.leaving) < len(self.clients):
            self._refuse_incomplete()
            return
        self.has_ended = True
        for rank in dict.fromkeys([*self.servers, *self.clients]):
            self.loop.send(rank, "quit", failure or self.lost)

    def _refuse_incomplete(self) -> None:
        """Refuse requests in which a client takes no part, as it has left."""
        for number, own in list(self.described.items()):
            left = [f"Client {client}" for client in range(len(self.clients)) if client not in own]
            if gone := next((name for name in left if name in self.leaving), ""):
                del self.described[number]
                operation = next(iter(own.values())).operation
                self._tell(
                    number,
                    RunFailed(
                        f"{gone} has left without taking part in this {operation}. "
                        f"Call {operation}() on every client."
                    ),
                    (),
                )


def require_agreement(described: Sequence[DescribedRequest]) -> None:
    """Refuse a request that clients describe differently, or that one of them refuses."""
    for client, each in enumerate(described):
        if isinstance(each.refusal, Lost):
            raise each.refusal
        if each.refusal is not None:
            raise RunFailed(f"Client {client}: {each.refusal}")
    _require_same_meshes(described)
    asked: dict[str, Callable[[DescribedRequest], Hashable]] = {
        "the same call": lambda x: x.operation,
        "the same path": lambda x: x.path,
        "the same names of arrays": lambda x: tuple(name for name, _ in x.arrays),
        "the same shapes": lambda x: tuple(own.shape for _, own in x.arrays),
        "the same dtypes": lambda x: tuple(own.dtype for _, own in x.arrays),
    }
    for what, of in asked.items():
        _require_same(what, {client: of(each) for client, each in enumerate(described)})
    for name in described[0].options:
        given = {client: str(each.options.get(name)) for client, each in enumerate(described)}
        _require_same(f"the same {CALLED.get(name, name)}", given)


def _require_same_meshes(described: Sequence[DescribedRequest]) -> None:
    """Refuse blocks of different meshes; clients may give boxes instead."""
    given: dict[tuple[Point, ...], str] = {}
    for columns in zip(*(each.arrays for each in described), strict=False):
        given.setdefault(tuple(own.mesh for _, own in columns), columns[0][0])
    for each, name in given.items():
        meshes = {client: mesh for client, mesh in enumerate(each) if mesh}
        if meshes:
            _require_same(f"the same mesh of {name or 'the array'}", meshes)


def _require_same(what: str, values: Mapping[int, Hashable]) -> None:
    """Refuse what clients give differently; name the first one that differs from most."""
    usual, count = Counter(values.values()).most_common(1)[0]
    if count == len(values):
        return
    odd = next(i for i, value in values.items() if value != usual)
    others = next(i for i, value in values.items() if value == usual)
    raise RunFailed(
        f"All clients must give {what}: client {odd} gives {_shown(values[odd])}, client "
        f"{others} {_shown(usual)}. Call it with the same arguments on every client."
    )


def _shown(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) < 100 else f"{text[:97]}..."


def laid_out(described: DescribedRequest, *, servers: int) -> list[Stored]:
    """Choose how arrays are cut on disk."""
    limit, stored = described.options["limit"], []
    rows, is_stacked = is_npy(described.path), described.options["stack"]
    for name, (shape, dtype, *_) in described.arrays:
        item = np.dtype(dtype).itemsize
        chunk, inner = layout_for(shape, item, servers=servers, limit=limit, whole_rows=rows)
        if is_stacked:
            chunk = tuple(-(-max(n, 1) // i) * i for n, i in zip(shape, inner, strict=True))
        stored.append(Stored(name, shape, dtype, chunk, inner))
    return stored


def _grown(described: DescribedRequest) -> list[Stored]:
    """Tell how the arrays of a store will be that rows are appended to."""
    if is_npy(described.path):
        raise no_zarr(described.path, "append rows")
    rows = {name: own.shape[0] for name, own in described.arrays}
    most, least = max(rows, key=rows.__getitem__), min(rows, key=rows.__getitem__)
    if rows[most] != rows[least]:
        raise RunFailed(
            f"{described.path}: all arrays must get the same number of rows: {most} gets "
            f"{rows[most]}, {least} {rows[least]}. Give as many for each."
        )
    stored = []
    there = catalogue(described.path, [*rows], grows=True).arrays
    for old, (name, own) in zip(there, described.arrays, strict=True):
        shape, dtype = own.shape, own.dtype
        is_same = np.dtype(old.dtype) == np.dtype(dtype).newbyteorder("=")
        if old.shape[1:] != shape[1:] or not is_same:
            raise RunFailed(
                f"{described.path}: rows of shape {shape[1:]} and type {dtype} cannot be appended "
                f"to {name}, whose rows have {old.shape[1:]} and {old.dtype}. Write another store."
            )
        grown = (old.shape[0] + shape[0], *shape[1:])
        stored.append(old._replace(shape=grown, dtype=dtype))
    return stored


def schema_of(
    described: Sequence[DescribedRequest], told: DescribedRequest, stored: Sequence[Stored]
) -> Schema:
    """Make the schema of a request of what all clients have described."""
    options: Mapping[str, Any] = told.options
    kinds: dict[Any, int] = {}
    held: list[Kind] = []
    named, is_read = [], told.operation == "read"
    columns = zip(*(each.arrays for each in described), strict=True)
    for each, column in zip(stored, columns, strict=True):
        rows = column[0][1].shape  # without those before the ones of this request
        boxes = tuple(own.boxes for _, own in column)
        key = each[1:], rows, boxes
        if key not in kinds:
            kinds[key] = len(kinds)
            chunks = listed_chunks(rows, boxes, is_partial=is_read, who="client")
            base = each.shape[0] - rows[0]
            laid = each.shape, each.dtype, each.chunk, each.inner
            held.append(Kind(*laid, chunks.after(base), base))
        named.append(NamedArray(each.name, kinds[key]))
    stack = options.get("stack", "")
    servers = options.get("servers", 1)
    return Schema(
        operation=told.operation,
        path=told.path,
        arrays=tuple(named),
        kinds=tuple(held),
        writer=options.get("writer", "double-buffer"),
        is_batched=options.get("batch", True),
        limit=options["limit"],
        stack=stack,
        arrays_a_chunk=-(-len(named) // servers) if stack else 1,
        storage=told.storage,
    )
