"""Which column of a table is a rate or a speedup, and the work that a time is of."""

from dataclasses import replace

from parcast.advice import Choice
from parcast.errors import Argument, ParameterError
from parcast.files.numbers import finite
from parcast.timings.measure import Measure
from parcast.timings.tables.cells import read_shown
from parcast.timings.tables.header import Column, Header, called, listed
from parcast.timings.tables.titles import rate_in_seconds, title_of
from parcast.units import shown


def find_rate_or_speedup(header: Header) -> None:
    """Find the one column of rates or, if there is none, of speedups."""
    rates = [
        i
        for i, title in header.open.items()
        if title.rate and title.statistic not in {"deviation", "error", "other"}
    ]
    rates = [i for i in rates if not header.open[i].each] or rates
    if len(rates) > 1:
        names = [header.titles[i] for i in rates]
        header.faults.add(
            f"must be one column, got the rates {listed(names)}.",
            line=header.line,
            field="time_s",
            hint=("Choose one: ", Argument("rate", names[0]), "."),
        )
        header.columns[rates[0]] = Column("time", names[0])
        for i in rates:
            header.open.pop(i)
        return
    if rates:
        take_rate(header, rates[0])
        _require_rise(header, rates[0])
        return
    speedups = [i for i, title in header.open.items() if title.is_speedup]
    if len(speedups) == 1:
        i = speedups[0]
        header.measure = Measure(quantity="speedup", title=header.titles[i])
        header.take(i, Column("time", header.titles[i], quantity="speedup"))
        if header.titles[i] != "speedup":
            header.said.append(f"{header.titles[i]} is a speedup: times are relative, 1/speedup")


def _require_rise(header: Header, i: int) -> None:
    """Refuse a rate without a unit that falls with the processors: it may be a time."""
    name = header.titles[i]
    places = [j for j, column in enumerate(header.columns) if column and column.name == "p"]
    if title_of(name).rate != "1" or header.options.rate or len(places) != 1 or not header.rows:
        return
    pairs = zip(header.cells(places[0]), header.cells(i), strict=True)
    runs = [(read_shown(p).value, read_shown(value).value) for p, value in pairs]
    falls = max(runs)[1] < min(runs)[1]
    if falls or "lower" in name.lower():
        why = "it falls with the processors" if falls else "lower is said to be better"
        header.faults.add(
            f"must have a unit: {why}, so it could be a time.",
            line=header.line,
            field=shown(name),
            hint=("Choose: ", Argument("rate", name), " or ", called("time_s", name), "."),
        )


def take_rate(header: Header, i: int) -> None:
    """Take a column for a rate; leave times out."""
    name = header.titles[i]
    title = header.open.get(i) or title_of(name)
    known = header.columns[i]
    if title.each:
        header.faults.add(
            f"must be the rate of a whole run, got that of one {title.each}. Multiply it by their "
            "number in a column of its own.",
            line=header.line,
            field=shown(name),
        )
    if title.is_time or (known and known.name != "time") or name in header.options.ignore:
        what = "a time" if title.is_time else "a column that is something else"
        raise ParameterError(
            "rate",
            must="name a column that is a rate",
            got=f"{shown(repr(name))}, {what}",
            hint="Name another, or leave it out.",
        )
    for j, column in enumerate(header.columns):
        if column and column.name == "time" and j != i:
            header.left_out.append(column.title)
            header.columns[j] = None
    header.take(i, Column("time", name, quantity="rate"))
    set_rate(header, name, title.rate)


def set_rate(header: Header, name: str, unit: str) -> None:
    """Note that a rate was measured, and say what the times are then."""
    amount, seconds = rate_in_seconds(unit)
    header.measure = Measure(
        quantity="rate", title=name, unit=unit, amount=amount, seconds=seconds
    )
    known = "" if unit not in {"", "1"} else ", whose unit is unknown"
    header.said.append(
        f"{name} is a rate{known}: the time is that of one {amount}, {seconds:g} s divided by the "
        "rate"
    )


def take_work(header: Header) -> None:
    """Take the amount of work that a time is of."""
    measure, work = header.measure, header.options.work
    if measure.quantity != "rate":
        header.faults.add(
            "requires a rate, but the table has times.",
            line=header.line,
            field="work",
            hint=("Name the column that is a rate: ", Argument("rate", Choice("NAME")), "."),
        )
        return
    amount, _, unit = str(work).strip().partition(" ")
    value = finite(amount)
    if value is None or value <= 0 or (unit and not _is_amount(unit, measure.amount)):
        example = replace(measure, work=100.0).work_done
        header.faults.add(
            f"must be an amount above 0, got {shown(repr(work))}. Write for example {example}.",
            line=header.line,
            field="work",
        )
        return
    header.measure = replace(measure, work=value)
    header.said.append(f"the time is that of {header.measure.work_done}")


def _is_amount(unit: str, amount: str) -> bool:
    """Whether a unit is that of an amount, in the singular or plural."""
    ours = {word.rstrip("s") for word in amount.lower().split()}
    return {word.rstrip("s") for word in unit.lower().split()} <= ours
