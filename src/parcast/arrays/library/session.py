"""The connection of a parallel program with its I/O servers."""

import math
import os
import sys
import warnings
from collections.abc import Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeAlias, overload

import numpy as np

from parcast.arrays.geometry.choices import WRITERS, Policy, Writer
from parcast.arrays.library.checking import (
    check_box,
    check_names,
    check_path,
    check_stack,
    checked_storage,
    checked_subchunk,
    held_of,
    path_text,
    refusal_of,
    servers_agreed,
)
from parcast.arrays.library.client import Client, ClientRequest, DescribedRequest, Spent, owned
from parcast.arrays.library.director import Director
from parcast.arrays.library.distribution import Array, Block, Boxes, Held, copied, room_for
from parcast.arrays.library.master import Master
from parcast.arrays.library.plans import planner
from parcast.arrays.library.schema import LIMIT, Operation, Stored
from parcast.arrays.library.server import Server
from parcast.arrays.store.interrupted import InterruptedWriteWarning
from parcast.errors import RunFailed, require_one_of
from parcast.mpi.launched import world
from parcast.mpi.loop import EventLoop
from parcast.mpi.messages import Channel, LoneChannel, MpiChannel

if TYPE_CHECKING:
    from mpi4py import MPI

    from parcast.arrays.law.costs import Costs
    from parcast.arrays.law.parameters import ArrayParameters
    from parcast.arrays.library.plans import WritePlan

    CostsLike: TypeAlias = Costs | ArrayParameters | str | os.PathLike[str]

Distributed: TypeAlias = Block | Boxes

PATIENCE: Final = 5.0  # after a rank has failed, until all others have come to leave [s]


@dataclass(frozen=True, slots=True)
class Written:
    """A request that has ended: what it took.

    Attributes
    ----------
    seconds : float
        Wall time at this client, from when its blocks are ready to the end of `wait`. [s]
    size : int
        Length of the elements of all arrays. [B]
    servers : tuple of Spent
        What each server did that took part, and where its time went.
    plan : WritePlan or None
        With ``plan=``: `servers` that took part, the `mesh` over which the largest arrays are cut
        on disk (`meshes` of all), the largest `subchunk` [B], the `writer`, and the predicted
        `time` [s].
    cleared : tuple of str
        What an interrupted write had left at the path, and what was done with it.
    """

    seconds: float
    size: int
    servers: tuple[Spent, ...]
    cleared: tuple[str, ...] = ()
    plan: "WritePlan | None" = None


class Handle:
    """A request that is under way, of `write` or `append` with ``wait=False``."""

    def __init__(self, session: "Session", job: ClientRequest) -> None:
        self._session, self._job = session, job
        self._begun = perf_counter()
        self._seconds: float | None = None

    @property
    def is_done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._job.is_done

    def wait(self) -> Written:
        """Wait until it has ended.

        Returns
        -------
        Written
            What it took.

        Raises
        ------
        ParcastError
            Where the request was refused or has failed: the same on every client.
        """
        return self.ended(stacklevel=3)

    def ended(self, *, stacklevel: int) -> Written:
        """Wait; a warning points at the caller that many calls up."""
        self._session.loop.turn_until(lambda: self._job.is_done)
        if self._seconds is None:
            self._seconds = perf_counter() - self._begun
            for text in self._job.cleared if self._session.client == 0 else ():
                warnings.warn(text, InterruptedWriteWarning, stacklevel=stacklevel)
        if self._job.failure is not None:
            self._session.hear_of(self._job)
            raise self._job.failure
        spent, cleared = self._job.spent, self._job.cleared
        size = sum(each.size for each in spent)
        return Written(self._seconds, size, spent, cleared, self._job.plan)


class Session:
    """Clients and servers among the ranks of a communicator; made by `connect`."""

    def __init__(
        self,
        comm: "MPI.Intracomm | None",
        *,
        clients: Sequence[int],
        servers: Sequence[int],
        costs: "CostsLike | None" = None,
    ) -> None:
        """Begin on this rank of a communicator; `clients` and `servers` are ranks of it."""
        channel: Channel = LoneChannel() if comm is None else MpiChannel(comm)
        self._comm, rank, self._costs = comm, channel.rank, costs
        self.loop = EventLoop(channel)
        self.clients, self.servers = tuple(clients), tuple(servers)
        self._is_closed = False
        self._barrier: MPI.Request | None = None  # at the end
        self._client: Client | None = None
        self._server: Server | None = None
        self.last_read: Written | None = None  # what the last read took
        roles = self.loop.roles
        if rank in servers:
            self._server = Server(
                self.loop,
                number=self.servers.index(rank),
                clients=clients,
                servers=servers,
            )
            roles.append(self._server)
        self._director: Director | None = None
        if rank == servers[0]:
            self._director = Director(self.loop, clients[0], servers)
            roles.append(self._director)
        if rank == clients[0]:
            roles.append(Master(self.loop, clients, servers, costs=costs))
        if rank in clients:
            number = self.clients.index(rank)
            self._client = Client(self.loop, master=clients[0], number=number)
            roles.append(self._client)

    @property
    def is_client(self) -> bool:
        """Whether this rank holds elements."""
        return self._client is not None

    @property
    def client(self) -> int:
        """Number of this client."""
        return self._require_client().number

    @property
    def is_server(self) -> bool:
        """Whether this rank accesses files."""
        return self._server is not None

    def __enter__(self) -> Self:
        """Begin: clients go on, servers have nothing to do but `close`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; where a rank has failed, no other waits for it."""
        if self.loop.crash is None:
            self.close(error)
        else:
            self._abort(self.loop.crash)

    @overload
    def write(
        self,
        path: str | os.PathLike[str],
        arrays: Mapping[str, Distributed],
        *,
        wait: Literal[True] = True,
        **options: Any,
    ) -> Written: ...

    @overload
    def write(
        self,
        path: str | os.PathLike[str],
        arrays: Mapping[str, Distributed],
        *,
        wait: Literal[False],
        **options: Any,
    ) -> Handle: ...

    def write(
        self,
        path: str | os.PathLike[str],
        arrays: Mapping[str, Distributed],
        *,
        wait: bool = True,
        writer: Writer | None = None,
        batch: bool | None = None,
        subchunk: int | None = None,
        stack: str = "",
        plan: object = None,
        **storage: Any,
    ) -> Written | Handle:
        """Write arrays that clients hold into one new store. All clients call it.

        Parameters
        ----------
        path : path-like
            Where the store will be: complete, or not at all.
        arrays : mapping of str to Block or Boxes
            What this client holds of each array, by name.
        wait : bool, default True
            False: return when the elements have been copied, and write while the program goes on.
            An error is raised by `wait` of the handle; where that was not called, by `close`, and
            by the next `append` or `read` of that path.
        writer : {"double-buffer", "write-behind", "sync"}, optional
            What a server does while a subchunk is written: gather the next one, while another
            thread writes (the default); or nothing. "write-behind" leaves it to the cache of the
            system, "sync" does not go on before a subchunk is on the device.
        batch : bool, optional
            Whether many small arrays go in one message: by default, unless a plan says otherwise.
        subchunk : int, optional
            Most bytes of a subchunk: what a server gathers at a time, and the least that is
            read later. By default 4 MiB. [B]
        stack : str, default ""
            Name of one array on disk that takes all arrays, which are equal in shape and type,
            along a new first axis: far fewer files.
        plan : {"auto"} or plan of `parcast.plan_io`, optional
            How many of the servers take part, the mesh over which arrays are cut on disk, the
            largest subchunk and the writer. "auto": those of the least time that the law of array
            I/O predicts for this very request, with the `costs` of `connect`; the plan is made
            once for requests of the same arrays. A plan is followed or refused; `subchunk`,
            `writer` and `batch` stay as given. By default all take part, with slabs of rows.
        **storage
            For the store, of client 0: `dimensions` (their names, of each array), `coordinates`
            (values for names of dimensions), `attributes`, `array_attributes` (a dict for names of
            arrays and coordinates), `fill`, `zstd` (level of compression), `overwrite`, and
            `versions` (how many to keep; `path` is a link to the newest then).

        Returns
        -------
        Written or Handle
            What it took, or with ``wait=False`` what to wait for.

        Raises
        ------
        ParcastError
            On every client, and with its number, if one client is at fault; or if a server
            cannot write. The path is as it was before.
        """
        asked = _Asked(writer=writer, batch=batch, subchunk=subchunk, stack=stack, plan=plan)
        return self._submit("write", path, arrays, asked, storage, wait=wait)

    def append(
        self,
        path: str | os.PathLike[str],
        arrays: Mapping[str, Distributed],
        *,
        wait: bool = True,
        writer: Writer | None = None,
        batch: bool = True,
        **storage: Any,
    ) -> Written | Handle:
        """Append rows along axis 0 to the arrays of a store. All clients call it.

        Parameters
        ----------
        path : path-like
            A store that `write` made. A reader sees the old rows or all.
        arrays : mapping of str to Block or Boxes
            What this client holds of the new rows of each array: `shape` is theirs alone.
        wait, writer, batch
            As in `write`.
        **storage
            `coordinates`: values for the new rows of a dimension that has some; `dimension`: the
            name of axis 0, where arrays of the store have different ones.

        Returns
        -------
        Written or Handle
            As from `write`.

        Raises
        ------
        ParcastError
            As from `write`; if rows do not fit those that are there, or earlier ones were lost.
        """
        asked = _Asked(writer=writer, batch=batch)
        return self._submit("append", path, arrays, asked, storage, wait=wait)

    def _submit(
        self,
        operation: Operation,
        path: str | os.PathLike[str],
        arrays: Mapping[str, Distributed],
        asked: "_Asked",
        storage: Mapping[str, Any],
        *,
        wait: bool,
    ) -> Written | Handle:
        """Describe what this client holds, and begin a request."""
        client, lost = self._require_client(), None
        if operation == "append":
            self.loop.turn_until(lambda: not client.jobs)  # to what it began to write
            lost = client.lost(path_text(path))
        held: list[Held] = []
        options: dict[str, Any] = {"servers": len(self.servers)}
        kept: dict[str, Any] = {}

        def check() -> None:
            check_path(path)
            kept.update(checked_storage(storage))
            if asked.stack:
                check_stack(asked.stack, arrays)
            own = asked._replace(subchunk=checked_subchunk(asked.subchunk))
            options.update(own.options(self._costs))
            held.extend(held_of(arrays, client.number, len(self.clients)))
            if not wait:  # the program may change all that it has given
                held[:] = [copied(each) for each in held]
                kept.update(deepcopy(kept))

        refusal = lost or refusal_of(check)
        said = owned(arrays if held else (), held)
        own = kept if client.number == 0 else {}  # that of client 0 is what counts
        described = DescribedRequest(operation, path_text(path), options, said, refusal, own)
        handle = Handle(self, client.submit(described, held))
        if wait:
            return handle.ended(stacklevel=4)
        self.loop.turn_meanwhile(not handle.is_done)
        return handle

    def read(
        self,
        path: str | os.PathLike[str],
        names: Sequence[str] | None = None,
        *,
        mesh: Sequence[int] | None = None,
        box: tuple[Sequence[int], Sequence[int]] | None = None,
        halo: int | Sequence[int] = 0,
        policy: Policy = "balanced",
        lost: Any = None,
    ) -> dict[str, Array]:
        """Read arrays, or a box of them, in blocks over a mesh of the clients. All call it.

        Parameters
        ----------
        path : path-like
            A Zarr 3 store, of parcast or another program, whatever clients have written it.
        names : sequence of str, optional
            Arrays to read, of 1 to 6 dimensions; by default all of these.
        mesh : sequence of int, optional
            Blocks in each dimension; their product is the number of clients. By default the
            first dimension is divided.
        box : (start, count), optional
            Only these elements are read, and divided; by default the whole array.
        halo : int or sequence of int, default 0
            Elements around the block that are read too; zero where they lie outside the box.
        policy : {"balanced", "hpf"}, default "balanced"
            Blocks of an extent that the mesh does not divide, as in `Block`.
        lost : scalar, optional
            Value of elements that are damaged or missing on disk, which `parcast arrays verify`
            lists. By default they are an error.

        Returns
        -------
        dict of str to ndarray
            The block of this client, with its halo, of each array.

        Raises
        ------
        ParcastError
            On every client, if the store is missing or damaged, or the mesh does not fit.
        """
        client = self._require_client()
        self.loop.turn_until(lambda: not client.jobs)  # what it began to write may be read
        targets: dict[str, Array] = {}

        def laid_out(stored: Sequence[Stored]) -> list[Held]:
            who = client.number, len(self.clients)
            keys: dict[str, Any] = {"mesh": mesh, "box": box, "halo": halo, "policy": policy}
            rooms = [room_for(each, *who, **keys) for each in stored]
            targets.update((x.name, room.whole) for x, room in zip(stored, rooms, strict=True))
            return [room.held for room in rooms]

        def check() -> None:
            check_path(path)
            check_names(names)
            check_box(box)

        refusal = client.lost(path_text(path)) or refusal_of(check)
        same = {"mesh": mesh, "box": box, "halo": halo, "policy": policy, "lost": lost}
        listed = None
        if names is not None and refusal is None:  # sets have another order on each rank
            listed = tuple(sorted(names) if isinstance(names, Set) else names)
        options: dict[str, Any] = {"names": listed, "limit": LIMIT}
        options |= {name: repr(_plain(value)) for name, value in same.items()}
        described = DescribedRequest("read", path_text(path), options, (), refusal, {"lost": lost})
        self.last_read = Handle(self, client.submit(described, (), laid_out)).wait()
        return targets

    def serve(self) -> None:
        """Serve until all clients have closed."""
        server = self._server
        if server is None:
            raise RunFailed("This rank is no server. Call serve() where is_server is true.")
        self.loop.turn_until(lambda: server.has_quit)
        if self.loop.failure is not None:
            raise self.loop.failure

    def close(self, failure: BaseException | None = None) -> None:
        """End: clients wait for each other, servers serve until then.

        Where a rank has failed, all others raise a RunFailed that names it; ranks that do not come
        within some seconds are ended. Errors of requests are raised where `wait` was not called.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._leave(failure)
        except BaseException as interruption:  # Ctrl-C while it waits for the others
            if self.loop.crash is not None:
                self._abort(self.loop.crash)
            elif failure is None:
                self._leave(interruption)
            raise
        if failure is None and self.loop.failure is not None:
            raise self.loop.failure

    def hear_of(self, job: ClientRequest) -> None:
        """Note that the program knows of a failed request: `close` does not raise it."""
        self._require_client().unheard.pop(job.number, None)

    def _leave(self, failure: BaseException | None) -> None:
        """Leave together with all other ranks."""
        loop, client, lost = self.loop, self._client, None
        if failure is None and client is not None:
            loop.turn_until(lambda: not client.jobs)
            lost = client.unheard_of()
        if not loop.has_quit and (client is not None or failure is not None):
            loop.send(self.clients[0], "close", self._name, self._told(failure), lost)
        limit = math.inf if failure is None else PATIENCE
        have_come = loop.turn_until(lambda: loop.has_quit, limit)
        loop.end_thread()
        if loop.failure is not None:
            limit = PATIENCE
        have_come = have_come and loop.turn_until(lambda: loop.is_idle, limit)
        if self._comm is not None and have_come:
            if self._barrier is None:  # where Ctrl-C did not find this rank waiting in it
                self._barrier = self._comm.Ibarrier()
            have_come = loop.turn_until(self._barrier.Test, limit)
        if not have_come:
            self._abort(failure or loop.failure or RunFailed("A rank has failed."))
        if self._comm is not None:
            self._comm.Free()
            self._comm = None

    @property
    def _name(self) -> str:
        """What messages call this rank."""
        if self._client is not None:
            return f"Client {self._client.number}"
        return f"Server {self.servers.index(self.loop.channel.rank)}"

    def _told(self, failure: BaseException | None) -> RunFailed | None:
        """Say to the others why this rank leaves, where it is before its end."""
        if failure is None:
            return None
        what = f"{type(failure).__name__}: {failure}".rstrip(": ")
        return RunFailed(f"{self._name} has ended with {what}.")

    def _abort(self, failure: BaseException) -> None:
        """End all ranks, as some do not come; a process alone goes on."""
        if self._director is not None:
            self._director.abandon()
        if self._comm is not None:
            sys.excepthook(type(failure), failure, failure.__traceback__)
            sys.stderr.flush()
            self._comm.Abort(1)

    def _require_client(self) -> Client:
        if self._client is None:
            raise RunFailed(
                "This rank is a dedicated server. Write and read where is_client is true."
            )
        return self._client


def connect(
    comm: "MPI.Intracomm | None" = None,
    *,
    servers: int | Sequence[int] = 1,
    dedicated: bool = False,
    costs: "CostsLike | None" = None,
) -> Session:
    """Make some ranks of a program I/O servers, for arrays that the others hold.

    All ranks call it, and use it as a context manager:

        with parcast.arrays.connect(servers=2) as io:
            if io.is_client:
                u = parcast.arrays.Block(local, shape=(512, 512), mesh=(4, 2))
                io.write("out.zarr", {"u": u})

    Dedicated servers serve at the end of the block, until all clients have left it.

    Parameters
    ----------
    comm : MPI.Intracomm, optional
        Ranks of the program, by default all; a process that was started alone is one rank.
    servers : int or sequence of int, default 1
        How many ranks are servers, spread evenly, or which.
    dedicated : bool, default False
        Whether servers do nothing else; otherwise they are clients too.
    costs : path, ArrayParameters or Costs, optional
        Costs of array I/O on this machine, for ``write(..., plan="auto")``: the file that
        ``parcast calibrate array-io`` writes, for example.

    Returns
    -------
    Session
        Its `write`, `append` and `read` are called by all clients together.

    Raises
    ------
    ParcastError
        If `servers` does not name ranks, leaves no client, or differs between ranks.
    """
    ranks = comm if comm is not None else world()
    size = 1 if ranks is None else ranks.Get_size()
    chosen = servers_agreed(ranks, servers, dedicated=dedicated)
    clients = [rank for rank in range(size) if not (dedicated and rank in chosen)]
    own = ranks.Dup() if ranks is not None and size > 1 else None
    return Session(own, clients=clients, servers=chosen, costs=costs)


def _plain(value: Any) -> Any:
    """Give what a client asks for so that equal values of other types have the same text."""
    try:
        return None if value is None else np.asarray(value).tolist()
    except ValueError:  # it is refused
        return value


class _Asked(NamedTuple):
    """How servers are to carry out a write, where the program says so."""

    writer: Writer | None
    batch: bool | None
    subchunk: int | None = None  # [B]
    stack: str = ""
    plan: object = None

    def options(self, costs: object) -> dict[str, Any]:
        """Options of the request, which are the same on all clients."""
        known, must = (None, *WRITERS), f"be one of {', '.join(WRITERS)}"
        hint = "double-buffer is the default."
        require_one_of("writer", self.writer, known, hint, must=must)
        wanted, batch = None, self.batch is None or bool(self.batch)
        if self.plan is not None:
            plans = planner()
            batch = plans.batch_of(self.plan) if self.batch is None else batch
            wanted = plans.wanted(self.plan, self.subchunk, self.writer, costs)
        limit = LIMIT if self.subchunk is None else self.subchunk
        writer = self.writer or "double-buffer"
        own = {"writer": writer, "limit": limit, "plan": wanted}
        return own | {"batch": batch, "stack": self.stack}
