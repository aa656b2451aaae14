"""Standard input where a file is named: "-" is read as a stream, or kept as a file for a while.

Other tools' formats are read from files, more than once. Standard input becomes one only where its
beginning tells such a format, or where a user names it; whatever else it holds is read on as a
stream. Either way it ends at the bound that files have.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import Any, Final
from weakref import WeakKeyDictionary

import click

from parcast.errors import FileProblems, Problem

PIECE: Final = 2**16  # read at once, as much as a pipe holds [B]
_HEADS: Final[WeakKeyDictionary[Any, bytes]] = WeakKeyDictionary()  # streams and their beginnings


def require_one_stdin(ctx: click.Context, files: Sequence[str]) -> None:
    """Refuse standard input in place of several files."""
    if list(files).count("-") > 1:
        raise click.UsageError("Only one file may be -, standard input. Name the others.", ctx)


def prepare_stdin(argument: str, what: str) -> None:
    """Refuse standard input that is closed, and say that a terminal is waited for."""
    from parcast.cli.screen import is_a_terminal, tell
    from parcast.files.bounds import refuse_kind
    from parcast.files.decoding import STDIN
    from parcast.files.faults import Faults

    if sys.stdin in _HEADS:
        return  # it was prepared before its beginning was read
    if sys.stdin is None:
        raise click.UsageError(f"{argument} must not be -: standard input is closed. Name a file.")
    with suppress(OSError, AttributeError):  # it is no file of the system
        refuse_kind(sys.stdin.fileno(), Faults(STDIN))
    if is_a_terminal(sys.stdin):
        tell(f"reading {what} from the terminal; end it with Ctrl-D.")


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
    from parcast.files.copies import copied
    from parcast.files.decoding import STDIN

    with copied(WholeStdin() if with_rest else BytesIO(head), STDIN) as path:
        yield path


def _read(count: int) -> bytes:
    """Read as many bytes, fewer at the end, or say why that fails.

    They are read piece by piece: a signal that comes between two pieces is heard before the next,
    for which a person may have to wait.
    """
    from parcast.files.decoding import STDIN

    stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
    read_piece = getattr(stream, "read1", stream.read)
    pieces: list[bytes] = []
    try:
        while count > 0 and (piece := read_piece(min(count, PIECE))):
            pieces.append(piece)
            count -= len(piece)
    except OSError as error:
        reason = f"must be readable, got: {error.strerror or error}."
        raise FileProblems(STDIN, [Problem(message=reason)]) from error
    return b"".join(pieces)
