"""Bounds on what is read: no file, pipe or device takes more than a reader can bear.

A file is refused by its size before it is read, and a pipe, which has none, as soon as it goes on
beyond the bound. The bounds of a format stand where they are checked;
`docs/reference/limits.md` lists all of them.
"""

import os
import stat
import sys
from typing import Any, Final

from parcast.files.faults import Faults

LARGEST: Final = 2_000_000_000  # bytes of a file, where its format has no bound of its own
LARGEST_LIST: Final = 64_000_000  # bytes of a table that is kept row by row, not in arrays
LARGEST_OBJECTS: Final = 1_000_000_000  # bytes that the objects of one JSON document may take
SPLIT: Final = "Split it into several files."

# Bytes that a document takes for each of these characters, at most: an object with one key, an
# empty list, a number with its place in a list, half of a string with its place in an object.
_TAKES: Final = {"{": 100, "[": 64, ",": 44, '"': 50}


def refuse_kind(path: str | os.PathLike[str] | int, faults: Faults) -> None:
    """Refuse a path or descriptor that has no end to be read to, as a folder and most devices.

    Files, pipes, terminals and the empty `os.devnull` can; of what is not there, opening says why.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        faults.refuse("must be a file, got a folder. Name a file in it.")
    if kind == stat.S_IFSOCK:
        faults.refuse("must be a file, got a socket. Save what it sends to a file.")
    if kind == stat.S_IFBLK:
        faults.refuse("must be a file, got a disk. Name a file on it.")
    is_empty = kind == stat.S_IFCHR and status.st_rdev == os.stat(os.devnull).st_rdev
    if kind == stat.S_IFCHR and not is_empty and not _is_terminal(path):
        faults.refuse(
            "must be a file, got a device, which may have no end. Name a file or a pipe."
        )


def _is_terminal(path: str | os.PathLike[str] | int) -> bool:
    """Tell a terminal, at which a person ends what is read, from other devices."""
    if isinstance(path, int):
        return os.isatty(path)
    try:
        device = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.isatty(device)
    finally:
        os.close(device)


def too_large(largest: float, remedy: str = SPLIT) -> str:
    """Say that a file has more than its bound, and what to do."""
    return f"must have at most {as_size(largest)}, got more. {remedy}"


def require_at_most(
    most: int,
    count: int,
    what: str,
    faults: Faults,
    *,
    line: int | None = None,
    field: str = "",
    remedy: str = SPLIT,
) -> None:
    """Refuse a file that has more of something than fits into memory."""
    if count > most:
        message = f"must have at most {most:,} {what}, got more. {remedy}"
        faults.refuse(message, line=line, field=field)


def as_size(count: float) -> str:
    """Write a number of bytes as a person does.

    >>> as_size(2_000_000_000), as_size(64_000_000), as_size(1_000)
    ('2 GB', '64 MB', '1 kB')
    """
    unit, name = next(
        x for x in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")) if count >= x[0]
    )
    return f"{count / unit:.10g} {name}"


def refuse_size(stream: Any, largest: float, faults: Faults, remedy: str = SPLIT) -> None:
    """Refuse a file that has more than `largest` bytes; a pipe has no size, and none is known."""
    try:
        size = os.fstat(stream.fileno()).st_size
    except (OSError, AttributeError, ValueError):
        return
    if size > largest:
        faults.refuse(too_large(largest, remedy))


def json_takes(text: str) -> int:
    """Bound the memory that the objects of a JSON document take, by a look at its characters.

    Ten bytes of brackets become two hundred of lists; a document with few of them is mostly text.
    [B].

    >>> json_takes("[[],[]]") > 7 * 20
    True
    """
    is_wide = sys.getsizeof(text) - len(text)  # a character beyond Latin-1 makes all of them wide
    return is_wide + sum(text.count(mark) * each for mark, each in _TAKES.items())
