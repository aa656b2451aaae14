"""A sheet as Markdown and as LaTeX, for papers and proposals: its tables, facts and warnings."""

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Final

from parcast.files.document import write_document
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
    """Give the blocks of a sheet and its parts."""

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
    for part in sheet.parts:
        yield from _markdown(part, ())


def latex_of(sheet: Sheet, figures: Sequence[str] = ()) -> str:
    r"""Write a sheet as LaTeX that stands in any document with the package graphicx.

    >>> print(latex_of(Sheet(title="90 %", facts=(Fact("why", "a_b"),))))
    \noindent\textbf{90 \%}
    <BLANKLINE>
    \paragraph{Why} a\_b
    <BLANKLINE>
    """
    return "\n\n".join(_latex(sheet, figures)) + "\n"


def _latex(sheet: Sheet, figures: Sequence[str]) -> Iterator[str]:
    """Give the blocks of a sheet and its parts."""
    if sheet.title:
        yield f"\\noindent\\textbf{{{tex(sheet.title)}}}"
    for table in sheet.tables:
        columns = table.forms[0].columns if table.forms else ()
        if columns:
            yield "\n".join(_tabular(table, columns))
        yield from map(tex, lines_of(table))
    for path in figures:
        yield (
            "\\begin{figure}[htbp]\n"
            f"\\includegraphics[width=\\linewidth]{{{path}}}\n"
            f"\\caption{{{tex(sheet.title)}}}\n\\end{{figure}}"
        )
    yield from (f"\\paragraph{{{tex(label)}}} {tex(text)}" for label, text in paragraphs_of(sheet))
    for part in sheet.parts:
        yield from _latex(part, ())


def _tabular(table: Table, columns: Sequence[Column]) -> Iterator[str]:
    """Give the lines of a table with its caption."""
    places = "".join("l" if x.align == "left" else "r" for x in columns)
    caption = ". ".join(filter(None, [table.title, *legend_of(table)]))
    yield "\\begin{table}[htbp]"
    yield from [f"\\caption{{{tex(caption)}}}"] if caption else []
    yield f"\\begin{{tabular}}{{{places}}}\n\\hline"
    yield f"{' & '.join(tex(x.full_title) for x in columns)} \\\\\n\\hline"
    yield from (f"{' & '.join(map(tex, row))} \\\\" for row in rows_of(columns))
    yield "\\hline\n\\end{tabular}\n\\end{table}"


def save_sheets(
    path: str | PathLike[str], sheets: Iterable[Sheet], figures: Sequence[str] = ()
) -> None:
    """Write sheets as Markdown or LaTeX, by the ending of a path; the first has the figures."""
    is_latex = Path(path).suffix.lower() == ".tex"
    written = latex_of if is_latex else markdown_of
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

    >>> print(tex("--time 95 %"))
    -{}-time 95 \%
    """
    return "".join(TEX.get(x, x) for x in text).replace("--", "-{}-")


def rows_of(columns: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    """Give the rows of columns."""
    yield from zip(*(x.cells for x in columns), strict=True)


def paragraphs_of(sheet: Sheet) -> Iterator[tuple[str, str]]:
    """Give facts and warnings, each with its label; facts that go on are joined."""
    texts: dict[str, list[str]] = {}
    label = "Note"
    warnings = (Fact("warning", x) for x in sheet.warnings)
    for fact in [*sheet.facts, *warnings, *sheet.conclusion]:
        label = fact.label.rstrip(":").capitalize() or label
        texts.setdefault(label, []).append(fact.text)
    for name, said in texts.items():
        yield name, " ".join(said)
