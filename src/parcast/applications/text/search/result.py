"""Result of `search_documents`: the hits of each query. It is the same for any number of ranks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from parcast.applications.text.search.bm25 import Bm25
from parcast.applications.text.search.tasks import Hit
from parcast.pipeline.result import PipelineResult
from parcast.show.result import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryHits:
    """The documents that match one query, best first."""

    query: str
    words: tuple[str, ...]  # different ones, as they are compared
    frequencies: tuple[int, ...]  # documents that have each of them [1]
    hits: tuple[Hit, ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SearchResult(Result):
    """Hits of queries; on ranks other than 0 it has `run` alone."""

    _sheet: ClassVar[str] = "parcast.applications.text.search.sheet:sheet_of"

    queries: tuple[QueryHits, ...] = ()
    documents: int = 0  # that were searched [1]
    words: int = 0  # of them all [1]
    model: Bm25 = field(default_factory=Bm25)
    faults: tuple[str, ...] = ()  # of documents that were skipped
    run: PipelineResult = field(default_factory=PipelineResult)

    def __repr__(self) -> str:
        """Say in one line what was found."""
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
        for each in self.queries:
            for rank, hit in enumerate(each.hits, start=1):
                snippet = hit.snippet
                yield {
                    "query": each.query,
                    "rank": rank,
                    "score": hit.score,
                    "document": hit.document,
                    "path": hit.path,
                    "number": hit.number,
                    "words": hit.words,
                    "field": snippet and snippet.field,
                    "start": snippet and snippet.start,
                    "stop": snippet and snippet.stop,
                    "snippet": snippet and snippet.text,
                }

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/search/1``."""
        return {
            "schema": "parcast/search/1",
            "rows": [
                {**row, "matches": [list(x) for x in hit.snippet.matches] if hit.snippet else []}
                for row, hit in zip(self.rows(), self._hits(), strict=True)
            ],
            "queries": [
                {
                    "query": each.query,
                    "hits": len(each.hits),
                    "documents_with": dict(zip(each.words, each.frequencies, strict=True)),
                }
                for each in self.queries
            ],
            "documents": self.documents,
            "words": self.words,
            "k1": self.model.k1,
            "b": self.model.b,
            "skipped": list(self.faults),
        }

    def _hits(self) -> Iterator[Hit]:
        for each in self.queries:
            yield from each.hits
