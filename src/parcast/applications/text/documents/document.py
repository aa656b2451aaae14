"""What a file of documents gives: documents, how to read them, and what was wrong with one.

Offsets count characters of the original text: the bytes of the file (decompressed, where it is
compressed) decoded with `Document.encoding`, before any translation of line ends. A byte order
mark is no character of it. `sources.original_text` gives that text, as does
`open(document.path, encoding=document.encoding, errors="replace", newline="").read()`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from parcast.applications.text.documents.encodings import codec_of
from parcast.applications.text.documents.offsets import Field
from parcast.errors import FileProblems, ParameterError, Problem, Text
from parcast.words import did_you_mean

FORMATS: Final = ("text", "html", "xml", "sgml", "jsonl")
LARGEST: Final = 2**26  # characters of one document: some twenty times the Bible


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its name, its place in a file, and its text by field."""

    name: str  # NEWID, DOCNO or id; else the path, with the number where a file holds several
    path: str
    number: int  # counted from 1 in its file
    start: int  # its first character in the original text
    stop: int  # one after its last
    fields: tuple[Field, ...]  # those with text, in order of appearance
    encoding: str  # as Python names it; read with errors="replace"
    note: str = ""  # what was assumed: the encoding of a file that is not UTF-8


class DocumentError(FileProblems):
    """A file, or one document in it, cannot be read: path, line, offset, and what to do.

    >>> error = DocumentError("a.jsonl", "must be a JSON object, got '['.", line=3, offset=120)
    >>> print(error)
    a.jsonl: 1 problem
      line 3  must be a JSON object, got '['.
    >>> error.path, error.line, error.offset
    ('a.jsonl', 3, 120)
    >>> error.in_a_line
    "a.jsonl, line 3: must be a JSON object, got '['."
    """

    def __init__(
        self,
        path: str,
        message: str,
        *,
        line: int | None = None,
        offset: int | None = None,
        hint: Text = "",
    ) -> None:
        self.line = line  # counted from 1; None: the whole file
        self.offset = offset  # in the original text; None: the whole file
        super().__init__(path, [Problem(message=message, line=line, hint=hint)])

    @property
    def in_a_line(self) -> str:
        """What is wrong, and where, for a list of what was skipped."""
        line = f", line {self.line}" if self.line is not None else ""
        return f"{self.path}{line}: {self.problems[0].message}"


Skipped: TypeAlias = Callable[[DocumentError], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReading:
    """How files are read; what is None is found out for each file."""

    fields: tuple[str, ...] | None = None  # elements or keys; plain text always has "text" alone
    document: str | None = None  # the element that separates documents within a file
    identifier: str | None = None  # attribute, element or key that names a document
    format: str | None = None  # one of FORMATS
    encoding: str | None = None
    largest: int = LARGEST  # characters of one document

    def __post_init__(self) -> None:
        if isinstance(self.fields, str) or (self.fields is not None and not self.fields):
            raise ParameterError(
                "fields",
                must="be a sequence of names",
                got=repr(self.fields),
                hint='Write fields=("title", "body"), or None for all text.',
            )
        if self.format is not None and self.format not in FORMATS:
            known = f"be one of {', '.join(FORMATS)}"
            hint = did_you_mean(self.format, FORMATS).strip() or "By default it is found out."
            raise ParameterError("format", must=known, got=repr(self.format), hint=hint)
        if self.encoding is not None and codec_of(self.encoding) is None:
            raise ParameterError(
                "encoding",
                must="be an encoding of text",
                got=repr(self.encoding),
                hint='Write for example "utf-8" or "cp1252".',
            )
        if self.largest < 1:
            raise ParameterError(
                "largest",
                must="be at least 1",
                got=repr(self.largest),
                hint="Give the characters of the largest document.",
            )
        for name in ("document", "identifier"):
            value = getattr(self, name)
            if value is not None and not value.strip():
                raise ParameterError(
                    name, must="be a name", got=repr(value), hint="Name an element or a key."
                )
