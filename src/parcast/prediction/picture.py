"""Pictures of a prediction: lines, a surface, contours, or a map of what dominates where."""

from os import PathLike
from typing import TYPE_CHECKING, Final

from parcast.errors import Argument, ParameterError
from parcast.prediction.lines import MOST_NAMED, draw_lines
from parcast.prediction.result import Prediction
from parcast.prediction.shown import Shown, shown_of
from parcast.prediction.surface import draw_contours, draw_map, draw_surface
from parcast.show.canvas import house_style, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DRAW: Final = {
    "lines": draw_lines,
    "surface": draw_surface,
    "contours": draw_contours,
    "map": draw_map,
}


def draw_prediction(
    prediction: Prediction, path: str | PathLike[str], *, picture: str | None = None
) -> None:
    """Draw a prediction into a file: the same prediction gives the same bytes."""
    save_figure(figure_of_prediction(prediction, picture=picture), path)


def figure_of_prediction(prediction: Prediction, *, picture: str | None = None) -> "Figure":
    """Figure of a prediction, over its first one or two axes with several values.

    Further axes are fixed at their largest value. By default lines where the second axis has 8
    values at most, contours over processors and disks, else a map.
    """
    if picture is not None and picture not in DRAW:
        raise ParameterError(
            "picture",
            must='be "lines", "surface", "contours" or "map"',
            got=f"{picture!r}",
            hint="Leave it out for what suits the axes.",
        )
    shown = shown_of(prediction, 2)
    chosen = picture or _suitable(shown)
    needed = 1 if chosen == "lines" else 2
    if len(shown.axes) < needed:
        raise _too_few(chosen, needed, shown)
    with house_style():
        figure = DRAW[chosen](shown)
        figure.suptitle(shown.title, fontsize="large", parse_math=False)
    return figure


def _suitable(shown: Shown) -> str:
    """Choose the picture that suits the axes."""
    if len(shown.axes) < 2 or len(shown.axes[1].values) <= MOST_NAMED:
        return "lines"
    return "contours" if [axis.name for axis in shown.axes] == ["p", "d"] else "map"


def _too_few(picture: str, needed: int, shown: Shown) -> ParameterError:
    """Say which axes are there, and what to do for more."""
    there = " and ".join(axis.name for axis in shown.axes)
    got = f"only {there}" if there else "none"
    if needed == 1:
        return ParameterError(
            "a picture",
            must="have an axis with several values",
            got=got,
            hint=("Predict for several p, such as ", Argument("p", [1, 2, 4, 8]), "."),
        )
    what = {"surface": "a surface", "contours": "contours", "map": "a map"}[picture]
    bandwidth = Argument(
        "vary", "network.bandwidth=...", python='vary={"network.bandwidth": [...]}'
    )
    lines = Argument("picture", "lines", python='picture="lines"')
    p, d = Argument("p", [1, 2, 4, 8]), Argument("d", [1, 2, 4])
    give = (", or ", bandwidth, ", or draw ", lines) if there else (", such as ", p, " and ", d)
    return ParameterError(
        what,
        must="have two axes with several values",
        got=got,
        hint=("Predict for several p and d", *give, "."),
    )
