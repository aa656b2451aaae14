"""Which columns of a table are the processors: one, a product of two, or the ranks of one run."""

import re
from collections.abc import Sequence
from itertools import pairwise

from parcast.errors import Argument
from parcast.timings.tables.header import Column, Header, called, listed


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
    parts = {title.of_each for title in header.open.values()} & {"node", "rank"}
    if len(likely) > 1 and parts & {title.kind_of_p for title in likely.values()}:
        _refuse_several_p(header, [*likely])
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
