"""What an interrupted write has left beside a store: who wrote, when, and how far it was."""

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from parcast.arrays.store import durable
from parcast.arrays.store.chunk_file import ChunkReader
from parcast.arrays.store.codecs import DamageError, UnsupportedError
from parcast.arrays.store.durable import files_below
from parcast.arrays.store.layout import METADATA, ArrayLayout, layout_of, parsed
from parcast.units import format_quantity, shown
from parcast.words import counted

Kind: TypeAlias = Literal["stale draft", "interrupted append", "interrupted commit"]

MOST_PID: Final = 2**31 - 1
LATEST: Final = 253_402_300_799  # the end of the year 9999 [s]
BLOCK: Final = 512  # unit in which the system counts what a file occupies [B]


class InterruptedWriteWarning(UserWarning):
    """A write has found what an interrupted one had left, and cleared it up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A process that writes to a place, or has written."""

    host: str
    pid: int
    program: str = ""
    begun: float = 0.0  # in seconds since 1970; 0: unknown [s]

    @classmethod
    def read(cls, content: bytes) -> "Owner | None":
        """Read what a writer has noted of itself; None where it is nothing."""
        try:
            noted = parsed(content)
            pid, begun = int(noted["pid"]), float(noted.get("begun", 0.0))
            if not 0 < pid <= MOST_PID:
                return None
            return cls(
                host=str(noted["host"]),
                pid=pid,
                program=str(noted.get("program", "")),
                begun=begun if 0 <= begun <= LATEST else 0.0,
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            return None

    def note(self) -> bytes:
        """Write it for `read`."""
        return json.dumps(asdict(self)).encode()

    def __str__(self) -> str:
        """Name it."""
        program = f" ({shown(self.program)})" if self.program else ""
        return f"process {self.pid}{program} on {self.host}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    """What lies beside a store since a write was interrupted."""

    kind: Kind
    path: Path
    is_put: str  # what it is, to be read after its name
    then: str  # what the next write does with it
    done: str  # what was done, when that write has come
    owner: Owner | None = None  # who has left it
    chunks: int | None = None  # that are complete; None: it has none
    expected: int | None = None
    size: int = 0  # of what was written [B]
    last: float = 0.0  # when something was last written, in seconds since 1970 [s]

    @property
    def history(self) -> str:
        """By whom and when it was written, and how far."""
        parts = []
        if self.owner is not None:
            begun = f"begun {moment(self.owner.begun)} " if self.owner.begun else ""
            parts.append(f"{begun}by {self.owner}")
        if self.last:
            parts.append(f"last written {moment(self.last)}")
        size = format_quantity(float(self.size), "size")
        if self.chunks is not None and self.expected is not None:
            parts.append(f"{self.chunks:,} of {counted(self.expected, 'chunk')} complete, {size}")
        elif self.size:
            parts.append(f"{size} written")
        return ", ".join(parts)

    @property
    def message(self) -> str:
        """What it is and what will become of it, to be read after its name."""
        history = f" ({self.history})" if self.history else ""
        return f"{self.is_put}{history}. {self.then}"

    @property
    def cleared(self) -> str:
        """What it was, and what was done with it."""
        history = f" ({self.history})" if self.history else ""
        return f"a write was interrupted{history}. {self.done}"

    def to_row(self) -> dict[str, Any]:
        """Give it as a tidy row."""
        owner = self.owner
        return {
            "kind": self.kind,
            "file": self.path.name,
            "host": owner.host if owner else None,
            "pid": owner.pid if owner else None,
            "program": owner.program if owner else None,
            "begun_s": owner.begun or None if owner else None,
            "last_written_s": self.last or None,
            "chunks": self.chunks,
            "chunks_expected": self.expected,
            "size_B": self.size,
        }


def moment(seconds: float) -> str:
    """Write a moment as date and time of day here."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(min(max(seconds, 0.0), LATEST)))


def progress_of(draft: Path, appended_to: Path | None = None) -> dict[str, Any]:
    """Fields of a leftover that say how far a draft is; an append has rows from before."""
    is_folder = os.path.isdir(draft) and not os.path.islink(draft)
    files = [draft / x for x in files_below(draft)] if is_folder else [draft]
    size, last = 0, 0.0
    for file in {draft, *files}:
        with suppress(OSError):  # its writer, or who clears up, removed it meanwhile
            found = file.lstat()
            last = max(last, found.st_mtime)
            if not stat.S_ISDIR(found.st_mode):
                size += min(found.st_size, BLOCK * found.st_blocks)
    if not is_folder:
        return {"size": size, "last": last}
    complete = expected = 0
    for name, layout in _layouts_of(draft):
        old = None if appended_to is None else _document(appended_to / name / METADATA)
        first = _rows_in(old) // layout.chunk[0] if layout.shape else 0
        rows, *others = layout.grid.cells or (1,)
        expected += max(rows - first, 0) * prod(others)
        for key in files_below(draft / name):
            index = layout.index_of(key)
            if index is not None and (not index or index[0] >= first):
                complete += _is_complete(layout, draft / name / key)
    return {"chunks": complete, "expected": expected, "size": size, "last": last}


def _layouts_of(draft: Path) -> Iterator[tuple[str, ArrayLayout]]:
    """Give the arrays of a draft that can be read."""
    for name in arrays_below(draft):
        document = _document(draft / name / METADATA)
        if document is not None and document.get("node_type") == "array":
            try:
                yield name, layout_of(document)
            except UnsupportedError:
                continue


def arrays_below(draft: Path) -> Iterator[str]:
    """Names of the arrays and groups of a draft; none where it is no folder."""
    for file in () if os.path.islink(draft) else files_below(draft):
        name, base = os.path.split(file)
        if base == METADATA:
            yield name


def _rows_in(document: Mapping[str, Any] | None) -> int:
    """Rows of an array by its metadata, if there are any."""
    with suppress(UnsupportedError, IndexError):
        return 0 if document is None else layout_of(document).shape[0]
    return 0


def _document(path: Path) -> Mapping[str, Any] | None:
    """Read metadata; None where they are none."""
    try:
        document = parsed(durable.read_regular(path))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _is_complete(layout: ArrayLayout, path: Path) -> bool:
    """Tell whether the file of a chunk has its index."""
    try:
        reader = ChunkReader(layout, durable.open_regular(path))
    except OSError:
        return False
    try:
        reader.index()
    except (DamageError, OSError):
        return False
    finally:
        reader.close()
    return True
