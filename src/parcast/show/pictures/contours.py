"""Lines and areas of equal height over a grid of places: straight between its points."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array

STRAIGHT: Final = 0.04  # distance of a point left out from the line through its neighbours
PASSES: Final = 4  # each leaves out every second point at most


def lines_at(x: Array, y: Array, heights: Array, level: float) -> list[Array]:
    """Lines, each of shape (n, 2), along which heights of shape (x, y) are at a level."""
    from contourpy import contour_generator

    lines = contour_generator(x, y, heights.T, name="serial").lines(level)
    return [np.asarray(line) for line in lines]


def areas_above(x: Array, y: Array, heights: Array, levels: Sequence[float]) -> list[list[Array]]:
    """For each level below the highest the rings, each of shape (n, 2), around what is above."""
    from contourpy import FillType, contour_generator

    kind = FillType.ChunkCombinedOffset
    generator: Any = contour_generator(x, y, heights.T, name="serial", fill_type=kind)
    top = np.nextafter(heights.max(), np.inf)
    found = [generator.filled(level, top) for level in levels]
    known = [(points, ends.astype(int)) for [points], [ends] in found if points is not None]
    if not known:
        return [[] for _ in levels]
    points = np.concatenate([points for points, _ in known])
    firsts = np.cumsum([0, *(len(points) for points, _ in known)])
    starts = np.concatenate([ends[:-1] + at for (_, ends), at in zip(known, firsts, strict=False)])
    kept = _bends(points, starts)
    rings = iter(np.split(points[kept], np.searchsorted(np.flatnonzero(kept), starts[1:])))
    return [
        [] if ends is None else [next(rings) for _ in ends[1:].tolist()] for _, [ends] in found
    ]


def _bends(points: Array, starts: NDArray[np.int_]) -> NDArray[np.bool_]:
    """Which points of rings are needed: not those on a straight line between others."""
    fixed = np.zeros(len(points), dtype=bool)
    fixed[starts] = fixed[starts[1:] - 1] = True
    left = np.arange(len(points))
    for _ in range(PASSES):
        a, b, c = points[left[:-2]], points[left[1:-1]], points[left[2:]]
        along, aside = c - a, b - a
        area = np.abs(along[:, 0] * aside[:, 1] - along[:, 1] * aside[:, 0])
        is_needed = area > STRAIGHT * np.hypot(along[:, 0], along[:, 1])
        is_needed |= fixed[left[1:-1]]
        is_needed[::2] = True  # no two beside each other are left out at once
        left = np.concatenate([left[:1], left[1:-1][is_needed], left[-1:]])
    kept = np.zeros(len(points), dtype=bool)
    kept[left] = True
    return kept
