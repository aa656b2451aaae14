"""Which columns of a table are times, rates or speedups, of one run, repetitions or machines."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from parcast.advice import Choice
from parcast.errors import Argument, ParameterError, Text
from parcast.files.numbers import finite
from parcast.timings.columns import MEMORY, part_unit
from parcast.timings.measure import Measure
from parcast.timings.tables.cells import read_shown
from parcast.timings.tables.header import ColumnMeaning, Header, called, ignored, listed
from parcast.timings.tables.titles import (
    CERTAIN_REPEATS,
    TIME_SPELLINGS,
    Title,
    rate_in_seconds,
    time_unit_of,
    title_of,
)
from parcast.units import TIME_UNITS, shown

_RANKS: Final = {"rank", "ranks", "process", "processes", "proc", "procs"}
_PARTS: Final = TIME_SPELLINGS.keys() - {"d", "day", "days"}
STATISTICS_OF_TIME: Final = ("", "median", "mean", "min", "max")  # the first there is counts


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
        header.columns[rates[0]] = ColumnMeaning("time", names[0])
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
        header.take(i, ColumnMeaning("time", header.titles[i], quantity="speedup"))
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
    header.take(i, ColumnMeaning("time", name, quantity="rate"))
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


def find_measured(header: Header) -> None:
    """Find the column of times, of rates or of speedups."""
    options = header.options
    if options.rate is not None:
        take_rate(header, header.titles.index(options.rate))
    elif options.wide is not None:
        _take_wide(header)
    elif not header.times and not options.repeats:
        _find_time(header)
        if not header.times:
            find_rate_or_speedup(header)
        if not header.times:
            _note_missing_time(header)
    if options.work is not None:
        take_work(header)
    times = header.times
    _take_rates(header)
    if len(times) == 1 and times[0].unit:
        _require_unit_beside(header, times[0])
    _say_unit_of_repeats(header)
    if len(times) > 1 and not (header.wide or options.repeats or header.are_repeats):
        for column in times[1:]:
            header.faults.add(
                f"must be the only time, got {times[0].title} as well.",
                line=header.line,
                field=shown(column.title),
                hint=("Leave one out: ", ignored(column.title), "."),
            )


def _take_rates(header: Header) -> None:
    """Take several columns for rates, where their titles are those of one rate."""
    rates = {title_of(column.title).rate for column in header.times if column.quantity == "time"}
    if len(header.times) < 2 or not any(rates):
        return
    if len(rates) > 1:
        header.faults.add(
            f"must be of one rate, or all times, got {listed([x.title for x in header.times])}.",
            line=header.line,
            field="time_s",
        )
        return
    for i, column in enumerate(header.columns):
        if column and column.name == "time":
            header.take(i, replace(column, quantity="rate"))
    set_rate(header, header.times[0].title, rates.pop())


def _say_unit_of_repeats(header: Header) -> None:
    """Say which unit is assumed of repetitions that the user names."""
    places = [i for i, x in enumerate(header.columns) if x and x.name == "time" and not x.unit]
    is_of_time = header.options.repeats and header.measure.is_time
    if is_of_time and places and not any(_has_times(header, i) for i in places):
        header.said.append(f"{header.titles[places[0]]} names no unit: seconds are assumed")


def _find_time(header: Header) -> None:
    """Find the column of times by its title, or by units in its cells."""
    if _find_repeats(header):
        return
    likely = {
        i: title
        for i, title in header.open.items()
        if title.is_time and title.statistic not in {"deviation", "error", "other"}
    }
    by_cells = {i: x for i, x in header.open.items() if _has_times(header, i) and not x.is_p}
    if not likely:
        likely = {i: x for i, x in by_cells.items() if x.statistic not in {"deviation", "error"}}
    if not likely:
        likely = {
            i: title
            for i, title in header.open.items()
            if title.may_be_time
            and not (title.is_cost or title.is_of_processors)
            and title.statistic not in {"deviation", "error", "other"}
        }
    if not likely:
        likely = _bare_statistics(header)
    bases = {title.base for title in likely.values()}
    if len(bases) > 1:
        _refuse_several_times(header, [*likely])
        return
    if _are_parts(header, likely):
        return
    of_ranks = any(_RANKS & set(title.words) for title in likely.values())
    for statistic in ("max", *STATISTICS_OF_TIME) if of_ranks else STATISTICS_OF_TIME:
        those = [i for i, title in likely.items() if title.statistic == statistic]
        if len(those) == 1:
            _take_time(header, those[0], header.open[those[0]])
            return
        if those:
            _refuse_several_times(header, those)
            return


def _bare_statistics(header: Header) -> dict[int, Title]:
    """Find `min`, `avg` and `max`, which stand for those of the time where no title names it."""
    likely = {
        i: title
        for i, title in header.open.items()
        if title.statistic and not (title.words or title.rate) and header.is_numbers(i)
    }
    return likely if len(likely) > 1 else {}


def _are_parts(header: Header, likely: Mapping[int, Title]) -> bool:
    """Refuse hours, minutes and seconds in columns of their own, which are parts of one time."""
    statistics = {x.statistic for x in header.open.values()}
    parts = [i for i, title in header.open.items() if title.text.strip(" []().").lower() in _PARTS]
    if len(parts) < 2 or not {*parts} & {*likely} or statistics & {"max", "mean", "median"}:
        return False
    header.faults.add(
        f"must be one column, got {listed([header.titles[i] for i in parts])}, which are parts of "
        "one time. Add them up in one column, or write times as 1:02:30.",
        line=header.line,
        field="time_s",
    )
    header.columns[parts[-1]] = ColumnMeaning("time", header.titles[parts[-1]])
    for i in parts:
        header.open.pop(i, None)
    return True


def _has_times(header: Header, i: int) -> bool:
    """Whether the cells of a column have units of time."""
    cells = header.cells(i)
    units = [read_shown(cell).unit for cell in cells]
    return bool(cells) and 2 * sum(unit in {*TIME_UNITS, "clock"} for unit in units) > len(cells)


def _take_time(header: Header, i: int, title: Title) -> None:
    """Take a column for the times, and say in which unit."""
    clock = title.unit if title.unit not in TIME_UNITS else ""
    unit = "" if clock else title.unit
    beside = _unit_beside(header) if not title.unit else ""
    unknown = "" if _has_times(header, i) or beside else title.unknown_unit
    if unknown:
        header.faults.add(
            f"must be in a unit of time such as s, ms or h, got {shown(unknown)}. "
            "Convert the times.",
            line=header.line,
            field=shown(header.titles[i]),
            hint=("If they are in seconds: ", called("time_s", header.titles[i]), "."),
        )
    unit = unit or beside
    header.take(i, ColumnMeaning("time", header.titles[i], unit, clock=clock))
    which = "" if title.statistic in {"", "median", "mean"} else f", the {title.statistic}imum"
    if unit:
        in_unit = f", in {unit}"
    elif clock or _has_times(header, i):
        in_unit = ", with units in its cells" if not clock else f" as {clock}"
    else:
        in_unit = ", which names no unit: seconds are assumed"
    header.said.append(f"the time is {header.titles[i]}{which}{in_unit}")


def _unit_beside(header: Header) -> str:
    """Find the unit of the time in a column of its own; refuse one that changes."""
    for i, title in list(header.open.items()):
        cells = header.cells(i)
        units = {time_unit_of(cell) for cell in cells}
        if not cells or not units <= TIME_UNITS.keys():
            continue
        if len(units) > 1 or not (header.is_whole or title.text.lower() in {"unit", "units"}):
            header.faults.add(
                f"must be the same in all rows, got {listed(sorted(units))}. Convert the times to "
                "one unit.",
                line=header.line,
                field=shown(title.text),
            )
        header.leave_out(i)
        return min(units)
    return ""


def _require_unit_beside(header: Header, time: ColumnMeaning) -> None:
    """Refuse a unit in a column of its own that is not that of the title of the time."""
    unit = _unit_beside(header)
    if unit and unit != time.unit:
        header.faults.add(
            f"must be in the unit of its title, {time.unit}, got {unit} in a column of its own. "
            "Correct one of them.",
            line=header.line,
            field=shown(time.title),
        )


def _refuse_several_times(header: Header, several: Sequence[int]) -> None:
    """Note that several columns could be the time, and how to choose."""
    titles = [header.titles[i] for i in several]
    if all(part_unit(title) for title in titles):
        header.faults.add(
            f"must be given, got only {listed(titles)}, which are parts of a time.",
            line=header.line,
            field="time_s",
            hint="Add a column time_s with the whole time of each run.",
        )
    else:
        _refuse_ambiguous(header, several, titles)
    header.columns[several[0]] = ColumnMeaning("time", titles[0])
    for i in several:
        header.open.pop(i)


def _refuse_ambiguous(header: Header, several: Sequence[int], titles: Sequence[str]) -> None:
    hint: Text = (
        "Choose one: ",
        called(
            "time_s"
            if not header.open[several[0]].unit
            else f"time_{header.open[several[0]].unit}",
            titles[0],
        ),
        "; if each is the time on another machine: ",
        Argument("wide", "machine"),
        ".",
    )
    header.faults.add(
        f"must be one column, got {listed(titles)}, which could all be.",
        line=header.line,
        field="time_s",
        hint=hint,
    )


def _find_repeats(header: Header) -> bool:
    """Take columns such as run1, run2 for repetitions, if no other column is a time."""
    numbered = {i: title.numbered for i, title in header.open.items() if title.numbered}
    words = {word for word, _ in numbered.values()}
    numbers = [number for _, number in numbered.values()]
    others = [
        x
        for i, x in header.open.items()
        if i not in numbered and (x.is_time or x.rate) and not x.statistic
    ]
    units = {header.open[i].unit for i in numbered}
    if len(words) != 1 or len({*numbers}) != len(numbers) or len(numbers) < 2 or others:
        return False
    if not words <= CERTAIN_REPEATS or len(units) > 1:
        return False
    for i in list(numbered):
        title = header.open[i]
        header.take(i, ColumnMeaning("time", header.titles[i], title.unit))
    names = [header.titles[i] for i in numbered]
    unit = next(iter(units))
    in_unit = f", in {unit}" if unit else ", without a unit: seconds are assumed"
    if title_of(names[0]).rate:
        in_unit = ""
    header.are_repeats = True
    header.said.append(f"repetitions in {len(names)} columns, {names[0]} to {names[-1]}{in_unit}")
    return True


def _take_wide(header: Header) -> None:
    """Take each column of times for the times of another machine, or call path."""
    wide = header.options.wide or ""
    header.wide = wide
    if header.has(wide):
        header.faults.add(
            f"must come from titles or from a column {wide}, got both.",
            line=header.line,
            field=wide,
            hint=("Leave the column out: ", ignored(wide), "."),
        )
        return
    likely = [i for i, x in header.open.items() if (x.may_be_time or x.rate) and not x.statistic]
    if not likely:
        likely = [
            i
            for i, x in header.open.items()
            if not (x.is_p or x.is_derived or x.statistic or x.text == "n")
        ]
    known = [i for i, column in enumerate(header.columns) if column and column.name == "time"]
    if len(likely) + len(known) < 2:
        _note_missing_time(header)
        return
    labels = _labels_of([header.titles[i] for i in (*known, *likely)])
    for i, label in zip((*known, *likely), labels, strict=True):
        column = header.columns[i] or ColumnMeaning("time", header.titles[i], header.open[i].unit)
        header.take(i, replace(column, label=label))
    header.said.append(f"each of {', '.join(labels)} is a {header.wide}")
    has_units = all(column.unit or title_of(column.title).rate for column in header.times)
    if not has_units:
        header.said.append("their titles name no unit: seconds are assumed")


def _labels_of(titles: Sequence[str]) -> list[str]:
    """Name columns by what their titles do not share: words and units at the end."""
    words = [title.split() for title in titles]
    while all(len(each) > 1 for each in words) and len({each[-1] for each in words}) == 1:
        words = [each[:-1] for each in words]
    return [" ".join(each) for each in words]


def _note_missing_time(header: Header) -> None:
    """Note that there is no column of times, and which could be one."""
    numbers = [
        i
        for i, title in header.open.items()
        if not (title.is_p or title.is_derived or title.statistic or title.text in {"n", *MEMORY})
        and header.is_numbers(i)
    ]
    names = [header.titles[i] for i in numbers]
    hint: Text = (
        "Name it: ",
        called("time_s", names[0] if len(names) == 1 else Choice("NAME")),
        ".",
    )
    if len(names) > 1:
        hint = (
            "Name it: ",
            called("time_s", names[0]),
            "; if they are repetitions: ",
            Argument("repeats", names),
            "; if each is the time on another machine: ",
            Argument("wide", "machine"),
            ".",
        )
    got = listed(header.titles)
    header.faults.add(f"must be a column, got {got}.", line=header.line, field="time_s", hint=hint)
