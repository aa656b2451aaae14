"""A sheet as lines of text, as wide as a page allows and emphasised as it allows.

A table takes the first of its forms that fits; where none does, each row becomes a few lines.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.show.warning import by_rank, gathered, is_remark
from parcast.units import TIME_UNITS

LABEL_WIDTH: Final = 12  # of the names that stand before what is said of them
GAP: Final = "  "
LEAST_BESIDE: Final = 20  # characters; a text that has less room beside its name stands below
LEAST_IN_FULL: Final = 36  # the same of a figure, which is better not broken
HANG: Final = 4  # characters that the lines of a broken text stand behind its title
STUCK: Final = "\x00"  # stands for a space without a break: "p = 8", "9 to 10 s"
WITHIN: Final = re.compile(  # blanks within "9 to 10 s"
    "(?<=[0-9]) (?=to [0-9]|(?:" + "|".join(TIME_UNITS) + r")\b)|(?<=[0-9] to) (?=[0-9])"
)


def unstyled(text: str, _role: str) -> str:
    """Leave a text as it is, whatever its role."""
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Where text will stand. By default it has no edge and no colours."""

    width: int | None = None  # characters in a line; None: as many as there are
    style: Callable[[str, str], str] = unstyled  # text and role ("bold", "faint", "marked")
    is_verbose: bool = False  # every warning, below the facts on its series
    rows_are_in: str = "to_document()"  # where the rows are that a page leaves out ...
    warnings_are_in: str = "to_document() has all"  # ... and the warnings

    def bold(self, text: str) -> str:
        """Make a title stand out."""
        return self.style(text, "bold")

    def faint(self, text: str) -> str:
        """Make a text stand back."""
        return self.style(text, "faint")

    def marked(self, text: str) -> str:
        """Mark a text that asks for attention; it says so in words as well."""
        return self.style(text, "marked")

    def entry(self, name: str, text: str, *, is_marked: bool = False) -> Iterator[str]:
        """Write a name and what is said of it."""
        style = self.marked if is_marked else self.faint
        return self.beside(name, text, width=LABEL_WIDTH, style=style)

    def beside(
        self,
        name: str,
        text: str,
        *,
        width: int,
        style: Callable[[str], str],
        indent: str = "",
        least: int = LEAST_BESIDE,
    ) -> Iterator[str]:
        """Break a text into lines that stand beside its name, or below where there is no room."""
        room = len(text) if self.width is None else self.width - len(indent) - width
        is_below = room < min(least, len(text))
        before = indent + (GAP if is_below else " " * width)
        first, *others = self.wrapped(text, indent=len(before))
        if not is_below:
            yield indent + style(f"{name:{width}}") + first
        else:
            yield from [indent + style(name)] if name else []
            yield before + first
        yield from (before + line for line in others)

    def wrapped(self, text: str, *, indent: int) -> list[str]:
        """Break a text into lines that leave room for an indent; long words stay whole."""
        if self.width is None:
            return [text]
        room = max(self.width - indent, 1)
        text = text.replace(" = ", f"{STUCK}={STUCK}")
        text = WITHIN.sub(STUCK, text)
        lines = textwrap.wrap(text, width=room, break_long_words=False, break_on_hyphens=False)
        return [line.replace(STUCK, " ") for line in lines] or [""]


def text_of(sheet: Sheet) -> str:
    """Write a sheet as one text without an edge, and what it leaves out."""
    lines, left_out = lay_out(sheet, Page())
    return "\n".join([*lines, left_out] if left_out else lines)


def lay_out(sheet: Sheet, page: Page) -> tuple[list[str], str]:
    """Lines of a sheet, and what is to be said of what they leave out; "" if nothing.

    Verdicts come first. The most important warnings of the sheet and all its parts come last,
    unless the page shows every one of them below the facts on its series.
    """
    blocks, missed = _blocks(sheet, page)
    blocks[:0] = [Paragraph(_verdict(text, page)) for text in gathered(sheet).verdicts]
    if not page.is_verbose:
        last = [*_gathered(sheet, page), *_facts([*_conclusions(sheet)], page)]
        if sum(block.holds_facts for block in blocks) == 1 and blocks[-1].holds_facts:
            blocks[-1].lines.extend(last)
        else:
            blocks.append(Paragraph(last))
    written = [line for block in blocks if block.lines for line in ("", *block.lines)]
    return written[1:], " ".join(missed)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that belong together, with an empty line before them."""

    lines: list[str]
    holds_facts: bool = False


def _blocks(
    sheet: Sheet, page: Page, *, is_whole: bool = True
) -> tuple[list[Paragraph], list[str]]:
    """Blocks of a sheet and its parts, and what is to be said of what they leave out.

    A part of which nothing is shown has no title either.
    """
    entries = [*_entries(sheet, page)]
    blocks: list[Paragraph] = []
    left_out = [sheet.left_out]
    if sheet.tables:
        blocks.append(Paragraph(_title(sheet.title, page)))
    elif entries or is_whole:
        entries[:0] = _title(sheet.title, page)
    for table in sheet.tables:
        more, missing = _table(table, page)
        blocks += map(Paragraph, more)
        left_out.append(missing)
    missed = [f"{text}: {page.rows_are_in}." for text in left_out if text]
    if entries:
        blocks.append(Paragraph(entries, holds_facts=True))
    for part in sheet.parts:
        lines, missing_too = _blocks(part, page, is_whole=False)
        blocks += lines
        missed += missing_too
    return blocks, missed


def listing(named: Sequence[tuple[str, str]], page: Page) -> list[str]:
    """Lines of names and what is said of each, broken beside the names."""
    width = max(len(name) for name, _ in named) + len(GAP)
    each = (page.beside(name, text, width=width, style=page.bold) for name, text in named)
    return [line for lines in each for line in lines]


def _entries(sheet: Sheet, page: Page) -> Iterator[str]:
    """Write the facts of a sheet, and its warnings where all are shown."""
    yield from _facts(sheet.facts, page)
    if page.is_verbose:
        yield from _warnings([*filter(is_remark, by_rank(sheet.warnings))], page)
        yield from _facts(sheet.conclusion, page)


def _gathered(sheet: Sheet, page: Page) -> Iterator[str]:
    """Write the most important warnings of a sheet and its parts, and how many more there are."""
    warnings = gathered(sheet)
    yield from _warnings(warnings.shown, page)
    if more := warnings.left_out:
        yield from _faint(
            f"{more} more warning{'s' if more > 1 else ''}: {page.warnings_are_in}", page
        )


def _verdict(text: str, page: Page) -> list[str]:
    """Write a verdict, its first sentence in lines of its own."""
    first, stop, others = text.partition(". ")
    lines = [*map(page.marked, page.wrapped(f"{first}{stop.rstrip()}", indent=0))]
    return [*lines, *page.wrapped(others, indent=0)] if others else lines


def _warnings(warnings: Sequence[str], page: Page) -> Iterator[str]:
    """Write warnings below each other."""
    return _facts([Fact("warning:", text, is_marked=True) for text in warnings], page)


def _conclusions(sheet: Sheet) -> Iterator[Fact]:
    """Facts that come below the warnings."""
    yield from sheet.conclusion
    for part in sheet.parts:
        yield from _conclusions(part)


def _facts(facts: Sequence[Fact], page: Page) -> Iterator[str]:
    """Write facts below each other."""
    for fact in facts:
        if fact.is_detail and not page.is_verbose:
            continue
        yield from page.entry(fact.label, fact.text, is_marked=fact.is_marked)


def _table(table: Table, page: Page) -> tuple[list[list[str]], str]:
    """Caption, rows and legend of a table, and what it leaves out."""
    form, rows = _fitting(table, page)
    blocks = [
        _faint(form.caption, page),
        [*_title(table.title, page), *rows, *_facts(table.notes, page)],
        _faint(form.legend or table.legend, page),
    ]
    return blocks, form.left_out


def _faint(text: str, page: Page) -> list[str]:
    """Write what explains a table."""
    return [*map(page.faint, page.wrapped(text, indent=0))] if text else []


def _fitting(table: Table, page: Page) -> tuple[Form, list[str]]:
    """Take the first form that the page has room for; the last, if rows in full are not known."""
    for form in table.forms:
        is_last = form is table.forms[-1] and not table.in_full
        if lines := _rows(form, replace(page, width=None) if is_last else page):
            return form, lines
    return Form(columns=()), [*_in_full(table, page)]


def _rows(form: Form, page: Page) -> list[str]:
    """Write the titles and the rows of a form; [] if the page is too narrow."""
    if form.is_split:
        return _split(form, page)
    head, rows = _side_by_side(form.columns, page)
    if not head or not form.titles:
        return [*head, *rows]
    lines = head
    for title, group in groupby(zip(form.titles, rows, strict=True), key=lambda pair: pair[0]):
        lines += ["", *_title(title, page), *(row for _, row in group)]
    return lines


def _split(form: Form, page: Page) -> list[str]:
    """Write each group of rows as a table of its own; [] if the page is too narrow for one."""
    lines: list[str] = []
    start = 0
    for title, group in groupby(form.titles):
        stop = start + len([*group])
        columns = [replace(x, cells=x.cells[start:stop]) for x in form.columns]
        head, rows = _side_by_side(columns, page)
        if not head:
            return []
        lines += ["", *_title(title, page), *head, *rows]
        start = stop
    return lines[1:]


def _title(title: str, page: Page) -> list[str]:
    """Write the title of something, if it has one."""
    return [*map(page.bold, page.wrapped(title, indent=0))] if title else []


def _side_by_side(columns: Sequence[Column], page: Page) -> tuple[list[str], list[str]]:
    """Lines of titles and of rows; none if the page is too narrow."""
    laid_out = zip(*map(_laid_out, columns), strict=True)
    lines = [GAP.join(texts).rstrip() for texts in laid_out]
    if page.width is not None and max(map(len, lines)) > page.width:
        return [], []
    title, units, *rows = lines
    return [page.bold(text) for text in (title, units) if text], rows


def _laid_out(column: Column) -> list[str]:
    """Give the titles and the cells of a column, all of one width."""
    cells: Sequence[str] = column.cells
    if column.align == "interval":
        cells = _below_each_other(cells)
    texts = [column.title, column.unit, *cells]
    width = max(map(len, texts))
    if column.align == "left":
        return [text.ljust(width) for text in texts]
    return [text.rjust(width) for text in texts]


def _below_each_other(intervals: Sequence[str]) -> list[str]:
    """Texts of intervals, their ends below each other."""
    ends = [text.partition(" to ") for text in intervals]
    low, high = (max((len(x[i]) for x in ends), default=0) for i in (0, 2))
    return [f"{x:>{low}}{to}{y:{high}}" if to else x for x, to, y in ends]


def _in_full(table: Table, page: Page) -> Iterator[str]:
    """Write each row as a few short lines."""
    labels = [len(fact.label) for entry in table.in_full for fact in entry.facts]
    width = max(labels, default=0) + len(GAP)
    for i, entry in enumerate(table.in_full):
        if i and table.is_spaced:
            yield ""
        yield from _title(entry.title, page)
        yield from _broken(entry, page)
        for fact in entry.facts:
            if fact.text:
                yield from page.beside(
                    fact.label,
                    fact.text,
                    width=width,
                    style=str,
                    indent=GAP,
                    least=LEAST_IN_FULL,
                )


def _broken(entry: Entry, page: Page) -> Iterator[str]:
    """Break the lines of an entry; below a title they are indented."""
    indent, hang = ("  ", HANG) if entry.title else ("", 0)
    for line in entry.lines:
        first, *others = page.wrapped(indent + line, indent=hang)
        yield first
        yield from (" " * hang + text for text in others)
