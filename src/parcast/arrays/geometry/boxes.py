"""Boxes of an array: blocks over a mesh, pieces of boxes, and contiguous runs of bytes in them.

A box is the elements from `start` up to but not including `stop` in every dimension, the slowest
first: a `Box`, or one of many `Boxes`, which most functions take at once.

A mesh distributes each dimension over its positions, by one of two policies [D] that agree where
the mesh divides the extent::

    balanced    from floor(i*n/m) up to floor((i + 1)*n/m)
    hpf         blocks of ceil(n/m), of which the last may be short or empty
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from parcast.arrays.geometry.choices import POLICIES, Policy
from parcast.errors import ParameterError, as_list, as_whole, require_one_of
from parcast.units import shown

Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Point: TypeAlias = tuple[int, ...]
Number = TypeVar("Number", int, NDArray[np.int64])

MOST_DIMENSIONS: Final = 6
MOST_BYTES: Final = 2**62  # of an array: places of its bytes fit into 64 bits
BLOCK, WHOLE = "B", "*"
NAMES: Final = {"BLOCK": BLOCK}  # of High Performance Fortran


class Box(NamedTuple):
    """The elements from `start` on, `count` of them in each dimension.

    >>> Box((0, 4), (2, 8)) & Box((1, 0), (5, 6))
    Box(start=(1, 4), count=(1, 2))
    """

    start: Point
    count: Point  # type: ignore[assignment] # that of tuples counts values: nobody calls it

    @property
    def stop(self) -> Point:
        """The first index after it in each dimension."""
        return tuple(s + c for s, c in zip(self.start, self.count, strict=True))

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.count)

    def __and__(self, other: "Box") -> "Box":
        """Give what lies in both; without elements where they do not touch."""
        start = tuple(map(max, self.start, other.start))
        stop = tuple(map(min, self.stop, other.stop))
        return Box(start, tuple(max(b - a, 0) for a, b in zip(start, stop, strict=True)))

    def within(self, outer: "Box") -> tuple[slice, ...]:
        """Slices that select it from an array that holds `outer`."""
        return tuple(
            slice(s - o, s - o + c)
            for s, o, c in zip(self.start, outer.start, self.count, strict=True)
        )

    def __str__(self) -> str:
        """Write it as messages do: "[0:2, 4:12]"."""
        return f"[{', '.join(f'{a}:{b}' for a, b in zip(self.start, self.stop, strict=True))}]"


class BoxArray(NamedTuple):
    """Many boxes of one array, of shape (boxes, dimensions) each."""

    start: Ints
    stop: Ints

    @property
    def extents(self) -> Ints:
        """Lengths of the sides; an empty box has one of 0."""
        return np.asarray(np.maximum(self.stop - self.start, 0))

    @property
    def elements(self) -> Ints:
        """Elements of each box."""
        return np.asarray(np.prod(self.extents, axis=1, dtype=np.int64))

    def at(self, places: Ints | Bools) -> "BoxArray":
        """Give the boxes at some places."""
        return BoxArray(self.start[places], self.stop[places])

    def each(self) -> list[Box]:
        """Give them one by one."""
        pairs = zip(self.start.tolist(), self.extents.tolist(), strict=True)
        return [Box(tuple(start), tuple(count)) for start, count in pairs]

    def __and__(self, other: "BoxArray") -> "BoxArray":
        """Give what lies in each pair of boxes, or in one of them and each of the others."""
        return BoxArray(np.maximum(self.start, other.start), np.minimum(self.stop, other.stop))


def whole(shape: Sequence[int]) -> BoxArray:
    """Give the box of a whole array.

    >>> whole((2, 3)).each()
    [Box(start=(0, 0), count=(2, 3))]
    """
    stop = np.array([shape], dtype=np.int64)
    return BoxArray(np.zeros_like(stop), stop)


def as_shape(shape: object) -> tuple[int, ...]:
    """Extents of an array of 1 to 6 dimensions."""
    hint = "Give the extents, the slowest first, such as 512, 512 and 512."
    given = as_list("shape", shape, hint=hint)
    extents = tuple(as_whole(f"shape[{i}]", n, least=0, hint=hint) for i, n in enumerate(given))
    if not 1 <= len(extents) <= MOST_DIMENSIONS:
        raise ParameterError(
            "shape",
            must=f"have 1 to {MOST_DIMENSIONS} dimensions",
            got=str(len(extents)),
            hint="Join dimensions that are next to each other.",
        )
    require_bytes(extents, 1)
    return extents


def as_mesh(mesh: object, dimensions: int, *, name: str = "mesh") -> tuple[int, ...]:
    """Positions of a mesh in every dimension of an array."""
    hint = "Give the positions in each dimension, such as 2, 4 and 1."
    return _numbers(mesh, dimensions, name=name, hint=hint)


def as_extents(extents: object, dimensions: int, *, name: str) -> tuple[int, ...]:
    """Extents of a part of an array, in every dimension."""
    hint = "Give its extents in each dimension, such as 64, 64 and 64."
    return _numbers(extents, dimensions, name=name, hint=hint)


def as_schema(schema: object, mesh: Sequence[int]) -> str:
    """Distribution of every dimension over a mesh, "B" (block) or "*" (whole): such as "B**".

    `schema` is such a text or a list of "BLOCK", "B" and "*". None distributes the dimensions in
    which the mesh has more than one position.

    >>> as_schema(["BLOCK", "*"], (8, 1)), as_schema(None, (2, 4, 1))
    ('B*', 'BB*')
    """
    if schema is None:
        return "".join(BLOCK if positions > 1 else WHOLE for positions in mesh)
    hint = 'Write B for block and * for whole, such as "B**".'
    parts = list(schema) if isinstance(schema, str) else as_list("schema", schema, hint=hint)
    text = [NAMES.get(str(part).upper(), str(part).upper()) for part in parts if part != ","]
    got = shown(schema if isinstance(schema, str) else repr(schema))
    if set(text) - {BLOCK, WHOLE}:
        raise ParameterError("schema", must="consist of B and *", got=got, hint=hint)
    if len(text) != len(mesh):
        must = f"have one letter for each of the {len(mesh)} dimensions"
        raise ParameterError("schema", must=must, got=got, hint=hint)
    for part, positions in zip(text, mesh, strict=True):
        if part == WHOLE and positions > 1:
            raise ParameterError(
                "mesh",
                must=f"have 1 position in each dimension that is whole in {''.join(text)}",
                got=_times(mesh),
                hint="Change the mesh, or write B for that dimension.",
            )
    return "".join(text)


def type_name(
    given: object, is_fit: Callable[[np.dtype[Any]], bool], *, must: str, hint: str
) -> object:
    """Give the name of a NumPy type of elements back, or refuse what is none that will do."""
    try:
        if isinstance(given, str) and is_fit(np.dtype(given)):
            return given
    except TypeError:
        pass
    raise ParameterError("dtype", must=must, got=shown(repr(given)), hint=hint)


def block_edges(extent: int, positions: int, policy: Policy = "balanced") -> Ints:
    """Edges of the blocks of an extent: that of position i is from edge i up to edge i + 1.

    >>> block_edges(10, 4), block_edges(10, 4, "hpf"), block_edges(5, 4, "hpf")
    (array([ 0,  2,  5,  7, 10]), array([ 0,  3,  6,  9, 10]), array([0, 2, 4, 5, 5]))
    """
    return _edge(extent, positions, policy, np.arange(positions + 1, dtype=np.int64))


def block_of(
    shape: Sequence[int], mesh: Sequence[int], node: int, policy: Policy = "balanced"
) -> Box:
    """Block of a node of a mesh, whose positions are counted in row-major order.

    >>> block_of((10, 8), (3, 2), 5)
    Box(start=(6, 4), count=(4, 4))
    """
    start, stop = [], []
    for n, m in zip(reversed(shape), reversed(mesh), strict=True):
        node, i = divmod(node, m)
        start.append(_edge(n, m, policy, i))
        stop.append(_edge(n, m, policy, i + 1))
    count = (b - a for a, b in zip(start, stop, strict=True))
    return Box(tuple(start[::-1]), tuple(count)[::-1])


def filled_blocks(extent: int, positions: int, policy: Policy = "balanced") -> tuple[Ints, Ints]:
    """Edges of the blocks of an extent that are not empty, and their positions.

    >>> filled_blocks(2, 5), filled_blocks(5, 4, "hpf")
    ((array([0, 1, 2]), array([2, 4])), (array([0, 2, 4, 5]), array([0, 1, 2])))
    """
    if positions > extent:  # each has one element or none
        edges = np.arange(extent + 1, dtype=np.int64)
        at = edges[1:] - 1 if policy == "hpf" else (edges[1:] * positions - 1) // max(extent, 1)
        return edges, at
    edges = block_edges(extent, positions, policy)
    at = np.flatnonzero(np.diff(edges))
    return np.append(edges[at], edges[-1]), at


def filled_positions(extent: int, positions: int, policy: Policy = "balanced") -> int:
    """Count the blocks of an extent that are not empty."""
    if policy == "hpf" and extent:
        return -(-extent // -(-extent // positions))
    return min(extent, positions)


def mesh_edges(
    shape: Sequence[int], mesh: Sequence[int], policy: Policy = "balanced"
) -> tuple[Ints, ...]:
    """Edges of the blocks in every dimension."""
    return tuple(block_edges(n, m, policy) for n, m in zip(shape, mesh, strict=True))


def product_boxes(edges: Sequence[Ints]) -> BoxArray:
    """Boxes between the edges of every dimension, in row-major order."""
    sizes = tuple(len(each) - 1 for each in edges)
    places = np.unravel_index(np.arange(prod(sizes)), sizes)
    columns = list(zip(edges, places, strict=True))
    start = np.stack([each[place] for each, place in columns], axis=1)
    return BoxArray(start, np.stack([each[place + 1] for each, place in columns], axis=1))


def cut(boxes: BoxArray, pieces: Ints, among: slice = slice(None)) -> tuple[BoxArray, Ints]:
    """Cut every box into a grid of pieces, in row-major order; those at its end may be smaller.

    `pieces` are the extents of a piece of each box, at least 1, of shape (boxes, dimensions) or
    (dimensions). Also given is the box that each piece is of. Of all pieces those `among` are
    given, by default all.
    """
    pieces = np.broadcast_to(pieces, boxes.start.shape)
    of, places = grid_places(-(-boxes.extents // pieces), among)
    start = boxes.start[of] + places * pieces[of]
    return BoxArray(start, np.minimum(start + pieces[of], boxes.stop[of])), of


def grid_places(counts: Ints, among: slice = slice(None)) -> tuple[Ints, Ints]:
    """Enumerate the places of many grids in row-major order: the grid of each, and the place.

    `counts` are the places of each grid in every dimension, of shape (grids, dimensions).

    >>> of, places = grid_places(np.array([[1, 2], [2, 1]]))
    >>> of.tolist(), places.tolist()
    ([0, 0, 1, 1], [[0, 0], [0, 1], [0, 0], [1, 0]])
    """
    totals = np.prod(counts, axis=1, dtype=np.int64)
    ends = np.cumsum(totals)
    numbers = np.arange(*among.indices(int(totals.sum())))
    of = np.searchsorted(ends, numbers, side="right")
    rest = numbers - (ends - totals)[of]
    places = np.empty((len(of), counts.shape[1]), dtype=np.int64)
    for d in reversed(range(counts.shape[1])):
        rest, places[:, d] = np.divmod(rest, counts[of, d])
    return of, places


def contiguous_runs(boxes: BoxArray, outer: BoxArray) -> Ints:
    """Runs of bytes that are contiguous in memory, of a box inside an outer one [S in words].

    Of the last dimension in which the box does not span the outer one, and all after it, the
    elements are contiguous: the runs are the product of the extents before it.

    >>> box = BoxArray(np.array([[0, 2, 0]]), np.array([[4, 6, 8]]))
    >>> contiguous_runs(box, BoxArray(np.array([[0, 0, 0]]), np.array([[8, 8, 8]])))
    array([4])
    """
    spans = (boxes.start == outer.start) & (boxes.stop == outer.stop)
    # A dimension counts if one after it is not spanned.
    is_split = np.zeros_like(spans)
    is_split[:, :-1] = np.logical_or.accumulate(~spans[:, :0:-1], axis=1)[:, ::-1]
    return np.asarray(np.prod(np.where(is_split, boxes.extents, 1), axis=1, dtype=np.int64))


def require_bytes(shape: Sequence[int], itemsize: int) -> int:
    """Bytes of an array, which must be fewer than places of 64 bits count."""
    size = prod(shape) * itemsize
    if size > MOST_BYTES:
        raise ParameterError(
            "shape",
            must=f"be that of at most {MOST_BYTES} bytes",
            got=_times(shape),
            hint="Check the extents.",
        )
    return size


def leaves_none_empty(shape: Sequence[int], mesh: Sequence[int], policy: Policy) -> bool:
    """Whether a mesh gives each of its nodes a part of an array.

    >>> leaves_none_empty((5, 100), (4, 3), "balanced"), leaves_none_empty((5, 100), (4, 3), "hpf")
    (True, False)
    """
    return all(
        m <= extent and _edge(extent, m, policy, m - 1) < extent
        for m, extent in zip(mesh, shape, strict=True)
    )


def _edge(extent: int, positions: int, policy: Policy, i: Number) -> Number:
    """Edges `i` of the blocks of an extent."""
    require_one_of("policy", policy, POLICIES)
    if policy == "hpf":
        edge = i * -(-extent // positions)
        return edge - (edge - extent) * (edge > extent)
    # floor(i*n/m) of n = w*m + v is i*w + floor(i*v/m), whose products stay below m^2.
    whole, rest = divmod(extent, positions)
    return i * whole + i * rest // positions


def _numbers(given: object, dimensions: int, *, name: str, hint: str) -> tuple[int, ...]:
    """Whole numbers of at least 1, one for each dimension."""
    each = as_list(name, given, hint=hint)
    numbers = tuple(as_whole(f"{name}[{i}]", n, least=1, hint=hint) for i, n in enumerate(each))
    if len(numbers) != dimensions:
        must = f"have one number for each of the {dimensions} dimensions"
        raise ParameterError(name, must=must, got=_times(numbers), hint=hint)
    return numbers


def _times(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))
