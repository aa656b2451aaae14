"""Connections of the page: who sends nothing, or too slowly, is not waited for without end."""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from asyncio import Transport

MOST: Final = 100  # connections, above which requests are refused with status 503
HEAD: Final = 10.0  # for the head of a request, or the next one [s]
BODY: Final = 300.0  # for what is sent with it: 64 MB at 213 kB/s [s]


class LimitedConnection(H11Protocol):
    """Closes itself where a request is not there within a time."""

    _awaited: Any = None  # of h11: what is to come from who asks
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: "Transport") -> None:  # type: ignore[override]  # as its base
        """Wait for the head of the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take in what has come, and wait for what is to come."""
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._forget()

    def _wait(self) -> None:
        """Set a deadline for a part of a request when it begins to be waited for."""
        awaited = self.conn.their_state
        if awaited is self._awaited:
            return
        self._awaited = awaited
        self._forget()
        seconds = HEAD if awaited is h11.IDLE else BODY if awaited is h11.SEND_BODY else None
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
