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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FEW: Final = 4  # values of the first axis that are lines if the second has more than `MOST_NAMED`
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


def figure_of_prediction(
    prediction: Prediction, ax: "Axes | None" = None, *, picture: str | None = None
) -> "Figure":
    """Figure of a prediction, over its first one or two axes with several values; or in `ax`.

    Further axes are fixed at their largest value. By default lines where the second axis has 8
    values at most or the first one 4, else contours. Lines have three panels and cannot be drawn
    in `ax`; a surface needs one in space (``projection="3d"``).
    """
    if picture is not None and picture not in DRAW:
        raise ParameterError(
            "picture",
            must='be "lines", "surface", "contours" or "map"',
            got=f"{picture!r}",
            hint="Leave it out for what suits the axes.",
        )
    shown = shown_of(prediction, 2)
    if picture is None:
        shown = _with_few_lines(shown)
    chosen = picture or _suitable(shown)
    needed = 1 if chosen == "lines" else 2
    if len(shown.axes) < needed:
        raise _too_few(chosen, needed, shown)
    if ax is not None:
        return DRAW[chosen](shown, ax)
    with house_style():
        figure = DRAW[chosen](shown)
        figure.suptitle(shown.title, fontsize="large", parse_math=False)
    return figure


def _with_few_lines(shown: Shown) -> Shown:
    """Turn the axes where the first has few values and the second too many for lines."""
    if len(shown.axes) < 2 or len(shown.axes[1].values) <= MOST_NAMED:
        return shown
    return shown.turned() if len(shown.axes[0].values) <= FEW else shown


def _suitable(shown: Shown) -> str:
    """Choose the picture that suits the axes."""
    is_lines = len(shown.axes) < 2 or len(shown.axes[1].values) <= MOST_NAMED
    return "lines" if is_lines else "contours"


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
        "vary", "network.bandwidth=RANGE", python='vary={"network.bandwidth": [...]}'
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
