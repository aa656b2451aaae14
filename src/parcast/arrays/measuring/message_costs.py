"""Costs of messages between servers and clients, through the endpoint that the library uses.

A server asks clients for values and waits for them, as in a write: one server one client, one
server all clients, and all servers all clients at the same time, so that ranks that share cores or
links do so here as well. The rest of the ranks wait, as they do in a request.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any, Final, Literal

import numpy as np

from parcast.arrays.library.distribution import Array
from parcast.arrays.library.endpoint import Endpoint
from parcast.arrays.library.schema import LIMIT

Among: Final = ("pair", "server", "all")
WANT: Final = (0, ((0, (0, 0, 0), (1, 1, 1)),))  # what a request says besides: arrays and boxes
SIZES: Final = (0, 1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24)  # of values [B]
MOST: Final = 1 << 25  # of all values of a server at a time, and values of a client [B]
MEMORY: Final = 3 * LIMIT  # of a server, for three units [B]
PAUSES: Final = (0.0, 0.0005, 0.002, 0.01)  # after which a client is asked [s]
LONGEST_CYCLE: Final = 0.2  # that is repeated within a round [s]
EAGER: Final = tuple(1 << k for k in range(10, 22))  # sizes tried for the eager limit [B]
SETTLED: Final = 0.001  # after which a message has arrived [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cycle:
    """Times from asking clients for values until all of them are there."""

    among: Literal["pair", "server", "all"]
    clients: int
    size: int  # of each value [B]
    times: list[float]  # of repetitions, the slowest server of each [s]


class Asked:
    """A client, which sends what it is asked for."""

    is_idle = True  # it waits for nothing that it has asked for

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._values = np.ones(MOST, np.uint8)
        self._begin = 0  # of the next value: as in a request, none was sent before
        self.has_left = False

    def hear(self, source: int, kind: str, facts: tuple[Any, ...], value: Any) -> bool:
        """Answer a request."""
        match kind:
            case "want":
                size = facts[0]
                if self._begin + size > MOST:
                    self._begin = 0
                value = self._values[self._begin : self._begin + size] if size else None
                self._begin += size
                self._endpoint.send(source, "have", 0, 0, value=value)
            case "leave":
                self.has_left = True
            case _:
                return False
        return True

    def advance(self) -> bool:
        """Nothing goes on by itself."""
        return False


class Asking:
    """A server, which asks clients and counts what arrives."""

    is_idle = True  # what it has asked for has arrived when it ends

    def __init__(self, endpoint: Endpoint, clients: Sequence[int]) -> None:
        self._endpoint, self._clients = endpoint, clients
        self._memory = np.ones(MEMORY, np.uint8)
        self._begin = 0  # of the next value
        self.arrived = 0
        endpoint.rooms["have"] = self._room

    def _room(self, facts: tuple[Any, ...], size: int) -> memoryview | None:  # noqa: ARG002 - a Room
        """Memory for a value: units are gathered in the same memory again and again."""
        if size > MEMORY:
            return None
        if self._begin + size > MEMORY:
            self._begin = 0
        self._begin += size
        return self._memory[self._begin - size : self._begin].data

    def hear(self, source: int, kind: str, facts: tuple[Any, ...], value: Any) -> bool:  # noqa: ARG002 - a role
        """Count what arrives."""
        self.arrived += kind == "have"
        return kind == "have"

    def advance(self) -> bool:
        """Nothing goes on by itself."""
        return False

    def ask(self, client: int, size: int) -> None:
        """Ask a client for a value."""
        self._endpoint.send(self._clients[client], "want", size, *WANT)

    def ask_all(self, clients: int, size: int) -> None:
        """Ask clients for values."""
        for client in range(clients):
            self.ask(client, size)

    def give_all(self, clients: int, values: Array, size: int) -> None:
        """Send clients values, which they ignore."""
        for client in range(clients):
            value = values[client * size : (client + 1) * size]
            self._endpoint.send(self._clients[client], "nothing", value=value)

    def cycle(self, clients: int, size: int) -> float:
        """Ask clients, and wait for all of them. [s]."""
        began = perf_counter()
        self.arrived = 0
        self.ask_all(clients, size)
        self._endpoint.turn_until(lambda: self.arrived == clients)
        return perf_counter() - began

    def calls(self, size: int) -> tuple[float, float, float]:
        """Time of a call that sends, of one that takes a message, and of one that finds none."""
        self.arrived = 0
        began = perf_counter()
        self.ask(0, size)
        sent = perf_counter()
        while perf_counter() - sent < SETTLED:  # until it has arrived
            pass
        turned = perf_counter()
        while not self.arrived:
            turned = perf_counter()
            self._endpoint.turn()
        taken = perf_counter()
        self._endpoint.turn()
        return sent - began, taken - turned, perf_counter() - taken

    def leave(self) -> None:
        """Let all clients go on."""
        for client in self._clients:
            self._endpoint.send(client, "leave")


def sizes_for(clients: int) -> Iterator[int]:
    """Sizes of values that so many clients send at a time [B]."""
    return (size for size in SIZES if size * clients <= max(MOST, SIZES[-3] * clients))


def measured_cycles(
    asking: Asking,
    clients: int,
    *,
    rounds: int,
    together: Callable[[float], float],
    is_first: bool,
) -> Iterator[Cycle]:
    """Time cycles in rounds: of the first server alone, and of all; `together` gives the slowest.

    Servers call it together; where one works alone the others wait.
    """
    plans = [("pair", 1, size) for size in sizes_for(1)]
    plans += [("server", clients, size) for size in sizes_for(clients)] if clients > 1 else []
    plans += [("all", clients, size) for size in sizes_for(clients)]
    times: dict[tuple[str, int, int], list[float]] = {plan: [] for plan in plans}
    too_large: dict[str, int] = {}  # sizes from which a cycle takes too long
    for turn in range(rounds + 1):
        for plan in plans:
            among, count, size = plan
            if size > too_large.get(among, size):
                continue
            for _ in range(1 if size > 1 << 20 else 4):
                together(0.0)
                is_mine = is_first or among == "all"
                taken = together(asking.cycle(count, size) if is_mine else 0.0)
                if turn:  # the first is discarded
                    times[plan].append(taken)
                elif taken > LONGEST_CYCLE and size > SIZES[-3]:
                    too_large.setdefault(among, size)
                if taken > LONGEST_CYCLE:
                    break
    for (among, count, size), taken_times in times.items():
        if not taken_times:
            continue
        yield Cycle(among=among, clients=count, size=size, times=taken_times)  # type: ignore[arg-type]  # of Among


def measured_pauses(asking: Asking, *, rounds: int) -> dict[float, list[float]]:
    """Time cycles with one client that has waited for so long before [s]."""
    times: dict[float, list[float]] = {pause: [] for pause in PAUSES}
    for turn in range(rounds):
        for pause in PAUSES:
            sleep(pause * (1 + (turn % 7) / 7))  # not in step with the rests of the client
            times[pause].append(asking.cycle(1, 0))
    return times


def measured_calls(asking: Asking, *, rounds: int) -> list[tuple[float, float, float]]:
    """Time single calls."""
    return [asking.calls(0) for _ in range(rounds)]


def eager_limit(endpoint: Endpoint, target: int) -> int:
    """Find the least size of a value that does not leave before the other side takes it [B].

    The other side ignores what arrives.
    """
    for size in EAGER:
        endpoint.send(target, "nothing", value=np.ones(size, np.uint8))
        for _ in range(8):
            if endpoint.channel.drain():
                break
        else:
            endpoint.turn_until(endpoint.channel.drain)
            return size
    return EAGER[-1]
