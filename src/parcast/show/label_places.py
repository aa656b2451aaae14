"""Where labels go beside crowded points: the same points give the same places.

Each label in turn takes the place near its point that hides least. Labels do not lie on each
other, nor on a marker. One that is needed and finds no room close by goes further off, with a line
back to its point; the others are left out then. All lengths are in points, 1/72 inch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array

AROUND: Final = (45, 135, -45, -135, 0, 180, 90, -90, 22, 158, -22, -158, 68, 112, -68, -112)
STEPS: Final = (0.0, 7.0, 14.0, 22.0, 32.0, 44.0, 58.0, 76.0, 98.0)  # further off [pt]
LATER: Final = 0.05  # what a direction costs that comes later: in marks of a line hidden
FURTHER: Final = 0.4  # what a point further off costs
ROOM: Final = 1.0  # between two labels [pt]
SPACING: Final = 3.0  # of the marks along a line [pt]


@dataclass(frozen=True, slots=True)
class Label:
    """A text that is to stand beside a point."""

    at: tuple[float, float]  # the point [pt]
    size: tuple[float, float]  # width and height of the text [pt]
    gap: float  # from the point to the text [pt]
    is_needed: bool  # whether it must be shown, however crowded it is


@dataclass(frozen=True, slots=True)
class LabelPlace:
    """Where a label goes."""

    centre: tuple[float, float]  # [pt]
    has_line: bool  # whether it is so far off that a line must lead back


def places(
    labels: Sequence[Label], *, markers: Array, lines: Array, frame: Array
) -> list[LabelPlace | None]:
    """Place labels one after another; those that find no room and are not needed become None.

    Not to be hidden are `markers`, (markers, 3): x, y and radius, and as little as may be of
    `lines`, (points, 2). Labels stay within `frame`: left, bottom, right, top. All in pt.
    """
    taken = np.zeros((0, 4))
    placed: list[LabelPlace | None] = []
    for label in labels:
        best: tuple[float, LabelPlace, Array, Array] | None = None
        for least, place in _tries(label):
            if best is not None and least >= best[0]:
                continue
            box = _box(place.centre, label.size)
            back = marks([label.at, place.centre]) if place.has_line else np.zeros((0, 2))
            if _is_blocked(box, back, taken, markers, frame):
                continue
            cost = least + float(_inside(lines, box).sum())
            if best is None or cost < best[0]:
                best = cost, place, box, back
        placed.append(None if best is None else best[1])
        if best is not None:
            taken = np.vstack([taken, best[2] + ROOM * np.array([-1, -1, 1, 1])])
            lines = np.vstack([lines, best[3]])
    return placed


def marks(line: Sequence[tuple[float, float]] | Array) -> Array:
    """Points close together along a line of straight parts; shape (marks, 2). [pt]."""
    corners = np.asarray(line, dtype=np.float64)
    parts = [corners[:1]]
    for start, end in pairwise(corners):
        count = min(int(np.hypot(*(end - start)) / SPACING) + 2, 1000)
        parts.append(start + (end - start) * np.linspace(0, 1, count)[1:, None])
    return np.concatenate(parts)


def _tries(label: Label) -> Iterator[tuple[float, LabelPlace]]:
    """Give the places around a point, and what each costs, the close ones first."""
    for step in STEPS if label.is_needed else STEPS[:1]:
        for i, angle in enumerate(AROUND):
            way = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
            edge = np.clip(1.45 * way, -1.0, 1.0) * np.array(label.size) / 2
            x, y = np.asarray(label.at) + (label.gap + step) * way + edge
            yield LATER * i + FURTHER * step, LabelPlace((float(x), float(y)), has_line=step > 0)


def _box(centre: tuple[float, float], size: tuple[float, float]) -> Array:
    """Left, bottom, right and top of a text. [pt]."""
    half = np.asarray(size) / 2
    return np.concatenate([np.asarray(centre) - half, np.asarray(centre) + half])


def _is_blocked(box: Array, back: Array, taken: Array, markers: Array, frame: Array) -> bool:
    """Tell whether a text lies outside the frame, on another or on a marker, or its line does."""
    if np.any(box[:2] < frame[:2]) or np.any(box[2:] > frame[2:]):
        return True
    if np.any(np.all((box[:2] < taken[:, 2:]) & (box[2:] > taken[:, :2]), axis=1)):
        return True
    nearest = np.clip(markers[:, :2], box[:2], box[2:])
    if np.any(np.hypot(*(nearest - markers[:, :2]).T) < markers[:, 2]):
        return True
    return any(bool(_inside(back, other).any()) for other in taken)


def _inside(marked: Array, box: Array) -> NDArray[np.bool_]:
    """Tell which points lie in a box."""
    return np.asarray(np.all((marked >= box[:2]) & (marked <= box[2:]), axis=1))
