"""Meshes of some nodes: all ordered products of as many factors as an array has dimensions.

They are made from the divisors of the number of nodes, so that meshes of 10^9 nodes take as long
as those of a few.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import comb, inf, isqrt, prod
from typing import Final

from parcast.arrays.geometry.boxes import BLOCK, leaves_none_empty
from parcast.arrays.geometry.choices import Policy
from parcast.errors import ParameterError, require_at_most

KNOWN: Final = 1 << 16  # numbers of nodes of which the mesh or the divisors are kept
MOST_NODES: Final = 10**12  # whose divisors are found in milliseconds

Mesh = tuple[int, ...]


@lru_cache(KNOWN)
def divisors(count: int) -> Mesh:
    """Divisors of a number, ascending.

    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    found = [1]
    for prime, power in _primes(count):
        found = [n * prime**i for i in range(power + 1) for n in found]
    return tuple(sorted(found))


def fitting_meshes(count: int, shape: Sequence[int], policy: Policy = "balanced") -> list[Mesh]:
    """Meshes that leave no node without a part of an array, or all of them where each does.

    >>> fitting_meshes(4, (8, 8)), fitting_meshes(4, (8, 1))
    ([(1, 4), (2, 2), (4, 1)], [(4, 1)])
    """
    fitting = list(_meshes(count, shape, policy))
    return fitting or list(_meshes(count, [None] * len(shape), policy))


def number_of_meshes(count: int, dimensions: int) -> int:
    """Count the meshes of so many nodes.

    >>> number_of_meshes(4, 2), number_of_meshes(2**20, 6)
    (3, 53130)
    """
    return prod(comb(power + dimensions - 1, power) for _, power in _primes(count))


@lru_cache(KNOWN)
def cubic_mesh(count: int, schema: str, shape: Mesh, policy: Policy = "balanced") -> Mesh:
    """The most cubic mesh of some nodes over the distributed dimensions of a schema.

    >>> cubic_mesh(24, "BBB", (64, 64, 64)), cubic_mesh(24, "*BB", (64, 64, 64))
    ((4, 3, 2), (1, 6, 4))
    >>> cubic_mesh(24, "BBB", (2, 64, 64))
    (2, 4, 3)
    """
    along = [i for i, letter in enumerate(schema) if letter == BLOCK]
    if count == 1:
        return (1,) * len(schema)
    if not along:
        raise ParameterError(
            "schema",
            must=f"have a B for {count} nodes",
            got=schema,
            hint="Distribute at least one dimension.",
        )
    extents = tuple(shape[i] for i in along)
    best = _most_cubic(count, extents, policy) or _most_cubic(count, (None,) * len(along), policy)
    assert best is not None  # without extents every mesh will do
    whole = [1] * len(schema)
    for i, positions in zip(along, best, strict=True):
        whole[i] = positions
    return tuple(whole)


def _most_cubic(count: int, extents: Sequence[int | None], policy: Policy) -> Mesh | None:
    """Find the mesh of the least sum, with the larger factors first, that leaves no node empty."""
    known: dict[tuple[int, int], Mesh | None] = {}

    def best(count: int, dimension: int) -> Mesh | None:
        """Give the best mesh over the dimensions from one on."""
        if dimension == len(extents) - 1:
            return (count,) if _fits(count, extents[dimension], policy) else None
        if (count, dimension) in known:
            return known[count, dimension]
        found, least = None, inf
        rest = len(extents) - dimension - 1
        # From the factor of a cube on, first those below it: the sum then rises on each side.
        for m in sorted(divisors(count), key=lambda m: m + rest * (count / m) ** (1 / rest)):
            if m + rest * (count / m) ** (1 / rest) > least * (1 + 1e-9):
                break
            if _fits(m, extents[dimension], policy):
                after = best(count // m, dimension + 1)
                if after is not None and (m + sum(after), -m) < (least, -found[0] if found else 0):
                    found, least = (m, *after), m + sum(after)
        known[count, dimension] = found
        return found

    return best(count, 0)


def _meshes(count: int, extents: Sequence[int | None], policy: Policy) -> Iterator[Mesh]:
    """Meshes over some extents, or over any where these are None."""
    if len(extents) == 1:
        if _fits(count, extents[0], policy):
            yield (count,)
        return
    for first in divisors(count):
        if _fits(first, extents[0], policy):
            for rest in _meshes(count // first, extents[1:], policy):
                yield (first, *rest)


def _fits(positions: int, extent: int | None, policy: Policy) -> bool:
    """Whether every position has a part of an extent."""
    return extent is None or leaves_none_empty([extent], [positions], policy)


@lru_cache(KNOWN)
def _primes(count: int) -> tuple[tuple[int, int], ...]:
    """Prime factors of a number, and how often each is one."""
    require_at_most("nodes", count, MOST_NODES)
    found: dict[int, int] = {}
    prime = 2
    while prime <= isqrt(count):
        while count % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            count //= prime
        prime += 1 + (prime > 2)
    if count > 1:
        found[count] = found.get(count, 0) + 1
    return tuple(found.items())
