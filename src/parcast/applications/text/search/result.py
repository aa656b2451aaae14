"""Result of `search_documents`: the hits of each query. It is the same for any number of ranks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from parcast.applications.text.search.bm25 import Bm25
from parcast.applications.text.search.tasks import HIT, Hit
from parcast.pipeline.result import PipelineResult
from parcast.show.outline import document_of
from parcast.show.result import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryHits:
    """The documents that match one query, best first."""

    _outline = "query hits=many documents_with"

    query: str  # the words that were looked for
    words: tuple[str, ...]  # different ones, as they are compared
    frequencies: tuple[int, ...]  # documents that have each of them [1]
    hits: tuple[Hit, ...]

    @property
    def many(self) -> int:
        """Hits that are given [1]."""
        return len(self.hits)

    @property
    def documents_with(self) -> dict[str, int]:
        """How many documents have each of its words [1]."""
        return dict(zip(self.words, self.frequencies, strict=True))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SearchResult(Result):
    """Hits of queries; on ranks other than 0 it has `run` alone."""

    _schema = "parcast/search/1"
    _outline = "rows=_with_matches queries documents words k1=model.k1 b=model.b skipped=faults"

    queries: tuple[QueryHits, ...] = ()  # what was found of each query
    documents: int = 0  # documents that were searched [1]
    words: int = 0  # words of them all [1]
    model: Bm25 = field(default_factory=Bm25)
    faults: tuple[str, ...] = ()  # documents that could not be read, and why
    run: PipelineResult = field(default_factory=PipelineResult)

    def __repr__(self) -> str:
        hits = sum(len(each.hits) for each in self.queries)
        return (
            f"SearchResult({len(self.queries)} queries, {self.documents} documents, {hits} hits)"
        )

    @property
    def is_root(self) -> bool:
        """Whether this process is rank 0 of the run, which has the result."""
        return self.run.is_root

    @property
    def has_hits(self) -> bool:
        """Whether a document matches any of the queries."""
        return any(each.hits for each in self.queries)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each hit."""
        for query, rank, hit in self._ranked():
            yield {"query": query, "rank": rank, **document_of(hit, HIT)}

    @property
    def _with_matches(self) -> list[dict[str, Any]]:
        """A row for each hit, with its `matches`: `[start, stop]` of the words in the file."""
        matches = [hit.snippet.matches if hit.snippet else () for _, _, hit in self._ranked()]
        places = [[list(x) for x in each] for each in matches]
        return [{**row, "matches": x} for row, x in zip(self.rows(), places, strict=True)]

    def _ranked(self) -> Iterator[tuple[str, int, Hit]]:
        """Each query with its hits and their ranks, from 1."""
        for each in self.queries:
            for rank, hit in enumerate(each.hits, start=1):
                yield each.query, rank, hit
