"""Where a figure is drawn and how it is written: no window, no pyplot, the same bytes each time.

matplotlib is imported here and nowhere else before it, when the first figure is asked for.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from parcast.errors import ParameterError, ParcastError
from parcast.files.document import replacing
from parcast.show.colours import PALE
from parcast.units import shown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend


WIDTH: Final = 8.0  # of a figure, at which its text can be read on a page [inch]
DOTS_AN_INCH: Final = 150


class MissingPackage(ParcastError, ModuleNotFoundError):  # noqa: N818 - says what is missing
    """A package that figures need is not installed; `name` says which."""


@contextmanager
def house_style() -> Iterator[None]:
    """Draw alike for everyone, whatever style is set; `MissingPackage` without matplotlib.

    Text stays text, and the names of parts do not change from one run to the next.
    """
    try:
        from matplotlib import style
    except ModuleNotFoundError as error:
        raise MissingPackage(
            'Figures need matplotlib. Install with: pip install "parcast[plot]"', name=error.name
        ) from error
    plain = {"svg.fonttype": "none", "svg.hashsalt": "parcast", "pdf.fonttype": 42}
    with style.context(["default", plain]):
        yield


def new_figure(height: float) -> "Figure":
    """Make a figure that pyplot knows nothing of, `height` inches high; in `house_style`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def plain_axes(ax: "Axes") -> None:
    """Give axes a pale grid behind what is drawn, and no frame above and on the right."""
    ax.grid(color=PALE, lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def entries_of(axes: "Iterable[Axes]") -> "dict[str, Artist]":
    """What is drawn in any of the axes, by its label, each label once."""
    entries: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    return entries


def add_legend(figure: "Figure", entries: "Mapping[str, Artist]", *, columns: int) -> "Legend":
    """Explain below all axes what is drawn; labels from files are no formulas."""
    legend = figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def save_figure(figure: "Figure", path: str | PathLike[str]) -> None:
    """Write a figure to a file: the same figure gives the same bytes.

    The ending of the path is the format: ``.svg``, in which text stays text, ``.png`` or ``.pdf``.
    """
    title = figure.get_suptitle()
    formats: dict[str, dict[str, str | None]] = {
        ".svg": {"Title": title, "Creator": "parcast", "Date": None},
        ".png": {"Title": title, "Software": "parcast"},
        ".pdf": {"Title": title, "Creator": "parcast", "Producer": None, "CreationDate": None},
    }
    ending = Path(path).suffix.lower()
    if ending not in formats:
        raise ParameterError(
            "path",
            must="end in .svg, .png or .pdf",
            got=f'"{shown(path)}"',
            hint="The ending chooses the format.",
        )
    drawn = _rendered(figure, ending[1:], formats[ending])
    with replacing(path) as draft:
        draft.write_bytes(drawn)


@contextmanager
def any_letters() -> Iterator[None]:
    """Say nothing of letters that this font lacks; who looks at an SVG has other fonts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def svg_text(figure: "Figure") -> str:
    """Return a figure as an SVG document: the same figure gives the same text."""
    about = {"Title": figure.get_suptitle(), "Creator": "parcast", "Date": None}
    return _rendered(figure, "svg", about).decode("utf-8")


def _rendered(figure: "Figure", form: str, about: dict[str, str | None]) -> bytes:
    """Draw into memory, without dates and versions."""
    drawn = BytesIO()
    with house_style(), any_letters():
        figure.savefig(drawn, format=form, dpi=DOTS_AN_INCH, metadata=about)
    return drawn.getvalue()
