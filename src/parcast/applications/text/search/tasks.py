"""What ranks do in a search: count words of documents, then keep those that match best."""

from bisect import insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from parcast.applications.text.documents.document import Document, DocumentError, DocumentReading
from parcast.applications.text.documents.items import WorkItem
from parcast.applications.text.documents.reading import read_documents
from parcast.applications.text.search.bm25 import Bm25, Statistics
from parcast.applications.text.search.snippets import Snippet, snippet_of
from parcast.applications.text.search.words import blocks_of, words_of
from parcast.pipeline.merges import merge_largest

SNIPPET: Final = 160  # characters


HIT: Final = (  # outline of a row
    "score document path number words field=snippet.field start=snippet.start stop=snippet.stop "
    "snippet=snippet.text"
)


class Hit(NamedTuple):
    """A document that matches a query."""

    score: float  # its BM25 score
    document: str  # name of the document
    path: str  # its file
    number: int  # its place in the file, from 1
    words: int  # words of the document [1]
    snippet: Snippet | None


Hits: TypeAlias = list[list[Hit]]  # of each query, in falling order of their scores


@dataclass(frozen=True, slots=True)
class SearchedDocuments:
    """How documents are read."""

    reading: DocumentReading
    skips: bool  # documents that cannot be read

    def documents(self, item: WorkItem, faults: list[DocumentError]) -> Iterator[Document]:
        """Read the documents of an item; those that cannot be read are noted, or raise."""
        skipped = faults.append if self.skips else None
        return read_documents(item, self.reading, skipped=skipped)


@dataclass(frozen=True, slots=True)
class Counting:
    """First task: statistics of the documents of an item, of the words of all queries alone."""

    source: SearchedDocuments
    words: frozenset[str]

    def __call__(self, item: WorkItem) -> Statistics:
        """Count."""
        documents = total = 0
        having: Counter[str] = Counter()
        faults: list[DocumentError] = []
        for document in self.source.documents(item, faults):
            documents += 1
            counts, length = counted(document, self.words)
            total += length
            having.update(counts.keys())
        lines = tuple(fault.in_a_line for fault in faults)
        return Statistics(documents, total, dict(sorted(having.items())), lines)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Second task: the documents of an item that match each query best."""

    source: SearchedDocuments
    model: Bm25
    weights: Sequence[Mapping[str, float]]  # of the words of each query
    mean: float  # words of a document
    count: int  # hits of a query
    width: int  # of a snippet, in characters

    def __call__(self, item: WorkItem) -> Hits:
        """Score the documents; of equal scores the earlier document comes first."""
        words = frozenset(word for weights in self.weights for word in weights)
        best: Hits = [[] for _ in self.weights]
        for document in self.source.documents(item, []):
            counts, length = counted(document, words)
            if not counts:
                continue
            for hits, weights in zip(best, self.weights, strict=True):
                score = self.model.score(weights, counts, length, self.mean)
                if score <= 0 or (len(hits) == self.count and score <= hits[-1].score):
                    continue
                snippet = snippet_of(document, weights, self.width)
                hit = Hit(score, document.name, document.path, document.number, length, snippet)
                insort(hits, hit, key=_falling)
                del hits[self.count :]
        return best


def _falling(hit: Hit) -> float:
    return -hit.score


def merged_hits(a: Hits, b: Hits, *, count: int) -> Hits:
    """Best hits of both for each query; of equal scores those of earlier documents come first."""
    return [merge_largest(x, y, count=count) for x, y in zip(a, b, strict=True)]


def counted(document: Document, words: frozenset[str]) -> tuple[Counter[str], int]:
    """Count how often a document has each of some words, and all its words."""
    counts: Counter[str] = Counter()
    length = 0
    for field in document.fields:
        for block in blocks_of(field.text):
            found = words_of(block)
            length += len(found)
            counts.update(word for word in found if word in words)
    return counts, length
