"""Values as they travel and as they lie in files: pickled, with their large buffers apart.

NumPy arrays and other objects with buffers are pickled by protocol 5 with the buffers out of band,
so that they are sent from where they lie and received where they stay. Small ones are pickled with
the rest, as a message costs more than a copy.

Functions and classes of a script or a notebook have no module that another process could import
them from: what pickle refuses is pickled by value, where cloudpickle is installed.
"""

import io
import os
import pickle
import sys
import zlib
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import IO, Any, Final, NamedTuple

from parcast.errors import FAILURES, is_of_system

LEAST_BUFFER: Final = 1 << 16  # that travels by itself [B]
PIECE: Final = 1 << 20  # of a file that is read for its checksum [B]
SAMPLE: Final = 32  # members of a collection that are looked at for its size
UNKNOWN: Final = 64.0  # size of what does not tell it [B]
NO_FILE: Final = "<dynamic-code>"  # what cloudpickle calls the file of any function


class Nothing(Enum):
    """No value, where None may be one: of no item, or of a message that carries none."""

    EMPTY = "empty"


EMPTY: Final = Nothing.EMPTY


class PackedValue(NamedTuple):
    """A value as bytes: what is pickled, and its buffers."""

    head: bytes
    buffers: tuple[memoryview, ...]

    @property
    def size(self) -> int:
        """Length of the message. [B]."""
        return len(self.head) + sum(buffer.nbytes for buffer in self.buffers)


def packed(value: Any) -> PackedValue:
    """Pickle a value; what cannot be pickled raises what pickle does."""
    buffers: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < LEAST_BUFFER:
            return True  # in band
        buffers.append(raw)
        return False

    try:
        head = pickle.dumps(value, protocol=5, buffer_callback=keep)
    except Exception:
        buffers.clear()
        head = _by_value(value, keep)
    return PackedValue(head, tuple(buffers))


def portable(value: Any) -> bytes:
    """Pickle a value for a process that lacks what the main program of this one defines."""
    try:
        text = pickle.dumps(value, protocol=5)
    except Exception:
        return _by_value(value)
    return _by_value(value) if b"__main__" in text else text


def _by_value(value: Any, keep: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """Pickle a value with the functions and classes that it refers to, or raise as pickle does."""
    try:
        pickler_by_value()
    except ImportError:
        return pickle.dumps(value, protocol=5, buffer_callback=keep)
    return by_value(value, keep)


def by_value(value: Any, keep: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """Pickle a value by cloudpickle; an ImportError says that it cannot be loaded."""
    stream = io.BytesIO()
    pickler_by_value()(stream, protocol=5, buffer_callback=keep).dump(value)
    return stream.getvalue()


@cache
def pickler_by_value() -> Any:
    """Give the pickler of cloudpickle, made to keep the files of functions.

    Since version 3.1.3 it leaves them out, and then tracebacks have no lines of the program.
    """
    import cloudpickle

    tables = cloudpickle.CloudPickler.dispatch_table
    plain = tables[CodeType]

    def with_file(code: CodeType) -> tuple[Any, ...]:
        make, arguments = plain(code)
        return make, tuple(code.co_filename if x == NO_FILE else x for x in arguments)

    reducers = {"dispatch_table": ChainMap({CodeType: with_file}, tables)}
    return type("Pickler", (cloudpickle.CloudPickler,), reducers)


def unpacked(head: bytes | bytearray, buffers: Sequence[Any]) -> Any:
    """Give back the value of a head and its buffers."""
    return pickle.loads(head, buffers=buffers)


def size_of(value: Any, depth: int = 4) -> float:
    """Estimate what a value takes of memory, from a sample of large collections. [B].

    >>> import numpy as np
    >>> size_of(np.zeros(1000)) >= 8000, size_of({str(i): i for i in range(1000)}) > 50_000
    (True, True)
    """
    try:
        return _size_of(value, depth)
    except FAILURES:  # of a method of the value
        return UNKNOWN


def _size_of(value: Any, depth: int) -> float:
    """Estimate a size, of what objects really hold: an attribute may be anything."""
    own = float(sys.getsizeof(value, int(UNKNOWN)))
    if has(value, "nbytes") and isinstance(value.nbytes, int):
        return max(own, float(value.nbytes))
    if depth == 0 or isinstance(value, str | bytes | bytearray | int | float | complex):
        return own
    if isinstance(value, Mapping):
        members = [x for pair in islice(value.items(), SAMPLE) for x in pair]
        return own + _mean_size(members, depth) * 2 * len(value)
    if isinstance(value, list | tuple | AbstractSet):
        return own + _mean_size(list(islice(value, SAMPLE)), depth) * len(value)
    kind = type(value)
    inner = dict(vars(value)) if hasattr(kind, "__dict__") and hasattr(value, "__dict__") else {}
    slots = getattr(kind, "__slots__", ())
    inner |= {name: getattr(value, name, None) for name in slots if isinstance(name, str)}
    return own + sum(size_of(x, depth - 1) for x in inner.values())


def has(value: object, name: str) -> bool:
    """Tell whether the class of a value, such as an array, has an attribute.

    The value itself may answer to any name, as a mapping with its keys as attributes does.
    """
    return hasattr(type(value), name)


def _mean_size(members: Sequence[Any], depth: int) -> float:
    return sum(size_of(x, depth - 1) for x in members) / len(members) if members else 0.0


class WrittenValue(NamedTuple):
    """A file of a value that is on disk."""

    size: float  # [B]
    checksum: int  # CRC-32 of its bytes


class _Draft:
    """A file for pickle to write to, with the checksum of what was written, if it is wanted."""

    def __init__(self, stream: IO[bytes], *, is_summed: bool) -> None:
        self._stream, self._is_summed = stream, is_summed
        self.checksum = 0

    def write(self, piece: Any) -> int:
        """Write some bytes, from where they lie."""
        if self._is_summed:
            self.checksum = zlib.crc32(piece, self.checksum)
        return self._stream.write(piece)

    def restart(self) -> None:
        """Forget what was written."""
        self._stream.seek(0)
        self._stream.truncate()
        self.checksum = 0


def write_value(path: Path, value: Any, *, durable: bool = False) -> WrittenValue:
    """Write a value to a file that is complete or not there; a durable one has a checksum."""
    temporary = path.with_name(f"{path.name}.part")
    try:
        with temporary.open("wb") as stream:
            draft = _Draft(stream, is_summed=durable)
            _dump(value, draft)
            size = stream.tell()
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return WrittenValue(float(size), draft.checksum)


def is_sound(path: Path, written: WrittenValue) -> bool:
    """Tell whether a file has the bytes that were written; one that cannot be read has not."""
    checksum = size = 0
    try:
        with path.open("rb") as stream:
            while piece := stream.read(PIECE):
                checksum, size = zlib.crc32(piece, checksum), size + len(piece)
    except OSError:
        return False
    return written == (size, checksum)


def _dump(value: Any, draft: _Draft) -> None:
    try:
        pickle.dump(value, draft, protocol=5)
    except Exception as failure:
        if is_of_system(failure):
            raise
        draft.restart()
        draft.write(_by_value(value))


def read_value(path: Path) -> Any:
    """Read a value that `write_value` wrote."""
    with path.open("rb") as stream:
        return pickle.load(stream)
