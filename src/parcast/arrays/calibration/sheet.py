"""Measured costs of array I/O for a person: each number, its interval, and how it was measured."""

from typing import Final

from parcast.arrays.calibration.result import UNLIMITED, Figure, MeasuredCosts
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import format_quantity
from parcast.words import counted

TITLES: Final = {
    "messages": "messages",
    "clients": "clients",
    "servers": "servers",
    "files": "files: small, many, sync, read",
    "computing": "computing, times that of a dry run",
}


def sheet_of(measured: MeasuredCosts) -> Sheet:
    """Everything that is said of the costs."""
    took = format_quantity(measured.seconds, "time", 2)
    return Sheet(
        title=f"Costs of array I/O on {measured.name}: measured in {took}",
        tables=(_table(measured),),
        facts=tuple(_facts(measured)),
        warnings=measured.warnings,
    )


def _table(measured: MeasuredCosts) -> Table:
    """One row for each number, in groups."""
    rows: list[tuple[str, str, str, str]] = []
    in_full = []
    for group, title in TITLES.items():
        own = [x for x in measured.figures if x.key.partition(".")[0] == group]
        if not own:
            continue
        texts = [(x.key.partition(".")[2], *words_of(x), x.method) for x in own]
        rows.append((title, "", "", ""))
        rows += [(f"  {name}", *others) for name, *others in texts]  # type: ignore[misc]  # of four
        lines = (
            f"{name}: {value}" + (f" ({ends})" if ends else "") for name, value, ends, _ in texts
        )
        in_full.append(Entry(title=title, lines=tuple(lines)))
    names, values, intervals, ways = zip(*rows, strict=True)
    columns = [
        Column(title="", cells=names, align="left"),
        Column(title="value", cells=values),
        Column(title="90% interval", cells=intervals, align="left"),
    ]
    way = Column(title="measured by", cells=ways, align="left")
    return Table(
        forms=(Form(columns=[*columns, way]), Form(columns=columns)),
        in_full=tuple(in_full),
        is_spaced=False,
    )


def words_of(figure: Figure) -> tuple[str, str]:
    """Texts of a value and of its interval, "" where there is none."""
    value, lower, upper = (
        "unlimited" if x >= UNLIMITED else format_quantity(x, figure.dimension, 3)
        for x in (figure.value, figure.lower, figure.upper)
    )
    return value, "" if lower == upper else f"{lower} to {upper}"


def _facts(measured: MeasuredCosts) -> list[Fact]:
    """Where it was measured."""
    ranks = f"{counted(measured.clients, 'client')} and {counted(measured.servers, 'server')}"
    where = measured.place or f"{counted(measured.cores, 'core')}"
    facts = [Fact("ranks", f"{ranks} on {where}, {measured.mpi}"), Fact("folder", measured.folder)]
    if measured.load is not None:
        facts.append(Fact("load", f"{measured.load:.2g} before"))
    return facts
