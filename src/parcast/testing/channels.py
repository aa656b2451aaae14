"""A check of channels: what the event loop of a rank needs of what carries its messages."""

import time
from typing import Any, Final

import numpy as np

from parcast.errors import ParameterError, RunFailed
from parcast.mpi.loop import SHORTEST_REST, EventLoop
from parcast.mpi.messages import Channel, Message

NUMBERED: Final = 50  # messages to each rank, whose order is kept
SIZES: Final = (0, 1, 1000, 3 << 20)  # of values [B]
LIMIT: Final = 60.0  # for each step [s]
DIED: Final = "It died as a check."


class _Mail:
    """Messages that have arrived; of ranks that are further on they have to wait."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.kept: list[Message] = []

    def take(self, kind: str, count: int) -> list[Message]:
        """Wait for so many messages of a kind."""
        end = time.monotonic() + LIMIT
        while len(found := [x for x in self.kept if x.content[0] == kind]) < count:
            if time.monotonic() > end:
                _refuse(f"deliver {count} messages that say {kind}", f"{len(found)}")
            self.kept += self.channel.poll()
            time.sleep(SHORTEST_REST)  # others may have this core
        self.kept = [x for x in self.kept if x.content[0] != kind]
        return found


def check_channel(channel: Channel) -> None:
    """Check a channel, on every rank of a run at the same time.

    Messages to every rank, this one too, arrive once and in their order; values arrive as they
    were, and where `room` has memory for them; that a rank dies ends the loops of all, with why;
    and in the end nothing is left or on its way. A ParameterError says what is otherwise.

    Examples
    --------
    >>> from parcast.mpi.messages import LoneChannel
    >>> from parcast.testing.channels import check_channel
    >>> check_channel(LoneChannel())
    """
    mail = _Mail(channel)
    _check_order(channel, mail)
    _check_values(channel, mail)
    for target in range(channel.size):
        channel.send(target, ("done",))
    mail.take("done", channel.size)  # nothing of the above is on its way
    _drain(channel)
    if any(message.content[0] != "ready" for message in mail.kept):  # of ranks further on
        _refuse("deliver every message once", f"{mail.kept[0].content!r} again")
    channel.send(channel.size - 1, ("ready",))
    if channel.rank == channel.size - 1:
        mail.take("ready", channel.size)
    _check_death(channel)
    _drain(channel)


def _check_order(channel: Channel, mail: _Mail) -> None:
    """Send numbers to all, and take those of all."""
    for number in range(NUMBERED):
        for target in range(channel.size):
            channel.send(target, ("number", number))
    found = mail.take("number", NUMBERED * channel.size)
    for source in range(channel.size):
        numbers = [x.content[1] for x in found if x.source == source]
        if numbers != [*range(NUMBERED)]:
            _refuse(f"keep the order of {NUMBERED} messages of a rank", f"{numbers}")


def _check_values(channel: Channel, mail: _Mail) -> None:
    """Send values to all; the largest have a place where they arrive."""
    places: dict[int, bytearray] = {}

    def room(source: int, content: tuple[Any, ...], size: int) -> memoryview | None:
        return memoryview(places.setdefault(source, bytearray(size))) if content[1] else None

    channel.room = room
    every = [np.random.default_rng(size).bytes(size) for size in SIZES]
    for target in range(channel.size):
        for value in every:
            array = np.frombuffer(value, np.uint8)
            size = channel.send(target, ("value", value is every[-1]), array)
            if size < (0 if target == channel.rank else len(value)):
                _refuse("give the length of what it sends", f"{size} of {len(value)} B")
    for message in mail.take("value", len(SIZES) * channel.size):
        if bytes(message.value) not in every:
            _refuse("give values as they were sent", f"{len(message.value)} other bytes")
    if any(bytes(place) != every[-1] for place in places.values()):
        _refuse("put a value where it belongs", "something else there")


def _check_death(channel: Channel) -> None:
    """Have the last rank say that it dies, and see that all loops end with why."""
    if channel.rank == channel.size - 1:
        for target in range(channel.size):
            channel.send(target, ("quit", RunFailed(DIED)))
    loop = EventLoop(channel)
    if not loop.turn_until(lambda: loop.has_quit, LIMIT) or str(loop.failure) != DIED:
        _refuse("tell all ranks that one has died", f"{loop.failure}")


def _drain(channel: Channel) -> None:
    """Wait until all that was sent has left."""
    end = time.monotonic() + LIMIT
    while not channel.drain() or channel.leaving:
        if time.monotonic() > end:
            _refuse("let everything leave that was sent", f"{channel.leaving} B that have not")


def _refuse(must: str, got: str) -> None:
    """Say what a channel does wrong."""
    raise ParameterError("channel", must=must, got=f"{got:.200}", hint="Correct its class.")
