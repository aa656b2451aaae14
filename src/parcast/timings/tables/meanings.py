"""What the columns of a table are whose titles are not those of parcast.

A title decides where it fits one column only: `ranks` for the processors, `Wall time (min)` for
the time, `SYPD` for a rate. Where several could be meant the table is refused with the options
that choose; nothing is taken by its numbers alone, but for the ranks of one run, which count from
0.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from parcast.advice import Choice
from parcast.errors import Argument, Text
from parcast.timings.columns import TAKEN, WORDS_FOR_LABELS, is_name_of_time
from parcast.timings.measure import Measure
from parcast.timings.tables.cells import Cell, decimal_marks, processors_in, read_cell
from parcast.timings.tables.header import Column, Header, called, ignored, listed
from parcast.timings.tables.titles import CERTAIN_REPEATS, Title, rate_in_seconds, title_of
from parcast.units import TIME_UNITS, shown
from parcast.words import whole

SAME_WORK: Final = 1.1  # ratio of rate times time between runs, above which they disagree [D]
STATISTICS_OF_TIME: Final = ("", "median", "mean", "min", "max")  # the first there is counts
PROBLEM_SIZES: Final = {("problem", "size"), ("problemsize",)}


def understand(header: Header) -> None:
    """Decide what the open columns of a header are, or note why that cannot be decided."""
    _find_p(header)
    _find_measured(header)
    if not header.is_verbatim:
        _find_beside(header)
    _say_products(header)


def _say_products(header: Header) -> None:
    """Say that cells such as (1, 4) or 4x2 are read as their product."""
    for i, column in enumerate(header.columns):
        if column and not column.is_text and column.name != "time":
            cells = [x for x in header.cells(i) if _read(x).factors]
            if cells:
                product = _read(cells[-1]).value
                header.said.append(f"{column.title} {cells[-1]} is read as {whole(product)}")


# processors


def _find_p(header: Header) -> None:
    """Find the column of processors."""
    if header.has("p") or header.has("rank") or header.options.p:
        return  # other counts are parameters, under their own names
    likely = {i: title for i, title in header.open.items() if title.is_p}
    ranks = [
        i for i, title in header.open.items() if title.is_one_rank and _counts_ranks(header, i)
    ]
    if len(ranks) == 1 and not (likely.keys() - {*ranks}):
        _take_ranks(header, ranks[0])
        return
    factors = _factors(header)
    if factors:
        names = [header.titles[i] for i in factors]
        for i in factors:
            header.take(i, Column("p", header.titles[i]))
        header.said.append(f"p is {' x '.join(names)}")
        return
    alone = [i for i in likely if header.open[i].is_one_rank and _counts_from_1(header, i)]
    if len(likely) == 1 and alone:
        title = header.titles[alone[0]]
        _refuse_p(
            header,
            f"must be clear, got {title}, which counts 1, 2, 3: runs on so many processors, or "
            "the ranks of one run?",
            [called("p", title), called("rank", title)],
        )
        header.open.pop(alone[0])
        return
    varying = {i: x for i, x in likely.items() if len({*header.cells(i)}) > 1} or likely
    if len(varying) == 1:
        [i] = varying
        header.take(i, Column("p", header.titles[i]))
        header.said.append(f"p is {header.titles[i]}")
    elif varying:
        _refuse_several_p(header, [*varying])


def _refuse_several_p(header: Header, several: Sequence[int]) -> None:
    """Note that several columns could be the processors, and how to choose."""
    titles = [header.titles[i] for i in several]
    kinds = {header.open[i].kind_of_p: title for i, title in zip(several, titles, strict=True)}
    choices = [called("p", title) for title in titles]
    if {"rank", "thread"} <= kinds.keys():
        choices.append(called("p", f"{kinds['rank']}*{kinds['thread']}"))
    _refuse_p(header, f"must be one column, got {listed(titles)}, which could all be.", choices)
    for i in several:
        header.open.pop(i)


def _refuse_p(header: Header, fault: str, choices: Sequence[Argument]) -> None:
    """Note that it is unclear what p is, and the arguments that decide it."""
    hint: list[str | Argument] = ["Choose one: "]
    for choice in choices:
        hint += [choice, " or "]
    hint[-1] = "."
    header.faults.add(fault, line=header.line, field="p", hint=tuple(hint))
    header.columns[0] = header.columns[0] or Column("p", "p")  # so that it is not missing as well


def _counts_ranks(header: Header, i: int) -> bool:
    """Whether a column numbers ranks from 0, again and again for each run."""
    cells = header.cells(i)
    numbers = [int(cell) if re.fullmatch("[0-9]{1,9}", cell) else -1 for cell in cells]
    if len(numbers) < 2 or numbers[0] != 0:
        return False
    return all(after in (before + 1, 0) for before, after in pairwise(numbers))


def _counts_from_1(header: Header, i: int) -> bool:
    """Whether a column counts 1, 2, 3 and on."""
    cells = header.cells(i)
    return len(cells) > 2 and cells == [str(k + 1) for k in range(len(cells))]


def _take_ranks(header: Header, i: int) -> None:
    """Take a row for one rank of a run."""
    header.take(i, Column("rank", header.titles[i]))
    header.said.append(
        "each row is one rank of a run: p is their number, the time the largest of them"
    )


def _factors(header: Header) -> list[int]:
    """Find columns whose product is the processors: ranks and threads, nodes and ranks on each."""
    kinds: dict[str, list[int]] = {}
    for i, title in header.open.items():
        if title.is_p and not title.of_each:
            kinds.setdefault(title.kind_of_p, []).append(i)
    each = [(i, title.of_each) for i, title in header.open.items() if title.of_each]
    if len(each) == 1 and len(kinds.get(each[0][1], [])) == 1:
        return [*kinds[each[0][1]], each[0][0]] if len(kinds) == 1 else []
    if each or {*kinds} != {"rank", "thread"}:
        return []
    pair = [i for some in kinds.values() for i in some]
    return pair if len(pair) == 2 else []


# what was measured


def _find_measured(header: Header) -> None:
    """Find the column of times, of rates or of speedups."""
    options = header.options
    if options.rate is not None:
        _take_rate(header, header.titles.index(options.rate))
    elif options.wide is not None:
        _take_wide(header)
    elif not header.times and not options.repeats:
        _find_time(header)
        if not header.times:
            _find_rate_or_speedup(header)
        if not header.times:
            _note_missing_time(header)
    if options.work is not None:
        _take_work(header)
    times = header.times
    if len(times) > 1 and not (header.wide or options.repeats or _are_repeats(header)):
        for column in times[1:]:
            header.faults.add(
                f"must be the only time, got {times[0].title} as well.",
                line=header.line,
                field=shown(column.title),
                hint=("Leave one out: ", ignored(column.title), "."),
            )


def _are_repeats(header: Header) -> bool:
    """Whether the columns of times were taken for repetitions."""
    return any(text.startswith("repetitions in") for text in header.said)


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
    bases = {title.base for title in likely.values()}
    if len(bases) > 1:
        _refuse_several_times(header, [*likely])
        return
    for statistic in STATISTICS_OF_TIME:
        those = [i for i, title in likely.items() if title.statistic == statistic]
        if len(those) == 1:
            _take_time(header, those[0], header.open[those[0]])
            return
        if those:
            _refuse_several_times(header, those)
            return


def _has_times(header: Header, i: int) -> bool:
    """Whether the cells of a column have units of time."""
    cells = header.cells(i)
    units = [_read(cell).unit for cell in cells]
    return bool(cells) and 2 * sum(unit in {*TIME_UNITS, "clock"} for unit in units) > len(cells)


def _read(cell: str) -> Cell:
    """Read a cell with the decimal mark that it shows."""
    return processors_in(cell, "," if decimal_marks(cell) == "," else ".")


def _take_time(header: Header, i: int, title: Title) -> None:
    """Take a column for the times, and say in which unit."""
    clock = title.unit if title.unit not in TIME_UNITS else ""
    unit = "" if clock else title.unit
    header.take(i, Column("time", header.titles[i], unit, clock=clock))
    which = "" if title.statistic in {"", "median", "mean"} else f", the {title.statistic}imum"
    if unit:
        in_unit = f", in {unit}"
    elif clock or _has_times(header, i):
        in_unit = ", with units in its cells" if not clock else f" as {clock}"
    else:
        in_unit = ", which names no unit: seconds are assumed"
    header.said.append(f"the time is {header.titles[i]}{which}{in_unit}")


def _refuse_several_times(header: Header, several: Sequence[int]) -> None:
    """Note that several columns could be the time, and how to choose."""
    titles = [header.titles[i] for i in several]
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
    header.columns[several[0]] = Column("time", titles[0])
    for i in several:
        header.open.pop(i)


def _find_repeats(header: Header) -> bool:
    """Take columns such as run1, run2 for repetitions, if no other column is a time."""
    numbered = {i: title.numbered for i, title in header.open.items() if title.numbered}
    words = {word for word, _ in numbered.values()}
    numbers = [number for _, number in numbered.values()]
    others = [x for i, x in header.open.items() if i not in numbered and (x.is_time or x.rate)]
    units = {header.open[i].unit for i in numbered}
    if len(words) != 1 or len({*numbers}) != len(numbers) or len(numbers) < 2 or others:
        return False
    if not words <= CERTAIN_REPEATS or len(units) > 1:
        return False
    for i in list(numbered):
        title = header.open[i]
        header.take(i, Column("time", header.titles[i], title.unit))
    names = [header.titles[i] for i in numbered]
    unit = next(iter(units))
    in_unit = f"in {unit}" if unit else "without a unit: seconds are assumed"
    header.said.append(
        f"repetitions in {len(names)} columns, {names[0]} to {names[-1]}, {in_unit}"
    )
    return True


def _take_wide(header: Header) -> None:
    """Take each column of times for the times of another machine, or call path."""
    wide = header.options.wide or ""
    header.wide = WORDS_FOR_LABELS.get(wide, wide)
    if header.wide not in {"machine", "callpath"}:
        header.wide = "machine"
    likely = [i for i, x in header.open.items() if x.may_be_time and not x.statistic]
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
        column = header.columns[i] or Column("time", header.titles[i], header.open[i].unit)
        header.take(i, replace(column, label=label))
    header.said.append(f"each of {', '.join(labels)} is a {header.wide}")
    if not all(column.unit for column in header.times):
        header.said.append("their titles name no unit: seconds are assumed")


def _labels_of(titles: Sequence[str]) -> list[str]:
    """Name columns by what their titles do not share: words and units at the end."""
    words = [title.split() for title in titles]
    while all(len(each) > 1 for each in words) and len({each[-1] for each in words}) == 1:
        words = [each[:-1] for each in words]
    return [" ".join(each) for each in words]


# rates and speedups


def _find_rate_or_speedup(header: Header) -> None:
    """Find the one column of rates or, if there is none, of speedups."""
    rates = [
        i
        for i, title in header.open.items()
        if title.rate and title.statistic not in {"deviation", "error", "other"}
    ]
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
        _take_rate(header, rates[0])
        return
    speedups = [i for i, title in header.open.items() if title.is_speedup]
    if len(speedups) == 1:
        i = speedups[0]
        header.measure = Measure(quantity="speedup", title=header.titles[i])
        header.take(i, Column("time", header.titles[i], quantity="speedup"))
        if header.titles[i] != "speedup":
            header.said.append(f"{header.titles[i]} is a speedup: times are relative, 1/speedup")


def _take_rate(header: Header, i: int) -> None:
    """Take a column for a rate."""
    title = header.open.get(i)
    unit = title.rate if title else ""
    amount, seconds = rate_in_seconds(unit)
    header.measure = Measure(
        quantity="rate", title=header.titles[i], unit=unit, amount=amount, seconds=seconds
    )
    header.take(i, Column("time", header.titles[i], quantity="rate"))
    known = "" if unit not in {"", "1"} else ", whose unit is unknown"
    header.said.append(
        f"{header.titles[i]} is a rate{known}: the time is that of one {amount}, "
        f"{seconds:g}/{header.titles[i]} seconds"
    )
    for j, column in enumerate(header.columns):
        if column and column.name == "time" and j != i:
            header.left_out.append(column.title)
            header.columns[j] = None


def _take_work(header: Header) -> None:
    """Take the amount of work that a time is of."""
    measure, work = header.measure, header.options.work
    if measure.quantity != "rate":
        header.faults.add(
            "must be a rate where an amount of work is given, got times.",
            line=header.line,
            field="work",
            hint=("Name the column that is a rate: ", Argument("rate", Choice("NAME")), "."),
        )
        return
    read = read_cell(str(work).split()[0] if str(work).split() else "")
    unit = " ".join(str(work).split()[1:])
    if not read.value > 0 or (unit and not _is_amount(unit, measure.amount)):
        example = replace(measure, work=100.0).work_done
        header.faults.add(
            f"must be an amount of work above 0, got {shown(repr(work))}. "
            f"Write for example {example}.",
            line=header.line,
            field="work",
        )
        return
    header.measure = replace(measure, work=read.value)
    header.said.append(f"the time is that of {header.measure.work_done}")


def _is_amount(unit: str, amount: str) -> bool:
    """Whether a unit is that of an amount, in the singular or plural."""
    ours = {word.rstrip("s") for word in amount.lower().split()}
    return {word.rstrip("s") for word in unit.lower().split()} <= ours


# what stands beside


def _find_beside(header: Header) -> None:
    """Find deviations, repetitions and sizes; leave out what is computed from the times."""
    is_of_many = any(title_of(column.title).statistic for column in header.times)
    for i, title in list(header.open.items()):
        if title.statistic or (title.counts_repetitions and is_of_many):
            _take_statistic(header, i, title)
        elif _says_nothing_new(header, i, title):
            header.leave_out(i)
        elif _is_repetition(title) and all(
            re.fullmatch("[0-9]+", cell) for cell in header.cells(i)
        ):
            header.take(i, Column("repetition", header.titles[i]))
            header.said.append(f"{header.titles[i]} numbers repetitions")
        elif "n" not in header.titles and _is_problem_size(header, i, title):
            header.take(i, Column("n", header.titles[i]))
            header.said.append(f"n is {header.titles[i]}")
        elif header.is_whole and _is_text(header, i):
            _leave_text_out(header, i)


def is_only_a_name(title: Title) -> bool:
    """Whether a title beside p and time_s can only be the name of a parameter."""
    says = title.statistic or title.rate or title.counts_repetitions
    return not (says or title.is_derived or title.is_cost or title.words in PROBLEM_SIZES)


def _says_nothing_new(header: Header, i: int, title: Title) -> bool:
    """Whether a column is computed from the times, or a time or rate besides those that count."""
    if title.is_derived or title.is_cost:
        return True
    times = header.times
    if not times:
        return False
    if title.rate:
        return _repeats_the_time(header, i, title)
    is_time = (
        is_name_of_time(title.text)
        if times[0].title == "time_s"  # beside which others may be parts for a fit: disk_s
        else title.may_be_time or title.is_of_processors
    )
    return is_time or (header.has("rank") and _varies_by_rank(header, i))


def _is_repetition(title: Title) -> bool:
    """Whether a column numbers repetitions."""
    return "repetition" in TAKEN.get(title.text.lower(), ("",))[0]


def _is_problem_size(header: Header, i: int, title: Title) -> bool:
    """Whether a column is the problem size: by its name, or as a grid, (8192, 512)."""
    if title.words == ("size",):
        return all(read_cell(cell).factors for cell in header.cells(i))
    return title.words in PROBLEM_SIZES and _is_numbers(header, i)


def _take_statistic(header: Header, i: int, title: Title) -> None:
    """Take a deviation of the time; leave other statistics out."""
    times = header.times
    is_deviation = title.statistic == "deviation" or (title.statistic == "error" and title.words)
    if not times or not is_deviation or header.has("deviation"):
        header.leave_out(i)
        return
    unit = title.unit or times[0].unit
    header.take(i, Column("deviation", header.titles[i], unit))
    header.said.append(f"{header.titles[i]} is its standard deviation")


def _varies_by_rank(header: Header, i: int) -> bool:
    """Whether a column tells ranks of one run apart, as the parts of their times do."""
    rank = next(j for j, column in enumerate(header.columns) if column and column.name == "rank")
    runs: list[set[str]] = []
    for number, cell in zip(header.cells(rank), header.cells(i), strict=True):
        if number == "0":
            runs.append(set())
        runs[-1].add(cell)
    return any(len(run) > 1 for run in runs) or _is_numbers(header, i)


def _repeats_the_time(header: Header, i: int, title: Title) -> bool:
    """Whether a rate says what the time says; note it where they disagree."""
    at = next((j for j, x in enumerate(header.columns) if x and x.name == "time"), None)
    if at is None or header.measure.quantity != "time" or len(header.times) > 1:
        return title.rate != "1"
    pairs = [
        (_read(rate).value, _read(time).value)
        for rate, time in zip(header.cells(i), header.cells(at), strict=True)
    ]
    work = [rate * time for rate, time in pairs if rate > 0 and time > 0]
    if work and max(work) <= SAME_WORK * min(work):
        return True
    if title.rate == "1" or not work:
        return False
    name = header.titles[i]
    header.faults.add(
        f"contradicts {header.titles[at]}: their product, the work, is not the same in all rows.",
        line=header.line,
        field=shown(name),
        hint=("Choose one: ", Argument("rate", name), " or ", ignored(name), "."),
    )
    return True


def _is_numbers(header: Header, i: int) -> bool:
    """Whether all cells of a column are numbers."""
    return not any(math.isnan(_read(cell).value) for cell in header.cells(i))


def _is_text(header: Header, i: int) -> bool:
    """Whether no cell of a column is a number."""
    cells = header.cells(i)
    return bool(cells) and all(math.isnan(_read(cell).value) for cell in cells)


def _leave_text_out(header: Header, i: int) -> None:
    """Leave text out that does not tell runs apart: the same in all rows, or another in each."""
    different = len({*header.cells(i)})
    if different in {1, len(header.rows)} and len(header.rows) > 1:
        header.leave_out(i)


def _note_missing_time(header: Header) -> None:
    """Note that there is no column of times, and which could be one."""
    numbers = [
        i
        for i, title in header.open.items()
        if not (title.is_p or title.is_derived or title.text == "n") and _is_numbers(header, i)
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
