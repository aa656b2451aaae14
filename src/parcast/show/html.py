"""A sheet as HTML, for a notebook or a report: warnings, tables in their widest form and facts.

It sets neither text nor background colours, so that it suits light and dark notebooks, and
everything that came from a user is escaped. Classes are for the style of a report.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final, NamedTuple

from parcast.show.sheet import Fact, Form, Sheet, Table
from parcast.show.warning import Gathered, by_rank, gathered, is_remark

RIGHT: Final = ' style="text-align:right"'  # of a row; notebooks differ without it
LEFT: Final = ' style="text-align:left"'
STYLES: Final = {"left": LEFT, "right": "", "interval": ' style="white-space:nowrap"'}


class Excerpt(NamedTuple):
    """How much of an answer is shown, and where the rest is."""

    most: int | None  # rows of a table; None: all
    where: str


NOTEBOOK: Final = Excerpt(60, "to_document()")  # a notebook is no place for ten thousand rows
PAGE: Final = Excerpt(None, "saved as .csv or .json")


def html_of(sheet: Sheet, picture: str = "") -> str:
    """HTML of a sheet for a notebook: what the answer is worth, its picture, then the answer."""
    return "".join((worth_of(sheet), picture, answer_of(sheet, NOTEBOOK)))


def worth_of(*sheets: Sheet) -> str:
    """HTML of what the sheets of an answer are worth: their verdicts, and then their warnings."""
    found = [gathered(sheet) for sheet in sheets]
    return "".join([*_verdicts(found), *_warnings(found)])


def answer_of(sheet: Sheet, room: Excerpt = PAGE) -> str:
    """HTML of an answer, without what `worth_of` gives."""
    pieces = (_pieces(sheet, room), _conclusions(sheet), _details(sheet))
    return "".join(piece for some in pieces for piece in some)


def _verdicts(found: Sequence[Gathered]) -> Iterator[str]:
    """Give what stands before the answer."""
    for text in (x for each in found for x in each.verdicts):
        yield f'<p class="verdict"><b>{escape(text)}</b></p>'


def _pieces(sheet: Sheet, room: Excerpt, *, is_whole: bool = True) -> Iterator[str]:
    """Give a sheet piece by piece, without warnings and details."""
    title = f"<b>{escape(sheet.title)}</b>" if sheet.title else ""
    if sheet.tables and title:
        yield f"<p>{title}</p>"
        title = ""
    for table in sheet.tables:
        yield from _table(table, room)
    yield from _left_out(sheet.left_out, room)
    facts = _facts(fact for fact in sheet.facts if not fact.is_detail)
    is_told = is_whole or facts
    yield _lines([*([title] if title and is_told else []), *facts])
    for part in sheet.parts:
        yield from _pieces(part, room, is_whole=False)


def _details(sheet: Sheet) -> Iterator[str]:
    """Give the facts that are details, folded."""
    blocks = [
        _lines([*([f"<b>{escape(part.title)}</b>"] if part.title else []), *facts])
        for part in (sheet, *sheet.parts)
        if (facts := _facts(fact for fact in part.facts if fact.is_detail))
    ]
    if blocks:
        yield f"<details><summary>Details</summary>{''.join(blocks)}</details>"


def _warnings(found: Sequence[Gathered]) -> Iterator[str]:
    """Give the most important warnings of each sheet and its parts; the others are folded."""
    shown, folded = (
        by_rank(
            x
            for each in found
            for x in each.every
            if is_remark(x) and (x in each.shown) == is_shown
        )
        for is_shown in (True, False)
    )
    if shown:
        yield f"<p><b>Warning{'s' if len(shown) > 1 else ''}</b></p>{_listed(shown)}"
    if folded:
        more = "more " if shown else "minor "
        title = f"{len(folded)} {more}warning{'s' if len(folded) > 1 else ''}"
        yield f"<details><summary>{title}</summary>{_listed(folded)}</details>"


def _listed(texts: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>"


def _conclusions(sheet: Sheet) -> Iterator[str]:
    """Give the facts that come below the warnings."""
    yield _lines(_facts(sheet.conclusion))
    for part in sheet.parts:
        yield from _conclusions(part)


def _facts(facts: Iterable[Fact]) -> list[str]:
    return [
        f"<b>{escape(x.label)}:</b> {escape(x.text)}" if x.label else escape(x.text) for x in facts
    ]


def _lines(lines: Sequence[str]) -> str:
    """Put lines below each other; "" where there are none."""
    return f"<p>{'<br>'.join(lines)}</p>" if lines else ""


def _table(table: Table, room: Excerpt) -> Iterator[str]:
    if table.title:
        yield f"<p><b>{escape(table.title)}</b></p>"
    form = table.forms[0] if table.forms else Form(columns=())
    yield _lines([escape(form.caption)] if form.caption else [])
    if form.columns:
        yield from _form(form, room)
    elif table.in_full:
        yield _lines([escape(line) for entry in table.in_full for line in entry.lines])
    yield from _left_out(form.left_out, room)
    yield _lines(_facts(table.notes))
    legend = form.legend or table.legend
    yield _lines([escape(legend)] if legend else [])


def _form(form: Form, room: Excerpt) -> Iterator[str]:
    """Give the rows of a form, as many as there is room for: numbers to the right."""
    wide = len(form.columns)
    styles = [STYLES[x.align] for x in form.columns]
    titles_of_columns = [x.full_title.strip() for x in form.columns]
    rows = [*zip(*(x.cells for x in form.columns), strict=True)]
    head = _cells("th", titles_of_columns, styles, ' scope="col"')
    titles = form.titles or [""] * len(rows)
    body = ""
    for title, group in groupby(
        zip(titles, rows[: room.most], strict=False), key=lambda pair: pair[0]
    ):
        if title:
            body += f'<tr><th colspan="{wide}"{LEFT}>{escape(title)}</th></tr>'
        for _, cells in group:
            body += f"<tr{RIGHT}>{_cells('td', cells, styles)}</tr>"
    yield f"<table><thead><tr{RIGHT}>{head}</tr></thead><tbody>{body}</tbody></table>"
    if room.most is not None and len(rows) > room.most:
        yield f"<p>and {len(rows) - room.most} more rows; all of them: {room.where}</p>"


def _cells(tag: str, texts: Sequence[str], styles: Sequence[str], scope: str = "") -> str:
    return "".join(
        f"<{tag}{scope}{style}>{escape(text.strip())}</{tag}>"
        for text, style in zip(texts, styles, strict=True)
    )


def _left_out(text: str, room: Excerpt) -> Iterator[str]:
    if text:
        yield f"<p>{escape(text)}: {room.where}.</p>"
