"""The answer to `predict` for a person: a title, a table, and what to think of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from parcast.prediction import Prediction
from parcast.text.columns import common_unit
from parcast.text.page import Page
from parcast.text.prediction_grid import prediction_grid
from parcast.text.prediction_rows import (
    MOST_ROWS,
    Points,
    axis_text,
    blocks_of,
    fixed_axes,
    one_line,
    points_of,
    spread_out,
    time_text,
    varied_axes,
)
from parcast.text.prediction_table import prediction_table
from parcast.units import TIME_UNITS

MOST_BLOCKS: Final = 4  # of rows with everything in them; more become a grid of times,
FEW_ROWS: Final = 20  # unless there are so few rows in all


def prediction_answer(
    prediction: Prediction, page: Page, *, show_all: bool = False
) -> tuple[list[str], str]:
    """Lines of the answer, and what is to be said of what they leave out.

    Parameters
    ----------
    prediction : Prediction
        What to show.
    page : Page
        Where it is shown.
    show_all : bool, default False
        Whether to show every point; otherwise some of many.

    Returns
    -------
    lines : list of str
    left_out : str
        "" where nothing is left out.
    """
    table, left_out = _laid_out(prediction, page, show_all=show_all)
    title = page.wrapped(title_of(prediction), indent=0)
    lines = [*map(page.bold, title), "", *table, ""]
    name = ""
    for fact in facts_of(prediction):
        lines += page.entry("" if fact.name == name else fact.name, one_line(fact.text))
        name = fact.name
    for text in prediction.warnings:
        lines += page.entry("warning:", one_line(text), is_marked=True)
    return lines, left_out


def title_of(prediction: Prediction) -> str:
    """Say what runs on what, and what is the same at every point."""
    return one_line(f"{prediction.program} on {prediction.machine}{fixed_axes(prediction)}")


def _laid_out(prediction: Prediction, page: Page, *, show_all: bool) -> tuple[list[str], str]:
    """Write the table that suits the axes."""
    axes = varied_axes(prediction)
    blocks, along = blocks_of(prediction), len(prediction.axes[axes[-1]]) if axes else 1
    is_short = blocks * along <= (MOST_ROWS if blocks <= MOST_BLOCKS else FEW_ROWS)
    if show_all or is_short:
        return _table(prediction, page, points_of(prediction)), ""
    if blocks == 1:
        kept = spread_out(prediction.axes[axes[-1]], MOST_ROWS)
        some = points_of(prediction, {axes[-1]: kept})
        left_out = (
            f"{len(kept)} of {along} values of {axes[-1]} are shown. All of them: --all, --json "
            "or -o all.csv."
        )
        return _table(prediction, page, some), left_out
    lines, of_all = prediction_grid(prediction, page)
    only = f"{of_all} are shown, times only." if of_all else "times only are shown."
    return lines, f"{only} All of it: --all, --json or -o all.csv."


def _table(prediction: Prediction, page: Page, points: Points) -> list[str]:
    """Write some points, and what the titles mean."""
    legend = page.wrapped(_legend(prediction), indent=0)
    return [*prediction_table(prediction, page, points), "", *map(page.faint, legend)]


def _legend(prediction: Prediction) -> str:
    """Say what speedup is over, and what the shares are."""
    grows = ", of the work, which grows with p" if prediction.scaling == "weak" else ""
    return f"speedup: over one processor and one disk{grows}; waiting: for the slowest"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something to be said of the whole answer, and its name."""

    name: str
    text: str


def facts_of(prediction: Prediction) -> Iterator[Fact]:
    """Give what limits the program, between which bounds it lies, and where that is from."""
    for text in prediction.limits:
        yield Fact("limited by", text)
    for text in prediction.fastest:
        yield Fact("fastest", text)
    if bounds := _bounds(prediction):
        yield Fact("bounds", bounds)
    yield Fact("law", "; ".join(prediction.sources or [prediction.law]))


def _bounds(prediction: Prediction) -> str:
    """Say how much contention in the network may matter at the largest p."""
    free, bus = prediction.contention_free, prediction.single_bus
    if free is None or bus is None:
        return ""
    place = tuple(
        int(values.argmax()) if name == "p" else len(values) - 1
        for name, values in prediction.axes.items()
    )
    ends = [float(x[place]) for x in (free, bus)]
    unit = common_unit(ends)
    least, most = (f"{time_text(x / TIME_UNITS[unit])} {unit}" for x in ends)
    if least == most:
        return ""
    at = _at(prediction, dict(zip(prediction.axes, place, strict=True)))
    return f"{least} if every pair had a link of its own, {most} if all shared one bus, {at}"


def _at(prediction: Prediction, place: Mapping[str, int]) -> str:
    """Name a point by its axes: "at p = 64, d = 3"."""
    named = [
        f"{name} = {axis_text(prediction, name, i)}"
        for name, i in place.items()
        if name == "p" or len(prediction.axes[name]) > 1
    ]
    return f"at {', '.join(named)}"
