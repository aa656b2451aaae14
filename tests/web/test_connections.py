"""Connections that send nothing, or too slowly, are closed; others are answered."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn.server import ServerState

from parcast.web import connections
from parcast.web.connections import LimitedConnection

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"


async def answer(request):
    return PlainTextResponse((await request.body()).decode())


async def sent(*pieces, pause):
    """Give what a server answers to pieces that come one after the other, until it closes."""
    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_keep_alive=60)
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()

    def connection():
        return LimitedConnection(config=config, server_state=state, app_state={})

    async with await loop.create_server(connection, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(pause)
        try:
            return await asyncio.wait_for(reader.read(), 10)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


@pytest.mark.fault(
    "The what-if page",
    "A connection sends nothing, or a request too slowly.",
    promise="It is closed after 10 s, in the midst of a file after 5 minutes.",
)
@pytest.mark.parametrize(
    ("pieces", "answered"),
    [
        ((b"",), False),
        ((b"POST", b" /"), False),
        ((HEAD, b"12"), False),
        ((HEAD + b"123456789",), True),
        ((HEAD, b"1234", b"56789", HEAD[:9]), True),
    ],
)
def test_who_does_not_ask_is_not_waited_for(monkeypatch, pieces, answered):
    for name in ("HEAD", "BODY"):
        monkeypatch.setattr(connections, name, 0.1)
    with ThreadPoolExecutor(1) as thread:  # this one may have the loop of a browser
        text = thread.submit(asyncio.run, sent(*pieces, pause=0.01)).result()
    assert text.endswith(b"123456789") is answered
