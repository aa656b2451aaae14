"""What draws and writes a figure: matplotlib, or the SVG of this package.

Pictures are drawn once, by the methods that the axes of both have, and by these where they differ.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from parcast.show.pictures.fields import ColourField
from parcast.show.pictures.space import SpaceSurface

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH: Final = 8.0  # of a figure, at which its text can be read on a page [inch]
SPACE_HEIGHT: Final = 5.4  # of a figure of a surface in space [inch]


class PictureWriter(ABC):
    """Makes figures, and draws in their axes."""

    @abstractmethod
    def style(self) -> AbstractContextManager[None]:
        """Draw in the style of parcast; `MissingPackage` without matplotlib that it needs."""

    @contextmanager
    def figure(self, height: float) -> "Iterator[Figure]":
        """Make a figure, and draw in the style of parcast."""
        with self.style():
            yield self.new_figure(height)

    @abstractmethod
    def new_figure(self, height: float) -> "Figure":
        """Make a figure `height` inches high."""

    @abstractmethod
    def draw_boxes(self, ax: "Axes", corners: Sequence[Any], colour: str) -> "Artist":
        """Fill areas of one colour, each given by its corners."""

    @abstractmethod
    def draw_lines(
        self, ax: "Axes", lines: Sequence[Any], colour: str, *, width: float, zorder: float
    ) -> "Artist":
        """Draw lines of one colour, each given by its points."""

    @abstractmethod
    def settle(self, figure: "Figure") -> None:
        """Lay out the axes in rounded places, as the last digits of a layout vary."""

    @abstractmethod
    def add_legend(
        self, figure: "Figure", *groups: "Mapping[str, Artist]", notes: Sequence[str] = ()
    ) -> None:
        """Explain below all axes what is drawn, each group in rows of its own, then the notes.

        To be called last but for what is placed by the layout: axes get the rest of the figure.
        """

    @abstractmethod
    def draw_field(self, ax: "Axes", field: ColourField) -> None:
        """Colour axes by values, in bands where their scale has levels; explain the colours."""

    @abstractmethod
    def draw_cells(self, ax: "Axes", field: ColourField) -> None:
        """Colour a cell around each whole number of both axes; explain the colours."""

    @abstractmethod
    def draw_surface(self, ax: "Axes | None", surface: SpaceSurface) -> "Figure":
        """Draw a surface in space, in `ax` or in a new figure."""

    @abstractmethod
    def describe(self, figure: "Figure", text: str) -> None:
        """Say in words what a figure shows, for those who cannot see it."""
