"""Where an answer goes besides the screen: files by their extension, checked before computing.

Where a part of an answer goes, of a command that was interrupted or failed on its way.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.screen import show_sheet

if TYPE_CHECKING:
    from parcast.show.result import Result


PICTURES: Final = ("svg", "png", "pdf")
FORMATS: Final = ("csv", "json", *PICTURES)


def check_outputs(
    outputs: Sequence[str],
    *,
    sources: Sequence[str],
    as_json: bool,
    formats: Sequence[str] = FORMATS,
) -> None:
    """Refuse what cannot be written, before time is spent on computing it.

    Parameters
    ----------
    outputs : sequence of str
        Paths; "-" is standard output.
    sources : sequence of str
        The files that are read, which must not be overwritten.
    as_json : bool
        Whether standard output is taken by JSON.
    formats : sequence of str, optional
        Endings that are known.

    Raises
    ------
    click.ClickException
        If one of them cannot be written, or two would share standard output.
    """
    from parcast.errors import ParameterError
    from parcast.files.document import check_place

    if outputs.count("-") + as_json > 1:
        raise click.UsageError("-o - and --json must not share standard output. Leave one out.")
    for output in outputs:
        if output == "-":
            continue
        if format_of(output) not in formats:
            endings = ", ".join(f".{ending}" for ending in formats)
            raise click.ClickException(
                f"-o must be a path that ends in {endings}, got {output!r}."
            )
        if format_of(output) in PICTURES and find_spec("matplotlib") is None:
            raise click.ClickException(
                'Figures need matplotlib. Install with: pip install "parcast[plot]"'
            )
        try:
            check_place(output)
        except ParameterError as error:
            raise click.ClickException(f"-o {error}") from error
        if any(_is_same_file(source, output) for source in sources):
            raise click.ClickException(
                f"-o must be another file than the one that is read, got {output}. "
                "Choose another name."
            )


def give(
    outputs: Sequence[str],
    *,
    as_json: bool,
    rows: Callable[[], Iterable[Mapping[str, Any]]],
    document: Callable[[], Mapping[str, Any]],
    show: Callable[[], None],
    draw: Callable[[str], None] | None = None,
) -> None:
    """Write an answer to every output, and print it once: as JSON, CSV, or for a person.

    Parameters
    ----------
    outputs : sequence of str
        Paths; "-" is standard output, as CSV.
    as_json : bool
        Whether to print the document.
    rows, document, draw : callable
        As for `write_answer`.
    show : callable
        Prints it for a person.

    Raises
    ------
    OSError
        If a file cannot be written; what was there before is still there.
    """
    from parcast.files.document import json_pieces

    for output in outputs:
        write_answer(output, rows=rows, document=document, draw=draw)
    if as_json:
        print_pieces(json_pieces(document()))
    elif "-" not in outputs:
        show()


def give_result(
    result: "Result",
    outputs: Sequence[str],
    *,
    as_json: bool,
    rows: Callable[[], Iterable[Mapping[str, Any]]] | None = None,
    draw: Callable[[str], None] | None = None,
    **options: Any,
) -> None:
    """Write a result to every output, and print it once: as JSON, CSV, or as its sheet.

    `rows` and `draw` stand in place of its own, and `options` are those of the sheet.
    """
    give(
        outputs,
        as_json=as_json,
        rows=rows or result.rows,
        document=result.to_document,
        show=lambda: show_sheet(result.to_sheet(**options)),
        draw=draw or result.save,
    )


def write_answer(
    output: str,
    *,
    rows: Callable[[], Iterable[Mapping[str, Any]]],
    document: Callable[[], Mapping[str, Any]],
    draw: Callable[[str], None] | None = None,
) -> None:
    """Write an answer in the format that the ending of a path asks for; to "-" as CSV.

    Parameters
    ----------
    output : str
        Where to.
    rows, document, draw : callable
        What gives the rows of CSV, the JSON document, and what draws the picture at a path, if
        there is one.

    Raises
    ------
    OSError
        If it cannot be written; what was there before is still there.
    """
    from parcast.files.document import csv_pieces, json_pieces, write_document

    ending = format_of(output)
    if output == "-":
        print_pieces(csv_pieces(rows()))
    elif ending == "csv":
        write_document(output, csv_pieces(rows()))
    elif ending == "json":
        write_document(output, json_pieces(document()))
    elif draw is not None:
        draw(output)


def _is_same_file(one: str, other: str) -> bool:
    """Tell whether two paths lead to one file."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def print_pieces(pieces: Iterator[str]) -> None:
    """Print a document as UTF-8, whatever the terminal is set to."""
    write_all("".join(pieces))


def write_all(text: str) -> None:
    """Write text to standard output, all of it: an unbuffered stream may take only a part.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    sys.stdout.flush()
    stream: Any = sys.stdout.buffer
    left = memoryview(text.encode("utf-8"))
    while left:
        left = left[stream.write(left) or 0 :]
    stream.flush()


def format_of(output: str) -> str:
    """Tell the format by the ending of a path."""
    return Path(output).suffix.removeprefix(".").lower()


def place_of_part(output: str) -> str:
    """Path to write a part to: it does not take the place of what is there, which may be whole.

    Parameters
    ----------
    output : str
        Where the whole was to be written.
    """
    if not os.path.exists(output):
        return output
    path = Path(output)
    beside = str(path.with_name(f"{path.stem}.interrupted{path.suffix}"))
    click.echo(f"parcast: {output} is left as it was; see {beside}.", err=True)
    return beside
