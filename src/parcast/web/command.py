"""`parcast web`: a page on this machine that answers what-if questions."""

import os
import secrets
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWERED
from parcast.cli.options import option
from parcast.cli.screen import tell
from parcast.needs import EXTRAS, missing_package

if TYPE_CHECKING:
    from parcast.web.folder import PageFolder

PORT: Final = 8765
PATIENCE: Final = 2  # for requests that are answered when the page is to end [s]
HELP: Final = """Open a page in the browser that answers what-if questions.

FILE may be a PROGRAM and a MACHINE, tables of timings and profiles; more can be added in the page.
It answers as predict, forecast, explain and plan do, with a slider for each amount. What is shown
can be saved as TOML, CSV, JSON and a report; the page gives the command line of each answer.

The page is served on 127.0.0.1 alone, and only with its token. Ctrl-C ends it and removes files
that were added to the page.

\b
Exit status: 0  ended with Ctrl-C
             2  wrong use, or the port is in use
             3  a file cannot be read

\b
Examples:
  parcast web program.toml machine.toml
  parcast web times.csv --port 9000
"""


@cli_command(name="web", help=HELP)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=A_FILE)
@option("--port", Whole(0, 65_535), "Port to listen on; 0: any that is free.", default=PORT)
def command(_: click.Context, *, files: tuple[str, ...], port: int) -> int:
    """Serve the page until Ctrl-C."""
    missing = [x for x in EXTRAS["web"].packages if find_spec(x) is None]
    if missing:
        raise missing_package("The page needs", missing[0], "web")
    from parcast.web.folder import PageFolder

    listening = _listening(port)
    with listening, PageFolder() as folder:
        _add(folder, files)
        computing = _served(folder, listening)
    if computing:  # no thread can be ended, and Python would wait for it
        sys.stdout.flush()
        os._exit(ANSWERED)
    return ANSWERED


def _listening(port: int) -> socket.socket:
    """Listen on the loopback, or say that the port is in use."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen()  # who asks before the server begins waits
    except OSError as error:
        listening.close()
        why = (error.strerror or str(error)).lower()
        raise click.ClickException(
            f"port {port} cannot be used: {why}. Choose another with --port, or --port 0."
        ) from error
    return listening


def _add(folder: "PageFolder", paths: Sequence[str]) -> None:
    """Copy the files of the command line."""
    from parcast.files.decoding import opened
    from parcast.web.folder import LARGEST

    for path in paths:
        with opened(os.path.join(folder.before, path)) as (_, stream):
            content = stream.read(LARGEST + 1)
        folder.add(path, content)  # type: ignore[arg-type]  # a path gives bytes


def _served(folder: "PageFolder", listening: socket.socket) -> Sequence[str]:
    """Answer requests until the process is told to end; give what is computed here still."""
    import logging

    import uvicorn

    from parcast.signals import Terminated
    from parcast.simulation.workers import workers
    from parcast.web.application import WebPage
    from parcast.web.connections import MOST, LimitedConnection
    from parcast.web.processes import AnswerProcesses, count_of_processes

    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    processes = AnswerProcesses(None)
    with suppress(KeyboardInterrupt, Terminated), workers(count_of_processes()) as executor:
        processes = AnswerProcesses(executor)
        page = WebPage(folder, processes)
        config = uvicorn.Config(
            page.app(token=token, port=port),
            log_level="critical",  # who asks is told what is wrong
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=PATIENCE,
            http=LimitedConnection,
            limit_concurrency=MOST,
        )
        page.begin()
        click.echo(f"http://127.0.0.1:{port}/?token={token}")
        tell("Ctrl-C ends the page. From another computer, run there first:")
        tell(f"  ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}")
        uvicorn.Server(config).run(sockets=[listening])
        raise KeyboardInterrupt  # what other processes compute still ends with the page
    tell("the page has ended.")
    return processes.here
