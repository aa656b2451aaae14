"""Domains of a file that aggregators write, in pieces of a buffer, as boxes of the array.

The bytes of an array in row-major order are divided evenly among the aggregators, each of which
writes its domain in pieces of at most `cb_buffer_size` [S: ADIOI_Calc_file_domains and
ADIOI_Exch_and_write of ROMIO]. A piece begins and ends anywhere: of an array of n dimensions it is
at most 2n - 1 boxes, each of them contiguous in the file. Edges lie between elements [D].
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import BoxArray, Ints
from parcast.arrays.geometry.subchunks import MANY, Subchunks
from parcast.errors import ParameterError


class FileDomains(NamedTuple):
    """Pieces of all domains, as boxes in the order of the file."""

    subchunks: Subchunks  # servers are aggregators
    round: Ints  # in which each box is exchanged
    sizes: Ints  # of each aggregator in each round [B]


def file_domains(
    shape: Sequence[int], *, itemsize: int, aggregators: int, buffer: int
) -> FileDomains:
    """Divide an array among aggregators, each of which writes `buffer` bytes at a time.

    >>> found = file_domains((4, 8), itemsize=1, aggregators=2, buffer=10)
    >>> found.sizes.tolist(), found.round.tolist()
    ([[10, 6], [10, 6]], [0, 0, 1, 0, 0, 1])
    """
    total = prod(shape)
    domain = -(-total // aggregators)
    step = max(buffer // itemsize, 1)
    rounds = max(-(-domain // step), 1)
    if rounds * aggregators > MANY:
        raise ParameterError(
            "the pieces of a file",
            must=f"be at most {MANY:,}",
            got=f"{rounds * aggregators:,}",
            hint="Give a larger buffer.",
        )
    of, place = np.divmod(np.arange(rounds * aggregators), rounds)
    last = np.minimum((of + 1) * domain, total)
    start = np.minimum(of * domain + place * step, last)
    stop = np.minimum(start + step, last)
    boxes, piece = boxes_between(start, stop, shape)
    subchunks = Subchunks(
        shape=tuple(shape),
        itemsize=itemsize,
        boxes=boxes,
        server=of[piece],
        storage_chunk=of[piece],
        stored=boxes.elements * itemsize,
        servers=aggregators,
    )
    sizes = ((stop - start) * itemsize).reshape(aggregators, rounds)
    return FileDomains(subchunks, place[piece], sizes)


def boxes_between(start: Ints, stop: Ints, shape: Sequence[int]) -> tuple[BoxArray, Ints]:
    """Cut ranges of elements in row-major order into boxes, and tell the range of each.

    >>> boxes, of = boxes_between(np.array([3]), np.array([21]), (4, 8))
    >>> boxes.each()[1], len(of)
    (Box(start=(1, 0), count=(1, 8)), 3)
    """
    extents = np.array(shape, dtype=np.int64)
    strides = np.append(np.cumprod(extents[:0:-1])[::-1], 1)
    found: list[tuple[Ints, Ints, Ints]] = []
    at = start.copy()
    inner = len(shape) - 1
    # Up to the end of its row, of its plane and so on; then down again to the end of the range.
    for d in (*range(inner, -1, -1), *range(1, inner + 1)):
        stride = strides[d]
        edge = -(-(at + 1) // (stride * extents[d])) * stride * extents[d]
        end = np.minimum(edge, stop // stride * stride)
        some = np.flatnonzero(end > at)
        first = at[some, None] // strides % extents
        box_stop = first + 1
        box_stop[:, d] = first[:, d] + (end - at)[some] // stride
        box_stop[:, d + 1 :] = extents[d + 1 :]
        found.append((some, first, box_stop))
        at = np.maximum(at, end)
    of, first, last = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.lexsort((first @ strides, of))
    return BoxArray(first[order], last[order]), of[order]
