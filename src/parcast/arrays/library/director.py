"""The server master: it begins a store, has all servers work on it, and puts it in its place."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from parcast.arrays.library.checking import as_refusal
from parcast.arrays.library.client import Spent
from parcast.arrays.library.schema import Schema
from parcast.arrays.library.storing import Drafts
from parcast.errors import ParcastError
from parcast.mpi.loop import EventLoop, Role
from parcast.mpi.messages import Message

WRITABLE: Final = " Choose another path, or make it writable."


@dataclass
class Directed:
    """A request that servers work on."""

    schema: Schema
    cleared: tuple[str, ...] = ()  # what an interrupted write had left there
    spent: list[Spent] = field(default_factory=list)
    failure: ParcastError | None = None


@dataclass
class Director(Role):
    """The role of server 0, besides its work as a server."""

    loop: EventLoop
    client_master: int  # rank
    servers: Sequence[int]  # rank of each server
    drafts: Drafts = field(default_factory=Drafts)
    requests: dict[int, Directed] = field(default_factory=dict)
    has_quit: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether no draft waits for its servers."""
        return not self.requests

    def hear(self, message: Message) -> bool:
        """Take a message; tell whether it was for the server master."""
        kind, *facts = message.content
        match kind:
            case "schema":
                self._begin(*facts)
            case "finished":
                self._finished(*facts)
            case "quit":
                self.has_quit = True  # servers give up what they have begun, and say so
                return False
            case _:
                return False
        return True

    def _begin(self, number: int, schema: Schema) -> None:
        """Begin a request, and forward its schema to one server after the other."""
        try:
            draft, cleared = self.drafts.begin(schema)
        except Exception as error:
            self._tell(number, as_refusal(error, f"{schema.path}: ", WRITABLE), [])
            return
        self.requests[number] = Directed(schema, cleared)
        for rank in self._taking(schema):
            self.loop.send(rank, "work", number, schema, draft)

    def _finished(self, number: int, failure: ParcastError | None, spent: Spent) -> None:
        """Note that a server has ended; one that has failed ends the others."""
        request = self.requests[number]
        request.spent.append(spent)
        if failure is not None and request.failure is None:
            request.failure = failure
            for rank in self._taking(request.schema):
                self.loop.send(rank, "abandon", number, failure)
        if len(request.spent) < len(self._taking(request.schema)):
            return
        del self.requests[number]
        ends = self.drafts.commit if request.failure is None else self.drafts.discard
        try:
            ends(request.schema)
        except Exception as error:
            where = f"{request.schema.path}: "
            request.failure = request.failure or as_refusal(error, where, WRITABLE)
        self._tell(number, request.failure, request.spent, request.cleared)

    def _taking(self, schema: Schema) -> list[int]:
        """Ranks of the servers that take part in a request."""
        return [self.servers[i] for i in schema.servers or range(len(self.servers))]

    def _tell(
        self,
        number: int,
        failure: ParcastError | None,
        spent: Sequence[Spent],
        cleared: tuple[str, ...] = (),
    ) -> None:
        """Tell the client master how a request has ended, unless all clients have given up."""
        if not self.has_quit:
            in_order = tuple(sorted(spent, key=lambda each: each.server))
            self.loop.send(self.client_master, "done", number, failure, in_order, cleared)

    def abandon(self) -> None:
        """Remove what was begun, as this rank answers no server any more."""
        for request in self.requests.values():
            with suppress(Exception):  # what is left is stale, and the next write removes it
                self.drafts.discard(request.schema)
        self.requests.clear()
