"""How an array lies on clients: a block of a mesh on each, or boxes that each of them names.

And memory of a client: for what it reads, and copies of what it writes meanwhile.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from operator import index
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.arrays.geometry.boxes import Box, Point, as_mesh, as_shape, block_of
from parcast.arrays.geometry.choices import Policy
from parcast.arrays.library.schema import Stored
from parcast.arrays.store.layout import label_of
from parcast.errors import ParameterError

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class HeldPart:
    """Elements that a client holds: where they begin in the array, and a view of them."""

    start: Point
    values: Array

    @property
    def box(self) -> Box:
        """Place of its elements in the array."""
        return Box(self.start, self.values.shape)


@dataclass(frozen=True, slots=True)
class Held:
    """What a client holds of an array."""

    shape: Point  # of the whole array
    dtype: np.dtype[Any]
    parts: tuple[HeldPart, ...]
    mesh: Point = ()  # of its blocks; () where it is given in boxes


@dataclass(frozen=True, eq=False)
class Block:
    """The block of an array that this rank holds, over a mesh of all clients.

    Parameters
    ----------
    values : array_like
        The block, with `halo` more elements on each side. Any strides: nothing is copied.
    shape : sequence of int
        Shape of the whole array, slowest dimension first.
    mesh : sequence of int
        Blocks in each dimension, 1 where the array is not divided; their product is the number
        of clients. Clients are numbered in row-major order of the mesh.
    halo : int or sequence of int, default 0
        Elements around the block that other ranks own, on each side of every dimension.
    policy : {"balanced", "hpf"}, default "balanced"
        Blocks of an extent that the mesh does not divide: sizes that differ by one at most, or
        of ceil(n/m) elements, the last ones shorter or empty.

    Raises
    ------
    ParameterError
        If shape, mesh and halo do not fit each other.
    """

    values: ArrayLike
    shape: Sequence[int]
    mesh: Sequence[int]
    halo: int | Sequence[int] = 0
    policy: Policy = "balanced"

    def held(self, client: int, clients: int) -> Held:
        """Give what a client holds; ParameterError if it does not fit."""
        values = np.asarray(self.values)
        given = self.shape, self.mesh, self.halo
        is_plain = isinstance(self.policy, str) and all(map(_is_plain, given))
        place = (_known if is_plain else _place)(
            *given, policy=self.policy, client=client, clients=clients
        )
        if values.shape != place.full:
            wanted = f"{_text(place.full)}, that of block {client} of the mesh"
            halo = f" with a halo of {_text(place.halo)}" if any(place.halo) else ""
            raise ParameterError(
                "values",
                must=f"have the shape {wanted}{halo}",
                got=_text(values.shape),
                hint=f"The array has {_text(place.shape)} elements on a mesh of "
                f"{_text(place.mesh)}.",
            )
        return Held(
            place.shape, values.dtype, (HeldPart(place.start, values[place.inner]),), place.mesh
        )


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of an array that this rank holds; those of all ranks together make up the array.

    Parameters
    ----------
    boxes : iterable of (start, values)
        Where each begins in the array, and its elements; none on a rank that holds nothing.
    shape : sequence of int
        Shape of the whole array, slowest dimension first.
    dtype : dtype, optional
        Type of the elements, for a rank without boxes.
    """

    boxes: Iterable[tuple[Sequence[int], ArrayLike]]
    shape: Sequence[int]
    dtype: Any = None

    def __post_init__(self) -> None:
        """Keep boxes that can be gone through once only."""
        if isinstance(self.boxes, Iterator):
            object.__setattr__(self, "boxes", tuple(self.boxes))

    def held(self, client: int, clients: int) -> Held:  # noqa: ARG002 - that of a block needs it
        """Give what a client holds; ParameterError if a box lies outside the array."""
        shape = as_shape(self.shape)
        _require_pairs(self.boxes)
        parts = [HeldPart(tuple(map(int, start)), np.asarray(own)) for start, own in self.boxes]
        for part in parts:
            require_inside(part.box, shape)
        types = {part.values.dtype for part in parts} or {np.dtype(self.dtype or float)}
        if len(types) > 1:
            named = ", ".join(sorted(map(str, types)))
            raise ParameterError("boxes", must="have one dtype", got=named, hint="Convert them.")
        return Held(shape, types.pop(), tuple(part for part in parts if part.values.size))


def checked_block(
    shape: Point, mesh: Sequence[int], client: int, clients: int, policy: Policy
) -> Box:
    """Give the block of a client; ParameterError if the mesh fits neither array nor ranks."""
    mesh = as_mesh(mesh, len(shape))
    if prod(mesh) != clients:
        raise ParameterError(
            "mesh",
            must=f"have as many positions as there are clients, {clients}",
            got=f"{_text(mesh)} = {prod(mesh)}",
            hint="Choose factors of that number.",
        )
    return block_of(shape, mesh, client, policy)


class _Place(NamedTuple):
    """Where the block of a client lies in an array, and in what it gives."""

    shape: Point  # of the array
    mesh: Point
    start: Point
    halo: Point
    full: Point  # shape of the block with its halo
    inner: tuple[slice, ...]  # the block without it


def _place(
    shape: Sequence[int],
    mesh: Sequence[int],
    halo: int | Sequence[int],
    *,
    policy: Policy,
    client: int,
    clients: int,
) -> _Place:
    """Place the block of a client; ParameterError if shape, mesh and halo do not fit."""
    whole = as_shape(shape)
    around = checked_halo(halo, len(whole))
    positions = as_mesh(mesh, len(whole))
    start, count = checked_block(whole, positions, client, clients, policy)
    full = tuple(n + 2 * h for n, h in zip(count, around, strict=True))
    inner = tuple(slice(h, h + n) for h, n in zip(around, count, strict=True))
    return _Place(whole, positions, start, around, full, inner)


_known = lru_cache(maxsize=256)(_place)  # a request may have thousands of equal arrays


def _is_plain(numbers: object) -> bool:
    """Tell whether something is an int or a tuple of them, which a cache can tell apart."""
    return type(numbers) is int or (type(numbers) is tuple and {*map(type, numbers)} == {int})


def checked_halo(halo: int | Sequence[int], rank: int) -> Point:
    """Elements around a block in each dimension."""
    each = halo if isinstance(halo, Iterable) else (halo,) * rank
    numbers = _whole_numbers("halo", each, "1 or (1, 0)")
    if len(numbers) != rank or min(numbers, default=0) < 0:
        raise ParameterError(
            "halo",
            must=f"be a number of at least 0, or {rank} of them",
            got=f"{halo!r:.60}",
            hint="Give one for each dimension.",
        )
    return numbers


def _require_pairs(boxes: Iterable[object]) -> None:
    """Refuse boxes that are no pairs of a start and values."""
    for box in boxes if isinstance(boxes, Iterable) else (boxes,):
        if not isinstance(box, Sequence) or len(box) != 2:
            raise ParameterError(
                "boxes",
                must="be pairs of a start and values",
                got=f"{box!r:.60}",
                hint="Example: [((0, 0), values)].",
            )
        _whole_numbers("start of a box", box[0], "(0, 0)")


def _whole_numbers(name: str, given: Any, example: str) -> Point:
    """Give whole numbers; refuse text, fractions and a number alone."""
    try:
        return tuple(index(n) for n in given)
    except TypeError:
        raise ParameterError(
            name, must="be whole numbers", got=f"{given!r:.60}", hint=f"Example: {example}."
        ) from None


def require_inside(box: Box, shape: Point) -> None:
    """Refuse a box that does not lie inside an array."""
    fits = len(box.start) == len(box.count) == len(shape) and all(
        a >= 0 and a + k <= n for a, k, n in zip(*box, shape, strict=True)
    )
    if not fits:
        raise ParameterError(
            "boxes",
            must=f"lie inside the array of shape {_text(shape)}",
            got=f"start {_text(box.start)}, {_text(box.count)} elements",
            hint="Count from 0, slowest dimension first.",
        )


def _text(numbers: Iterable[Any]) -> str:
    """Write extents as "4x2"; one that is none as "scalar"."""
    return "x".join(str(int(n)) for n in numbers) or "scalar"


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
