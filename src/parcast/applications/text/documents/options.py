"""Options of the commands that read documents: which part of which files, and how."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.answering import OneOf
from parcast.cli.options import repeated_option

if TYPE_CHECKING:
    from parcast.applications.text.documents.document import DocumentReading


def document_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that `reading_of` reads."""
    for option in (
        click.option(
            "--encoding", metavar="NAME", help="Encoding of the files. By default found out."
        ),
        click.option(
            "--format",
            "kind",
            type=OneOf(["text", "html", "xml", "sgml", "jsonl"]),
            metavar="NAME",
            help="Format of the files. By default found out.",
        ),
        click.option(
            "--identifier", metavar="NAME", help="Attribute, element or key that names one."
        ),
        click.option(
            "--document", metavar="NAME", help="Element that separates documents in a file."
        ),
        repeated_option(
            "--field", "NAME", "Element or key to read. By default all text.", None, "fields"
        ),
    ):
        command = option(command)
    return command


def reading_of(given: Mapping[str, Any]) -> "DocumentReading":
    """Make of the values of these options how files are read."""
    from parcast.applications.text.documents.document import DocumentReading

    return DocumentReading(
        fields=tuple(given["fields"]) or None,
        document=given["document"],
        identifier=given["identifier"],
        format=given["kind"],
        encoding=given["encoding"],
    )
