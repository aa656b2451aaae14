"""Copies of what can be read only once, standard input and pipes, in files without a name.

Formats of other tools are read more than once. Their copy is in no folder, so that nothing of it
is left whatever ends the process, and is as large as a file may be at most.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast

from parcast.files.bounds import LARGEST, SPLIT, as_size
from parcast.files.decoding import copy_called, name_of, opened
from parcast.files.faults import Faults

BLOCK: Final = 2**20  # copied at once [B]


class Readable(Protocol):
    """Gives bytes, none at its end."""

    def read(self, count: int, /) -> bytes:
        """Read on."""


@contextmanager
def copied(stream: Readable, name: str, *, largest: int = LARGEST) -> Iterator[str]:
    """Copy a stream to a file, which messages call `name`: its path meanwhile."""
    faults = Faults(name)
    with unnamed_file(faults) as (copy, path):
        done = 0
        while piece := stream.read(BLOCK):
            done += len(piece)
            if done > largest:
                faults.refuse(
                    f"must have at most {as_size(largest)}, got more (its copy in "
                    f"{tempfile.gettempdir()} was removed). {SPLIT}"
                )
            _write(copy, piece, faults)
        with copy_called(path, name):
            yield path


@contextmanager
def unnamed_file(faults: Faults) -> Iterator[tuple[BinaryIO, str]]:
    """Give an empty file in no folder, and a path that it can be opened by meanwhile."""
    kinds: tuple[Any, ...] = (tempfile.TemporaryFile, tempfile.NamedTemporaryFile)
    for kind in kinds:
        try:
            file = kind(prefix="parcast-", buffering=0)
        except OSError as error:
            faults.refuse(f"must be copied while it is read, got: {error.strerror or error}.")
        with file:
            path = f"/proc/{os.getpid()}/fd/{file.fileno()}"  # for child processes as well
            if kind is not kinds[0]:
                path = file.name
            if os.path.exists(path):
                yield cast("BinaryIO", file), path
                return


@contextmanager
def readable_again(path: Path) -> Iterator[Path]:
    """Give a path that can be read more than once: of a pipe or a terminal, that of a copy."""
    if not _passes_by(path):
        yield path
        return
    with opened(path) as (_, stream), copied(cast("Readable", stream), name_of(path)) as copy:
        yield Path(copy)


def _passes_by(path: Path) -> bool:
    """Tell what can be read only once; of what is not there, opening it says why."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _write(copy: BinaryIO, piece: bytes, faults: Faults) -> None:
    """Write all of a piece, or say which disk has no room for it."""
    rest = memoryview(piece)
    try:
        while rest:
            rest = rest[copy.write(rest) :]
    except OSError as error:
        faults.refuse(
            f"must be copied to {tempfile.gettempdir()} while it is read, got: "
            f"{(error.strerror or str(error)).lower()}. Set TMPDIR to a folder on another disk."
        )
