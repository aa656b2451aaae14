"""What stands in a table beside processors and times: deviations, sizes, what says nothing new."""

import re
from typing import Final

from parcast.errors import Argument
from parcast.timings.columns import REPETITIONS, is_name_of_time
from parcast.timings.tables.cells import read_cell, read_shown
from parcast.timings.tables.header import Column, Header, ignored
from parcast.timings.tables.status import take_status
from parcast.timings.tables.titles import Title, title_of
from parcast.units import shown

SAME_WORK: Final = 1.1  # ratio of rate times time between runs, above which they disagree [D]
PROBLEM_SIZES: Final = {("problem", "size"), ("problemsize",)}
_COUNTED = "cells dofs dof elements unknowns atoms particles gridpoints vertices"
_SIZES = {*((x,) for x in _COUNTED.split()), ("grid", "points"), ("degrees", "of", "freedom")}
_SIZE_WORDS: Final = {"size", "problem", "grid", "mesh", "case", "input", "dataset", "resolution"}
_REMARKS: Final = {"comment", "comments", "note", "notes", "remark", "remarks"}
_NUMBERS_OF_ROWS: Final = {
    *(("id",), ("index",), ("idx",), ("row",), ("job",), ("jobid",), ("job", "id"), ("run", "id")),
    *(("unnamed", "0"), ("date",), ("datetime",), ("timestamp",), ("host",), ("hostname",)),
}


def find_beside(header: Header) -> None:
    """Find deviations, repetitions and sizes; leave out what is computed from the times."""
    is_of_many = any(title_of(column.title).statistic for column in header.times)
    is_foreign = not any(column.title == "time_s" for column in header.times)
    sizes = [
        i
        for i, title in header.open.items()
        if is_foreign and title.words in _SIZES and header.is_numbers(i)
    ]
    for i, title in list(header.open.items()):
        if title.statistic or (title.counts_repetitions and (is_of_many or is_foreign)):
            _take_statistic(header, i, title)
        elif take_status(header, i, title):
            continue
        elif (is_foreign and _is_no_parameter(title)) or _says_nothing_new(header, i, title):
            header.leave_out(i)
        elif _is_repetition(title) and all(
            re.fullmatch("[0-9]+", cell) for cell in header.cells(i)
        ):
            header.take(i, Column("repetition", header.titles[i]))
            header.said.append(f"{header.titles[i]} numbers repetitions")
        elif "n" not in header.titles and (
            sizes == [i] or (not sizes and _is_problem_size(header, i, title))
        ):
            header.take(i, Column("n", header.titles[i]))
            header.said.append(f"n is {header.titles[i]}")
        elif header.is_whole and header.is_text(i):
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
    if title.each:
        return True
    if title.rate:
        return _repeats_the_time(header, i, title)
    is_time = (
        is_name_of_time(title.text)
        if times[0].title == "time_s"  # beside which others may be parts for a fit: disk_s
        else title.names_time or title.is_of_processors
    )
    return is_time or (header.has("rank") and _varies_by_rank(header, i))


def _is_no_parameter(title: Title) -> bool:
    """Whether a column is a remark, the number of a row or job, or a bound of the time."""
    if set(title.words) & _REMARKS or title.words in _NUMBERS_OF_ROWS:
        return True
    return len(title.words) == 1 and title.words[0] in {"lower", "upper", "lo", "hi"}


def _is_repetition(title: Title) -> bool:
    """Whether a column numbers repetitions."""
    return title.text.lower() in REPETITIONS


def _is_problem_size(header: Header, i: int, title: Title) -> bool:
    """Whether a column is the problem size: by its name, or as a grid, (8192, 512)."""
    if title.words == ("size",):
        return all(read_cell(cell).factors for cell in header.cells(i))
    return title.words in PROBLEM_SIZES and header.is_numbers(i)


def _take_statistic(header: Header, i: int, title: Title) -> None:
    """Take a deviation of the time; leave other statistics out."""
    times = header.times
    of_time = title_of(times[0].title).words if times else ()
    is_deviation = title.statistic == "deviation" or (title.statistic == "error" and title.words)
    is_of_other = not {*title.words} <= {*of_time, "time", "runtime"}
    if len(times) != 1 or not is_deviation or is_of_other or header.has("deviation"):
        header.leave_out(i)
        return
    unit = "%" if "%" in title.text else title.unit or times[0].unit
    header.take(i, Column("deviation", header.titles[i], unit))
    header.said.append(f"{header.titles[i]} is its standard deviation")


def _varies_by_rank(header: Header, i: int) -> bool:
    """Whether a column tells ranks of one run apart, as the parts of their times do."""
    rank = next(j for j, column in enumerate(header.columns) if column and column.name == "rank")
    numbers = header.cells(rank)
    runs: list[set[str]] = []
    for number, cell in zip(numbers, header.cells(i), strict=True):
        if number == numbers[0]:
            runs.append(set())
        runs[-1].add(cell)
    return any(len(run) > 1 for run in runs) or header.is_numbers(i)


def _repeats_the_time(header: Header, i: int, title: Title) -> bool:
    """Whether a rate says what the time says; note it where they disagree."""
    at = next((j for j, x in enumerate(header.columns) if x and x.name == "time"), None)
    if at is None or header.measure.quantity != "time" or len(header.times) > 1:
        return title.rate != "1"
    pairs = [
        (read_shown(rate).value, read_shown(time).value)
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


def _leave_text_out(header: Header, i: int) -> None:
    """Leave text out that does not tell runs apart: the same in all rows, or another in each."""
    different = len({*header.cells(i)})
    is_size = bool(_SIZE_WORDS & set(header.open[i].words))
    is_in_each = different == len(header.rows) and not is_size
    if len(header.rows) > 1 and (different == 1 or is_in_each):
        header.leave_out(i)
