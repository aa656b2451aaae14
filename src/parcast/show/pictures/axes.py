"""Axes that keep what is drawn in them, called as those of matplotlib are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import numpy as np

from parcast.aliases import Array
from parcast.show.pictures.axis import Scale
from parcast.show.pictures.colours import ON_BRIGHT, ON_DARK, PALE, ColourScale, graded
from parcast.show.pictures.fields import ColourField, FieldMark, ToldMark
from parcast.show.pictures.marks import (
    AreaMark,
    ArrowMark,
    ErrorMark,
    LineMark,
    Mark,
    TextMark,
    spans_of,
    style_of,
)
from parcast.show.pictures.space import SpaceMark, SpaceSurface

AnyMark = TypeVar("AnyMark", bound=Mark)

GUESS: Final = (0.775, 0.77)  # of the width and height of a figure, that its axes have


@dataclass(slots=True)
class FigureSpace:
    """The size of a figure and how it is divided; measures are pt."""

    width: float
    height: float
    grid: tuple[int, int] = (1, 1)  # rows and columns
    ratios: Sequence[float] = (1.0,)  # heights of the rows
    is_laid_out: bool = False
    is_linear: bool = False  # also where pictures ask for logarithmic axes


class SvgAxes:
    """The part of matplotlib's axes that pictures of parcast use, and nothing more of it."""

    def __init__(self, figure: Any, space: FigureSpace, rows: slice, columns: slice) -> None:
        self.figure, self.space = figure, space
        self.rows, self.columns = rows, columns  # of the grid
        self.x, self.y = Scale(), Scale(is_upright=True)
        self.marks: list[Mark] = []
        self.title, self.title_size, self.title_at = "", "medium", "center"
        self.is_framed = self.is_visible = True
        self.spines = Spines()
        self.legend_above: dict[str, Mark] = {}
        self.hides_x = False  # those below have the same axis of x
        self.explained: ColourScale | None = None  # on the right

    def plot(self, *given: Any, **style: Any) -> list[LineMark]:
        """Draw lines or markers."""
        *values, form = given if isinstance(given[-1], str) else (*given, "")
        x, y = (np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in values)
        look = style_of(style, form)
        line = self._add(LineMark(look, x=x, y=y, colour=look.pop("color", "black")))
        return [line]

    def fill_between(
        self, x: Any, low: Any, high: Any, *, where: Any = None, **style: Any
    ) -> AreaMark:
        """Draw a band, in pieces where `where` is not true everywhere."""
        x, low, high = (
            np.asarray(v, dtype=np.float64)
            for v in np.broadcast_arrays(
                *(np.asarray(v, dtype=np.float64) for v in (x, low, high))
            )
        )
        known = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
        known &= True if where is None else np.asarray(where, dtype=bool)
        corners = [
            np.stack(
                [
                    np.concatenate([x[a:b], x[a:b][::-1]]),
                    np.concatenate([low[a:b], high[a:b][::-1]]),
                ],
                axis=1,
            )
            for a, b in spans_of(known)
        ]
        return self._area(corners, style)

    def fill(self, x: Any, y: Any, **style: Any) -> list[AreaMark]:
        """Draw the area within an outline."""
        return [self._area([np.stack([np.asarray(x), np.asarray(y)], axis=1)], style)]

    def stackplot(
        self,
        x: Array,
        parts: Sequence[Array],
        *,
        labels: Sequence[str],
        colors: Sequence[Any],
        **style: Any,
    ) -> list[AreaMark]:
        """Draw areas, each upon those before it."""
        tops = np.cumsum([np.zeros(len(x)), *parts], axis=0)
        self.y.sticky |= {0.0}
        self.x.sticky |= {float(np.min(x)), float(np.max(x))}
        return [
            self.fill_between(x, tops[i], tops[i + 1], color=colour, label=label, **style)
            for i, (colour, label) in enumerate(zip(colors, labels, strict=True))
        ]

    def bar(
        self,
        x: Any,
        height: Any,
        width: Any = 0.8,
        *,
        bottom: Any = 0.0,
        align: Literal["center", "edge"] = "center",
        **style: Any,
    ) -> AreaMark:
        """Draw upright bars."""
        x, height, width, bottom = np.broadcast_arrays(
            *map(np.atleast_1d, (x, height, width, bottom))
        )
        left = x - width / 2 if align == "center" else x
        self.y.sticky |= {0.0}
        return self._bars(left, left + width, bottom, bottom + height, style, is_across=False)

    def barh(self, y: Any, width: Any, height: Any = 0.8, **style: Any) -> AreaMark:
        """Draw bars from the left to the right."""
        y, width, height = np.broadcast_arrays(*map(np.atleast_1d, (y, width, height)))
        self.x.sticky |= {0.0}
        low, high = y - height / 2, y + height / 2
        return self._bars(0.0 * width, width, low, high, style, is_across=True)

    def _bars(
        self, left: Array, right: Array, low: Array, high: Array, style: Any, *, is_across: bool
    ) -> AreaMark:
        corners = np.stack(
            [np.stack([left, right, right, left]), np.stack([low, low, high, high])]
        ).transpose(2, 1, 0)
        area = self._area(list(np.asarray(corners, dtype=np.float64)), style)
        area.is_bar = True
        size = right - left if is_across else high - low
        area.told = [f"{area.label.lstrip('_')} {x:.4g}".strip() for x in size.tolist()]
        return area

    def errorbar(
        self, x: Any, y: Any, yerr: Any = None, *, xerr: Any = None, fmt: str = "", **style: Any
    ) -> Mark:
        """Draw intervals around points, and the points unless `fmt` is "none"."""
        look = style_of(style)
        x, y = (np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in (x, y))
        colour = look.pop("color", "black")
        is_across = xerr is not None
        along, middle = (y, x) if is_across else (x, y)
        below, above = np.broadcast_to(np.asarray(xerr if is_across else yerr), (2, len(x)))
        drawn = ErrorMark(
            {k: v for k, v in look.items() if k in ("capsize", "alpha", "zorder", "label")},
            x=along,
            low=middle - below,
            high=middle + above,
            colour=look.pop("ecolor", colour),
            is_across=is_across,
        )
        drawn.style["linewidth"] = look.pop("elinewidth", look.get("linewidth", 1.5))
        has_line = fmt != "none" and (look.get("linestyle") != "none" or "marker" in look)
        if not has_line:
            return self._add(drawn)
        self._add(drawn).style.pop("label", None)
        return self._add(LineMark(look, x=x, y=y, colour=colour))

    def vlines(self, x: Any, low: Any, high: Any, **style: Any) -> ErrorMark:
        """Draw upright lines."""
        x, low, high = (
            np.asarray(v, dtype=np.float64)
            for v in np.broadcast_arrays(*map(np.atleast_1d, (x, low, high)))
        )
        look = style_of(style)
        return self._add(
            ErrorMark(look, x=x, low=low, high=high, colour=look.pop("color", "black"))
        )

    def axhline(self, y: float, **style: Any) -> LineMark:
        """Draw a line across."""
        return self._across(np.array([np.nan, np.nan]), np.array([y, y], dtype=np.float64), style)

    def axvline(self, x: float, **style: Any) -> LineMark:
        """Draw an upright line."""
        return self._across(np.array([x, x], dtype=np.float64), np.array([np.nan, np.nan]), style)

    def _across(self, x: Array, y: Array, style: dict[str, Any]) -> LineMark:
        look = style_of(style)
        line = StraightMark(look, x=x, y=y, colour=look.pop("color", "black"))
        return self._add(line)

    def axhspan(self, low: float, high: float, **style: Any) -> AreaMark:
        """Shade from one value to another, all across."""
        return self._span(self.x, (low, high), style, is_across=True)

    def axvspan(self, low: float, high: float, **style: Any) -> AreaMark:
        """Shade from one value to another, from bottom to top."""
        return self._span(self.y, (low, high), style, is_across=False)

    def _span(
        self, other: Scale, ends: tuple[float, float], style: Any, *, is_across: bool
    ) -> AreaMark:
        low, high = self._limits(other)
        along, up = ((low, high), ends) if is_across else (ends, (low, high))
        corners = [[along[i], up[j]] for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
        return self._area([np.array(corners, dtype=np.float64)], style)

    def scatter(self, x: Any, y: Any, *, s: float = 36.0, **style: Any) -> LineMark:
        """Draw points, of an area [pt^2]."""
        [line] = self.plot(x, y, "o", ms=s**0.5, **style)
        return line

    def text(self, x: float, y: float, text: str, **style: Any) -> TextMark:
        """Write a text at a place of the data, or with `transform` of the axes."""
        look = style_of(style)
        look.setdefault("color", ON_BRIGHT)
        is_share = look.pop("transform", None) == AXES
        words = TextMark(look, text=text, at=(x, y), of_axes=(is_share, is_share))
        return self._add(words)

    def annotate(
        self,
        text: str,
        xy: tuple[float, float],
        xytext: tuple[float, float] = (0.0, 0.0),
        *,
        xycoords: str = "data",
        **style: Any,
    ) -> Mark:
        """Write a text some points aside from a place, or draw an arrow without a text."""
        arrow = style.get("arrowprops") or {}
        if not text and arrow.get("arrowstyle") == "->":
            return self.arrow(xytext, xy, arrow, style.get("zorder", 2.0))
        assert style.pop("textcoords") == "offset points"
        look = style_of(style)
        up_is_share = xycoords == UPRIGHT
        return self._add(
            TextMark(look, text=text, at=xy, aside=xytext, of_axes=(False, up_is_share))
        )

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        look: Mapping[str, Any],
        order: float,
    ) -> ArrowMark:
        """Draw an arrow with an open head, as large as `mutation_scale` says."""
        style = {"linewidth": look.get("lw", 1.0), "zorder": order}
        ends = np.array([[start, end]], dtype=np.float64)
        head = 0.4 * float(look.get("mutation_scale", 10.0))
        return self._add(ArrowMark(style, ends=ends, colour=look["color"], head=head))

    def boxes(self, corners: Sequence[Any], colour: Any) -> AreaMark:
        """Fill areas, each given by its corners."""
        every = [np.asarray(x, dtype=np.float64) for x in corners]
        return self._area(every, {"color": colour})

    def lines(self, lines: Sequence[Any], colour: Any, width: float, order: float) -> LineMark:
        """Draw lines, each given by its points, as one path."""
        gap = np.full((1, 2), np.nan)
        every = [np.empty((0, 2)), *(part for line in lines for part in (np.asarray(line), gap))]
        x, y = np.concatenate(every).astype(np.float64).T
        style = {"linewidth": width, "zorder": order}
        return self._add(LineMark(style, x=x, y=y, colour=colour))

    def field(self, field: ColourField) -> None:
        """Colour them by values, and explain the colours."""
        self._add(FieldMark({}, field=field))
        self._tell(field)

    def cells(self, field: ColourField) -> None:
        """Colour a cell around each place of a grid of whole numbers, and explain the colours."""
        inks = graded(field.scale.shares(field.values), field.scale.colours)
        for i, j in np.argwhere(np.isfinite(field.values)).tolist():
            x, y = field.x[i], field.y[j]
            sides = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
            cell = self.boxes([[(x + a, y + b) for a, b in sides]], inks[i, j])
            cell.set(edgecolor=ON_DARK, linewidth=1.0)
        self._tell(field)
        self.x.sticky |= {field.x[0] - 0.5, field.x[-1] + 0.5}
        self.y.sticky |= {field.y[0] - 0.5, field.y[-1] + 0.5}

    def _tell(self, field: ColourField) -> None:
        """Say what is at some places of a field, and explain its colours."""
        self.explained = field.scale
        if field.told:
            self._add(ToldMark({}, told=field.told))

    def surface(self, surface: SpaceSurface) -> SpaceMark:
        """Draw a surface in space, and explain its colours."""
        self.is_framed, self.explained = False, surface.scale
        return self._add(SpaceMark({"clip_on": False}, surface=surface))

    @property
    def transAxes(self) -> str:  # noqa: N802 - the name that matplotlib has
        """Name of places that are shares of the axes."""
        return AXES

    @property
    def transData(self) -> "SvgAxes":  # noqa: N802 - the name that matplotlib has
        """What gives the places of values."""
        return self

    def transform(self, points: Sequence[tuple[float, float]]) -> Array:
        """Places of values [pt], from the lower left corner of the figure."""
        x, y = np.asarray(points, dtype=np.float64).T
        return np.stack([self.x.at(x), self.space.height - self.y.at(y)], axis=1)

    def get_xaxis_transform(self) -> str:
        """Name of places along x, that are shares of the height."""
        return UPRIGHT

    def get_window_extent(self) -> "Extent":
        """Where the axes are, or a guess before they are laid out [pt]."""
        if self.space.is_laid_out:
            return Extent(
                self.x.start,
                self.space.height - self.y.start,
                self.x.end,
                self.space.height - self.y.end,
            )
        rows, columns = self.space.grid
        wide = self.space.width * GUESS[0] * len(range(columns)[self.columns]) / columns
        shares = self.space.ratios
        high = self.space.height * GUESS[1] * sum(shares[self.rows]) / sum(shares)
        gap = 0.8 if rows > 1 or columns > 1 else 1.0
        return Extent(
            0.0, 0.0, wide * gap if columns > 1 else wide, high * gap if rows > 1 else high
        )

    def set_xscale(self, kind: Literal["linear", "log"]) -> None:
        """Make the axis of x linear or logarithmic."""
        _set_kind(self, self.x, kind)

    def set_yscale(self, kind: Literal["linear", "log"]) -> None:
        """Make the axis of y linear or logarithmic."""
        _set_kind(self, self.y, kind)

    def set_xlim(self, left: Any = None, right: float | None = None) -> None:
        """Set the ends of the axis of x; None leaves one."""
        _set_limits(self.x, left, right)

    def set_ylim(self, bottom: Any = None, top: float | None = None) -> None:
        """Set the ends of the axis of y; None leaves one."""
        _set_limits(self.y, bottom, top)

    def get_xscale(self) -> str:
        """Kind of the axis of x, as it is drawn: linear or log."""
        return self.x.kind

    def get_xlim(self) -> tuple[float, float]:
        """Ends of the axis of x."""
        return self._limits(self.x)

    def get_ylim(self) -> tuple[float, float]:
        """Ends of the axis of y."""
        return self._limits(self.y)

    def set_xticks(self, ticks: Iterable[float], labels: Sequence[str] | None = None) -> list[Any]:
        """Set the ticks of x, and what is written beside them."""
        return _set_ticks(self.x, ticks, labels)

    def set_yticks(self, ticks: Iterable[float], labels: Sequence[str] | None = None) -> list[Any]:
        """Set the ticks of y, and what is written beside them."""
        return _set_ticks(self.y, ticks, labels)

    def get_yticks(self) -> list[float]:
        """Ticks of y."""
        return self.y.chosen()

    def get_yticklabels(self) -> list["TickLabel"]:
        """What is written beside the ticks of y."""
        return [TickLabel(text) for text in self.y.labels or map(str, self.y.chosen())]

    def set_xlabel(self, text: str, **_style: Any) -> None:
        """Name the axis of x."""
        self.x.title = text

    def set_ylabel(self, text: str, **_style: Any) -> None:
        """Name the axis of y."""
        self.y.title = text

    def get_ylabel(self) -> str:
        """Name of the axis of y."""
        return self.y.title

    def set_title(
        self, text: str, *, fontsize: str = "large", loc: str = "center", **_style: Any
    ) -> None:
        """Write a title above the axes."""
        self.title, self.title_size, self.title_at = text, fontsize, loc

    def get_title(self) -> str:
        """Title above the axes."""
        return self.title

    def get_label(self) -> str:
        """Name of the axes, "" but for those that explain colours."""
        return ""

    def set(self, **given: Any) -> None:
        """Set several properties, by the names of their setters."""
        for name, value in given.items():
            ends = name in ("xlim", "ylim")
            getattr(self, f"set_{name}")(*(value if ends else (value,)))

    def grid(self, *, visible: bool = True, axis: str = "both", **style: Any) -> None:
        """Draw a grid behind all else, or none."""
        for name, scale in (("x", self.x), ("y", self.y)):
            if axis in (name, "both"):
                scale.grid = style.get("color", scale.grid or PALE) if visible else None

    def tick_params(
        self, axis: str = "both", *, length: float | None = None, labelleft: bool = True
    ) -> None:
        """Set the length of ticks, or leave out the labels on the left."""
        for name, scale in (("x", self.x), ("y", self.y)):
            if axis in (name, "both") and length is not None:
                scale.length = length
        self.y.is_labelled = labelleft

    def minorticks_off(self) -> None:
        """Leave out small ticks, of which there are none."""

    def set_axisbelow(self, _is_below: bool) -> None:
        """Draw the grid behind all else, as it always is."""

    def set_visible(self, is_visible: bool) -> None:
        """Leave out all of the axes, or draw them."""
        self.is_visible = is_visible

    def set_axis_off(self) -> None:
        """Leave out the frame, ticks and titles of the axes."""
        self.is_framed = False

    def get_legend_handles_labels(self) -> tuple[list[Mark], list[str]]:
        """Give what is drawn and has a name, and the names."""
        named = [x for x in self.marks if x.label and not x.label.startswith("_")]
        return named, [x.label for x in named]

    def legend(self, **_style: Any) -> None:
        """Explain in one line above the axes what is drawn in them."""
        marks, labels = self.get_legend_handles_labels()
        self.legend_above = dict(zip(labels, marks, strict=True))

    def fit(self) -> None:
        """Choose the limits that were not set."""
        every = [mark.extents() for mark in self.marks]
        for k, scale in enumerate((self.x, self.y)):
            scale.fit(np.concatenate([np.empty(0), *(x[k] for x in every)]))

    def _limits(self, scale: Scale) -> tuple[float, float]:
        if scale.low is None or scale.high is None:
            self.fit()
            return scale.limits
        return (0.0 if scale.is_flattened else scale.low), scale.high

    def _area(self, corners: Any, style: dict[str, Any]) -> AreaMark:
        look = style_of(style)
        return self._add(AreaMark(look, corners=corners, colour=look.pop("color", "black")))

    def _add(self, mark: AnyMark) -> AnyMark:
        mark.frame = (self.x, self.y)
        self.marks.append(mark)
        return mark


AXES: Final = "axes"
UPRIGHT: Final = "x of data, y of axes"


class StraightMark(LineMark):
    """A line from one edge of the axes to the other."""

    __slots__ = ()

    def places(self) -> Any:
        """Its two ends [pt]."""
        x, y = self.frame
        if np.isnan(self.x).any():
            return np.stack([np.array([x.start, x.end]), y.at(self.y)], axis=1)
        return np.stack([x.at(self.x), np.array([y.start, y.end])], axis=1)


class Spines:
    """The sides of the frame of axes, some of which pictures leave out."""

    def __init__(self, shown: set[str] | None = None, named: Sequence[str] = ()) -> None:
        self.shown = {"left", "bottom", "right", "top"} if shown is None else shown
        self._named = named

    def __getitem__(self, sides: Sequence[str]) -> "Spines":
        """Some of them, by their names."""
        return Spines(self.shown, sides)

    def set_visible(self, is_visible: bool) -> None:
        """Leave them out, or draw them."""
        change = self.shown.update if is_visible else self.shown.difference_update
        change(self._named)


class Extent:
    """A box [pt], from the lower left corner of the figure."""

    def __init__(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.x0, self.y0, self.x1, self.y1 = x0, y0, x1, y1
        self.width, self.height = x1 - x0, y1 - y0


class TickLabel:
    """A text beside a tick."""

    def __init__(self, text: str) -> None:
        self.label1 = self
        self._text = text

    def get_text(self) -> str:
        """Give what is written."""
        return self._text

    def set_parse_math(self, _is_parsed: bool) -> None:
        """Take a text as it is, as it always is."""


def _set_kind(axes: SvgAxes, scale: Scale, kind: Literal["linear", "log"]) -> None:
    if kind == "log" and axes.space.is_linear:
        scale.flatten()
    else:
        scale.kind = kind


def _set_limits(scale: Scale, low: Any, high: float | None) -> None:
    if isinstance(low, tuple | list | np.ndarray):
        low, high = low
    scale.low = scale.low if low is None else float(low)
    scale.high = scale.high if high is None else float(high)


def _set_ticks(
    scale: Scale, ticks: Iterable[float], labels: Sequence[str] | None
) -> list[TickLabel]:
    texts = None if labels is None else [str(x) for x in labels]
    scale.take_ticks([float(x) for x in ticks], texts)
    return [TickLabel(x) for x in scale.labels or ()]
