"""Areas that are coloured by a value, and the bar that explains the colours.

A graded field is drawn as areas of `CLASSES` colours, each over those before it: outlines are
smooth at any size, and no gap is seen between two of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.errors import one_line
from parcast.show.pictures.axis import Scale
from parcast.show.pictures.colours import ColourScale, graded
from parcast.show.pictures.contours import areas_above
from parcast.show.pictures.elements import Paint, element, height_of, path_of, width_of, written
from parcast.show.pictures.marks import Mark

CLASSES: Final = 72
SPARE: Final = 12.0  # between axes and the bar beside them [pt]
WIDTH: Final = 11.0  # of the bar [pt]
POINT: Final = 9.0  # height of its pointed ends [pt]
TICK: Final = 3.5  # [pt]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Told:
    """What is said at some places of a picture over two axes."""

    x: Array
    y: Array
    texts: Sequence[Sequence[str]]  # for each x, for each y; "" where there is nothing


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ColourField:
    """Values over a grid of places, and their colours."""

    x: Array  # ascending
    y: Array
    values: Array  # of shape (x, y)
    scale: ColourScale
    told: Told | None = None


@dataclass(slots=True, eq=False)
class FieldMark(Mark):
    """A field in axes."""

    order: float = 0.5
    field: ColourField = field(kw_only=True)

    def extents(self) -> tuple[Array, Array]:
        """Its ends."""
        return self.field.x[[0, -1]], self.field.y[[0, -1]]

    def draw(self, paint: Paint) -> Iterator[str]:
        """Write its areas from the lowest value on."""
        x, y = self.frame[0].at(self.field.x), self.frame[1].at(self.field.y)
        heights, levels, colours = classes_of(self.field)
        first = int(np.searchsorted(levels, heights.min(), side="right"))
        last = int(np.searchsorted(levels, heights.max(), side="left"))
        inks = [paint(colour) for colour in graded(colours, self.field.scale.colours)]
        frame = [(x[0], y[0]), (x[-1], y[0]), (x[-1], y[-1]), (x[0], y[-1])]
        pieces = [element("path", d=tenths_of([np.array(frame)]), fill=inks[first])]
        areas = areas_above(x, y, heights, levels[first:last].tolist())
        for rings, ink in zip(areas, inks[first + 1 :], strict=False):
            if rings:
                pieces.append(element("path", d=tenths_of(rings), fill=ink))
        yield element("g", "".join(pieces), transform="scale(.1)", fill_rule="evenodd")

    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write a small area in the colour of the middle."""
        [middle] = graded(np.array([0.5]), self.field.scale.colours)
        yield element("rect", x=x, y=y - 3.5, width=width, height=7, fill=paint(middle))


@dataclass(slots=True, eq=False)
class ToldMark(Mark):
    """What cannot be seen but says what is there: the surroundings of some points of axes."""

    order: float = 2.5  # above lines, below texts
    told: Told = field(kw_only=True)

    def draw(self, paint: Paint) -> Iterator[str]:
        """Write them from the left to the right, each from below."""
        told = self.told
        x, y = (
            _edges(scale.at(values), scale)
            for scale, values in zip(self.frame, (told.x, told.y), strict=True)
        )
        pieces = []
        for i, texts in enumerate(told.texts):
            for j, text in enumerate(texts):
                if not text:
                    continue
                corners = [(x[i], y[j]), (x[i + 1], y[j]), (x[i + 1], y[j + 1]), (x[i], y[j + 1])]
                title = element("title", escape(one_line(text)))
                pieces.append(element("path", title, d=path_of(corners) + "Z"))
        yield element("g", "".join(pieces), fill=paint("transparent"))

    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write what cannot be seen either."""
        ink = paint("transparent")
        yield element("rect", x=x, y=y - 3.5, width=width, height=7, fill=ink)


def classes_of(field: ColourField) -> tuple[Array, Array, Array]:
    """Heights, levels that divide them, and the shares of a scale below, between and above."""
    if field.scale.levels:
        shares = np.concatenate([[0.0], field.scale.bands, [1.0]])
        return field.values, np.asarray(field.scale.levels), shares
    shares = (np.arange(CLASSES) + 0.5) / CLASSES
    return field.scale.shares(field.values), np.arange(1, CLASSES) / CLASSES, shares


def tenths_of(rings: Sequence[Array]) -> str:
    """Write closed outlines, of shape (n, 2) [pt], in tenths of a point.

    >>> tenths_of([np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.02]])])
    'M0 0l20 0 0 10z'
    """
    written = []
    for ring in rings:
        whole = np.rint(10 * ring).astype(int)
        steps = np.diff(whole, axis=0)
        steps = steps[np.any(steps != 0, axis=1)]
        start = f"M{whole[0, 0]} {whole[0, 1]}l"
        written.append(f"{start}{' '.join(map(str, steps.ravel().tolist()))}z")
    return "".join(written).replace(" -", "-")


def _edges(places: Array, scale: Scale) -> list[float]:
    """Middles between places along an axis, and its ends [pt]."""
    middles = (places[1:] + places[:-1]) / 2
    return [scale.start, *middles.tolist(), scale.end]


def bar_room(scale: ColourScale) -> float:
    """Width of all that explains a scale, beside axes [pt]."""
    texts = max((width_of(x) for x in scale.labels), default=0.0)
    return SPARE + WIDTH + TICK + 3.0 + texts + height_of(scale.title) + 5.0


def bar_of(
    scale: ColourScale, left: float, top: float, bottom: float, paint: Paint
) -> Iterator[str]:
    """Write the bar that explains a scale, with its left edge at `left`."""
    left += SPARE
    right = left + WIDTH
    low, high = bottom - POINT * scale.is_open[0], top + POINT * scale.is_open[1]
    shares = scale.bands if scale.levels else (np.arange(CLASSES) + 0.5) / CLASSES
    starts = np.linspace(low, high, len(shares), endpoint=False).tolist()
    for colour, y in zip(graded(shares, scale.colours), starts, strict=True):
        place = {"x": left, "y": high, "width": WIDTH, "height": y - high}  # over those below
        yield element("rect", fill=paint(colour), **place)
    outline, middle = [(left, low), (left, high)], (left + right) / 2
    first, last = graded(np.array([0.0, 1.0]), scale.colours)
    if scale.is_open[0]:
        ends = [(left, low), (middle, bottom), (right, low)]
        yield element("path", d=f"{path_of(ends)}Z", fill=paint(first))
        outline = [(middle, bottom), *outline]
    if scale.is_open[1]:
        ends = [(left, high), (middle, top), (right, high)]
        yield element("path", d=f"{path_of(ends)}Z", fill=paint(last))
        outline.append((middle, top))
    ticks = scale.ticks
    even = np.linspace(0.0, 1.0, len(ticks))
    at = low + (even if scale.levels else scale.shares(np.asarray(ticks))) * (high - low)
    strokes = [[*outline, (right, high), (right, low)]]
    strokes += [[(right, y), (right + TICK, y)] for y in at.tolist()]
    d = f"{path_of(strokes[0])}Z{''.join(map(path_of, strokes[1:]))}"
    yield element("path", d=d, stroke=paint("black"), stroke_width=0.8, fill="none")
    for label, y in zip(scale.labels, at.tolist(), strict=True):
        yield written(label, right + TICK + 3.0, y + 3.5)
    beside = left - SPARE + bar_room(scale) - 3.0
    yield written(scale.title, beside, (top + bottom) / 2, anchor="middle", turned=True)
