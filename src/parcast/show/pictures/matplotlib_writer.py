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

from parcast.errors import one_line
from parcast.needs import missing_package
from parcast.show.pictures.colours import GREY
from parcast.show.pictures.writer import WIDTH, PictureWriter

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
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

    def draw_segments(
        self, ax: "Axes", ends: Sequence[Any], colour: str, *, width: float, zorder: float
    ) -> "Artist":
        """Draw all of them at once."""
        from matplotlib.collections import LineCollection

        lines = LineCollection(ends, colors=colour, linewidths=width, zorder=zorder)
        return ax.add_collection(lines)

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
