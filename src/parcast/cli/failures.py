"""What the command line says when something goes wrong, and the status it ends with."""

import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import click

from parcast.errors import FileProblems, FitFailed, ParameterError, RunFailed

ANSWERED: Final = 0
ANSWER_IS_NO: Final = 1
WRONG_USE: Final = 2
BAD_FILE: Final = 3
NO_FORECAST: Final = 4
OUR_BUG: Final = 70  # as sysexits.h has it: not to be taken for an answer
INTERRUPTED: Final = 130  # what a shell reports for SIGINT
PIPE_CLOSED: Final = 141  # and for SIGPIPE


class NoAnswer(click.ClickException):
    """What was asked was understood, and has no answer."""

    exit_code = NO_FORECAST


def _ignored(columns: re.Match[str]) -> str:
    """Write columns to pass over as an option."""
    return f"--ignore {','.join(part.strip()[1:-1] for part in columns[1].split(','))}"


# What Python calls an argument, and what the command line calls it.
_OPTIONS: Final[list[tuple[str, str | Callable[[re.Match[str]], str]]]] = [
    (r"^hold_out\b", "--hold-out"),
    (r"^by must", "--by must"),
    (r"^donors must", "--donors must"),
    (r"\bdonors\.select\(callpath='?(.*?)'?\)", r"keep only \1 in their files"),
    (r"^select must", "--select must"),
    (r"\bto by, or", "to --by, or"),
    (r"\bselect\(([^=()]+)='?(.*?)'?\)", r"--select \1=\2"),
    (r", got \[\] where", ", got none where"),
    (r"\bmin_efficiency\b", "--knee"),
    (r"parcast\.read_measurements\(path, ignore=\[(.*?)\]\)", _ignored),
    (r"^free must", "--free must"),
    (r"^fixed must", "--fix must"),
    (r"\bCall it with ([pdn])=\.\.\.", r"Give it with -\1."),
    (r"\bp=\[1, 2, 4, 8\]", "-p 1..8x2"),
    (r"\bd=\[1, 2, 4\]", "-d 1..4x2"),
    (r'\bvary=\{"network.bandwidth": \[...\]\}', "--vary network.bandwidth=..."),
    (r'\bpicture="lines"', "--picture lines"),
    (r"\bor leave the interval out\b", "or leave the interval out with --no-interval"),
]


def run(command: click.Command, args: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; whatever goes wrong is told in one message."""
    given = sys.argv[1:] if args is None else list(args)
    if "_PARCAST_COMPLETE" in os.environ:  # a shell asks what may follow
        command.main(given, prog_name="parcast")
    try:
        status = _invoked(command, given)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as failure:  # whatever it is, the user gets one message
        if "--debug" in given:
            traceback.print_exc()
        return _told(failure)
    return status


def _invoked(command: click.Command, given: list[str]) -> int:
    """Run a command as `click.Command.main` does, but let every failure through."""
    try:
        with command.make_context("parcast", list(given)) as ctx:
            status = command.invoke(ctx)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return status if isinstance(status, int) else ANSWERED


def _told(failure: BaseException) -> int:
    """Say what went wrong on stderr and return the status for it."""
    message, status = meaning(failure)
    if message:
        with suppress(OSError):  # nobody listens there either
            click.echo(message, err=True)
    if status == PIPE_CLOSED:
        _let_go_of_stdout()
    return status


def meaning(failure: BaseException) -> tuple[str, int]:
    """Give the message and the exit status of a failure.

    >>> meaning(FitFailed("No forecast. All its times are at p = 8."))
    ('parcast: No forecast. All its times are at p = 8.', 4)
    """
    text, status = str(failure), WRONG_USE
    match failure:
        case click.Abort() | KeyboardInterrupt():
            text, status = "interrupted.", INTERRUPTED
        case BrokenPipeError():
            return "", PIPE_CLOSED
        case click.UsageError():
            path = failure.ctx.command_path if failure.ctx else "parcast"
            text = f"{failure.format_message()}\nSee: {path} --help"
        case NoAnswer():
            text, status = failure.format_message(), NO_FORECAST
        case click.ClickException():
            text = failure.format_message()
        case FileProblems():
            status = BAD_FILE
        case FitFailed() | RunFailed():
            status = NO_FORECAST
        case ParameterError():
            text = in_options(text)
        case OSError():
            place = f"{failure.filename}: " if failure.filename else ""
            why = (failure.strerror or text).lower()
            text = f"{place}cannot be written: {why}. Choose another place."
        case MemoryError():
            text, status = "out of memory. Ask for fewer counts or series.", NO_FORECAST
        case _:
            text = (
                f"this is a fault of parcast itself: {type(failure).__name__}: {text}\n"
                "Run it again with --debug and report what it prints."
            )
            status = OUR_BUG
    return f"parcast: {text}", status


def in_options(message: str) -> str:
    """Call the arguments of a function by the options that stand for them.

    >>> in_options("hold_out must be a measured count, got 128.")
    '--hold-out must be a measured count, got 128.'
    >>> in_options("Add 'machine' to by, or select one value: select(machine='A').")
    "Add 'machine' to --by, or select one value: --select machine=A."
    """
    for argument, option in _OPTIONS:
        message = re.sub(argument, option, message)
    return message


def _let_go_of_stdout() -> None:
    """Point stdout nowhere, so that Python does not complain when it flushes at the end."""
    with suppress(OSError, ValueError, AttributeError):  # it is no file, or is closed already
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
