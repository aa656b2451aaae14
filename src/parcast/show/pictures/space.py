"""A surface in space: its mesh is projected, and drawn from the back to the front."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby, pairwise
from math import atan2, cos, degrees, hypot, radians, sin
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import one_line
from parcast.show.pictures.colours import MEASURED, ON_BRIGHT, PALE, ColourScale, graded
from parcast.show.pictures.elements import Paint, element, number, path_of, width_of, written
from parcast.show.pictures.fields import Told
from parcast.show.pictures.marks import Mark

ELEVATION, AZIMUTH = 30.0, -75.0  # of the eye, which sees both flanks [degrees]
ASPECT: Final = (1.45, 1.1, 0.9)  # lengths of the edges of the box
DISTANCE: Final = 7.0  # of the eye, in the same unit
CLASSES: Final = 64  # colours of the mesh
BESIDE: Final = (14.0, 56.0, 4.0, 40.0)  # room left, right, above and below the box [pt]
TICK: Final = 4.0  # [pt]
DOWN: Final = (7.0, 7.5, 2.5)  # from where a label is due to its base, for each axis [pt]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceAxis:
    """One edge of the box."""

    low: float
    high: float
    ticks: Sequence[float]
    labels: Sequence[str]
    title: str

    def share(self, values: Array) -> Array:
        """Places of values along it, from -1/2 to 1/2."""
        return (values - self.low) / ((self.high - self.low) or 1.0) - 0.5

    @property
    def known(self) -> list[tuple[float, str]]:
        """Ticks within it, and what is written there."""
        pairs = zip(self.ticks, self.labels, strict=True)
        return [(x, text) for x, text in pairs if self.low <= x <= self.high]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Stems:
    """Points beside a surface, each with a line that leads to it."""

    x: Array
    y: Array
    low: Array  # where it leaves the surface
    high: Array  # where the point is
    texts: Sequence[str]
    label: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SpaceSurface:
    """Heights over a grid of places, coloured by values."""

    x: Array
    y: Array
    heights: Array  # of shape (x, y)
    values: Array  # of the same shape
    scale: ColourScale  # of the values
    axes: tuple[SpaceAxis, SpaceAxis, SpaceAxis]
    told: Told | None = None
    stems: Stems | None = None
    notes: Sequence[str] = ()


@dataclass(slots=True, eq=False)
class SpaceMark(Mark):
    """A surface, the box around it and points beside it, which fill their axes."""

    surface: SpaceSurface = field(kw_only=True)

    def draw(self, paint: Paint) -> Iterator[str]:
        """Write the walls, the mesh, the points and the axes."""
        view = self._view()
        yield from self._walls(view, paint)
        yield from self._mesh(view, paint)
        yield from self._points(view, paint)
        for k in range(3):
            yield from self._axis(view, k, paint)

    def _view(self) -> "View":
        """Choose the scale at which the box fills the axes."""
        x, y = self.frame
        left, right, above, below = BESIDE
        right += max((width_of(text) for _, text in self.surface.axes[2].known), default=0.0)
        return View.fitting(
            (x.start + left, y.end + above, x.end - right, y.start - below), self.surface.axes
        )

    def _walls(self, view: "View", paint: Paint) -> Iterator[str]:
        """Write the floor and the two walls behind the surface, with their grid."""
        x, y, z = self.surface.axes
        lines = []
        for tick, _ in x.known:
            lines.append([(tick, y.low, z.low), (tick, y.high, z.low), (tick, y.high, z.high)])
        for tick, _ in y.known:
            lines.append([(x.high, tick, z.low), (x.low, tick, z.low), (x.low, tick, z.high)])
        for tick, _ in z.known:
            lines.append([(x.low, y.low, tick), (x.low, y.high, tick), (x.high, y.high, tick)])
        floor = [(x.low, y.low), (x.high, y.low), (x.high, y.high), (x.low, y.high)]
        walls = [[(*place, z.low) for place in floor]]
        for a, b in ((floor[3], floor[2]), (floor[0], floor[3])):
            walls.append([(*a, z.low), (*b, z.low), (*b, z.high), (*a, z.high)])
        pale = paint(PALE)
        for wall, opacity in zip(walls, (0.25, 0.35, 0.5), strict=True):
            yield element("path", d=f"{path_of(view.at(wall))}Z", fill=pale, fill_opacity=opacity)
        grid = "".join(path_of(view.at(line)) for line in lines)
        yield element("path", d=grid, stroke=pale, stroke_width=0.8, fill="none")

    def _mesh(self, view: "View", paint: Paint) -> Iterator[str]:
        """Write each cell over those behind it; neighbours of one colour are one path."""
        told = self.surface
        x, y = np.meshgrid(told.x, told.y, indexing="ij")
        points = np.rint(10 * view.at(np.stack([x, y, told.heights], axis=-1))).astype(int)
        corners = [points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]]
        steps = [b - a for a, b in pairwise(corners)]
        cells = np.concatenate([corners[0], *steps], axis=-1)[:, ::-1]  # the last y is behind
        shares = told.scale.shares(told.values)
        middle = (shares[:-1, :-1] + shares[1:, :-1] + shares[1:, 1:] + shares[:-1, 1:]) / 4
        classes = np.minimum((middle[:, ::-1] * CLASSES).astype(int), CLASSES - 1)
        inks = [
            paint(colour)
            for colour in graded((np.arange(CLASSES) + 0.5) / CLASSES, told.scale.colours)
        ]
        pairs = zip(classes.ravel().tolist(), cells.reshape(-1, 8).tolist(), strict=True)
        pieces = [
            element(
                "path",
                d="".join(
                    f"M{a} {b}l{c} {d} {e} {f} {g} {h}z" for _, (a, b, c, d, e, f, g, h) in run
                ),
                fill=inks[k],
            )
            for k, run in groupby(pairs, key=lambda pair: pair[0])
        ]
        yield element(
            "g",
            "".join(pieces),
            transform="scale(.1)",
            stroke=ON_BRIGHT,
            stroke_width=3,
            stroke_opacity=0.3,
            stroke_linejoin="round",
        )

    def _points(self, view: "View", paint: Paint) -> Iterator[str]:
        """Write the points beside the surface, or places on it that say their values."""
        told, stems = self.surface.told, self.surface.stems
        if stems is not None:
            yield from self._stems(view, stems, paint)
        elif told is not None:
            heights = _heights_at(self.surface, told)
            pieces = []
            for i, texts in enumerate(told.texts):
                for j, text in enumerate(texts):
                    [(x, y)] = view.at([(told.x[i], told.y[j], heights[i, j])])
                    pieces.append(element("circle", _title(text), cx=x, cy=y, r=5))
            yield element("g", "".join(pieces), fill="transparent")

    def _stems(self, view: "View", stems: Stems, paint: Paint) -> Iterator[str]:
        """Write the points from the back to the front: stems below the surface are dashed."""
        ink, paper = paint(MEASURED), paint("white")
        order = np.lexsort([stems.x, -stems.y])
        for i in order.tolist():
            ends = [(stems.x[i], stems.y[i], z) for z in (stems.low[i], stems.high[i])]
            foot, head = view.at(ends)
            dashes = "2 1.5" if stems.high[i] < stems.low[i] else ""
            d = path_of([foot, head])
            yield element("path", d=d, stroke=ink, stroke_width=1.1, stroke_dasharray=dashes)
            place = {"cx": head[0], "cy": head[1], "r": 2.6}
            yield element(
                "circle", _title(stems.texts[i]), fill=ink, stroke=paper, stroke_width=0.8, **place
            )

    def _axis(self, view: "View", k: int, paint: Paint) -> Iterator[str]:
        """Write one edge of the box with its ticks and texts, which stand outside."""
        x, y, z = self.surface.axes
        fixed = [(None, y.low, z.low), (x.high, None, z.low), (x.high, y.high, None)][k]
        axis = self.surface.axes[k]

        def on(value: float) -> tuple[float, float, float]:
            a, b, c = (value if each is None else each for each in fixed)
            return a, b, c

        (x0, y0), (x1, y1) = view.at([on(axis.low), on(axis.high)]).tolist()
        length = hypot(x1 - x0, y1 - y0) or 1.0
        out = (-(y1 - y0) / length, (x1 - x0) / length)  # to the right of the way, as y is down
        strokes = [[(x0, y0), (x1, y1)]]
        texts, widest = [], 0.0
        for tick, label in axis.known:
            [(a, b)] = view.at([on(tick)]).tolist()
            strokes.append([(a, b), (a + TICK * out[0], b + TICK * out[1])])
            a, b = a + 2.2 * TICK * out[0], b + 2.2 * TICK * out[1]
            anchor = "middle" if k == 0 else "start"
            texts.append(written(label, a, b + DOWN[k], anchor=anchor))
            widest = max(widest, width_of(label))
        d = "".join(map(path_of, strokes))
        yield element("path", d=d, stroke=paint("black"), stroke_width=0.8, fill="none")
        yield from texts
        far = 2.2 * TICK + (24.0 if k == 0 else widest * abs(out[0]) + 21.0)
        a, b = (x0 + x1) / 2 + far * out[0], (y0 + y1) / 2 + far * out[1]
        turn = degrees(atan2(y1 - y0, x1 - x0))
        text = written(axis.title, a, b, anchor="middle")
        yield element("g", text, transform=f"rotate({number(turn)} {number(a)} {number(b)})")

    def entry(self, paint: Paint, x: float, y: float, width: float) -> Iterator[str]:
        """Write one point with its stem."""
        ink, middle = paint(MEASURED), x + width / 2
        d = path_of([(middle, y + 5), (middle, y - 3)])
        yield element("path", d=d, stroke=ink, stroke_width=1.1)
        yield element("circle", cx=middle, cy=y - 3, r=2.6, fill=ink)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """From places in the box to places of a picture [pt]."""

    axes: tuple[SpaceAxis, SpaceAxis, SpaceAxis]
    scale: float = 1.0
    across: float = 0.0
    down: float = 0.0

    @classmethod
    def fitting(
        cls,
        frame: tuple[float, float, float, float],
        axes: tuple[SpaceAxis, SpaceAxis, SpaceAxis],
    ) -> "View":
        """Fill a frame: left, top, right and bottom."""
        x, y, z = ((axis.low, axis.high) for axis in axes)
        corners = cls(axes).at([(a, b, c) for a in x for b in y for c in z])
        low, high = corners.min(axis=0), corners.max(axis=0)
        left, top, right, bottom = frame
        scale = float(min((right - left, bottom - top) / (high - low)))
        across, down = np.array([left + right, top + bottom]) / 2 - scale * (low + high) / 2
        return cls(axes, scale, float(across), float(down))

    def at(self, points: object) -> NDArray[np.float64]:
        """Where points of shape (..., 3) are seen."""
        given = np.asarray(points, dtype=np.float64)
        x, y, z = (axis.share(given[..., k]) * ASPECT[k] for k, axis in enumerate(self.axes))
        turn, rise = radians(AZIMUTH), radians(ELEVATION)
        along = x * cos(turn) + y * sin(turn)  # towards the eye, on the floor
        near = DISTANCE / (DISTANCE - along * cos(rise) - z * sin(rise))
        right = (y * cos(turn) - x * sin(turn)) * near
        up = (z * cos(rise) - along * sin(rise)) * near
        places = (self.across + self.scale * right, self.down - self.scale * up)
        return np.stack(places, axis=-1)


def _heights_at(surface: SpaceSurface, told: Told) -> Array:
    """Heights of a surface at places of its grid, or near them."""
    i = np.abs(surface.x[:, np.newaxis] - told.x).argmin(axis=0)
    j = np.abs(surface.y[:, np.newaxis] - told.y).argmin(axis=0)
    return np.asarray(surface.heights[np.ix_(i, j)])


def _title(text: str) -> str:
    return element("title", escape(one_line(text)))
