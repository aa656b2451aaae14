"""Elements of a subchunk to bytes and back: transpose, bytes, then zstd, gzip or crc32c.

What another program may have written otherwise (blosc, numcodecs, extensions) is refused by name.
"""

import errno
import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np

from parcast.arrays.store.grid import Index
from parcast.needs import missing_package
from parcast.places import load

CHECKSUM: Final = 4  # length of a CRC32C [B]
BYTE_CODECS: Final = ("zstd", "gzip", "crc32c")
LARGEST_UNPACKED: Final = 1 << 30  # that few bytes may unpack to [B]
MOST_TIMES: Final = 1000  # as many bytes as are packed: what is longer has fill values only
PIECE: Final = 1 << 12  # of packed bytes, where it is not known to what they unpack [B]
LEVELS: Final = {"zstd": range(-131_072, 23), "gzip": range(10), "crc32c": range(1)}
Buffer: TypeAlias = bytes | memoryview


class DamageError(Exception):
    """Bytes of a file are not what its metadata promise; the text goes on after its name."""


class UnsupportedError(Exception):
    """Metadata name something that is not read here; the text is a whole message."""


@cache
def _extend() -> Any:
    """Load what continues a CRC32C, or say how to install it."""
    try:
        return load("google_crc32c:extend")
    except ImportError:
        raise missing_package("Array stores need", "google-crc32c", "arrays") from None


def crc32c(parts: Iterable[Buffer]) -> bytes:
    """Compute the CRC32C of some bytes, as it is stored."""
    value = 0
    for part in parts:
        if len(part):  # its argument may be an array, but not a memoryview
            value = _extend()(value, np.frombuffer(part, np.uint8))
    return value.to_bytes(CHECKSUM, "little")


@cache
def _zstandard() -> Any:
    """Load zstandard, or say how to install it."""
    try:
        import zstandard
    except ImportError:
        raise missing_package("Compressed array stores need", "zstandard", "arrays") from None
    return zstandard


@dataclass(frozen=True, slots=True)
class ByteCodec:
    """A codec from bytes to bytes."""

    name: str  # of BYTE_CODECS
    level: int = 0  # of compression

    def encode(self, parts: list[Buffer]) -> list[Buffer]:
        """Encode some bytes that lie in several places."""
        if self.name == "crc32c":
            return [*parts, crc32c(parts)]
        whole = parts[0] if len(parts) == 1 else b"".join(parts)
        if self.name == "zstd":
            return [_zstandard().ZstdCompressor(level=self.level).compress(whole)]
        return [gzip.compress(whole, self.level, mtime=0)]

    def decode(self, encoded: memoryview, most: int | None) -> memoryview:
        """Decode bytes that take at most so many where that is known [B]."""
        if self.name == "crc32c":
            body, stored = encoded[:-CHECKSUM], encoded[-CHECKSUM:]
            if len(encoded) < CHECKSUM or crc32c([body]) != stored:
                raise DamageError("has other bytes than were written: its checksum differs")
            return body
        limit = max(LARGEST_UNPACKED, MOST_TIMES * len(encoded))
        if most is not None and most > limit:
            why = f"it unpacks to {most} bytes, more than {MOST_TIMES} times its length"
            raise OSError(errno.EFBIG, why)
        try:
            if self.name == "zstd":
                return memoryview(_unpacked_zstd(encoded, most, limit))
            return memoryview(_unpacked_gzip(encoded, limit if most is None else most))
        except (zlib.error, EOFError, _zstd_error()) as failure:
            raise DamageError(f"cannot be unpacked ({self.name}: {failure})") from failure
        except (MemoryError, OverflowError):  # by its metadata, or it is packed without end
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from None

    def has_checksum(self, encoded: memoryview) -> bool:
        """Whether what it has encoded holds a checksum."""
        if self.name == "zstd":
            return bool(_zstandard().get_frame_parameters(encoded).has_checksum)
        return True  # gzip: a CRC-32 of what it was given


def _zstd_error() -> type[Exception]:
    """Give the error of zstandard where it is in use."""
    loaded = sys.modules.get("zstandard")
    error: type[Exception] = EOFError if loaded is None else loaded.ZstdError
    return error


def _unpacked_zstd(encoded: memoryview, most: int | None, limit: int) -> bytes:
    """Unpack one frame of zstd to its end, and never more than is expected."""
    if most is None:
        unpacker, unpacked = _zstandard().ZstdDecompressor().decompressobj(), bytearray()
        for start in range(0, len(encoded), PIECE):
            unpacked += unpacker.decompress(encoded[start : start + PIECE])
            if len(unpacked) > limit:
                raise DamageError(f"must unpack to {limit} bytes at most, got more")
        if not unpacker.eof or unpacker.unused_data:
            raise EOFError("its end is missing or lies before the last byte")
        return bytes(unpacked)
    size = _zstandard().get_frame_parameters(encoded).content_size
    if size not in (_zstandard().CONTENTSIZE_UNKNOWN, most):
        raise DamageError(f"must unpack to {most} bytes, got {size}")
    unpack = _zstandard().ZstdDecompressor().decompress
    whole: bytes = unpack(encoded, max_output_size=most, allow_extra_data=False)
    return whole


def _unpacked_gzip(encoded: memoryview, most: int) -> bytes:
    """Unpack the members of gzip to the last byte, and hardly more than is expected."""
    parts: list[bytes] = []
    rest: Buffer = encoded
    while rest or not parts:
        unpacker = zlib.decompressobj(31)
        left = most - sum(map(len, parts)) + 1
        parts.append(unpacker.decompress(rest, left))
        if len(parts[-1]) == left:
            raise DamageError(f"must unpack to {most} bytes, got more")
        if not unpacker.eof:
            raise EOFError("the end is missing")
        rest = unpacker.unused_data
    return b"".join(parts)


@dataclass(frozen=True, slots=True)
class Chain:
    """The codecs of a subchunk, in the order in which they encode it."""

    dtype: "np.dtype[Any]"  # as stored
    axes: Index = ()  # order of the dimensions as stored; empty: as they are
    then: tuple[ByteCodec, ...] = ()

    def encode(self, block: "np.ndarray[Any, Any]") -> list[Buffer]:
        """Encode the elements of a whole subchunk; a block that lies as stored is not copied."""
        turned = block.transpose(self.axes) if self.axes else block
        laid = np.ascontiguousarray(turned, dtype=self.dtype)
        parts: list[Buffer] = [laid.reshape(-1).view(np.uint8).data]
        for codec in self.then:
            parts = codec.encode(parts)
        return parts

    def decode(self, encoded: Buffer, shape: Index) -> "np.ndarray[Any, Any]":
        """Decode a whole subchunk."""
        read, _ = self._decoded(encoded, shape)
        stored = tuple(shape[i] for i in self.axes) if self.axes else shape
        elements = np.frombuffer(read, self.dtype).reshape(stored)
        return elements.transpose(np.argsort(self.axes)) if self.axes else elements

    def check(self, encoded: Buffer, shape: Index) -> bool:
        """Check a whole subchunk; tell whether a checksum covers all of it."""
        _, has_checksum = self._decoded(encoded, shape)
        return has_checksum

    def _decoded(self, encoded: Buffer, shape: Index) -> tuple[memoryview, bool]:
        """Decode to the bytes of the elements, and tell whether a checksum covers all of them."""
        size = prod(shape) * self.dtype.itemsize
        read, has_checksum = memoryview(encoded), False
        for codec, length in zip(reversed(self.then), reversed(self._lengths(size)), strict=True):
            inner = codec.decode(read, length)
            has_checksum = has_checksum or codec.has_checksum(read)
            read = inner
        if len(read) != size:
            raise DamageError(f"must have {size} bytes, got {len(read)}")
        return read, has_checksum

    def _lengths(self, size: int) -> list[int | None]:
        """Tell what each codec was given when it encoded `size` bytes; None: unknown."""
        given: list[int | None] = []
        now: int | None = size
        for codec in self.then:
            given.append(now)
            now = now + CHECKSUM if codec.name == "crc32c" and now is not None else None
        return given

    @property
    def keeps_length(self) -> bool:
        """Whether nothing is compressed."""
        return all(codec.name == "crc32c" for codec in self.then)

    def encoded_size(self, elements: int) -> int | None:
        """Length of so many elements in a file; None where they are compressed. [B]."""
        if not self.keeps_length:
            return None
        return elements * self.dtype.itemsize + CHECKSUM * len(self.then)

    def to_json(self, rank: int) -> list[dict[str, Any]]:
        """Write it as the metadata of an array."""
        one_byte = self.dtype.itemsize == 1
        listed: list[dict[str, Any]] = []
        if self.axes:
            assert len(self.axes) == rank
            listed.append({"name": "transpose", "configuration": {"order": list(self.axes)}})
        listed.append(
            {"name": "bytes"}
            if one_byte
            else {"name": "bytes", "configuration": {"endian": "little"}}
        )
        for codec in self.then:
            if codec.name == "zstd":
                zstd = {"level": codec.level, "checksum": False}
                listed.append({"name": "zstd", "configuration": zstd})
            elif codec.name == "gzip":
                listed.append({"name": "gzip", "configuration": {"level": codec.level}})
            else:
                listed.append({"name": codec.name})
        return listed


def chain_from_json(
    listed: Sequence[Mapping[str, Any]], dtype: "np.dtype[Any]", rank: int
) -> Chain:
    """Read the codecs of an array or of the subchunks of a shard."""
    axes: Index = tuple(range(rank))
    then: list[ByteCodec] = []
    stored: np.dtype[Any] | None = None
    for each in listed:
        name, settings = each["name"], each.get("configuration", {})
        if name == "transpose" and stored is None:
            order = tuple(settings["order"])
            if sorted(order) != list(range(rank)):
                raise UnsupportedError(f"must have an order of {rank} axes, got {list(order)}.")
            axes = tuple(axes[i] for i in order)
        elif name == "bytes" and stored is None:
            stored = dtype.newbyteorder(">" if settings.get("endian") == "big" else "<")
        elif name in BYTE_CODECS and stored is not None:
            then.append(ByteCodec(name, _level_of(name, settings)))
        else:
            raise UnsupportedError(
                f'has the codec "{name}", which is not read here. Read it with zarr-python, or '
                'write it with the codecs "transpose", "bytes", "zstd", "gzip" and "crc32c".'
            )
    if stored is None:
        raise UnsupportedError('must have the codec "bytes".')
    return Chain(stored, () if axes == tuple(range(rank)) else axes, tuple(then))


def _level_of(name: str, settings: Mapping[str, Any]) -> int:
    """Read the level of compression, which only a writer needs."""
    level: int = settings.get("level", 0)
    if type(level) is not int or level not in LEVELS[name]:
        raise ValueError(f"{level!r} is no level of {name}")
    return level
