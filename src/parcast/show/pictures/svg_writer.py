"""Figures that are written as SVG, without matplotlib and in any thread."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parcast.show.pictures.fields import ColourField
from parcast.show.pictures.figure import SvgFigure
from parcast.show.pictures.space import SpaceSurface
from parcast.show.pictures.writer import SPACE_HEIGHT, WIDTH, PictureWriter

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class SvgWriter(PictureWriter):
    """Draws in figures and axes of this package, which have what pictures use of matplotlib's."""

    is_linear: bool = False  # also where pictures ask for logarithmic axes

    @contextmanager
    def style(self) -> Iterator[None]:
        """There is one."""
        yield

    def new_figure(self, height: float) -> "Figure":
        """Make a figure that is laid out when it is written."""
        figure: Any = SvgFigure(WIDTH, height, is_linear=self.is_linear)
        return figure  # type: ignore[no-any-return]  # it has all that pictures use

    def draw_boxes(self, ax: "Axes", corners: Sequence[Any], colour: str) -> "Artist":
        """Fill all of them at once."""
        own: Any = ax
        return own.boxes(corners, colour)  # type: ignore[no-any-return]  # as good in a legend

    def draw_lines(
        self, ax: "Axes", lines: Sequence[Any], colour: str, *, width: float, zorder: float
    ) -> "Artist":
        """Draw all of them at once."""
        own: Any = ax
        return own.lines(lines, colour, width, zorder)  # type: ignore[no-any-return]  # likewise

    def settle(self, figure: "Figure") -> None:
        """Do nothing: its layout is the same each time."""

    def add_legend(
        self, figure: "Figure", *groups: "Mapping[str, Artist]", notes: Sequence[str] = ()
    ) -> None:
        """Keep it until the figure is laid out."""
        own: Any = figure
        own.explain(groups, notes)

    def draw_field(self, ax: "Axes", field: ColourField) -> None:
        """Draw areas of colours."""
        own: Any = ax
        own.field(field)

    def draw_cells(self, ax: "Axes", field: ColourField) -> None:
        """Draw boxes of colours."""
        own: Any = ax
        own.cells(field)

    def draw_surface(self, ax: "Axes | None", surface: SpaceSurface) -> "Figure":
        """Draw its projection."""
        assert ax is None  # axes that are given are matplotlib's
        figure: Any = self.new_figure(SPACE_HEIGHT)
        mark = figure.add_subplot().surface(surface)
        label = surface.stems.label if surface.stems else ""
        figure.explain([{label: mark}] if label else [], surface.notes)
        return figure  # type: ignore[no-any-return]  # as above

    def describe(self, figure: "Figure", text: str) -> None:
        """Keep it until the figure is written."""
        own: Any = figure
        own.words = text
