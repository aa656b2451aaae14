"""The answer to `project` for a person: times of a counted program, and where they go.

On a narrow page parts of the time are left out, one after another, and so are their explanations.
"""

from typing import Final

import numpy as np

from parcast.projection.result import CountedProjection
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side, spans
from parcast.units import TIME_UNITS, shown
from parcast.words import common_unit, rounded_interval

SHORT: Final = {  # parts of the time, as titles of columns
    "compute": "compute",
    "imbalance": "wait",
    "startups": "start",
    "pairs": "pairs",
    "shared": "shared",
    "collectives": "coll.",
}
LEGEND: Final = {  # what titles mean
    "wait": "for the busiest rank",
    "start": "startups of messages",
    "pairs": "their bytes",
    "shared": "what the network that all share adds",
    "coll.": "collectives",
}


def counted_answer(told: CountedProjection, page: Page) -> list[str]:
    """Lines of the answer.

    Parameters
    ----------
    told : CountedProjection
        What to show.
    page : Page
        Where it is shown.

    Returns
    -------
    list of str
    """
    program, machine = (shown(x, limit=10_000) for x in (told.program, told.machine))
    lines = [*map(page.bold, page.wrapped(f"{program} on {machine}, from counts", indent=0)), ""]
    table, parts = _table(told, page)
    lines += [*table, ""]
    if parts:
        lines += [*map(page.faint, page.wrapped(_legend(parts), indent=0)), ""]
    lines += page.entry("pace", f"{told.pace:.3g}, {told.pace_from}")
    if told.donors:
        names = ", ".join(shown(x) for x in told.donors)
        low, high = float(told.factor.min()), float(told.factor.max())
        lines += page.entry("donors", f"{names}; they change the times by {low:.2f} to {high:.2f}")
    if len(told.p) > 1:
        best = told.p[int(np.argmin(told.time))]
        lines += page.entry("least", f"the least time of these is at p = {best:g}")
    for text in told.warnings:
        lines += page.entry("warning:", shown(text, limit=10_000), is_marked=True)
    return lines


def _table(told: CountedProjection, page: Page) -> tuple[list[str], list[str]]:
    """Write the table, as much of it as the page has room for, and name the parts in it."""
    unit = common_unit(told.time.tolist())
    second = TIME_UNITS[unit]
    texts = [
        rounded_interval(*(float(x[i]) / second for x in (told.time, told.lower, told.upper)))
        for i in range(len(told.p))
    ]
    columns = [
        Column(title="p", cells=[f"{p:g}" for p in told.p]),
        Column(title="time", unit=f"[{unit}]", cells=[x[0] for x in texts]),
        Column(
            title="90 % interval",
            unit=f"[{unit}]",
            cells=spans([x[1] for x in texts], [x[2] for x in texts]),
        ),
    ]
    total = np.sum(list(told.parts.values()), axis=0)
    shares = [
        Column(
            title=SHORT[name],
            unit="[%]",
            cells=[_percent(float(x)) for x in part / total],
        )
        for name, part in told.parts.items()
    ]
    # What takes least of the time goes first.
    order = np.argsort([-np.max(part / total) for part in told.parts.values()], kind="stable")
    for count in range(len(shares), -1, -1):
        shown_ones = [shares[i] for i in sorted(order[:count])]
        if laid_out := side_by_side([*columns, *shown_ones], page):
            break
    else:
        laid_out, shown_ones = side_by_side(columns, Page()), []
    names = [column.title for column in shown_ones]
    return [*map(page.bold, laid_out[:2]), *laid_out[2:]], names


def _legend(parts: list[str]) -> str:
    """Say what the columns of parts mean, and that some are left out."""
    meanings = [f"{name}: {LEGEND[name]}" for name in parts if name in LEGEND]
    scale = "in % of the model's time"
    if len(parts) < len(SHORT):
        left_out = [name for name in SHORT.values() if name not in parts]
        scale += f"; no room for {', '.join(left_out)}"
    return "; ".join([*meanings, scale])


def _percent(share: float) -> str:
    """Write a share in whole percent, never as nothing if it is something."""
    return "<1" if 0 < share < 0.005 else f"{100 * share:.0f}"
