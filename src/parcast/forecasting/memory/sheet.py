"""A forecast of memory for a person."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from parcast.advice import Choice, ours
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.units import SIZE_UNITS, format_quantity
from parcast.words import rounded_interval, signed_percent, whole, whole_percent

if TYPE_CHECKING:
    from parcast.forecasting.memory.result import MemoryForecast

OF_NODE: Final = "; node: the one that needs most; fails: how likely it runs out of memory"
OF_REACH: Final = "; xN: extrapolated by a factor of N"
MOST_IN_A_LINE: Final = 3  # counts
WHY: Final = ours("forecast", Choice("TIMINGS"), "--memory")


def sheet_of(told: "MemoryForecast") -> Sheet:
    """Everything that is said."""
    is_one = not told.by
    parts = tuple(
        Sheet(
            title=note.label,
            facts=tuple(
                Fact(label, text, is_detail=not is_one)
                for label, text in (
                    ("based on", note.rests_on),
                    ("follows", f"{note.follows}, of a rank" if note.follows else ""),
                )
                if text
            ),
            warnings=note.warnings,
        )
        for note in told.notes
    )
    refused = tuple(
        Sheet(title=name, warnings=(f"No forecast of memory. {why}",))
        for name, why in told.refused.items()
    )
    return Sheet(tables=(_table(told),), facts=tuple(_nodes(told)), parts=(*parts, *refused))


def unit_of(memory: Sequence[float]) -> str:
    """Unit in which all of some memory is shown: that of the largest. [B].

    >>> unit_of([2e8, 3e9])
    'GB'
    """
    return format_quantity(max(memory), "size").rpartition(" ")[2]


def _nodes(told: "MemoryForecast") -> Iterator[Fact]:
    """Say how few nodes fit."""
    node = told.node
    if node is None:
        return
    for i, needed in enumerate(told.nodes):
        name = f"{told.notes[i].label}: " if told.by else ""
        text = name + needed.sentence(node)
        yield Fact("" if i else "nodes", text, is_marked=not needed.fits)


def _table(told: "MemoryForecast") -> Table:
    """Give a line for each series and count."""
    rows = list(told.rows())
    columns = [
        *(
            Column(title=name, cells=[f"{row[name]}" for row in rows], align="left")
            for name in told.by
        ),
        Column(title="p", cells=[str(row["p"]) for row in rows]),
    ]
    labels = len(columns)
    extra: list[Column] = []
    for title, name in (("memory of a rank", "memory"), ("memory of all", "memory_total")):
        columns += _memory(rows, title, name)
        extra += _measured(told, rows, title, name)
    if told.node is not None:
        need = [format_quantity(row["node_B"], "size", 2) for row in rows]
        columns.append(Column(title="node", unit="needs", cells=need))
        fails = [f"{whole_percent(row['out_of_memory'])}%" for row in rows]
        columns.append(Column(title="node", unit="fails", cells=fails))
    reach = [f"x{format_quantity(x['reach'], 'count')}" if x["reach"] > 1 else "" for x in rows]
    extra.append(Column(title="", cells=reach, align="left"))
    every = [*columns, *extra]
    in_full = [
        Entry(
            title=", ".join(f"{c.title} {c.cells[i]}" for c in columns[:labels]),
            facts=tuple(Fact(c.full_title, c.cells[i]) for c in every[labels:]),
        )
        for i in range(len(rows))
    ]
    return Table(
        forms=(Form(columns=every), Form(columns=columns)),
        in_full=tuple(in_full),
        legend="rank: the largest"
        + (OF_NODE if told.node is not None else "")
        + (OF_REACH if any(reach) else ""),
    )


def _memory(rows: Sequence[dict[str, Any]], title: str, name: str) -> Iterator[Column]:
    """Columns of memory and its interval, if it is known."""
    keys = [f"{name}_B", f"{name}_lower_B", f"{name}_upper_B"]
    known = [row[keys[0]] for row in rows if row[keys[0]] is not None]
    if not known:
        return
    unit = unit_of(known)
    factor = SIZE_UNITS[unit]
    cells = [
        ("", "", "")
        if row[keys[0]] is None
        else rounded_interval(*(row[key] / factor for key in keys))
        for row in rows
    ]
    yield Column(title=title, unit=f"[{unit}]", cells=[x[0] for x in cells])
    yield interval_column("90% interval", f"[{unit}]", [x[1:] for x in cells])


def _measured(
    told: "MemoryForecast", rows: Sequence[dict[str, Any]], title: str, name: str
) -> Iterator[Column]:
    """Columns of what was measured at counts that were left out, and the errors there."""
    seen = [row[f"measured_{name}_B"] for row in rows]
    if not any(seen):
        return
    first = told.curves[0] or told.curves[1]
    assert first is not None
    used = [
        {whole(x) for x in counts[:count].tolist()}
        for counts, count in zip(first.series.p, first.series.count.tolist(), strict=True)
    ]
    points = len(rows) // len(used)
    errors = [
        ""
        if value is None or row["p"] in used[i // points]
        else signed_percent(row[f"{name}_B"] / value - 1)
        for i, (row, value) in enumerate(zip(rows, seen, strict=True))
    ]
    of = "measured" if title.endswith("rank") else "of all"
    cells = ["" if x is None else format_quantity(x, "size") for x in seen]
    yield Column(title="measured", unit="" if of == "measured" else of, cells=cells)
    if any(errors):
        yield Column(title="error", unit="[%]", cells=errors)


def line_of(told: "MemoryForecast") -> str:
    """Memory of a rank and of all at some counts, in a line: of the only series."""
    texts = []
    for row in list(told.rows())[:MOST_IN_A_LINE]:
        parts = [
            f"{format_quantity(row[key], 'size')} {of}"
            for key, of in (("memory_B", "a rank"), ("memory_total_B", "in all"))
            if row[key] is not None
        ]
        texts.append(f"p = {row['p']}: {', '.join(parts)}")
    doubt = told.verdict[0].partition(":")[0] if told.verdict else ""
    return "; ".join(texts) + (f" ({doubt}: {WHY} says why)" if doubt else "")
