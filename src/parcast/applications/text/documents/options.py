"""Options of the commands that read documents: which part of which files, and how."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from parcast.cli.answering import OneOf
from parcast.cli.options import gathered, option, repeated_option

if TYPE_CHECKING:
    from parcast.applications.text.documents.document import DocumentReading


def _reading(*, fields: Sequence[str], **given: Any) -> "DocumentReading":
    """Take how files are read."""
    from parcast.applications.text.documents.document import DocumentReading

    return DocumentReading(fields=tuple(fields) or None, **given)


document_options: Final = gathered(  # of a command that takes them as `reading`
    "reading",
    _reading,
    ("fields", "document", "identifier", "format", "encoding"),
    repeated_option("--field fields", "NAME", "Element or key to read. By default all text."),
    option("--document", "NAME", "Element that separates documents in a file."),
    option("--identifier", "NAME", "Attribute, element or key that names one."),
    option(
        "--format",
        OneOf(["text", "html", "xml", "sgml", "jsonl"]),
        "Format of the files. By default found out.",
    ),
    option("--encoding", "NAME", "Encoding of the files. By default found out."),
)
