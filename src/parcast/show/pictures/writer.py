"""What draws and writes a figure: matplotlib, or the SVG of this package.

Pictures are drawn once, by the methods that the axes of both have, and by these where they differ.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH: Final = 8.0  # of a figure, at which its text can be read on a page [inch]


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
    def draw_segments(
        self, ax: "Axes", ends: Sequence[Any], colour: str, *, width: float, zorder: float
    ) -> "Artist":
        """Draw straight lines of one colour, each given by its two ends."""

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
