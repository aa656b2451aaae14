"""Hits of queries as a sheet: a table for each query, with a piece of each document."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.applications.text.search.result import QueryHits, SearchResult
from parcast.applications.text.search.snippets import Snippet
from parcast.applications.text.search.tasks import Hit
from parcast.pipeline.sheet import skipped
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import shown
from parcast.words import counted

NAME: Final = 32  # characters of a word in a message
TEXT: Final = 64  # characters of a query or of a piece of text
WIDTHS: Final = ((32, 64), (24, 34))  # of names and pieces of text, in forms of a table


def sheet_of(result: SearchResult) -> Sheet:
    """Everything that is said of a search."""
    return Sheet(
        title=f"{counted(result.documents, 'document')} searched",
        tables=tuple(_table(each) for each in result.queries if each.hits),
        facts=tuple(_facts(result)),
    )


def _table(found: QueryHits) -> Table:
    hits = found.hits
    forms = []
    for name, text in WIDTHS:
        columns = [
            Column(title="rank", cells=[str(i) for i in range(1, len(hits) + 1)]),
            Column(title="score", cells=[_score(hit) for hit in hits]),
            Column(
                title="document", cells=[_name(hit.document, name) for hit in hits], align="left"
            ),
            Column(title="text", cells=[_marked(hit.snippet, text) for hit in hits], align="left"),
        ]
        forms.append(Form(columns=columns))
    return Table(
        title=shown(found.query, limit=TEXT),
        forms=tuple(forms),
        in_full=tuple(_entries(hits)),
    )


def _entries(hits: Sequence[Hit]) -> Iterator[Entry]:
    for rank, hit in enumerate(hits, start=1):
        yield Entry(
            title=f"{rank}. {shown(hit.document)}",
            facts=(Fact("score", _score(hit)), Fact("text", _marked(hit.snippet))),
        )


def _facts(result: SearchResult) -> Iterator[Fact]:
    for each in result.queries:
        name = shown(each.query, limit=TEXT)
        unknown = [word for word, n in zip(each.words, each.frequencies, strict=True) if not n]
        if not each.hits:
            yield Fact("no hit", f"{name}: no document has any of its words", True)
        elif unknown:
            words = ", ".join(shown(word, limit=NAME) for word in unknown)
            yield Fact("unknown", f"{name}: no document has {words}")
    model = result.model
    yield Fact("score", f"BM25, k1 = {model.k1:g}, b = {model.b:g}")
    yield from skipped(result.faults)


def _score(hit: Hit) -> str:
    return f"{hit.score:.3f}"


def _name(name: str, room: int) -> str:
    name = shown(name, limit=10 * NAME)
    return name if len(name) <= room else f"...{name[3 - room :]}"


def _marked(snippet: Snippet | None, width: int = TEXT) -> str:
    """Write a snippet from its first mark on, in one line, with stars around the marked words."""
    if snippet is None:
        return ""
    parts, at = [], 0
    for begin, end in snippet.marks:
        parts += [snippet.text[at:begin], f"*{snippet.text[begin:end]}*"]
        at = end
    text = " ".join("".join([*parts, snippet.text[at:]]).split())
    if len(text) <= width:
        return text
    first = text.index("*") if snippet.marks else 0
    end = text.rfind(" ", first, first + width)
    return text[first : end if end > first else first + width]
