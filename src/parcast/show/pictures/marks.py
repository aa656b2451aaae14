"""What is drawn in axes: lines with markers, areas, bars, intervals and texts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from math import atan2, cos, isfinite, pi, sin
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import one_line
from parcast.show.pictures.axis import Scale
from parcast.show.pictures.elements import (
    Paint,
    element,
    height_of,
    path_of,
    size_of,
    width_of,
    written,
)

DASHES: Final[dict[Any, tuple[float, ...]]] = {  # in widths of the line, as matplotlib has them
    "-": (),
    "--": (3.7, 1.6),
    "-.": (6.4, 1.6, 1.0, 1.6),
    ":": (1.0, 1.65),
}
SHORT: Final = {  # matplotlib's short names of what is drawn
    "c": "color",
    "lw": "linewidth",
    "ls": "linestyle",
    "ms": "markersize",
    "mfc": "markerfacecolor",
    "mec": "markeredgecolor",
    "mew": "markeredgewidth",
    "facecolor": "color",
    "ec": "edgecolor",
    "ha": "horizontalalignment",
    "va": "verticalalignment",
}
OPEN: Final = {"x", "+", "_"}  # markers without an inside
Outline: TypeAlias = Sequence[Sequence[tuple[float, float]]]  # strokes, over the size of a marker


def _polygon(corners: int, turn: float) -> Outline:
    """Outline of a marker with even corners; `turn` is where the first is, from the top."""
    angles = [turn + 2 * pi * i / corners for i in range(corners)]
    return [[(0.5 * sin(x), -0.5 * cos(x)) for x in angles]]


CROSS: Final = ((-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3))
PLUS: Final = [[(x / 6, y / 6) for x, y in (*CROSS, (-1, 1), (-3, 1), (-3, -1), (-1, -1))]]
OUTLINES: Final[dict[str, Outline]] = {
    "s": [[(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]],
    "D": [[(0.0, -0.7), (0.7, 0.0), (0.0, 0.7), (-0.7, 0.0)]],
    "^": [[(0.0, -0.5), (0.5, 0.5), (-0.5, 0.5)]],
    "v": [[(0.0, 0.5), (0.5, -0.5), (-0.5, -0.5)]],
    ">": [[(0.5, 0.0), (-0.5, 0.5), (-0.5, -0.5)]],
    "h": _polygon(6, 0.0),
    "P": PLUS,
    "X": [[((x - y) * 0.7, (x + y) * 0.7) for x, y in PLUS[0]]],
    "x": [[(-0.5, -0.5), (0.5, 0.5)], [(-0.5, 0.5), (0.5, -0.5)]],
    "+": [[(-0.5, 0.0), (0.5, 0.0)], [(0.0, -0.5), (0.0, 0.5)]],
    "_": [[(-0.5, 0.0), (0.5, 0.0)]],
}


def style_of(given: dict[str, Any], form: str = "") -> dict[str, Any]:
    """Give matplotlib's keywords by their long names, with what a format such as "o--" says."""
    style = {SHORT.get(key, key): value for key, value in given.items()}
    for dashes in sorted(DASHES, key=len, reverse=True):
        if dashes in form:
            style.setdefault("linestyle", dashes)
            form = form.replace(dashes, "", 1)
            break
    if form:
        style.setdefault("marker", form)
        style.setdefault("linestyle", "none")
    return style


@dataclass(slots=True, eq=False)
class Mark(ABC):
    """Something that is drawn; its place in the order is that of matplotlib."""

    style: dict[str, Any]
    order: float = 2.0
    frame: tuple[Scale, Scale] = field(default_factory=lambda: (Scale(), Scale()))

    @property
    def label(self) -> str:
        """What a legend calls it; one that begins with "_" is in none."""
        return str(self.style.get("label") or "")

    @property
    def rank(self) -> float:
        """Place in the order of what is drawn, from below."""
        return float(self.style.get("zorder", self.order))

    def set_label(self, label: str) -> None:
        """Name it in the legend."""
        self.style["label"] = label

    def set(self, **style: Any) -> None:
        """Change how it looks."""
        self.style |= style_of(style)

    def extents(self) -> tuple[Array, Array]:
        """Values along both axes that have to be within the limits."""
        return np.empty(0), np.empty(0)

    @abstractmethod
    def draw(self, paint: Paint) -> Iterator[str]:
        """Write it as elements."""

    @abstractmethod
    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write its sample in a legend, `width` wide, its middle at `y`."""


@dataclass(slots=True, eq=False)
class LineMark(Mark):
    """A line through points, markers at them, or both."""

    x: Array = field(default_factory=lambda: np.empty(0))
    y: Array = field(default_factory=lambda: np.empty(0))
    colour: Any = "black"

    def extents(self) -> tuple[Array, Array]:
        """Values of all points."""
        return self.x, self.y

    def places(self) -> NDArray[np.float64]:
        """Places of all points [pt], of shape (n, 2)."""
        return np.stack([self.frame[0].at(self.x), self.frame[1].at(self.y)], axis=1)

    def draw(self, paint: Paint) -> Iterator[str]:
        """Write the line in pieces between gaps, then the markers, each with its values."""
        places = self.places()
        yield from self._stroke(paint, pieces_of(places))
        if has_marker(self.style):
            yield from self._markers(paint, places)

    def _stroke(self, paint: Paint, pieces: Sequence[Array]) -> Iterator[str]:
        dashes = dashes_of(self.style.get("linestyle", "-"))
        if dashes is None or not pieces:
            return
        width = float(self.style.get("linewidth", 1.5))
        yield element(
            "path",
            d="".join(path_of(piece.tolist()) for piece in pieces),
            fill="none",
            stroke=paint(self.colour),
            stroke_width=width,
            stroke_dasharray=" ".join(f"{x * width:.4g}" for x in dashes),
            stroke_linejoin="round",
            opacity=self.style.get("alpha"),
        )

    def _markers(self, paint: Paint, places: Array) -> Iterator[str]:
        every = self.style.get("markevery")
        kept = np.arange(len(places))
        if every is not None:
            kept = kept[every] if isinstance(every, slice) else kept[np.asarray(every, dtype=int)]
        name = self.label.lstrip("_")
        across, up = self.frame
        written_across, written_up = writer_of(across), writer_of(up)
        for i in kept.tolist():
            x, y = places[i].tolist()
            is_shown = across.is_inside(self.x[i]) and up.is_inside(self.y[i])
            if isfinite(x) and isfinite(y) and (is_shown or self.style.get("clip_on") is False):
                at = f"{written_across(self.x[i])}, {written_up(self.y[i])}"
                yield self._marker(paint, x, y, f"{name}: {at}" if name else at)

    def _marker(self, paint: Paint, x: float, y: float, title: str = "") -> str:
        """Write one marker, with what it stands for."""
        style, shape = self.style, self.style["marker"]
        size = float(style.get("markersize", 6.0))
        edge = style.get("markeredgecolor", self.colour)
        inside = style.get("markerfacecolor", self.colour)
        look = {
            "fill": "none" if is_open(shape) else paint(inside),
            "stroke": paint(edge),
            "stroke_width": style.get("markeredgewidth", 1.0),
            "opacity": style.get("alpha"),
        }
        told = element("title", escape(one_line(title))) if title else ""
        if shape in ("o", "."):
            radius = size / (4 if shape == "." else 2)
            return element("circle", told, cx=x, cy=y, r=radius, **look)
        outline = OUTLINES.get(shape) if isinstance(shape, str) else strokes_of(shape)
        strokes = [[(x + size * a, y + size * b) for a, b in line] for line in outline or []]
        closed = "" if is_open(shape) else "Z"
        return element("path", told, d="".join(path_of(x) + closed for x in strokes), **look)

    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write a piece of the line, and one marker."""
        yield from self._stroke(paint, [np.array([(x, y), (x + width, y)])])
        if has_marker(self.style):
            yield self._marker(paint, x + width / 2, y)


@dataclass(slots=True, eq=False)
class AreaMark(Mark):
    """Areas between edges, such as bands, and bars."""

    order: float = 1.0
    corners: Sequence[NDArray[np.float64]] = ()  # of each area, of shape (n, 2), as values
    told: Sequence[str] = ()  # what each area stands for
    colour: Any = "black"
    is_bar: bool = False

    def extents(self) -> tuple[Array, Array]:
        """Values of all corners."""
        every = np.concatenate([np.empty((0, 2)), *self.corners])
        return every[:, 0], every[:, 1]

    def draw(self, paint: Paint) -> Iterator[str]:
        """Write each area."""
        look, outlines = self._look(paint), []
        for i, area in enumerate(self.corners):
            x, y = (
                clipped(scale.at(bounded(scale, area[:, k])), scale)
                for k, scale in enumerate(self.frame)
            )
            if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y)) and len(x)):
                continue
            outlines.append(f"{path_of(zip(x.tolist(), y.tolist(), strict=True))}Z")
            if i < len(self.told):
                title = element("title", escape(one_line(self.told[i])))
                yield element("path", title, d=outlines.pop(), **look)
        if outlines:
            yield element("path", d="".join(outlines), **look)

    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write a small area."""
        yield element("rect", x=x, y=y - 3.5, width=width, height=7, **self._look(paint))

    def _look(self, paint: Paint) -> dict[str, Any]:
        style, hatch = self.style, self.style.get("hatch")
        edge = style.get("edgecolor", "none")
        colour = self.colour
        fill = paint.hatched(colour, edge, hatch) if hatch else paint(colour)
        width = style.get("linewidth", 1.0 if self.is_bar and edge != "none" else 0)
        return {
            "fill": fill,
            "fill_opacity": style.get("alpha"),
            "stroke": paint(edge) if width and edge != "none" else "",
            "stroke_width": width if width and edge != "none" else "",
        }


@dataclass(slots=True, eq=False)
class ErrorMark(Mark):
    """Intervals as bars with caps, upright or across."""

    x: Array = field(default_factory=lambda: np.empty(0))
    low: Array = field(default_factory=lambda: np.empty(0))
    high: Array = field(default_factory=lambda: np.empty(0))
    colour: Any = "black"
    is_across: bool = False

    def extents(self) -> tuple[Array, Array]:
        """Values of all ends."""
        along, ends = np.concatenate([self.x, self.x]), np.concatenate([self.low, self.high])
        return (ends, along) if self.is_across else (along, ends)

    def draw(self, paint: Paint) -> Iterator[str]:
        """Write all bars as one path."""
        across, up = self.frame
        along, ends = (up, across) if self.is_across else (across, up)
        cap = float(self.style.get("capsize", 0.0))
        strokes = []
        for x, low, high in zip(
            along.at(self.x).tolist(),
            clipped(ends.at(bounded(ends, self.low)), ends).tolist(),
            clipped(ends.at(bounded(ends, self.high)), ends).tolist(),
            strict=True,
        ):
            lines = [[(x, low), (x, high)]]
            lines += [[(x - cap, y), (x + cap, y)] for y in (low, high)] if cap else []
            if all(map(isfinite, (x, low, high))):
                strokes += [[(b, a) for a, b in y] if self.is_across else y for y in lines]
        if strokes:
            yield self._path(paint, strokes)

    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write one upright bar."""
        middle, cap = x + width / 2, float(self.style.get("capsize", 0.0))
        lines = [[(middle, y - 5), (middle, y + 5)]]
        lines += [[(middle - cap, z), (middle + cap, z)] for z in (y - 5, y + 5)] if cap else []
        yield self._path(paint, lines)

    def _path(self, paint: Paint, strokes: Sequence[Sequence[tuple[float, float]]]) -> str:
        return element(
            "path",
            d="".join(map(path_of, strokes)),
            fill="none",
            stroke=paint(self.colour),
            stroke_width=self.style.get("linewidth", 1.5),
            opacity=self.style.get("alpha"),
        )


@dataclass(slots=True, eq=False)
class ArrowMark(Mark):
    """Arrows from one place to another, with open heads."""

    ends: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2, 2)))
    colour: Any = "black"
    head: float = 0.0  # length of a head [pt]

    def extents(self) -> tuple[Array, Array]:
        """Values of all ends."""
        return self.ends[:, :, 0].ravel(), self.ends[:, :, 1].ravel()

    def draw(self, paint: Paint) -> Iterator[str]:
        """Write all of them as one path."""
        x, y = (scale.at(self.ends[:, :, k]) for k, scale in enumerate(self.frame))
        places = np.stack([x, y], axis=-1)
        known = places[np.isfinite(places).all(axis=(1, 2))].tolist()
        if known:
            yield self._path(paint, known)

    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write one across."""
        yield self._path(paint, [[[x, y], [x + width, y]]])

    def _path(self, paint: Paint, lines: Sequence[Sequence[Sequence[float]]]) -> str:
        strokes = [path_of(line) for line in lines]
        strokes += [path_of(tip_of(start, end, self.head)) for start, end in lines]
        return element(
            "path",
            d="".join(strokes),
            fill="none",
            stroke=paint(self.colour),
            stroke_width=self.style.get("linewidth", 1.0),
        )


def tip_of(
    start: Sequence[float], end: Sequence[float], length: float
) -> list[tuple[float, float]]:
    """Points of the head of an arrow [pt]."""
    angle = atan2(end[1] - start[1], end[0] - start[0])
    left, right = (
        (end[0] - length * cos(angle + turn), end[1] - length * sin(angle + turn))
        for turn in (-0.45, 0.45)
    )
    return [left, (end[0], end[1]), right]


@dataclass(slots=True, eq=False)
class TextMark(Mark):
    """A text at a place, or some points aside from it, possibly with a line that leads to it."""

    order: float = 3.0
    text: str = ""
    at: tuple[float, float] = (0.0, 0.0)
    aside: tuple[float, float] = (0.0, 0.0)  # to the right and up [pt]
    of_axes: tuple[bool, bool] = (False, False)  # whether a coordinate is a share of the axis

    def place(self) -> tuple[float, float]:
        """Where it is attached [pt]."""
        where = []
        for scale, value, is_share in zip(self.frame, self.at, self.of_axes, strict=True):
            shared = scale.start + value * (scale.end - scale.start)
            where.append(shared if is_share else float(scale.at(value)))
        return where[0], where[1]

    def is_known(self) -> bool:
        """Whether it has a place."""
        return all(map(isfinite, self.place()))

    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of what it fills [pt]."""
        x, y = self.place()
        x, y = x + self.aside[0], y - self.aside[1]
        size = self.style.get("fontsize", "medium")
        wide, high = width_of(self.text, size), height_of(self.text, size)
        if self.style.get("rotation"):
            wide, high = high, wide
        across = {"center": wide / 2, "right": wide}.get(self.style.get(ALIGNED[0], "left"), 0.0)
        up = {"center": high / 2, "top": 0.0}.get(self.style.get(ALIGNED[1], "baseline"), high)
        return x - across, y - up, x - across + wide, y - up + high

    def draw(self, paint: Paint) -> Iterator[str]:
        """Write it."""
        if not self.is_known():
            return
        style = self.style
        x, y = self.place()
        left, top, right, bottom = self.box()
        size = style.get("fontsize", "medium")
        colour = paint(style.get("color", "black"))
        arrow = style.get("arrowprops")
        if arrow:
            yield element(
                "path",
                d=path_of([(x, y), (left - 1, (top + bottom) / 2)]),
                stroke=paint(arrow.get("color", "black")),
                stroke_width=arrow.get("lw", 1.0),
                fill="none",
            )
        box = style.get("bbox")
        if box:
            pad = 0.35 * size_of(size)
            yield element(
                "rect",
                x=left - pad,
                y=top - pad / 4,
                width=right - left + 2 * pad,
                height=bottom - top + pad / 2,
                rx=pad / 2,
                fill=box["facecolor"],
                fill_opacity=box["alpha"],
            )
        if style.get("rotation"):
            yield written(
                self.text,
                right - 0.28 * (right - left),
                bottom,
                size=size,
                fill=colour,
                turned=True,
            )
            return
        base = top + 0.8 * height_of("x", size)
        aligned = {"center": "middle", "right": "end"}.get(style.get(ALIGNED[0], "left"), "start")
        at = {"middle": (left + right) / 2, "end": right}.get(aligned, left)
        yield written(self.text, at, base, size=size, anchor=aligned, fill=colour)

    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write it where its sample would be."""
        at, ink = x + width / 2, paint("black")
        yield written(self.text, at, y + 3.0, size="small", anchor="middle", fill=ink)


ALIGNED: Final = ("horizontalalignment", "verticalalignment")


def writer_of(scale: Scale) -> Callable[[float], str]:
    """Give what writes values with what their axis is called: "time 7.3 s"."""
    title, shown = scale.title.replace("\n", " "), scale.writer()
    name, bracket, unit = title.partition(" [")
    if bracket:
        return lambda value: f"{name} {shown(float(value))} {unit.rstrip(']')}"
    return lambda value: f"{title} {shown(float(value))}".strip()


def pieces_of(places: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Cut a line where points have no place; a single point is no piece."""
    known = np.asarray(np.isfinite(places).all(axis=1))
    return [places[a:b] for a, b in spans_of(known)]


def spans_of(known: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Give the first and one past the last place of each stretch that is true, of two or more."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    return [(a, b) for a, b in edges.reshape(-1, 2).tolist() if b - a > 1]


def bounded(scale: Scale, values: Array) -> Array:
    """Move what a logarithmic axis cannot show to its lower end."""
    return np.maximum(values, min(scale.limits) * 1e-3) if scale.kind == "log" else values


def clipped(places: Array, scale: Scale) -> Array:
    """Move places to the edges of an axis, a little beyond, where they lie far outside."""
    low, high = sorted((scale.start, scale.end))
    return np.clip(places, low - 1000.0, high + 1000.0)


def has_marker(style: dict[str, Any]) -> bool:
    """Whether points have a marker."""
    marker = style.get("marker")
    return not (marker is None or (isinstance(marker, str) and marker in ("", "none", "None")))


def is_open(marker: Any) -> bool:
    """Whether a marker has no inside."""
    return not isinstance(marker, str) or marker in OPEN


def strokes_of(points: Sequence[tuple[float, float]]) -> Outline:
    """Give the stroke of a marker that is a list of points, in which y points up."""
    most = 2 * max(abs(x) for point in points for x in point)
    return [[(x / most, -y / most) for x, y in points]]


def dashes_of(style: Any) -> tuple[float, ...] | None:
    """Lengths of dashes and gaps in widths of the line; None where there is no line."""
    if isinstance(style, tuple):
        return tuple(float(x) for x in style[1])
    return None if style in ("none", "None", "", None) else DASHES[style]
