"""A sheet as Markdown and as LaTeX, for papers and proposals: its tables, facts and warnings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, Final

from parcast.files.document import write_document
from parcast.show.html import PAGE
from parcast.show.pictures.canvas import files_in
from parcast.show.sheet import Column, Fact, Sheet, Table

TEX: Final = {  # what LaTeX would read otherwise
    "\\": r"\textbackslash{}",
    **{x: f"\\{x}" for x in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
MARKDOWN: Final = str.maketrans({x: f"\\{x}" for x in "\\|*_`<[]"})


def title_of(sheets: Iterable[Sheet], document: Mapping[str, Any]) -> str:
    """Call an answer by its sheets, or by the kind of its document and the file it is made from.

    >>> title_of([Sheet()], {"schema": "parcast/forecast/1", "inputs": {"file": "runs/a.csv"}})
    'Forecast of a.csv'
    """
    own = next((x.title for x in sheets if x.title), "")
    kind = str(document.get("schema", "/answer/")).split("/")[1].replace("-", " ")
    of = [Path(x).name for x in files_in(document.get("inputs"))]
    return own or f"{kind.capitalize()}{f' of {of[0]}' if of else ''}"


def titled(sheets: Sequence[Sheet], document: Mapping[str, Any]) -> list[Sheet]:
    """Give the sheets of an answer, the first with a title."""
    return [replace(sheets[0], title=title_of(sheets, document)), *sheets[1:]]


def markdown_of(sheet: Sheet, figures: Sequence[str] = ()) -> str:
    r"""Write a sheet as Markdown, with figures by their paths.

    >>> print(markdown_of(Sheet(title="A_b", facts=(Fact("why", "so"),))))
    **A\_b**
    <BLANKLINE>
    **Why:** so
    <BLANKLINE>
    """
    return "\n\n".join(_markdown(sheet, figures)) + "\n"


def _markdown(sheet: Sheet, figures: Sequence[str]) -> Iterator[str]:
    def plain(text: str) -> str:
        return text.translate(MARKDOWN)

    if sheet.title:
        yield f"**{plain(sheet.title)}**"
    for table in sheet.tables:
        columns = table.forms[0].columns if table.forms else ()
        if table.title:
            yield f"### {plain(table.title)}"
        if columns:
            head = [plain(x.full_title) for x in columns]
            rule = [":---" if x.align == "left" else "---:" for x in columns]
            rows = [[plain(x) for x in row] for row in rows_of(columns)]
            yield "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
        yield from map(plain, lines_of(table))
        yield from map(plain, legend_of(table))
    yield from (f"![{plain(sheet.title)}](<{path}>)" for path in figures)
    for label, text in paragraphs_of(sheet):
        yield f"**{plain(label)}:** {plain(text)}"
    for part in shown_parts(sheet):
        yield from _markdown(part, ())


def latex_of(
    sheet: Sheet, figures: Sequence[str] = (), labels: Iterator[str] | None = None
) -> str:
    r"""Write a sheet as LaTeX that stands in any document with the package graphicx.

    `labels` are those of its tables and figures, without which they have none.

    >>> print(latex_of(Sheet(title="90%", facts=(Fact("why", "a_b"),))))
    \noindent\textbf{90\%}
    <BLANKLINE>
    \paragraph{Why} a\_b
    <BLANKLINE>
    """
    return "\n\n".join(_latex(sheet, figures, labels)) + "\n"


def _labels(path: str | PathLike[str]) -> Iterator[str]:
    """Label tables and figures by the file that they stand in, so that several may be included."""
    stem = re.sub("[^A-Za-z0-9]+", "-", Path(path).stem)
    yield from (f"{stem}-{i}" for i in count(1))


def _latex(sheet: Sheet, figures: Sequence[str], labels: Iterator[str] | None) -> Iterator[str]:
    def captioned(text: str, kind: str) -> str:
        label = f"\\label{{{kind}:{next(labels)}}}\n" if labels else ""
        return f"\\caption{{{tex(text)}}}\n{label}"

    if sheet.title:
        yield f"\\noindent\\textbf{{{tex(sheet.title)}}}"
    for table in sheet.tables:
        columns = table.forms[0].columns if table.forms else ()
        if columns:
            caption = ". ".join(filter(None, [table.title or sheet.title, *legend_of(table)]))
            yield f"\\begin{{table}}[htbp]\n{captioned(caption, 'tab')}{_tabular(columns)}"
        yield from map(tex, lines_of(table))
    for path in figures:
        yield (
            "\\begin{figure}[htbp]\n"
            f"\\includegraphics[width=\\linewidth]{{{path}}}\n"
            f"{captioned(sheet.title, 'fig')}\\end{{figure}}"
        )
    yield from (f"\\paragraph{{{tex(label)}}} {tex(text)}" for label, text in paragraphs_of(sheet))
    for part in shown_parts(sheet):
        yield from _latex(part, (), labels)


def _tabular(columns: Sequence[Column]) -> str:
    """Write the columns of a table, and end it."""
    places = "".join("l" if x.align == "left" else "r" for x in columns)
    titles = " & ".join(tex(x.full_title) for x in columns)
    rows = "".join(f"{' & '.join(map(tex, row))} \\\\\n" for row in rows_of(columns))
    return (
        f"\\begin{{tabular}}{{{places}}}\n\\hline\n{titles} \\\\\n\\hline\n"
        f"{rows}\\hline\n\\end{{tabular}}\n\\end{{table}}"
    )


def save_sheets(
    path: str | PathLike[str], sheets: Iterable[Sheet], figures: Sequence[str] = ()
) -> None:
    """Write sheets as Markdown or LaTeX, by the ending of a path; the first has the figures."""
    is_latex = Path(path).suffix.lower() == ".tex"
    written = partial(latex_of, labels=_labels(path)) if is_latex else markdown_of
    texts = [written(sheet, () if i else figures) for i, sheet in enumerate(sheets)]
    write_document(path, ["\n".join(texts)])


def legend_of(table: Table) -> list[str]:
    """Give what its titles and marks mean, in its widest form."""
    own = table.forms[0].legend if table.forms else ""
    return [own or table.legend] if own or table.legend else []


def lines_of(table: Table) -> list[str]:
    """Give the lines of a table without columns."""
    return [] if table.forms else [line for entry in table.in_full for line in entry.lines]


def tex(text: str) -> str:
    r"""Write a text so that LaTeX prints it, with both hyphens of an option.

    >>> print(tex("--time 95%"))
    -{}-time 95\%
    """
    return "".join(TEX.get(x, x) for x in text).replace("--", "-{}-")


def rows_of(columns: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    """Give the rows of columns."""
    yield from zip(*(x.cells for x in columns), strict=True)


def shown_parts(sheet: Sheet) -> Iterator[Sheet]:
    """Give the parts of a sheet; where some are left out, those that say something."""
    yield from (x for x in sheet.parts if x.facts or x.tables or not sheet.left_out)


def paragraphs_of(sheet: Sheet) -> Iterator[tuple[str, str]]:
    """Give facts and warnings, each with its label; facts that go on are joined."""
    texts: dict[str, list[str]] = {}
    label = "Note"
    warnings = (Fact("warning", x) for x in sheet.warnings)
    missing = f"{sheet.left_out}: {PAGE.where}." if sheet.left_out else ""
    left_out = [Fact("left out", missing)] if missing else []
    for fact in [*left_out, *sheet.facts, *warnings, *sheet.conclusion]:
        label = fact.label.rstrip(":").capitalize() or label
        texts.setdefault(label, []).append(fact.text)
    for name, said in texts.items():
        yield name, " ".join(said)
