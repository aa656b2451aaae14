"""`parcast run search`: the documents that match queries best, on MPI ranks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import Choice
from parcast.applications.text.documents.options import document_options
from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED
from parcast.cli.options import answer_options, option, repeated_option
from parcast.cli.outputs import ANSWERS, Outputs
from parcast.errors import FileProblems, Problem
from parcast.files.decoding import to_utf8
from parcast.pipeline.options import Running, run_options

if TYPE_CHECKING:
    from parcast.applications.text.search.result import SearchResult

HELP: Final = """Rank documents by how well they match a query, with the BM25 score.

DOCS are files, folders or patterns: text, HTML, XML, SGML and JSON Lines, also as .gz and .zst.
Capital letters do not count, and words are not stemmed. A hit is a document that has a word of the
query; it is shown with the piece of its text that has most of them.

\b
Exit status: 0    a document matches a query
             1    no document matches any query
             2    wrong use, or an output that cannot be written
             3    a document cannot be read
             4    no MPI, a rank failed, or not enough time
             130  interrupted

\b
Examples:
  parcast run search papers -q "parallel overhead" -np 4
  parcast run search 'mail/*.jsonl.gz' --queries queries.txt -n 3 -o hits.csv
"""


@cli_command(name="search", help=HELP, short_help="Rank documents by how well they match a query.")
@click.argument("docs", nargs=-1, required=True, type=A_FILE, metavar="DOCS...")
@repeated_option("-q asked", "TEXT", "Words to look for; a query of its own.")
@option("--queries", A_FILE, "File with a query on every line.")
@option("-n count", Whole(1), "Hits of a query.", default=10)
@option(
    "--k1",
    click.FLOAT,
    "How soon further occurrences of a word count less.",
    default=1.2,
    metavar="NUMBER",
)
@option(
    "--b",
    click.FLOAT,
    "How much long documents are discounted, 0 to 1.",
    default=0.75,
    metavar="NUMBER",
)
@option("--snippet", Whole(20), "Characters of the piece of text of a hit.", default=160)
@document_options
@run_options
@answer_options(ANSWERS)
def command(
    ctx: click.Context,
    /,
    *,
    docs: tuple[str, ...],
    asked: tuple[str, ...],
    queries: str | None,
    outputs: Outputs,
    running: Running,
    **how: Any,
) -> int:
    """Search and return the exit status."""
    outputs.check(docs)
    wanted = [*asked, *(_lines(queries) if queries is not None else [])]
    if not wanted:
        raise click.UsageError('-q or --queries must be given. Write for example -q "load".', ctx)
    if running.is_written(ctx, "search"):
        return ANSWERED

    def search(arguments: dict[str, Any]) -> "SearchResult":
        from parcast.applications.text.search.search_documents import search_documents
        from parcast.pipeline.paths import document_paths

        if outputs.paths:  # what is read may lie in a folder
            outputs.check(document_paths(docs))
        return search_documents(docs, wanted, **how, **arguments)

    result: SearchResult = running.ended(search, "searching")
    if not result.is_root:
        return ANSWERED
    outputs.give(result)
    return ANSWERED if result.has_hits else ANSWER_IS_NO


def _lines(path: str) -> list[str]:
    """Read a file with a query on every line; empty lines are ignored."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as failure:
        why = (failure.strerror or str(failure)).lower()
        raise FileProblems(path, [Problem(message=f"cannot be read: {why}.")]) from failure
    except UnicodeDecodeError as failure:
        message = f"must be UTF-8 text. Convert it: {to_utf8(Choice('ENCODING'), path)}"
        raise FileProblems(path, [Problem(message=message)]) from failure
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        problem = Problem(message="must hold a query on a line, got none. Write words into it.")
        raise FileProblems(path, [problem])
    return lines
