"""The runs of a program for a person: a table of times and counts, and what they mean.

On a narrow page columns are left out, then each run becomes a few lines.
"""

from collections.abc import Sequence
from typing import Any, Final

from parcast.show.page import Page
from parcast.show.table import Column, side_by_side
from parcast.units import TIME_UNITS, format_quantity
from parcast.words import MARK, OTHERS, common_unit, rounded

CORRECT: Final = {True: "yes", False: "NO", None: "not checked"}
DIGITS: Final = 3
LEFT_OUT_FIRST: Final = ("messages", "steps", "mean", "disk")  # where there is no room


def run_answer(
    rows: Sequence[dict[str, Any]], warnings: Sequence[str], page: Page, *, title: str, step: str
) -> list[str]:
    """Lines of the answer.

    Parameters
    ----------
    rows : sequence of mappings
        As a document of the schema ``parcast/runs/1`` has them, at least one.
    warnings : sequence of str
        What a reader must know.
    page : Page
        Where it is shown.
    title, step : str
        What the program does, and what one of its steps is.

    Returns
    -------
    list of str
    """
    lines = [*map(page.bold, page.wrapped(f"{rows[0]['program']}: {title}", indent=0)), ""]
    lines += _table(rows, page)
    legend = (
        f"computing: processor seconds of the rank with most, and the mean of all; steps: {step}, "
        "of all ranks; rate: steps in a processor second"
    )
    if any(row["disturbed"] for row in rows):
        legend += f"; {MARK}: {OTHERS}"
    lines += ["", *map(page.faint, page.wrapped(legend, indent=0))]
    for text in warnings:
        lines += ["", *page.entry("warning:", text, is_marked=True)]
    return lines


def listing(programs: Sequence[tuple[str, str, str, int]], page: Page) -> list[str]:
    """Lines that name the programs there are: name, what it does, what n counts, an example."""
    width = max(len(name) for name, *_ in programs)
    lines = []
    for name, title, size, example in programs:
        text = f"{title}; n: {size}, such as {_copied(example)}"
        first, *others = page.wrapped(text, indent=width + 2)
        lines += [page.bold(f"{name:{width}}") + f"  {first}"]
        lines += [" " * (width + 2) + line for line in others]
    return lines


def _copied(size: int) -> str:
    """Write a size as `--n` reads it: 2500, or 4e6 where that says the same."""
    digits = str(size).rstrip("0")
    zeros = len(str(size)) - len(digits)
    return f"{digits}e{zeros}" if len(digits) == 1 and zeros > 4 else str(size)


def _table(rows: Sequence[dict[str, Any]], page: Page) -> list[str]:
    """Write the table, as much of it as the page has room for."""
    columns = _columns(rows)
    for left_out in range(len(LEFT_OUT_FIRST) + 1):
        kept = [x for name, x in columns.items() if name not in LEFT_OUT_FIRST[:left_out]]
        if laid_out := side_by_side(kept, page):
            return [*map(page.bold, laid_out[:2]), *laid_out[2:]]
    return _in_full(columns, len(rows), page)


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, Column]:
    """Give all columns by their names; what is the same in all rows, or 0, has none."""
    unit = common_unit([row["time_s"] for row in rows])
    columns = {"p": Column(title="p", cells=[str(row["p"]) for row in rows])}
    columns["n"] = Column(title="n", cells=[f"{row['n']}" for row in rows])
    if any(row["repetition"] != 1 for row in rows):
        columns["repetition"] = Column(title="rep", cells=[str(row["repetition"]) for row in rows])
    times = {
        "time": ("time", [row["time_s"] for row in rows]),
        "most": ("computing", [max(row["compute_s"]) for row in rows]),
        "mean": ("mean", [sum(row["compute_s"]) / row["p"] for row in rows]),
        "disk": ("disk", [row["disk_s"] for row in rows]),
    }
    for name, (title, values) in times.items():
        if any(values):
            cells = [rounded(value / TIME_UNITS[unit], DIGITS) for value in values]
            cells = _marked(cells, rows) if name == "time" else cells
            columns[name] = Column(title=title, unit=f"[{unit}]", cells=cells)
    columns["messages"] = Column(
        title="messages", cells=[str(sum(row["messages"])) for row in rows]
    )
    columns["bytes"] = Column(
        title="sent",
        cells=[format_quantity(sum(row["sent_bytes"]), "size", DIGITS) for row in rows],
        is_text=False,
    )
    columns["steps"] = Column(
        title="steps", cells=[rounded(float(sum(row["steps"])), DIGITS) for row in rows]
    )
    rates = [row["rate"] and row["rate"] / 1e6 for row in rows]
    columns["rate"] = Column(
        title="rate",
        unit="[10^6/s]",
        cells=["none" if rate is None else rounded(rate, DIGITS) for rate in rates],
    )
    columns["correct"] = Column(
        title="correct", cells=[CORRECT[row["is_correct"]] for row in rows], is_text=True
    )
    return columns


def _marked(times: list[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    """Mark the times of disturbed runs, if there are any; digits stay below each other."""
    if not any(row["disturbed"] for row in rows):
        return times
    return [
        f"{time}{MARK if row['disturbed'] else ' '}" for time, row in zip(times, rows, strict=True)
    ]


def _in_full(columns: dict[str, Column], count: int, page: Page) -> list[str]:
    """Write each run as a few short lines, for a page too narrow for a table."""
    named = [name for name in ("p", "n", "repetition") if name in columns]
    others = [x for name, x in columns.items() if name not in named]
    width = max(len(x.title) for x in others)
    lines: list[str] = []
    for i in range(count):
        title = ", ".join(f"{columns[name].title} = {columns[name].cells[i]}" for name in named)
        lines += ["", page.bold(title)]
        for x in others:
            unit = f" {x.unit.strip('[]')}" if x.unit else ""
            lines.append(f"  {x.title:{width}}  {x.cells[i].strip()}{unit}")
    return lines[1:]
