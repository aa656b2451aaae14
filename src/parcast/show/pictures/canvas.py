"""Where a figure is drawn and how it is written: no window, and the same bytes each time.

A picture draws by a writer: matplotlib unless `drawing_by` says another one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.errors import ParameterError
from parcast.files.document import ending_of, replacing
from parcast.show.pictures.colours import BAR_LABEL, ON_DARK, PALE
from parcast.show.pictures.elements import Paint
from parcast.show.pictures.matplotlib_writer import ABOUT, MatplotlibWriter, any_letters, rendered
from parcast.show.pictures.svg_writer import SvgWriter
from parcast.show.pictures.writer import PictureWriter
from parcast.units import shown
from parcast.words import listed

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL_BOX: Final = {  # around a text on colours
    **{"boxstyle": "round,pad=0.2", "facecolor": ON_DARK, "edgecolor": "none", "alpha": 0.8}
}
MOST_FILES: Final = 4  # named below a figure
MOST_HEADS: Final = 2  # verdicts above a figure
HEAD_WIDTH: Final = 90  # characters in a line of them
LONGEST_HEAD: Final = 170
XML: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
SVG: Final = SvgWriter()
LINEAR_SVG: Final = SvgWriter(is_linear=True)
PYPLOT: Final = MatplotlibWriter(is_pyplot=True)
MATPLOTLIB: Final = MatplotlibWriter()
_writer: ContextVar[PictureWriter] = ContextVar("_writer", default=MATPLOTLIB)


@contextmanager
def drawing_by(chosen: PictureWriter) -> Iterator[None]:
    """Make figures by a writer."""
    token = _writer.set(chosen)
    try:
        yield
    finally:
        _writer.reset(token)


def writer() -> PictureWriter:
    """Give the writer that draws here."""
    return _writer.get()


def svg_of(
    draw: "Callable[[], Figure]",
    paint: Paint | None = None,
    *,
    is_linear: bool = False,
    **about: str,
) -> str:
    """Draw a picture as SVG, on linear axes if told so; `about` goes to `SvgFigure.to_svg`."""
    with drawing_by(LINEAR_SVG if is_linear else SVG):
        figure: Any = draw()
    return str(figure.to_svg(paint, **about))


def linear_svg_of(draw: "Callable[[], Figure]", paint: Paint, **about: str) -> str:
    """Draw a picture of logarithmic axes as SVG, with linear ones; "" of any other."""
    with drawing_by(LINEAR_SVG):
        figure: Any = draw()
    return str(figure.to_svg(paint, **about)) if figure.is_flattened else ""


def plot_in(ax: "Axes | None", draw: "Callable[..., Figure]") -> Any:
    """Draw in `ax`, or in a new figure of pyplot; return `ax`, or the axes drawn, or their array.

    `draw` takes `ax` and returns the figure. Axes that only explain colours are not returned.
    """
    if ax is not None:
        _require_axes(ax)
        draw(ax=ax)
        return ax
    with drawing_by(PYPLOT):
        figure = draw(ax=None)
    axes = [each for each in figure.axes if each.get_label() != BAR_LABEL]
    if len(axes) == 1:
        return axes[0]
    drawn = np.empty(len(axes), dtype=object)
    drawn[:] = axes
    return drawn


def _require_axes(ax: object) -> None:
    with writer().style():
        from matplotlib.axes import Axes
    if not isinstance(ax, Axes):
        raise ParameterError(
            "ax",
            must="be a matplotlib Axes",
            got=shown(repr(ax)),
            hint="Make one with matplotlib.pyplot.subplots(), and give other options by name.",
        )


def require_one_panel(panels: int, hint: str) -> None:
    """Refuse to draw several panels in axes that were given."""
    if panels != 1:
        raise ParameterError(
            "ax",
            must="be left out for a picture of several panels",
            got=f"axes for {panels} panels",
            hint=hint,
        )


def plain_axes(ax: "Axes") -> None:
    """Give axes a pale grid behind what is drawn, and no frame above and on the right."""
    ax.grid(color=PALE, lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def lay_out(ax: "Axes") -> None:
    """Give axes, and all others of their figure, their places: all else must be drawn."""
    with any_letters():
        ax.figure.canvas.figure.draw_without_rendering()  # also of a sub-figure


def entries_of(axes: "Iterable[Axes]") -> "dict[str, Artist]":
    """What is drawn in any of the axes, by its label, each label once."""
    entries: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    return entries


def add_legend_inside(
    ax: "Axes", entries: "Mapping[str, Artist]", *, is_framed: bool = False
) -> None:
    """Explain what is drawn where it hides least, in axes that were given."""
    style: dict[str, Any] = {"fontsize": "small", "frameon": is_framed, "framealpha": 0.85}
    legend = ax.legend(list(entries.values()), list(entries), **style)
    for text in legend.get_texts():
        text.set_parse_math(False)


def heads_of(verdicts: Sequence[str]) -> list[str]:
    """What a picture says of its worth: the first sentences of verdicts, in lines of a title.

    >>> heads_of(["A: This does not scale: p = 8 takes 1.2 times as long as p = 1. Choose weak."])
    ['A: This does not scale: p = 8 takes 1.2 times as long as p = 1.']
    """
    first = [text.partition(". ")[0].rstrip(".") + "." for text in verdicts]
    more = [f"{len(first) - MOST_HEADS} more series similarly."] if len(first) > MOST_HEADS else []
    lines = (wrap(shown(text, limit=LONGEST_HEAD), HEAD_WIDTH) for text in first[:MOST_HEADS])
    return [*(line for each in lines for line in each), *more]


def add_heads(ax: "Axes", heads: Sequence[str]) -> None:
    """Write what a picture says of its worth above its axes, below their title."""
    if heads:
        text = "\n".join(filter(None, [ax.get_title(), *heads]))
        ax.set_title(text, fontsize="medium", parse_math=False, usetex=False)


def sources_of(inputs: Mapping[str, Any] | None) -> list[str]:
    """Name the files that a result is from, without their folders, in a note if there are any.

    >>> sources_of({"file": "runs/times.csv", "donors": [{"file": "other.csv"}]})
    ['Source: times.csv, other.csv']
    """
    paths = list(dict.fromkeys(files_in(inputs)))
    names = [shown("standard input" if path == "-" else Path(path).name) for path in paths]
    return [f"Source: {listed(names, MOST_FILES)}"] if names else []


def files_in(inputs: Any) -> Iterator[str]:
    """Give the files that are named anywhere in what a result notes of its inputs."""
    if isinstance(inputs, Mapping):
        if isinstance(inputs.get("file"), str):
            yield inputs["file"]
        for value in inputs.values():
            yield from files_in(value)
    elif isinstance(inputs, list | tuple):
        for value in inputs:
            yield from files_in(value)


def save_picture(draw: "Callable[[], Figure]", path: str | PathLike[str]) -> None:
    """Draw a picture into a file, an SVG file without matplotlib: always the same bytes."""
    if ending_of(path, ABOUT) != ".svg":
        save_figure(draw(), path)
        return
    drawn = svg_of(draw, style="background: white")
    with replacing(path) as draft:
        draft.write_text(f"{XML}{drawn}\n", "utf-8")


def save_figure(figure: "Figure", path: str | PathLike[str]) -> None:
    """Write a figure of matplotlib to a file: the same figure gives the same bytes.

    The ending of the path is the format: ``.svg``, in which text stays text, ``.png`` or ``.pdf``.
    """
    drawn = rendered(figure, ending_of(path, ABOUT))
    with replacing(path) as draft:
        draft.write_bytes(drawn)


def arrow(*, is_up: bool) -> list[tuple[float, float]]:
    """Give the points of a marker that stands on a point and leads up from it, or down."""
    way = 1.0 if is_up else -1.0
    head = [(-0.2, 0.75 * way), (0.0, way), (0.2, 0.75 * way)]
    return [(-0.2, 0.0), (0.2, 0.0), (0.0, 0.0), (0.0, way), *head]
