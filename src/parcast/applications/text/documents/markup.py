"""Fields of HTML, XML and SGML, with offsets, however broken the markup.

One regular expression finds the next tag, comment, entity or white space. Nothing is refused: a
tag without end is text, an end tag without start is ignored, an element without end goes on to the
end of the document. Scripts, styles and comments are no text. What a CDATA section holds is read
as markup, since feeds put HTML there. Entities are those of HTML, in XML and SGML too; others are
kept as they stand. Blank lines separate paragraphs in SGML, which often holds plain text.

`html.parser` gives offsets too (lxml and Beautiful Soup do not), is slower with the same work
around it (`benchmarks/documents.py`), and does not read XML.
"""

import html
import re
from collections.abc import Iterable
from functools import lru_cache
from html.entities import html5
from typing import Final, NamedTuple

from parcast.applications.text.documents.offsets import Field, TextBuilder, breaks_in

ALL_TEXT: Final = "text"  # the field of all text, where none are chosen
_ATTRIBUTES: Final = (  # to the ">" that ends the tag; a quote without end ends with it
    r"""(?:(?:[^=>]++|=\s*+(?:"[^"]*+"|'[^']*+')?+){0,1000}+>|[^>]*+>)"""
)
_ENTITY: Final = r"&(?:\#(?:[0-9]+|[xX][0-9a-fA-F]+);?|[a-zA-Z][a-zA-Z0-9]{0,31};?)"
_SPACE: Final = r"(?P<space>\s\s+|[^\S ])"
_COMMENT: Final = r"<!--(?:-?>|.*?--!?>|.*)"
_DECLARATION: Final = r"<!(?:[a-zA-Z][^>\[]*+(?:\[[^\]]{0,16384}+\]\s*)?>|\[CDATA\[|[^>]*+>)|\]\]>"
_INSTRUCTION: Final = {
    "xml": r"<\?(?:.{0,256}?\?>|[^>]*+>)",
    "html": r"<\?[^>]*+>",
    "sgml": r"<\?[^>]*+>",
}
_NAME: Final = {"xml": "[a-zA-Z_:\u0080-\U0010ffff]", "html": "[a-zA-Z]", "sgml": "[a-zA-Z]"}
_SCRIPT: Final = (
    rf"(?ai:<(?P<raw>script|style)(?=[\s/>]){_ATTRIBUTES}"
    r".*?(?:</(?P=raw)(?=[\s/>])[^>]*+(?:>|\Z)|\Z))"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BLOCKS: Final = _words("""
    address article aside blockquote body button caption center col colgroup dd details dialog
    dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header
    hgroup hr html iframe legend li main menu nav ol optgroup option p pre search section select
    summary table tbody td textarea tfoot th thead title tr ul
""")
_INLINE: Final = _words("""
    a abbr acronym b bdi bdo big bold cite code del dfn em emph emphasis ext-link font hi i ins
    italic kbd link literal mark math monospace name q ref rs s samp sc small span strike strong
    styled-content sub subscript sup superscript term tt u ulink underline uri url var w wbr xref
""")  # of HTML, DocBook, TEI and JATS; all other elements separate in XML and SGML
_CLOSED_BY_SAME: Final = _words("p li dt dd tr td th option")
_IDENTIFIERS: Final = ("newid", "docno", "docid", "id")
_NEAR: Final = 4096  # characters at the beginning of a document in which its name stands


def _tokens(format: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile what to look for, and what to look for where no tag can follow."""
    start, instruction = _NAME[format], _INSTRUCTION[format]
    script = f"{_SCRIPT}|" if format == "html" else ""
    tag = rf"<(?P<end>/?)(?P<name>{start}[^\s/>]*+){_ATTRIBUTES}"
    text = rf"{_SPACE}|(?P<entity>{_ENTITY})"
    other = rf"{_COMMENT}|{_DECLARATION}|{instruction}|</(?!{start})[^>]*+>"
    whole = rf"{text}|{script}{tag}|(?P<skip>{other})|(?P<stray><(?:[!?/]|{start}))"
    return re.compile(whole, re.DOTALL), re.compile(rf"{text}|(?P<skip><!\[CDATA\[)")


MOST_DIGITS: Final = 8  # of the number of a character
_TOKENS: Final = {format: _tokens(format) for format in ("html", "xml", "sgml")}


@lru_cache(maxsize=4096)
def decoded(entity: str) -> tuple[str, int]:
    """What an entity stands for, by the rules of HTML, and how many of its characters are it.

    >>> decoded("&eacute;"), decoded("&#x1F600;"), decoded("&notit;"), decoded("&reuter;")
    (('é', 8), ('😀', 9), ('¬', 4), ('', 0))
    """
    if entity[1] == "#":
        digits = entity[2:].lstrip("0")  # more than eight are no character either
        return html.unescape(entity) if len(digits) <= MOST_DIGITS else "\ufffd", len(entity)
    name = entity[1:]
    for length in range(len(name), 1, -1):
        if name[:length] in html5:
            return html5[name[:length]], length + 1
    return "", 0


def _add_entity(builder: TextBuilder, entity: str, start: int) -> None:
    """Add what an entity stands for, and what follows its name as it stands."""
    meant, length = decoded(entity)
    builder.decoded(meant, start, start + length)
    if length < len(entity):
        builder.piece(entity[length:], start + length, start + len(entity))


class _Tag(NamedTuple):
    name: str  # without its namespace, in lower case
    separates: bool
    breaks: bool  # a line break: two make a paragraph
    field: str  # the field that its element is, or ""
    skipped: bool  # its element's text belongs to no field


class _Markup:
    """Which field text belongs to, while a document is read."""

    def __init__(self, base: str, skip: str, *, is_html: bool, is_sgml: bool) -> None:
        self._base, self._skip, self._is_html, self._is_sgml = base, skip, is_html, is_sgml
        self._builders: dict[str, TextBuilder] = {}
        self._open: list[tuple[str, str]] = []  # elements whose text belongs to a field, or ""
        self.builder: TextBuilder | None = None  # None: the text here belongs to no field
        self._settle()

    def take(self, tag: _Tag, written: str) -> None:
        """Take a tag."""
        if self.builder is not None:
            if tag.separates:
                self.builder.paragraph()
            elif tag.breaks:
                self.builder.space(1)
        if self._open and self._is_html and tag.name in ("head", "body"):
            self._open.clear()  # a title without end ends here
            self._settle()
        if tag.field or tag.skipped or tag.name == self._skip:
            self._nest(tag, written)
            self._settle()

    def fields(self) -> tuple[Field, ...]:
        """Make the fields that have text, in the order in which they begin."""
        fields = [x.field(name) for name, x in self._builders.items() if x]
        return tuple(sorted(fields, key=lambda field: int(field.offsets.starts[0])))

    def _nest(self, tag: _Tag, written: str) -> None:
        """Open or close an element."""
        is_end, names = written[1] == "/", [name for name, _ in self._open]
        closes = is_end or self._is_sgml or (self._is_html and tag.name in _CLOSED_BY_SAME)
        if closes and tag.name in names:
            del self._open[len(names) - 1 - names[::-1].index(tag.name) :]
        if not is_end and (self._is_html or not written.endswith("/>")):
            is_second = self._is_html and tag.name == "title" and self._builders.get(tag.field)
            self._open.append((tag.name, "" if is_second else tag.field))  # of a drawing

    def _settle(self) -> None:
        """Find the innermost field."""
        field = self._open[-1][1] if self._open else self._base
        self.builder = self._builders.setdefault(field, TextBuilder()) if field else None
        if self.builder is not None:
            self.builder.paragraph()


class MarkupReader:
    """Reads documents of one format: which elements are fields is settled once."""

    def __init__(self, format: str, fields: Iterable[str] | None, identifier: str | None) -> None:
        self.format = format
        self._tokens, self._text = _TOKENS[format]
        self._is_html = format == "html"
        chosen = fields
        if chosen is None and self._is_html:
            chosen = ("title", "body")
        self._fields = None if chosen is None else {name.lower(): name for name in chosen}
        self._identifiers = _IDENTIFIERS if identifier is None else (identifier.lower(),)
        self._tags: dict[str, _Tag] = {}

    def fields(self, text: str, start: int, *, skip: str = "") -> tuple[Field, ...]:
        """Read the fields of a document that begins at offset `start`; `skip` is no text of it."""
        state = _Markup(self._base(), skip, is_html=self._is_html, is_sgml=self.format == "sgml")
        at, tags, is_sgml = 0, self._tags, self.format == "sgml"
        for token in self._tokens.finditer(text):
            begin, end = token.span()
            builder = state.builder
            if builder is not None and begin > at:
                builder.piece(text[at:begin], start + at, start + begin)
            at = end
            kind = token.lastgroup
            if kind == "name":
                state.take(tags.get(token["name"]) or self._tag(token["name"]), token[0])
            elif kind == "stray":
                self._rest(builder, text, begin, start)
                return state.fields()
            elif builder is None:
                continue
            elif kind == "space":
                builder.space(breaks_in(token[0]) if is_sgml else 0)
            elif kind == "entity":
                _add_entity(builder, token[0], start + begin)
        if state.builder is not None and at < len(text):
            state.builder.piece(text[at:], start + at, start + len(text))
        return state.fields()

    def name(self, text: str) -> tuple[str, str]:
        """Find what names a document: its name, and the element that holds it, if one does."""
        head = text[:_NEAR]
        first = self._tokens.search(head)
        attributes = first[0] if first is not None and first.lastgroup == "name" else ""
        for wanted in self._identifiers:
            found = re.search(
                rf"""\s(?:[\w.-]+:)?{re.escape(wanted)}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""",
                attributes,
                re.IGNORECASE,
            )
            value = html.unescape(found[found.lastindex or 1]).strip() if found else ""
            if value:
                return value, ""
        for wanted in self._identifiers:
            tag = rf"(?:[\w.-]+:)?{re.escape(wanted)}"
            found = re.search(rf"<{tag}(?:\s[^<>]*)?>([^<]*)(</{tag})?", head, re.IGNORECASE)
            value = " ".join(html.unescape(found[1]).split()) if found else ""
            if found and value:
                return value, wanted if found[2] else ""
        return "", ""

    def _base(self) -> str:
        """Name the field of text that stands in no element of a field, or ""."""
        if self._fields is None:
            return ALL_TEXT
        return self._fields.get("body", "") if self._is_html else ""

    def _tag(self, written: str) -> _Tag:
        """Settle what a tag does, once for all documents."""
        name = written.rpartition(":")[2].lower()
        separates = name in _BLOCKS if self._is_html else name not in _INLINE and name != "br"
        field = "" if self._fields is None else self._fields.get(name, "")
        if self._is_html and name == "body":
            field = ""  # all text but the title, whether its tag is there or not
        skipped = self._is_html and name == "title" and not field
        tag = _Tag(name, separates, name == "br", field, skipped)
        if len(self._tags) < 4096:  # names may be without number in broken markup
            self._tags[written] = tag
        return tag

    def _rest(self, builder: TextBuilder | None, text: str, at: int, start: int) -> None:
        """Add what follows a tag without end: it and all the rest are text."""
        if builder is None:
            return
        for token in self._text.finditer(text, at):
            begin, end = token.span()
            if begin > at:
                builder.piece(text[at:begin], start + at, start + begin)
            at = end
            if token.lastgroup == "space":
                builder.space()
            elif token.lastgroup == "entity":
                _add_entity(builder, token[0], start + begin)
        if at < len(text):
            builder.piece(text[at:], start + at, start + len(text))
