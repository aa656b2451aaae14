"""The sheet of a decision: the answer, the alternatives as a table, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from parcast.aliases import Array
from parcast.deciding.decision import Decision, OwnDecision
from parcast.places import load
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, facts_of, interval_column
from parcast.timings.measure import TIME, Measure, seconds_in
from parcast.units import TIME_UNITS, format_quantity
from parcast.words import common_unit, counted, rounded, rounded_interval

MARK: Final = "*"
FAILS: Final = "-"
DIGITS: Final = 4
MOST_ROWS: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a subject says of its decision."""

    title: str  # what is decided
    answer: str
    tables: tuple[Table, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...] = ()
    left_out: str = ""  # "5 of 38 plans are shown"


def sheet_of(result: Decision, *, show_all: bool = False) -> Sheet:
    """The answer first, then the alternatives, and why; with `show_all` all of them."""
    said: Said = load(result._said)(result, show_all=show_all)
    return Sheet(
        title=f"{said.title}: {said.answer}",
        tables=said.tables,
        facts=said.facts,
        warnings=said.warnings,
        left_out=f"{said.left_out}. All of them" if said.left_out else "",
    )


def some_of(shown: int, every: int, what: str) -> str:
    """Say that not all are shown; "" where they are, `what` in the plural."""
    return (
        ""
        if shown >= every
        else f"{shown or 'none'} of {every} {what} {'is' if shown == 1 else 'are'} shown"
    )


def mark_column(places: Sequence[int], fits: Sequence[bool], chosen: int | None) -> list[Column]:
    """Column that marks the recommended one and those that do not fit; none without any mark."""
    marks = [
        MARK if i == chosen else "" if x else FAILS for i, x in zip(places, fits, strict=True)
    ]
    return [Column(title="", cells=marks)] if any(marks) else []


def time_columns(
    time: Array, lower: Array, upper: Array, *, measure: Measure = TIME
) -> list[Column]:
    """Times in a common unit, and their 90% intervals if they have any."""
    unit = measure.time_unit(time)
    factor, title = seconds_in(unit), measure.time_title
    every = zip(time.tolist(), lower.tolist(), upper.tolist(), strict=True)
    if not (upper > lower).any():
        cells = [rounded(x / factor, DIGITS) for x in time.tolist()]
        return [Column(title=title, unit=f"[{unit}]", cells=cells)]
    texts = [rounded_interval(*(x / factor for x in each), most=DIGITS) for each in every]
    return [
        Column(title=title, unit=f"[{unit}]", cells=[x[0] for x in texts]),
        interval_column("90% interval", f"[{unit}]", [x[1:] for x in texts]),
    ]


def time_text(time: float, lower: float, upper: float) -> str:
    """A time with its 90% interval, if it has one."""
    if upper <= lower:
        return format_quantity(time, "time")
    unit = common_unit([time])
    ends = (x / TIME_UNITS[unit] for x in (time, lower, upper))
    value, low, high = rounded_interval(*ends, most=DIGITS)
    return f"{value} {unit} (90% interval {low} to {high} {unit})"


def entry_of(columns: Sequence[Column], row: int, noun: str) -> Entry:
    """Give a row in full, for a page too narrow for the table; its first title is a count."""
    [mark] = [column.cells[row] for column in columns if not column.title] or [""]
    count, *others = [x for x in columns if x.title and x.cells[row]]
    title = f"{mark} {counted(int(count.cells[row]), noun)}".strip()
    return Entry(title=title, facts=facts_in(others, row))


def facts_in(columns: Sequence[Column], row: int) -> tuple[Fact, ...]:
    """Give what columns have in a row, for a page too narrow for the table."""
    known = [(x, f"{x.cells[row]} {x.unit.strip('[]')}") for x in columns if x.cells[row]]
    return tuple(Fact(x.title, text.strip()) for x, text in known)


def said_of(result: OwnDecision, *, show_all: bool = False) -> Said:
    """What is said of alternatives of which nothing else is known."""
    ways, chosen = result.ways, result.chosen
    order = ways.order()
    places = order if show_all else order[:MOST_ROWS]
    columns = [
        *mark_column(places.tolist(), ways.fits[places].tolist(), chosen),
        Column(title=ways.asked, cells=[f"{x:g}" for x in ways.cost[places].tolist()]),
        *(
            Column(title=name, cells=[str(values[i]) for i in places.tolist()])
            for name, values in ways.columns.items()
        ),
        *time_columns(ways.time[places], ways.lower[places], ways.upper[places]),
    ]
    legend = [] if chosen is None else [f"{MARK}: recommended"]
    legend += [] if ways.fits[places].all() else [f"{FAILS}: not within the limits"]
    answer, facts = "no plan", facts_of("no plan", ways.remedies, is_marked=True)
    if chosen is not None:
        own = (float(x[chosen]) for x in (ways.time, ways.lower, ways.upper))
        answer = f"{ways.cost[chosen]:g} {ways.asked}, {time_text(*own)}"
        facts = facts_of("why", result.reasons)
    return Said(
        title=ways.title,
        answer=answer,
        tables=(Table(forms=(Form(columns=columns),), legend="; ".join(legend)),),
        facts=tuple(facts),
        left_out=some_of(len(places), len(order), "alternatives"),
    )
