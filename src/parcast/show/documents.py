"""A sheet as Markdown and as LaTeX, for papers and proposals: its tables, facts and warnings."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.show.sheet import Column, Fact, Sheet

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

    def plain(text: str) -> str:
        return text.translate(MARKDOWN)

    blocks = [f"**{plain(sheet.title)}**"]
    for table in sheet.tables:
        columns = table.forms[0].columns
        head = [plain(x.full_title) for x in columns]
        rule = [":---" if x.align == "left" else "---:" for x in columns]
        rows = [[plain(x) for x in row] for row in rows_of(columns)]
        lines = [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
        blocks += [f"### {plain(table.title)}"] * bool(table.title)
        blocks += ["\n".join(lines), *([plain(table.legend)] if table.legend else [])]
    blocks += [f"![{plain(sheet.title)}](<{path}>)" for path in figures]
    blocks += [f"**{plain(label)}:** {plain(text)}" for label, text in paragraphs_of(sheet)]
    return "\n\n".join(blocks) + "\n"


def latex_of(sheet: Sheet, figures: Sequence[str] = ()) -> str:
    r"""Write a sheet as LaTeX that stands in any document with the package graphicx.

    >>> print(latex_of(Sheet(title="90 %", facts=(Fact("why", "a_b"),))))
    \noindent\textbf{90 \%}
    <BLANKLINE>
    \paragraph{Why} a\_b
    <BLANKLINE>
    """
    blocks = [f"\\noindent\\textbf{{{tex(sheet.title)}}}"]
    for table in sheet.tables:
        columns = table.forms[0].columns
        places = "".join("l" if x.align == "left" else "r" for x in columns)
        head = " & ".join(tex(x.full_title) for x in columns)
        rows = [f"{' & '.join(map(tex, row))} \\\\" for row in rows_of(columns)]
        caption = ". ".join(filter(None, [table.title, table.legend]))
        lines = [
            "\\begin{table}[htbp]",
            f"\\caption{{{tex(caption)}}}",
            f"\\begin{{tabular}}{{{places}}}",
            "\\hline",
            f"{head} \\\\",
            "\\hline",
            *rows,
            "\\hline",
            "\\end{tabular}",
            "\\end{table}",
        ]
        blocks.append("\n".join(lines))
    blocks += [
        "\\begin{figure}[htbp]\n"
        f"\\includegraphics[width=\\linewidth]{{{path}}}\n"
        f"\\caption{{{tex(sheet.title)}}}\n\\end{{figure}}"
        for path in figures
    ]
    blocks += [f"\\paragraph{{{tex(label)}}} {tex(text)}" for label, text in paragraphs_of(sheet)]
    return "\n\n".join(blocks) + "\n"


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
    for fact in [*sheet.facts, *(Fact("warning", x) for x in sheet.warnings)]:
        label = fact.label.rstrip(":").capitalize() or label
        texts.setdefault(label, []).append(fact.text)
    for name, said in texts.items():
        yield name, " ".join(said)
