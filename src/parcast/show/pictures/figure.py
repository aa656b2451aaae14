"""A figure of axes in a grid: laid out by what is written beside them, and written as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil
from typing import Any, Final

import numpy as np

from parcast.errors import one_line
from parcast.show.pictures.axes import FigureSpace, SvgAxes
from parcast.show.pictures.colours import GREY
from parcast.show.pictures.elements import (
    FONTS,
    Paint,
    element,
    height_of,
    path_of,
    width_of,
    written,
)
from parcast.show.pictures.fields import bar_of, bar_room
from parcast.show.pictures.marks import Mark, TextMark

INCH: Final = 72.0  # [pt]
EDGE: Final = 5.0  # beside all that is drawn [pt]
GAP: Final = 10.0  # between axes [pt]
SAMPLE: Final = 20.0  # width of a sample in a legend [pt]
BESIDE: Final = 5.0  # from a sample to its name [pt]
BETWEEN: Final = 14.0  # from a name to the next sample [pt]
ROW: Final = 14.0  # height of a row of a legend [pt]
SMALL: Final = "small"
PASSES: Final = 3  # of the layout: names of lines need room that only their places tell


@dataclass(slots=True)
class Margins:
    """Room beside axes for what is written there [pt]."""

    left: float = 0.0
    right: float = 0.0
    above: float = 0.0
    below: float = 0.0


class SvgFigure:
    """The part of matplotlib's figures that pictures of parcast use; all its measures are pt."""

    dpi = INCH

    def __init__(self, width: float, height: float, *, is_linear: bool = False) -> None:
        self.space = FigureSpace(width * INCH, height * INCH, is_linear=is_linear)
        self.axes: list[SvgAxes] = []
        self.heading = ""
        self.heading_size = "large"
        self.groups: list[Mapping[str, Mark]] = []
        self.notes: Sequence[str] = ()
        self.words = ""  # what it shows

    @property
    def canvas(self) -> "SvgFigure":
        """What a figure is drawn on."""
        return self

    @property
    def figure(self) -> "SvgFigure":
        """The whole figure, of which there are no parts."""
        return self

    @property
    def is_flattened(self) -> bool:
        """Whether an axis is linear that its picture makes logarithmic.

        Not where areas have colours and names: these stand where there is room on its own axes.
        """
        if any(x.explained for x in self.axes):
            return False
        return any(x.x.is_flattened or x.y.is_flattened for x in self.axes if x.is_visible)

    def add_subplot(self, *place: Any) -> SvgAxes:
        """Add axes: all of the figure, place i of rows and columns, or of `add_gridspec`."""
        if not place:
            return self._new(slice(0, 1), slice(0, 1))
        if len(place) == 1:
            return self._new(*place[0])
        rows, columns, i = place
        self.space.grid, self.space.ratios = (rows, columns), (1.0,) * rows
        row, column = divmod(i - 1, columns)
        return self._new(slice(row, row + 1), slice(column, column + 1))

    def add_gridspec(
        self, rows: int, columns: int, *, height_ratios: Sequence[float] | None = None
    ) -> "GridPlaces":
        """Divide the figure into rows, as high as the ratios say, and columns."""
        self.space.grid, self.space.ratios = (rows, columns), tuple(height_ratios or (1.0,) * rows)
        return GridPlaces()

    def subplots(
        self,
        rows: int = 1,
        columns: int = 1,
        *,
        squeeze: bool = True,
        sharex: bool = False,
        height_ratios: Sequence[float] | None = None,
    ) -> Any:
        """Add axes in rows and columns."""
        self.add_gridspec(rows, columns, height_ratios=height_ratios)
        every = np.empty((rows, columns), dtype=object)
        for i, j in np.ndindex(rows, columns):
            every[i, j] = self._new(slice(i, i + 1), slice(j, j + 1))
            if sharex and i:
                every[i - 1, j].hides_x = True
        if not squeeze:
            return every
        return every[0, 0] if every.size == 1 else every.squeeze()

    def _new(self, rows: slice, columns: slice) -> SvgAxes:
        self.axes.append(SvgAxes(self, self.space, rows, columns))
        return self.axes[-1]

    def suptitle(self, text: str, *, fontsize: str = "large", **_style: Any) -> None:
        """Write a title above all."""
        self.heading, self.heading_size = text, fontsize

    def get_suptitle(self) -> str:
        """Title above all."""
        return self.heading

    def explain(self, groups: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> None:
        """Explain below all axes what is drawn, each group in rows of its own, then the notes."""
        self.groups, self.notes = [x for x in groups if x], list(notes)

    def draw_without_rendering(self) -> None:
        """Lay it out."""
        heading = height_of(self.heading, self.heading_size)
        top = EDGE + heading + (4.0 if heading else 0.0)
        bottom = self.space.height - EDGE - self._below()
        for axes in self.axes:
            axes.fit()
        margins = {id(x): Margins() for x in self.axes}
        for _ in range(PASSES):
            self._place(margins, top, bottom)
            self.space.is_laid_out = True
            margins = {id(x): _margins_of(x) for x in self.axes}
        self._place(margins, top, bottom)

    def _place(self, margins: Mapping[int, Margins], top: float, bottom: float) -> None:
        """Put the axes in their places: those of a row or a column have common margins."""
        rows, columns = self.space.grid
        lefts, rights = np.zeros(columns), np.zeros(columns)
        aboves, belows = np.zeros(rows), np.zeros(rows)
        for axes in self.axes:
            own = margins[id(axes)]
            for side, at, value in (
                (lefts, range(columns)[axes.columns][0], own.left),
                (rights, range(columns)[axes.columns][-1], own.right),
                (aboves, range(rows)[axes.rows][0], own.above),
                (belows, range(rows)[axes.rows][-1], own.below),
            ):
                side[at] = max(side[at], value)
        wide = self.space.width - 2 * EDGE - lefts.sum() - rights.sum() - GAP * (columns - 1)
        high = bottom - top - aboves.sum() - belows.sum() - GAP * (rows - 1)
        shares = np.array(self.space.ratios) / sum(self.space.ratios)
        x0 = EDGE + np.arange(columns) * (wide / columns + GAP) + np.cumsum(lefts)
        x0 += np.cumsum(rights) - rights
        x1 = x0 + wide / columns
        heights = high * shares
        y0 = top + np.cumsum(heights) - heights + np.arange(rows) * GAP + np.cumsum(aboves)
        y0 += np.cumsum(belows) - belows
        y1 = y0 + heights
        for axes in self.axes:
            axes.x.start, axes.x.end = float(x0[axes.columns][0]), float(x1[axes.columns][-1])
            axes.y.start, axes.y.end = float(y1[axes.rows][-1]), float(y0[axes.rows][0])

    def _below(self) -> float:
        """Height of the legend and the notes [pt]."""
        rows = sum(len(x) for x in map(self._rows, self.groups))
        return (
            ROW * rows
            + sum(height_of(x, "x-small") for x in self._folded_notes())
            + 4.0 * bool(rows or self.notes)
        )

    def _folded_notes(self) -> list[str]:
        """Give the notes in lines that fit."""
        lines = []
        for note in self.notes:
            words = note.split(" ")
            line = words[0]
            for word in words[1:]:
                if width_of(f"{line} {word}", "x-small") > self.space.width - 2 * EDGE:
                    lines.append(line)
                    line = word
                else:
                    line += f" {word}"
            lines.append(line)
        return lines

    def _rows(self, entries: Mapping[str, Mark]) -> list[list[str]]:
        """Arrange the entries of a legend in columns, in as few rows as fit."""
        names = list(entries)
        for columns in range(len(names), 0, -1):
            rows = ceil(len(names) / columns)
            if columns > 1 and ceil(len(names) / rows) < columns:
                continue  # fewer columns make as few rows
            arranged = [names[i::rows] for i in range(rows)]
            if (
                sum(self._widths(arranged)) - BETWEEN <= self.space.width - 2 * EDGE
                or columns == 1
            ):
                return arranged
        return []

    @staticmethod
    def _widths(rows: Sequence[Sequence[str]]) -> list[float]:
        """Widths of the columns of a legend [pt]."""
        return [
            SAMPLE
            + BESIDE
            + BETWEEN
            + max(width_of(row[i], SMALL) for row in rows if i < len(row))
            for i in range(max(map(len, rows), default=0))
        ]

    def to_svg(
        self, paint: Paint | None = None, *, title: str = "", description: str = "", **root: str
    ) -> str:
        """Write it: a title, what it says in words, and all that is drawn."""
        paint = paint or Paint()
        self.draw_without_rendering()
        body = "".join(self._body(paint))
        name = one_line(title or self.heading.replace("\n", ". ")) or "Picture"
        about = element("title", escape(name))
        description = f"{self.words} {description}".strip()
        about += element("desc", escape(one_line(description))) if description else ""
        return element(
            "svg",
            about + paint.definitions() + body,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.space.width:.0f} {self.space.height:.0f}",
            role="img",
            font_family=FONTS,
            fill=paint("black"),
            **root,
        )

    def _body(self, paint: Paint) -> Iterator[str]:
        middle = self.space.width / 2
        if self.heading:
            yield written(
                self.heading,
                middle,
                EDGE + 0.8 * height_of("x", self.heading_size),
                size=self.heading_size,
                anchor="middle",
            )
        for axes in self.axes:
            if axes.is_visible:
                yield element("g", "".join(drawn(axes, paint)), **{"class": "axes"})
        y = self.space.height - EDGE - self._below() + 4.0
        for entries in self.groups:
            rows = self._rows(entries)
            widths = self._widths(rows)
            left = max(middle - (sum(widths) - BETWEEN) / 2, EDGE)
            for row in rows:
                for name, x in zip(row, left + np.cumsum([0.0, *widths]), strict=False):
                    yield from _entry(paint, entries[name], name, float(x), y + ROW / 2)
                y += ROW
        grey = paint(GREY)
        for line in self._folded_notes():
            yield written(line, EDGE, y + 7.0, size="x-small", fill=grey)
            y += height_of(line, "x-small")


class GridPlaces:
    """Places of a grid, by rows and columns."""

    def __getitem__(self, place: tuple[int | slice, int | slice]) -> tuple[slice, slice]:
        """Give the rows and columns that a place spans."""
        rows, columns = (x if isinstance(x, slice) else slice(x, x + 1) for x in place)
        return rows, columns


def _entry(paint: Paint, mark: Mark, name: str, x: float, y: float) -> Iterator[str]:
    yield from mark.entry(paint, x, y, SAMPLE)
    yield written(name, x + SAMPLE + BESIDE, y + 3.0, size=SMALL)


def _margins_of(axes: SvgAxes) -> Margins:
    """Room for ticks, titles and texts that reach beyond the axes."""
    bar = bar_room(axes.explained) if axes.explained else 0.0
    if not axes.is_framed or not axes.is_visible:
        return Margins(right=bar)
    x, y = axes.x, axes.y
    room = Margins(left=y.length, below=x.length)
    if y.is_labelled:
        room.left += 3.0 + max((width_of(label) for _, label in y.marks()), default=0.0)
    if y.title:
        room.left += height_of(y.title) + 2.0
    if not axes.hides_x:
        marks = x.marks()
        room.below += 2.0 + max((height_of(label) for _, label in marks), default=0.0)
        if marks:
            at, label = float(x.at(marks[-1][0])), marks[-1][1]
            room.right = max(at + width_of(label) / 2 - max(x.start, x.end), 0.0)
    if x.title and not axes.hides_x:
        room.below += height_of(x.title) + 2.0
    if axes.title:
        room.above += height_of(axes.title, axes.title_size) + 3.0
    if axes.legend_above:
        room.above += ROW + 3.0
    for mark in axes.marks:
        if isinstance(mark, TextMark) and mark.is_known():
            _, _, right, _ = mark.box()
            room.right = max(room.right, right - max(x.start, x.end))
    room.right = max(room.right, bar)
    return room


def drawn(axes: SvgAxes, paint: Paint) -> Iterator[str]:
    """Write axes: the grid, what is drawn, the frame and its texts."""
    x, y = axes.x, axes.y
    left, right, top, bottom = x.start, x.end, y.end, y.start
    if axes.is_framed:
        yield from _grid(axes, paint)
    order = sorted(axes.marks, key=lambda mark: mark.rank)
    clipped = [mark for mark in order if _is_clipped(mark)]
    inside = "".join(piece for mark in clipped for piece in mark.draw(paint))
    frame = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    box = f"{left:.2f} {top:.2f} {right - left:.2f} {bottom - top:.2f}"
    yield element("svg", inside, **frame, viewBox=box)
    yield from (piece for mark in order if not _is_clipped(mark) for piece in mark.draw(paint))
    if axes.is_framed:
        yield from _frame(axes, paint)
    if axes.title:
        x_at, anchor = (
            (left, "start") if axes.title_at == "left" else ((left + right) / 2, "middle")
        )
        above = height_of(axes.title, axes.title_size) + 3.0 + (ROW if axes.legend_above else 0.0)
        base = top - above + 0.8 * height_of("x", axes.title_size)
        yield written(axes.title, x_at, base, size=axes.title_size, anchor=anchor)
    if axes.explained:
        yield from bar_of(axes.explained, right, top, bottom, paint)
    at = left
    for name, mark in axes.legend_above.items():
        yield from _entry(paint, mark, name, at, top - ROW / 2)
        at += SAMPLE + BESIDE + BETWEEN + width_of(name, SMALL)


def _is_clipped(mark: Mark) -> bool:
    """Whether it ends at the edges of the axes: all but texts."""
    return not isinstance(mark, TextMark) and mark.style.get("clip_on", True)


def _grid(axes: SvgAxes, paint: Paint) -> Iterator[str]:
    x, y = axes.x, axes.y
    for scale, is_across in ((x, False), (y, True)):
        if scale.grid is None:
            continue
        for tick, _ in scale.marks():
            at = float(scale.at(tick))
            ends = ((x.start, at), (x.end, at)) if is_across else ((at, y.start), (at, y.end))
            yield element("path", d=path_of(ends), stroke=paint(scale.grid), stroke_width=0.8)


def _frame(axes: SvgAxes, paint: Paint) -> Iterator[str]:
    """Write the frame, the ticks and the texts beside them."""
    x, y, ink = axes.x, axes.y, paint("black")
    left, right, top, bottom = x.start, x.end, y.end, y.start
    corners = {"left": (left, top), "bottom": (left, bottom)}
    corners |= {"right": (right, bottom), "top": (right, top)}
    ends = [*corners.values(), (left, top)]
    sides = zip(corners, pairwise(ends), strict=True)
    ticks = [[*side] for name, side in sides if name in axes.spines.shown]
    texts = []
    for tick, label in x.marks():
        at = float(x.at(tick))
        ticks += [[(at, bottom), (at, bottom + x.length)]] if x.length else []
        if not axes.hides_x:
            texts.append(written(label, at, bottom + x.length + 11.0, anchor="middle"))
    widest = 0.0
    for tick, label in y.marks():
        at = float(y.at(tick))
        ticks += [[(left - y.length, at), (left, at)]] if y.length else []
        if y.is_labelled:
            lines = label.count("\n")
            base = at + 3.5 - 0.5 * lines * height_of("x")
            texts.append(written(label, left - y.length - 3.0, base, anchor="end"))
            widest = max(widest, width_of(label))
    path = "".join(map(path_of, ticks))
    yield element("path", d=path, stroke=ink, stroke_width=0.8, fill="none")
    yield "".join(texts)
    if x.title and not axes.hides_x:
        below = max((height_of(label) for _, label in x.marks()), default=0.0)
        yield written(
            x.title, (left + right) / 2, bottom + x.length + below + 12.0, anchor="middle"
        )
    if y.title:
        at = left - y.length - 3.0 - (widest if y.is_labelled else 0.0) - 5.0
        at -= height_of("x") * y.title.count("\n")
        yield written(y.title, at, (top + bottom) / 2, anchor="middle", turned=True)
