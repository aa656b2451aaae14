"""Standard input where a file is named: "-" is read as a stream, or kept as a file for a while.

Other tools' formats are read from files, more than once. Standard input becomes one only where its
beginning tells such a format, or where a user names it; whatever else it holds is read on as a
stream, so that what never ends does not fill a disk.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

import click

from parcast.errors import FileProblems, Problem

BLOCK: Final = 2**20  # read at once [B]


_HEADS: Final[WeakKeyDictionary[Any, bytes]] = WeakKeyDictionary()  # streams and their beginnings


def require_one_stdin(ctx: click.Context, files: Sequence[str]) -> None:
    """Refuse standard input in place of several files."""
    if list(files).count("-") > 1:
        raise click.UsageError("Only one file may be -, standard input. Name the others.", ctx)


def prepare_stdin(argument: str, what: str) -> None:
    """Refuse standard input that is closed, and say that a terminal is waited for."""
    from parcast.cli.screen import is_a_terminal

    if sys.stdin in _HEADS:
        return  # it was prepared before its beginning was read
    if sys.stdin is None:
        raise click.UsageError(f"{argument} must not be -: standard input is closed. Name a file.")
    if is_a_terminal(sys.stdin):
        click.echo(f"parcast: reading {what} from the terminal; end it with Ctrl-D.", err=True)


def beginning_of_stdin(argument: str, what: str) -> bytes:
    """Read as much as tells what standard input holds; who asks again gets the same."""
    from parcast.importers.content import HEAD

    prepare_stdin(argument, what)
    if sys.stdin not in _HEADS:
        head = b""
        while len(head) < HEAD and (more := _read(HEAD - len(head))):
            head += more
        _HEADS[sys.stdin] = head
    return _HEADS[sys.stdin]


class WholeStdin:
    """Standard input from its beginning, which may have been read already."""

    def __init__(self) -> None:
        from parcast.importers.content import HEAD

        head = _HEADS.pop(sys.stdin, None)
        self._head = head or b""
        self._has_ended = head is not None and len(head) < HEAD

    def read(self, count: int) -> bytes:
        """Read on."""
        taken, self._head = self._head[:count], self._head[count:]
        more = count - len(taken)
        return taken if self._has_ended or not more else taken + _read(more)

    def fileno(self) -> int:
        """Name the file, so that its size can be asked."""
        return sys.stdin.fileno()


@contextmanager
def stdin_as_file(head: bytes, *, with_rest: bool = True) -> Iterator[str]:
    """Keep standard input in a file meanwhile; faults in it name standard input.

    It begins with `head`, which `beginning_of_stdin` read.
    """
    from parcast.files.decoding import STDIN, copy_called

    with tempfile.TemporaryDirectory(prefix="parcast-") as folder:
        copy = os.path.join(folder, STDIN)
        with open(copy, "wb") as stream:
            stream.write(head)
            while with_rest and (more := _read(BLOCK)):
                stream.write(more)
        with copy_called(copy, STDIN):
            yield copy


def _read(count: int) -> bytes:
    """Read some bytes, or say why that fails."""
    from parcast.files.decoding import STDIN

    stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
    try:
        found: bytes = stream.read(count)
    except OSError as error:
        reason = f"must be readable, got: {error.strerror or error}."
        raise FileProblems(STDIN, [Problem(message=reason)]) from error
    return found
