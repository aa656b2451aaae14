"""Result of `verify`: whether a store is whole, and what of it is lost."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from parcast.arrays.geometry.boxes import Box
from parcast.arrays.store.grid import Index
from parcast.arrays.store.interrupted import Leftover
from parcast.show.result import Result
from parcast.words import counted

Status: TypeAlias = Literal["whole", "interrupted", "damaged", "unchecked"]
LEFTOVERS: Final = (
    "stale draft",
    "interrupted append",
    "interrupted commit",
    "unexpected file",
)


class Span(NamedTuple):
    """Bytes of a file of which some are not as they were written."""

    offset: int  # of the first [B]
    length: int  # [B]

    def __str__(self) -> str:
        """Write it as messages do."""
        return f"in bytes {self.offset:,} to {self.offset + self.length - 1:,}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreFault:
    """One fault of a store."""

    kind: str
    message: str  # what is wrong and what to do, to be read after the file
    file: str
    array: str | None = None  # None: no array is concerned
    chunk: Index | None = None
    subchunk: Index | None = None  # within its chunk; None: all of them
    lost: Box | None = None  # elements that cannot be read; None: none
    span: Span | None = None  # bytes of the file whose checksum differs

    @property
    def is_damage(self) -> bool:
        """Whether something of the store is lost, or may be."""
        return self.kind not in LEFTOVERS

    def to_row(self) -> dict[str, Any]:
        """Give it as a tidy row."""
        return {
            "kind": self.kind,
            "array": self.array,
            "chunk": _dotted(self.chunk),
            "subchunk": _dotted(self.subchunk),
            "lost_start": _dotted(self.lost.start if self.lost else None),
            "lost_count": _dotted(self.lost.count if self.lost else None),
            "file": self.file,
            "message": self.message,
            "offset_B": None if self.span is None else self.span.offset,
            "length_B": None if self.span is None else self.span.length,
        }


def _dotted(index: Index | None) -> str | None:
    """Write an index in a cell."""
    return None if index is None else ".".join(map(str, index))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Verification(Result):
    """What was checked of a store, what could not be, and every fault."""

    _schema = "parcast/array-verification/1"
    _outline = """
        rows path status arrays chunks subchunks size_B filled_chunks=filled unchecked
        unchecked_chunks writer sound=is_sound interrupted=_interrupted earlier
    """

    path: str  # of the store
    faults: tuple[StoreFault, ...] = ()
    arrays: int = 0  # arrays of it [1]
    chunks: int = 0  # files of storage chunks that were read [1]
    subchunks: int = 0  # subchunks that were checked [1]
    size: int = 0  # bytes of the files that were read [B]
    filled: int = 0  # storage chunks without a file, which are read as fill values
    unchecked: tuple[str, ...] = ()  # what has no checksums or cannot be decoded here, and why
    unchecked_chunks: int = 0  # chunks of which a part has none [1]
    is_checked: bool = True  # all that a store can lose would have been found
    writer: str = ""  # process that writes to it now
    is_there: bool = True  # something has its name
    is_complete: bool = True  # every reader finds all of it, or of what is not lost
    left: tuple[Leftover, ...] = ()  # what an interrupted write has left beside it
    earlier: str = ""  # path of the version before

    @property
    def status(self) -> Status:
        """`whole`, `interrupted`, `damaged` or `unchecked`.

        "interrupted": nothing is lost, but a write did not end. "unchecked": no damage was found,
        but some of it has no checksum or is not read here.
        """
        if any(fault.is_damage for fault in self.faults):
            return "damaged"
        if not self.is_checked:
            return "unchecked"
        return "interrupted" if self.faults else "whole"

    @property
    def is_sound(self) -> bool:
        """Whether all of it is there for every reader, whatever lies beside it; and is checked."""
        return self.is_complete and self.status in ("whole", "interrupted")

    @property
    def is_bad(self) -> bool:
        """Whether it is damaged, or not there for every reader."""
        return self.status == "damaged" or not self.is_complete

    @property
    def lost(self) -> dict[str, tuple[Box, ...]]:
        """Boxes of each array that cannot be read."""
        boxes: dict[str, tuple[Box, ...]] = {}
        for fault in self.faults:
            if fault.lost is not None and fault.array is not None:
                boxes[fault.array] = (*boxes.get(fault.array, ()), fault.lost)
        return boxes

    def __repr__(self) -> str:
        """Say in one line how the store is."""
        return f"Verification({self.path}: {self.status}, {counted(len(self.faults), 'fault')})"

    @property
    def _interrupted(self) -> list[dict[str, Any]]:
        """What interrupted writes have left beside it."""
        return [each.to_row() for each in self.left]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each fault."""
        return (fault.to_row() for fault in self.faults)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Verifications(Result):
    """Several stores, each verified by itself."""

    _schema = "parcast/array-verifications/1"
    _outline = "sound=is_sound rows stores problems=_problems"
    _sheet = "parcast.arrays.store.sheet:sheet_of_all"

    stores: tuple[Verification, ...]  # the document of each
    problems: tuple[tuple[str, str], ...] = ()  # paths that are no stores, and why

    @property
    def is_sound(self) -> bool:
        """Whether all are sound."""
        return not self.problems and all(store.is_sound for store in self.stores)

    @property
    def is_bad(self) -> bool:
        """Whether one is damaged, or not there for every reader."""
        return any(store.is_bad for store in self.stores)

    def __repr__(self) -> str:
        """Say in one line how the stores are."""
        sound = sum(store.is_sound for store in self.stores)
        return f"Verifications({counted(len(self.stores), 'store')}, {sound} sound)"

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each fault of each store."""
        return ({"store": store.path, **row} for store in self.stores for row in store.rows())

    @property
    def _problems(self) -> list[dict[str, str]]:
        """Paths that are no stores: `path` and `message`."""
        return [{"path": path, "message": text} for path, text in self.problems]
