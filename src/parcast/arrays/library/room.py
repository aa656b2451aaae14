"""Memory of a client: for what it reads, and copies of what it writes meanwhile."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import Box, Point
from parcast.arrays.geometry.choices import Policy
from parcast.arrays.library.distribution import (
    Array,
    Held,
    HeldPart,
    checked_block,
    checked_halo,
    require_inside,
)
from parcast.arrays.library.schema import Stored
from parcast.arrays.store.layout import label_of
from parcast.errors import ParameterError


def copied(held: Held) -> Held:
    """Give what a client holds in memory of its own, so that it may change the original."""
    parts = tuple(HeldPart(part.start, part.values.copy()) for part in held.parts)
    return replace(held, parts=parts)


class Room(NamedTuple):
    """Memory for a block that is read, with its halo."""

    whole: Array
    held: Held  # what is read into: all of it that lies inside the box


def room_for(
    stored: Stored,
    client: int,
    clients: int,
    *,
    mesh: Sequence[int] | None = None,
    box: tuple[Sequence[int], Sequence[int]] | None = None,
    halo: int | Sequence[int] = 0,
    policy: Policy = "balanced",
) -> Room:
    """Make room for a client's block of an array, or of a box of it.

    Its halo is read too, zero outside the box. Errors of box and mesh name the array: others fit.
    """
    shape = stored.shape
    try:
        region = _box_in(((0,) * len(shape), shape) if box is None else box, shape)
        over = (clients, *(1,) * (len(shape) - 1)) if mesh is None else mesh
        own = checked_block(region.count, over, client, clients, policy)
    except ParameterError as refusal:
        raise refusal.named(f"{refusal.name} of {label_of(stored.name)}") from None
    around = checked_halo(halo, len(own.count))
    full = Box(
        tuple(a - h for a, h in zip(own.start, around, strict=True)),
        tuple(n + 2 * h for n, h in zip(own.count, around, strict=True)),
    )
    is_all_read = full == own  # zeros would be written twice
    whole = (np.empty if is_all_read else np.zeros)(full.count, stored.dtype)
    inner = full & Box((0,) * len(region.count), region.count)
    values = whole[inner.within(full)]
    origin = tuple(a + b for a, b in zip(region.start, inner.start, strict=True))
    parts = (HeldPart(origin, values),) if inner.size and own.size else ()
    return Room(whole, Held(shape, whole.dtype, parts))


def _box_in(box: tuple[Sequence[int], Sequence[int]], shape: Point) -> Box:
    """Give a box of an array; ParameterError if it lies outside."""
    start, count = (tuple(map(int, x)) for x in box)
    require_inside(Box(start, count), shape)
    return Box(start, count)
