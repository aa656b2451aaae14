"""How an array lies on clients: a block of a mesh on each, or boxes that each of them names."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.arrays.choices import Policy
from parcast.arrays.chunks import require_nodes
from parcast.arrays.geometry import Box, Point, as_mesh, as_shape, block_of
from parcast.errors import ParameterError

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Part:
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
    parts: tuple[Part, ...]


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
        given = self.shape, self.mesh
        if all(type(each) is tuple and {*map(type, each)} == {int} for each in given):
            shape, (start, count) = _known(*given, client, clients, self.policy)
        else:
            shape, (start, count) = _own(*given, client, clients, self.policy)
        halo = np.broadcast_to(self.halo, len(shape))
        full = tuple(int(n + 2 * h) for n, h in zip(count, halo, strict=True))
        if values.shape != full:
            raise ParameterError(
                "values",
                must=f"have the shape {_text(full)}, that of block {client} of the mesh"
                + (f" with a halo of {_text(halo)}" if halo.any() else ""),
                got=_text(values.shape),
                hint=f"The array has {_text(shape)} elements on a mesh of {_text(self.mesh)}.",
            )
        inner = tuple(slice(int(h), int(h) + n) for h, n in zip(halo, count, strict=True))
        return Held(shape, values.dtype, (Part(start, values[inner]),))


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
        parts = [Part(tuple(map(int, start)), np.asarray(own)) for start, own in self.boxes]
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
    require_nodes(mesh, clients, "clients")
    return block_of(shape, mesh, client, policy)


def _own(
    shape: Sequence[int], mesh: Sequence[int], client: int, clients: int, policy: Policy
) -> tuple[Point, Box]:
    """Shape of an array, and the block of a client."""
    whole = as_shape(shape)
    return whole, checked_block(whole, mesh, client, clients, policy)


_known = lru_cache(maxsize=256)(_own)  # a request may have thousands of equal arrays


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
