"""The runs of a program for a person: a table of times and counts, and what they mean."""

from collections.abc import Sequence
from typing import Any, Final

from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import TIME_UNITS, format_quantity
from parcast.words import MARK, OTHERS, common_unit, rounded

CORRECT: Final = {True: "yes", False: "NO", None: "not checked"}
DIGITS: Final = 3
LEFT_OUT_FIRST: Final = ("messages", "steps", "mean", "disk")  # where there is no room


def sheet_of(
    rows: Sequence[dict[str, Any]], warnings: Sequence[str], *, title: str, step: str
) -> Sheet:
    """Everything that is said of runs: rows as of a document of the schema ``parcast/runs/1``.

    `title` is what the program does, `step` what one of its steps is.
    """
    legend = (
        f"computing: processor seconds of the rank with most, and the mean of all; steps: {step}, "
        "of all ranks; rate: steps in a processor second"
    )
    if any(row["disturbed"] for row in rows):
        legend += f"; {MARK}: {OTHERS}"
    columns = _columns(rows)
    forms = (
        Form(columns=[x for name, x in columns.items() if name not in LEFT_OUT_FIRST[:left_out]])
        for left_out in range(len(LEFT_OUT_FIRST) + 1)
    )
    in_full = (_in_full(columns, i) for i in range(len(rows)))
    return Sheet(
        title=f"{rows[0]['program']}: {title}",
        tables=(Table(forms=tuple(forms), in_full=tuple(in_full), legend=legend),),
        parts=tuple(Sheet(warnings=(text,)) for text in warnings),
    )


def program_words(name: str, title: str, size: str, example: int) -> tuple[str, str]:
    """Name a program, and say what it does, what n counts and such an n."""
    return name, f"{title}; n: {size}, such as {_copied(example)}"


def _copied(size: int) -> str:
    """Write a size as `--n` reads it: 2500, or 4e6 where that says the same."""
    digits = str(size).rstrip("0")
    zeros = len(str(size)) - len(digits)
    return f"{digits}e{zeros}" if len(digits) == 1 and zeros > 4 else str(size)


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
        title="correct", cells=[CORRECT[row["is_correct"]] for row in rows], align="left"
    )
    return columns


def _marked(times: list[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    """Mark the times of disturbed runs, if there are any; digits stay below each other."""
    if not any(row["disturbed"] for row in rows):
        return times
    return [
        f"{time}{MARK if row['disturbed'] else ' '}" for time, row in zip(times, rows, strict=True)
    ]


def _in_full(columns: dict[str, Column], i: int) -> Entry:
    """Give one run, for a page too narrow for a table."""
    named = [name for name in ("p", "n", "repetition") if name in columns]
    return Entry(
        title=", ".join(f"{columns[name].title} = {columns[name].cells[i]}" for name in named),
        facts=tuple(
            Fact(x.title, f"{x.cells[i].strip()} {x.unit.strip('[]')}".rstrip())
            for name, x in columns.items()
            if name not in named
        ),
    )
