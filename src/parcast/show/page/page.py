"""The page of one or several answers: what each is worth first, then pictures, tables and origin.

The page is one file. It asks for nothing from a network, which its policy forbids too, and runs
without JavaScript, which adds search, downloads and values of points by keyboard. A picture whose
axes are logarithmic is drawn on linear ones too; a style shows one of both.
"""

import os
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parcast.errors import ParameterError, one_line
from parcast.show.documents import title_of
from parcast.show.html import answer_of, worth_of
from parcast.show.pictures.canvas import files_in, linear_svg_of, svg_of
from parcast.show.pictures.elements import PAGE, Paint
from parcast.show.sheet import Sheet
from parcast.show.warning import gathered
from parcast.version import __version__

if TYPE_CHECKING:
    from parcast.show.result import Result

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
LONG: Final = 24  # rows of a table from which it has a height of its own
LONGEST: Final = 300  # characters of what a picture says in words
SOURCES: Final = "sources"  # of a document; those of several answers stand once, at the end
ABOUT: Final = {"law": "Method", SOURCES: "Sources"}  # of a document, and what it is called
GENERATOR: Final = '<meta name="generator" content="parcast">'  # of every page
HEAD: Final = 1000  # characters of a page that have it


class PagePicture(NamedTuple):
    """A picture as SVG."""

    svg: str
    linear: str = ""  # the same on linear axes; "" where it has no logarithmic ones


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """One answer of a page."""

    sheets: Sequence[Sheet]  # the first names it
    pictures: Sequence[PagePicture] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)  # its document, or a part of that

    @property
    def title(self) -> str:
        """What it is called: by its sheet, or by its kind and the file it is made from."""
        return title_of(self.sheets, self.origin)


def answer_for(
    result: "Result",
    number: int | str = 1,
    *,
    sheets: Sequence[Sheet] | None = None,
    drawn: "Result | None" = None,
    **options: Any,
) -> Answer:
    """Take a result for an answer of a page, the `number`-th of it.

    `sheets` take the place of its own, `drawn` is the result whose picture is shown, and `options`
    are those of the picture.
    """
    sheets = [result._whole_sheet()] if sheets is None else sheets
    pictures = pictures_of(drawn or result, f"picture-{number}", in_words(sheets), **options)
    return Answer(sheets=sheets, pictures=pictures, origin=result._origin())


def in_words(sheets: Iterable[Sheet]) -> str:
    """Say what a picture shows in words: verdicts, the answer, then rows."""
    said: list[str] = []
    for sheet in sheets:
        said += [*gathered(sheet).verdicts, *_answers(sheet)]
    text = " ".join(said)
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rpartition('. ')[0]}. ..."


def _answers(sheet: Sheet) -> Iterator[str]:
    """Say the title of a sheet, with the fact below it, the rows of its first table, its parts."""
    if sheet.title:
        yield f"{sheet.title.rstrip('.')}."
        own = () if sheet.parts else sheet.facts[:1]  # else of all parts, and no answer
        yield from (f"{x.label}: {x.text.rstrip('.')}." for x in own)
    for table in sheet.tables[:1]:
        columns = table.forms[0].columns if table.forms else ()
        for row in zip(*(x.cells for x in columns), strict=True):
            cells = (
                f"{x.full_title} {cell.strip()}".strip()
                for x, cell in zip(columns, row, strict=True)
                if cell.strip()
            )
            yield f"{', '.join(cells)}."
    for part in sheet.parts:
        yield from _answers(part)


def page_of(answers: Sequence[Answer], *, title: str = "", command: str = "") -> Iterator[str]:
    """Give the page of some answers, piece by piece.

    `title` is by default that of the only answer; `command` is the line that made the page.
    """
    titles = titles_of(answers)
    headings = titles if len(answers) > 1 else [""]
    title = one_line(title or (titles[0] if len(answers) == 1 else "Report"))
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{GENERATOR}\n<title>{escape(title)} - parcast</title>\n"
        f"<style>\n{part('page.css')}</style>\n"
        f"</head>\n<body>\n<header>\n<h1>{escape(title)}</h1>\n{_contents(titles)}</header>\n"
        "<main>\n"
    )
    for i, (answer, heading) in enumerate(zip(answers, headings, strict=True), start=1):
        yield from section_of(answer, i, heading=heading)
    if len(answers) > 1:
        yield from _sources(answers)
    yield f"</main>\n<footer>\n{_made_by(command)}</footer>\n"
    yield f"<script>\n{part('page.js')}</script>\n</body>\n</html>\n"


@cache
def part(name: str) -> str:
    """Text of a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _contents(titles: Sequence[str]) -> str:
    """List the answers of a page of several."""
    if len(titles) == 1:
        return ""
    items = "".join(
        f'<li><a href="#answer-{i}">{escape(x)}</a></li>' for i, x in enumerate(titles, start=1)
    )
    return f'<nav aria-label="Answers"><ul>{items}</ul></nav>\n'


def titles_of(answers: Sequence[Answer]) -> list[str]:
    """What answers are called beside each other: equal titles with their files."""
    titles = [one_line(x.title) for x in answers]
    own = [", ".join(dict.fromkeys(files_in(x.origin.get("inputs")))) for x in answers]
    return [
        f"{title} ({one_line(files)})" if files and titles.count(title) > 1 else title
        for title, files in zip(titles, own, strict=True)
    ]


def section_of(answer: Answer, number: int | str, *, heading: str = "") -> Iterator[str]:
    """Give one answer: what it is worth, its pictures, its tables, and where it comes from.

    `heading` is what it is called among others; alone it has none.
    """
    name = escape(heading or one_line(answer.title))
    yield f'<section class="answer" id="answer-{number}" aria-label="{name}">\n'
    if heading:
        yield f"<h2>{name}</h2>\n"
    yield f'<div class="worth">{worth_of(*answer.sheets)}</div>\n'
    for i, picture in enumerate(answer.pictures, start=1):
        yield from figure_of(picture, f"{number}-{i}")
    for sheet in answer.sheets:
        is_named = one_line(sheet.title) == one_line(answer.title)
        yield _scrolling(answer_of(replace(sheet, title="") if is_named else sheet))
    yield from _origin({x: y for x, y in answer.origin.items() if not heading or x != SOURCES})
    yield "</section>\n"


def _sources(answers: Iterable[Answer]) -> Iterator[str]:
    """Give the sources of several answers, each once."""
    said = (text for x in answers for text in _texts(x.origin.get(SOURCES)))
    items = "".join(f"<li>{escape(x)}</li>" for x in dict.fromkeys(said))
    if items:
        yield '<section class="answer" id="sources" aria-label="Sources">\n'
        yield f"<h2>{ABOUT[SOURCES]}</h2>\n<ul>{items}</ul>\n</section>\n"


def _texts(said: Any) -> list[str]:
    """Take one or several texts of a document."""
    texts = [said] if isinstance(said, str) else said or []
    return [one_line(str(text)) for text in texts]


def _scrolling(html: str) -> str:
    """Let wide and long tables be moved within the page, also by keyboard."""
    before, *tables = html.split("<table>")
    pieces = [before]
    for each in tables:
        rows, _, after = each.partition("</table>")
        kind = "scroll long" if rows.count("<tr") > LONG else "scroll"
        box = f'<div class="{kind}" tabindex="0" role="group" aria-label="Table">'
        pieces.append(f"{box}<table>{rows}</table></div>{after}")
    return "".join(pieces) + "\n"


def _origin(document: Mapping[str, Any]) -> Iterator[str]:
    """Give where an answer comes from: method, sources, files with their hashes, options."""
    facts: list[tuple[str, str]] = []
    for key, name in ABOUT.items():
        facts += [(name, escape(text)) for text in _texts(document.get(key))]
    inputs = document.get("inputs")
    facts += _inputs(inputs if isinstance(inputs, Mapping) else {})
    if facts:
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{text}</dd>" for name, text in facts)
        yield f"<details><summary>Where this comes from</summary><dl>{rows}</dl></details>\n"


def _inputs(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the files and options that an answer was made from."""
    for name, value in inputs.items():
        if name == "file" and value is not None:
            mark = inputs.get("sha256")
            mark = f" <code>sha256 {escape(one_line(str(mark)))}</code>" if mark else ""
            yield "File", f"{escape(one_line(str(value)))}{mark}"
        elif name == "options" and isinstance(value, Mapping):
            given = [f"{x} = {y}" for x, y in value.items() if y not in (None, "", [], {}, False)]
            if given:
                yield "Options", escape(one_line(", ".join(given)))
        elif name == "set" and isinstance(value, Mapping):
            yield "Set", escape(one_line(", ".join(f"{x} = {y}" for x, y in value.items())))
        elif name == "command" and isinstance(value, list | tuple):
            yield "Command", escape(one_line(shlex.join(map(str, value))))
        elif isinstance(value, Mapping):
            yield from _inputs(value)
        elif isinstance(value, list | tuple):
            for each in value:
                yield from _inputs(each if isinstance(each, Mapping) else {})
        elif name in ("measurements", "parcast", "format") and value is not None:
            yield (
                {"parcast": "Version of parcast"}.get(name, name.capitalize()),
                escape(one_line(str(value))),
            )


def _made_by(command: str) -> str:
    """Say what made the page, and when: `SOURCE_DATE_EPOCH` is another time than now."""
    now = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(now) if now.isdigit() else time.time()
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
    line = f"<br><code>{escape(one_line(command))}</code>" if command else ""
    return f"<p>Made by parcast {escape(__version__)}, {date}.{line}</p>\n"


def save_page(
    path: str | os.PathLike[str], answers: Sequence[Answer], *, title: str = "", command: str = ""
) -> None:
    """Write the page of some answers to a file."""
    from parcast.files.document import write_document

    write_document(path, page_of(answers, title=title, command=command))


def is_page(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a page of parcast."""
    with Path(path).open(encoding="utf-8", errors="replace") as stream:
        return GENERATOR in stream.read(HEAD)


def save_result(result: "Result", path: str | os.PathLike[str], **options: Any) -> None:
    """Write the page of one result; `options` are those of its picture."""
    save_page(path, [answer_for(result, **options)])


def pictures_of(
    result: "Result", mark: str, words: str, *, is_linear: bool | None = None, **options: Any
) -> list[PagePicture]:
    """Draw a result, if it has a picture; ids begin with a mark, and words say what it shows.

    Axes are as the result has them or linear as told, without a switch; by default both are drawn.
    """
    if not result._picture:
        return []
    draw = partial(result._drawn, **options)
    try:
        own = Paint(prefix=mark, themed=PAGE)
        svg = svg_of(draw, own, is_linear=bool(is_linear), description=words)
        if is_linear is not None:
            return [PagePicture(svg)]
        paint = Paint(prefix=f"{mark}-linear", themed=PAGE)
        return [PagePicture(svg, linear_svg_of(draw, paint, description=words))]
    except ParameterError:  # it has too few values for one
        if any(options.values()):  # but this one was asked for
            raise
        return []


def figure_of(picture: PagePicture, mark: str) -> Iterator[str]:
    """Give a picture as a part of a page, with its switch; a mark is no other's of the page."""
    box = '<div class="scroll{}" tabindex="0" role="group" aria-label="Picture">\n{}\n</div>\n'
    yield "<figure>\n"
    if picture.linear:
        yield (
            f'<input type="checkbox" class="switch" id="linear-{mark}">'
            f'<label for="linear-{mark}">Linear axes</label>\n'
        )
    yield box.format("", picture.svg)
    if picture.linear:
        yield box.format(" linear", picture.linear)
    yield "<figcaption></figcaption>\n</figure>\n"
