"""`parcast run features`: noun phrases of documents, on ranks that are started for it."""

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from parcast.applications.text.documents.options import document_options
from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import ANSWERED
from parcast.cli.options import flag, json_option, option, output_option
from parcast.cli.outputs import (
    Outputs,
    do_each,
    format_of,
    print_pieces,
    tell_written,
    write_sheets,
)
from parcast.cli.screen import show_sheet
from parcast.pipeline.options import Running, run_options, status_of
from parcast.show.result import DOCUMENTS

if TYPE_CHECKING:
    from parcast.applications.text.documents.document import DocumentReading

FORMATS = ("parquet", "json", "jsonl", "csv")
HELP = """Find the noun phrases of documents and where each of them occurs.

DOCS are files, folders or patterns: text, HTML, XML, SGML and JSON Lines, also as .gz and .zst. -o
writes the lexicon: every phrase with its frequency, and the document, field and place of each
occurrence. Without -o the most frequent phrases are shown.

A grammar is a regular expression over one letter a word: J adjective, N noun, E name, M number,
V verb, R adverb, D determiner, O pronoun, P preposition, C conjunction, T particle, U punctuation,
X other.

\b
Exit status: 0    the documents were read, or skipped with --skip-errors
             2    wrong use, or an output that cannot be written
             3    a document cannot be read
             4    no MPI, a full disk, a rank failed, or not enough time
             130  interrupted; the result is of the documents read until then

\b
Examples:
  parcast run features docs -np 4 -o features.parquet
  parcast run features 'news/*.sgm' --document REUTERS --field TITLE --field BODY -o f.csv
"""


@cli_command(name="features", help=HELP, short_help="Find noun phrases of documents.")
@click.argument("docs", nargs=-1, required=True, type=A_FILE, metavar="DOCS...")
@run_options
@option(
    "--shards",
    Whole(1, 10_000),
    "Parts of the lexicon, each reduced and written by a rank of its own.",
    default=1,
)
@document_options
@option("--tagger", "NAME", "textblob or module:function.", default="textblob")
@option("--grammar", "TEXT", "Which words form a phrase.", default="(J|M|N)*N")
@flag("--keep-case", "Tell phrases apart by capital letters.")
@flag("--frequencies", "Count phrases without their places.")
@option(
    "--rows",
    OneOf(["phrase", "occurrence"]),
    "What a row of the output is.",
    default="phrase",
)
@option("--least", Whole(1), "Leave out phrases that occur less often.", default=1)
@json_option
@output_option(
    "Write PATH: .parquet, .json, .jsonl or .csv, or what is printed to .html, .md or .tex."
)
def command(
    ctx: click.Context,
    /,
    *,
    docs: tuple[str, ...],
    reading: "DocumentReading",
    running: Running,
    outputs: tuple[str, ...],
    as_json: bool,
    shards: int,
    rows: Any,
    least: int,
    **how: Any,
) -> int:
    """Find the phrases and return the exit status."""
    from parcast.applications.text.features.extract import extract_features
    from parcast.applications.text.features.task import Features

    Outputs(outputs, formats=(*FORMATS, *DOCUMENTS)).check(docs)
    pages = [path for path in outputs if format_of(path) in DOCUMENTS]
    if running.is_written(ctx, "features"):
        return ANSWERED

    def run(arguments: dict[str, Any]) -> Any:
        settings = Features(
            tagger=how["tagger"],
            grammar=how["grammar"],
            fold=not how["keep_case"],
            occurrences=not how["frequencies"],
            reading=reading,
        )
        return extract_features(
            docs,
            settings=settings,
            outputs=[path for path in outputs if path not in pages],
            rows=rows,
            least=least,
            shards=shards,
            **arguments,
        )

    result = running.ended(run, "features")
    if not result.run.is_root:
        return ANSWERED

    def show() -> None:
        if as_json:
            print_pieces(result.json_pieces(rows))
        else:
            show_sheet(result.to_sheet())

    origin = {"schema": "parcast/features/1"}

    def write(page: str) -> None:
        write_sheets(page, [result.to_sheet()], origin)
        tell_written(page)

    do_each([show, *(partial(write, page) for page in pages)])
    return status_of(result.run)
