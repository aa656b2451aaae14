"""Which byte of a block is not as it was written, if only one is: from the CRC32C that differs.

The difference between the stored and the computed checksum is that of the error alone, moved on by
the bytes after it. Moved back byte by byte, it becomes that of a single byte where this byte lies.
"""

from functools import cache
from math import isqrt
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parcast.arrays.store.codecs import CHECKSUM, Buffer, crc32c

POLYNOMIAL: Final = 0x82F63B78  # of CRC32C, its lowest power first
Checksums: TypeAlias = NDArray[np.uint32]

LONGEST: Final = 1 << 26  # block that is searched [B]


class Flipped(NamedTuple):
    """A byte that differs from what was written, if no other does."""

    offset: int  # in the block and its checksum [B]
    bits: int  # that differ


@cache
def _tables() -> tuple[Checksums, Checksums]:
    """Checksums of single bytes, and the byte of each checksum by its highest eight bits."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ (table & np.uint32(1)) * np.uint32(POLYNOMIAL)
    byte_of = np.empty(256, np.uint32)
    byte_of[table >> np.uint32(24)] = np.arange(256, dtype=np.uint32)
    return table, byte_of


def _back(difference: Checksums) -> Checksums:
    """Move differences of checksums back by one byte."""
    table, byte_of = _tables()
    low = byte_of[difference >> np.uint32(24)]
    moved: Checksums = ((difference ^ table[low]) << np.uint32(8)) | low
    return moved


def flipped_byte(block: Buffer) -> Flipped | None:
    """Find the byte that differs in bytes that end with their CRC32C; None: it is not unique.

    >>> written = b"0123456789"
    >>> flipped_byte(b"0123056789" + crc32c([written]))
    Flipped(offset=4, bits=4)
    """
    body, stored = memoryview(block)[:-CHECKSUM], memoryview(block)[-CHECKSUM:]
    size = len(body)
    if not 0 < size <= LONGEST:
        return None
    expected, found = (int.from_bytes(x, "little") for x in (crc32c([body]), stored))
    difference = expected ^ found
    own = [i for i in range(CHECKSUM) if difference >> 8 * i & 0xFF]
    candidates = [Flipped(size + own[0], difference >> 8 * own[0])] if len(own) == 1 else []
    candidates += _in_body(difference, size)
    of_one_bit = [x for x in candidates if x.bits.bit_count() == 1]
    for found_ones in (candidates, of_one_bit):
        if len(found_ones) == 1:
            return found_ones[0]
    return None


def _in_body(difference: int, size: int) -> list[Flipped]:
    """Give each byte of a block that could be the only one that differs.

    The block is searched in pieces of equal length at once: the difference at the end of each
    follows from that of the next by a linear map.
    """
    length = isqrt(size - 1) + 1
    power: Checksums = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(length):
        power = _back(power)
    columns = power.tolist()
    ends, now = [], difference
    for _ in range(-(-size // length)):
        ends.append(now)
        moved = 0
        for bit in range(32):
            if now >> bit & 1:
                moved ^= columns[bit]
        now = moved
    found = []
    pieces: Checksums = np.array(ends, np.uint32)
    for step in range(length):
        pieces = _back(pieces)
        for piece in np.flatnonzero(pieces < 256).tolist():
            offset = size - 1 - piece * length - step
            if offset >= 0:
                found.append(Flipped(offset, int(pieces[piece])))
    return found
