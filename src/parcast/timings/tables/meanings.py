"""What the columns of a table are whose titles are not those of parcast.

A title decides where it fits one column only: `ranks` for the processors, `Wall time (min)` for
the time, `SYPD` for a rate. Where several could be meant the table is refused with the options
that choose; nothing is taken by its numbers alone, but for the ranks of one run, which count from
0.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from parcast.errors import Argument
from parcast.timings.columns import BESIDE, REPETITIONS, is_name_of_time
from parcast.timings.disturbed import USED
from parcast.timings.tables.cells import FAILED, read_cell, read_shown
from parcast.timings.tables.header import ColumnMeaning, Header, called, ignored, listed
from parcast.timings.tables.measured import find_measured
from parcast.timings.tables.titles import Title, title_of
from parcast.units import shown
from parcast.words import whole

_CODES: Final = {
    *(("exit", "code"), ("exitcode",), ("exit",), ("exit", "status"), ("rc",), ("return", "code")),
    *(("returncode",), ("retval",)),
}
_STATES: Final = {
    (word,) for word in ("status", "state", "success", "succeeded", "ok", "passed", "result")
}
_ENDED: Final = {
    *("ok", "completed", "complete", "success", "successful", "succeeded", "done", "finished"),
    *("true", "yes", "pass", "passed", "t", "y", USED),
}
_NOT_ENDED: Final = FAILED | {
    "false",
    "no",
    "f",
    "n",
    "failure",
    "node_fail",
    "running",
    "pending",
}
_CUT_OFF: Final = {
    *("timeout", "time out", "timed out", "t/o", "oot", "out of time", "time limit"),
    *("wall time exceeded", "stopped", "cut off", "time_limit"),
}
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


def take_status(header: Header, i: int, title: Title) -> bool:
    """Take a column that says how runs ended, if all its cells say it."""
    cells = header.cells(i)
    if title.words in _CODES:
        is_status = all(cell.lstrip("-").replace(":", "", 1).isdigit() for cell in cells)
    elif title.words in _STATES:
        is_status = {cell.lower() for cell in cells} <= _ENDED | _NOT_ENDED | _CUT_OFF
    else:
        return False
    if not cells or not is_status or header.has("status"):
        return False
    header.take(i, ColumnMeaning("status", header.titles[i]))
    return True


def have_ended(cells: Sequence[str]) -> list[bool]:
    """Tell which runs ended well."""
    return [cell.strip().lower() in _ENDED or cell.strip() in {"0", "0:0"} for cell in cells]


def were_cut_off(cells: Sequence[str]) -> list[bool]:
    """Tell which runs were ended at a time limit, so that their times are bounds."""
    return [cell.strip().lower() in _CUT_OFF for cell in cells]


def find_beside(header: Header) -> None:
    """Find deviations, repetitions and sizes; leave out what is computed from the times."""
    if "time_s" in header.titles:
        for i in [
            i for i in header.open if header.titles[i] in BESIDE and header.titles[i] != "status"
        ]:
            header.columns[i] = None
            header.open.pop(i)
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
        elif title.text.lower() in REPETITIONS and all(
            re.fullmatch("[0-9]+", cell) for cell in header.cells(i)
        ):
            header.take(i, ColumnMeaning("repetition", header.titles[i]))
            header.said.append(f"{header.titles[i]} numbers repetitions")
        elif "n" not in header.titles and (
            sizes == [i] or (not sizes and _is_problem_size(header, i, title))
        ):
            header.take(i, ColumnMeaning("n", header.titles[i]))
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
        if times[0].title == "time_s"  # beside which others are parameters
        else title.names_time or title.is_of_processors
    )
    return is_time or (header.has("rank") and _varies_by_rank(header, i))


def _is_no_parameter(title: Title) -> bool:
    """Whether a column is a remark, the number of a row or job, or a bound of the time."""
    if set(title.words) & _REMARKS or title.words in _NUMBERS_OF_ROWS:
        return True
    return len(title.words) == 1 and title.words[0] in {"lower", "upper", "lo", "hi"}


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
    header.take(i, ColumnMeaning("deviation", header.titles[i], unit))
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


def find_p(header: Header) -> None:
    """Find the column of processors."""
    if header.has("p") or header.has("rank") or header.options.p:
        return  # other counts are parameters, under their own names
    likely = {
        i: x for i, x in header.open.items() if x.is_p and not (header.rows and header.is_text(i))
    }
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
            header.take(i, ColumnMeaning("p", header.titles[i]))
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
    parts = {title.of_each for title in header.open.values()} & {"node", "rank"}
    if len(likely) > 1 and parts & {title.kind_of_p for title in likely.values()}:
        _refuse_several_p(header, [*likely])
        return
    varying = {i: x for i, x in likely.items() if len({*header.cells(i)}) > 1} or likely
    if len(varying) == 1:
        [i] = varying
        header.take(i, ColumnMeaning("p", header.titles[i]))
        header.said.append(f"p is {header.titles[i]}")
    elif varying:
        _refuse_several_p(header, [*varying])


def _refuse_several_p(header: Header, several: Sequence[int]) -> None:
    """Note that several columns could be the processors, and how to choose."""
    titles = [header.titles[i] for i in several]
    kinds = {header.open[i].kind_of_p: title for i, title in zip(several, titles, strict=True)}
    choices = [called("p", title) for title in titles]
    of_each = [title.text for title in header.open.values() if title.of_each == "node"]
    if {"rank", "thread"} <= kinds.keys():
        choices.append(called("p", f"{kinds['rank']}*{kinds['thread']}"))
    if "node" in kinds and of_each:
        choices.append(called("p", "*".join([kinds["node"], *of_each])))
        if "thread" in kinds:
            choices.append(called("p", "*".join([kinds["node"], *of_each, kinds["thread"]])))
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
    header.is_p_refused = True


def _counts_ranks(header: Header, i: int) -> bool:
    """Whether a column numbers ranks from 0, again and again for each run."""
    cells = header.cells(i)
    numbers = [int(cell) if re.fullmatch("[0-9]{1,9}", cell) else -1 for cell in cells]
    if numbers[:2] != [0, 1]:
        return False
    return all(after in (before + 1, 0) for before, after in pairwise(numbers))


def _counts_from_1(header: Header, i: int) -> bool:
    """Whether a column counts 1, 2, 3 and on."""
    cells = header.cells(i)
    return len(cells) > 2 and cells == [str(k + 1) for k in range(len(cells))]


def _take_ranks(header: Header, i: int) -> None:
    """Take a row for one rank of a run."""
    header.take(i, ColumnMeaning("rank", header.titles[i]))
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


def understand(header: Header) -> None:
    """Decide what the open columns of a header are, or note why that cannot be decided."""
    find_p(header)
    find_measured(header)
    if not header.is_verbatim:
        find_beside(header)
    _say_products(header)


def _say_products(header: Header) -> None:
    """Say that cells such as (1, 4) or 4x2 are read as their product."""
    for i, column in enumerate(header.columns):
        if column and not column.is_text and column.name != "time":
            cells = [x for x in header.cells(i) if read_shown(x).factors]
            if cells:
                product = read_shown(cells[-1]).value
                header.said.append(f"{column.title} {cells[-1]} is read as {whole(product)}")
