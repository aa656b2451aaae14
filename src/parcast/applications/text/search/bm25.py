r"""Okapi BM25: how well a document matches the words of a query.

    score(d) = sum over the words t of the query of
               idf(t) f(t, d) (k1 + 1) / (f(t, d) + k1 (1 - b + b |d| / mean))
    idf(t)   = ln(1 + (N - n(t) + 1/2) / (n(t) + 1/2))

N documents have `mean` words on average, n(t) of them have the word t, document d has \|d\| words
of which f(t, d) are t. A word that a query has twice counts twice. Use it to rank documents;
scores of different collections are not comparable.

The formula is that of [1]_, sections 3.4 and 3.5, but for `idf`, which is there
ln((N - n + 1/2) / (n + 1/2)): that is negative for a word of more than half of the documents,
and a document would score less for having it. Adding 1 within the logarithm keeps it above 0, as
Lucene does, whose `BM25Similarity` has the same k1 and b by default. `BM25Okapi` of the package
rank_bm25 replaces negative values by a quarter of the mean of all instead, so its scores differ;
BM25L and BM25+ are other formulas.

References
----------
.. [1] S. Robertson and H. Zaragoza, "The probabilistic relevance framework: BM25 and beyond,"
   Found. Trends Inf. Retr., vol. 3, no. 4, pp. 333-389, 2009, :doi:`10.1561/1500000019`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from typing import Final

from parcast.errors import as_number, require

K1: Final = 1.2  # how soon further occurrences count less [1]
B: Final = 0.75  # how much long documents are discounted [1]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the score of a document needs to know of all of them."""

    documents: int = 0  # N [1]
    words: int = 0  # of all of them [1]
    frequencies: Mapping[str, int] = field(default_factory=dict)  # documents by word of a query
    faults: tuple[str, ...] = ()  # of documents that could not be read

    @property
    def mean(self) -> float:
        """Mean number of words of a document. [1]."""
        return self.words / self.documents if self.documents else 0.0

    def with_others(self, other: "Statistics") -> "Statistics":
        """Statistics of these documents and of others, which come after them."""
        frequencies = dict(self.frequencies)
        for word, count in other.frequencies.items():
            frequencies[word] = frequencies.get(word, 0) + count
        return Statistics(
            self.documents + other.documents,
            self.words + other.words,
            frequencies,
            self.faults + other.faults,
        )


@dataclass(frozen=True, slots=True)
class Bm25:
    """BM25 with its constants."""

    k1: float = K1  # how soon further occurrences of a word count less, at least 0 [1]
    b: float = B  # how much long documents are discounted, in [0, 1] [1]

    def __post_init__(self) -> None:
        k1 = as_number("k1", self.k1, hint="The usual value is 1.2.")
        b = as_number("b", self.b, hint="The usual value is 0.75.")
        require("k1", k1, k1 >= 0, must="be at least 0", hint="The usual value is 1.2.")
        require("b", b, 0 <= b <= 1, must="lie in [0, 1]", hint="The usual value is 0.75.")

    def weights(self, query: Mapping[str, int], statistics: Statistics) -> dict[str, float]:
        """Give the part of the score that no document changes, for each word that occurs.

        >>> Bm25().weights({"queue": 1}, Statistics(3, 30, {"queue": 1}))
        {'queue': 2.157...}
        """
        total, weights = statistics.documents, {}
        for word, times in query.items():
            having = statistics.frequencies.get(word, 0)
            if having:
                idf = log(1 + (total - having + 0.5) / (having + 0.5))
                weights[word] = times * idf * (self.k1 + 1)
        return weights

    def score(
        self,
        weights: Mapping[str, float],
        counts: Mapping[str, int],
        length: int,
        mean: float,
    ) -> float:
        """Score of a document by how often it has each word, and by its length in words."""
        score = 0.0
        scale = self.k1 * (1 - self.b + self.b * length / mean)
        for word, weight in weights.items():
            count = counts.get(word, 0)
            if count:
                score += weight * count / (count + scale)
        return score
