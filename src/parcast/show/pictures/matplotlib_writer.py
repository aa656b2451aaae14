"""Figures by matplotlib: the same bytes each time, and no window.

matplotlib is imported when the first figure is asked for, and pyplot only for `Result.plot`, so
that `plt.show()` and notebooks find the figure.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.errors import one_line
from parcast.needs import missing_package
from parcast.show.pictures.colours import BAR_LABEL, GREY, MEASURED, ON_DARK, ColourScale, graded
from parcast.show.pictures.fields import ColourField
from parcast.show.pictures.space import ASPECT, AZIMUTH, ELEVATION, SpaceSurface, Stems
from parcast.show.pictures.writer import SPACE_HEIGHT, WIDTH, PictureWriter

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

DOTS_AN_INCH: Final = 150
EDGE: Final = 0.06  # between the edges of a figure and what is below its axes [inch]
LEGEND: Final[dict[str, Any]] = {
    "fontsize": "small",
    "frameon": False,
    "borderaxespad": 0.0,
    "borderpad": 0.2,
    "columnspacing": 1.4,
    "handlelength": 2.3,
}
BESIDE: Final[dict[str, Any]] = {"aspect": 28, "pad": 0.02}
PLACE: Final = (-0.02, 0.05, 0.88, 0.88)  # of a surface in a figure: left, bottom, width, height
BAR: Final = (0.88, 0.18, 0.022, 0.6)
ABOUT: Final[dict[str, dict[str, str | None]]] = {  # without dates and versions
    ".svg": {"Creator": "parcast", "Date": None},
    ".png": {"Software": "parcast"},
    ".pdf": {"Creator": "parcast", "Producer": None, "CreationDate": None},
}


@dataclass(frozen=True, slots=True)
class MatplotlibWriter(PictureWriter):
    """Draws by matplotlib; `MissingPackage` where it is not installed."""

    is_pyplot: bool = False  # whether pyplot knows the figures

    @contextmanager
    def style(self) -> Iterator[None]:
        """Keep text as text, and the names of parts from one run to the next."""
        try:
            from matplotlib import style
        except ModuleNotFoundError as error:
            raise missing_package("Figures need", "matplotlib", "plot") from error
        plain = {"svg.fonttype": "none", "svg.hashsalt": "parcast", "pdf.fonttype": 42}
        with style.context(["default", plain]):
            yield

    def new_figure(self, height: float) -> "Figure":
        """Make a figure that lays itself out."""
        if self.is_pyplot:
            from matplotlib import pyplot as plt

            return plt.figure(figsize=(WIDTH, height), layout="constrained")
        from matplotlib.figure import Figure

        return Figure(figsize=(WIDTH, height), layout="constrained")

    def draw_boxes(self, ax: "Axes", corners: Sequence[Any], colour: str) -> "Artist":
        """Fill all of them at once."""
        from matplotlib.collections import PolyCollection

        return ax.add_collection(PolyCollection(corners, facecolor=colour, edgecolor="none"))

    def draw_lines(
        self, ax: "Axes", lines: Sequence[Any], colour: str, *, width: float, zorder: float
    ) -> "Artist":
        """Draw all of them at once."""
        from matplotlib.collections import LineCollection

        style: dict[str, Any] = {"colors": colour, "linewidths": width, "zorder": zorder}
        return ax.add_collection(LineCollection(lines, **style))

    def settle(self, figure: "Figure") -> None:
        """Lay out once, and never again."""
        with any_letters():
            figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for ax in figure.axes:
            places = [round(edge, 5) for edge in ax.get_position().bounds]
            ax.set_position((places[0], places[1], places[2], places[3]))

    def add_legend(
        self, figure: "Figure", *groups: "Mapping[str, Artist]", notes: Sequence[str] = ()
    ) -> None:
        """Use as few rows as fit; the axes get the rest of the figure."""
        width, height = figure.get_size_inches()
        bottom = EDGE
        with any_letters():
            if notes:
                style: dict[str, Any] = {"fontsize": "x-small", "color": GREY, "va": "bottom"}
                small = figure.text(EDGE / width, bottom / height, "\n".join(notes), **style)
                small.set(parse_math=False, in_layout=False)
                bottom += small.get_window_extent().height / figure.dpi + EDGE
            for entries in filter(None, reversed(groups)):
                legend = _widest_legend(figure, entries, (0.5, bottom / height))
                bottom += legend.get_window_extent().height / figure.dpi
        engine: Any = figure.get_layout_engine()
        engine.set(rect=(0.0, bottom / height, 1.0, 1.0 - bottom / height))

    def draw_field(self, ax: "Axes", field: ColourField) -> None:
        """Draw contours, or triangles whose colours are graded."""
        scale = field.scale
        if scale.levels:
            extend = EXTEND[scale.is_open]
            levels = [*scale.levels]
            style: dict[str, Any] = {"cmap": scale.colours, "norm": _norm(scale)}
            drawn: ScalarMappable = ax.contourf(
                field.x, field.y, field.values.T, levels, extend=extend, **style
            )
        else:
            style = {"shading": "gouraud", "rasterized": True}
            style |= {"cmap": scale.colours, "norm": _norm(scale)}
            drawn = ax.pcolormesh(field.x, field.y, field.values.T, **style)
        _add_bar(drawn, scale, ax=ax)

    def draw_cells(self, ax: "Axes", field: ColourField) -> None:
        """Draw them with white edges."""
        edges = [np.append(x - 0.5, x[-1] + 0.5) for x in (field.x, field.y)]
        style: dict[str, Any] = {"cmap": field.scale.colours, "norm": _norm(field.scale)}
        drawn = ax.pcolormesh(*edges, field.values.T, edgecolor="white", **style)
        _add_bar(drawn, field.scale, ax=ax)

    def draw_surface(self, ax: "Axes | None", surface: SpaceSurface) -> "Figure":
        """Draw it in axes that can be turned."""
        from matplotlib.cm import ScalarMappable

        space: Any = ax
        figure: Any = None
        if ax is None:
            figure = self.new_figure(SPACE_HEIGHT)
            figure.set_layout_engine("none")  # it would leave half of the figure empty
            space = figure.add_axes(PLACE, projection="3d")
            style: dict[str, Any] = {"fontsize": "x-small", "color": GREY, "parse_math": False}
            figure.text(0.01, 0.015, "\n".join(surface.notes), **style)
        scale = surface.scale
        space.plot_surface(
            *np.meshgrid(surface.x, surface.y, indexing="ij"),
            surface.heights,
            rstride=1,
            cstride=1,
            facecolors=graded(scale.shares(surface.values), scale.colours),
            shade=False,
            edgecolor=(0, 0, 0, 0.3),
            linewidth=0.3,
        )
        _set_space(space, surface)
        if surface.stems is not None:
            _draw_stems(space, surface.stems)
        colours = ScalarMappable(_norm(scale), scale.colours)
        _add_bar(colours, scale, **({"ax": ax} if ax else {"cax": figure.add_axes(BAR)}))
        drawn: Figure = space.figure
        return drawn

    def describe(self, figure: "Figure", text: str) -> None:
        """Do nothing: neither PNG nor PDF has a place for it."""


EXTEND: Final = {
    (False, False): "neither",
    (True, False): "min",
    (False, True): "max",
    (True, True): "both",
}


def _norm(scale: ColourScale) -> Any:
    """Make the same scale of matplotlib."""
    from matplotlib.colors import LogNorm, Normalize

    return (LogNorm if scale.is_logarithmic else Normalize)(scale.low, scale.high)


def _add_bar(drawn: "ScalarMappable", scale: ColourScale, **place: Any) -> None:
    """Explain colours beside `ax` or in `cax`."""
    figure = next(iter(place.values())).figure
    style = ({} if "cax" in place else BESIDE) | {"extend": EXTEND[scale.is_open]}
    bar = figure.colorbar(drawn, **place, **style)
    bar.set_ticks(scale.ticks, labels=scale.labels)
    bar.minorticks_off()
    bar.ax.set_label(BAR_LABEL)
    bar.set_label(scale.title, parse_math=False)


def _set_space(space: Any, surface: SpaceSurface) -> None:
    """Set the axes of a surface, and from where it is seen."""
    x, y, z = surface.axes
    space.view_init(elev=ELEVATION, azim=AZIMUTH)
    space.set_xticks(x.ticks, labels=x.labels)
    space.set_xlabel(x.title, labelpad=8, parse_math=False)
    space.set_yticks(y.ticks, labels=y.labels)
    space.set_ylabel(y.title, labelpad=8, parse_math=False)
    space.set_zlim(z.low, z.high)
    space.set_zticks(z.ticks, labels=z.labels)
    space.zaxis.set_rotate_label(False)
    pad = max(map(len, z.labels), default=0) * 3 - 2
    space.set_zlabel(z.title, labelpad=pad, rotation=90, parse_math=False)
    space.set_box_aspect(ASPECT, zoom=1.1)


def _draw_stems(space: Any, stems: Stems) -> None:
    """Draw points beside a surface, and over it: those below it with dashed lines."""
    space.computed_zorder = False
    ends = zip(stems.x, stems.y, stems.low, stems.high, strict=True)
    for x, y, low, high in ends:
        dashes = "-" if high >= low else ":"
        space.plot([x, x], [y, y], [low, high], dashes, color=MEASURED, lw=1.0)
    style = {"color": MEASURED, "ms": 4.0, "mec": ON_DARK, "mew": 0.6}
    space.plot(stems.x, stems.y, stems.high, "o", label=stems.label, **style)
    space.legend(loc="upper left", fontsize="small", frameon=False)


def _widest_legend(
    figure: "Figure", entries: "Mapping[str, Artist]", place: tuple[float, float]
) -> "Legend":
    """Make the legend of the most columns that the figure has room for."""
    columns = len(entries)
    while True:
        legend = figure.legend(
            list(entries.values()),
            list(entries),
            loc="lower center",
            bbox_to_anchor=place,
            ncols=columns,
            **LEGEND,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        legend.set_in_layout(False)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return legend
        legend.remove()
        rows = -(-len(entries) // columns)
        columns = min(columns - 1, -(-len(entries) // (rows + 1)))


@contextmanager
def any_letters() -> Iterator[None]:
    """Say nothing of letters that this font lacks; who looks at an SVG has other fonts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def _printed(text: str) -> str:
    """Escape in each line of a text what does not print, which has no place in XML."""
    return "\n".join(map(one_line, text.split("\n")))


def _print_names(figure: "Figure") -> None:
    """Escape what does not print in everything that is written in a figure."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(_printed(text.get_text()))


def rendered(figure: "Figure", ending: str) -> bytes:
    """Draw into memory by matplotlib."""
    drawn = BytesIO()
    about = {"Title": _printed(figure.get_suptitle()), **ABOUT[ending]}
    with MatplotlibWriter().style(), any_letters():
        _print_names(figure)
        figure.savefig(drawn, format=ending[1:], dpi=DOTS_AN_INCH, metadata=about)
    return drawn.getvalue()
