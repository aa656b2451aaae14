"""Resources of a whole search: noun phrases are found, indexes merged and written, queries asked.

    V(B)       = K B^h                                 different phrases (Heaps' law)     [1]_
    O(B)       = o B                                   postings: occurrences of phrases   [D]
    S(B)       = s_O O(B) + s_V V(B)                   bytes of an index in memory        [D]
    F(B)       = f_O O(B) + f_V V(B)                   bytes of an index in a file        [D]

    T_extract  = T_0 + e B / p                                                            [D]
    T_merge    = m (L(B/p, N/p) + sum over i = 1 ... ceil(lg p) of S(min(2^i B/p, B)))    [D]
    T_network  = sum over i = 1 ... ceil(lg p) of S(2^(i-1) B/p) / C                      [D]
    T_write    = w F(B)                                                                   [D]
    T_query    = (2 r + s Q) B / p                     both passes of Q queries           [D]

    L(B, N)    = sum over i = 1 ... lg N of N/2^i S(2^i B/N)     merges of one rank       [D]
    M          = M_0 + u S(B)                          memory of rank 0, the most         [D]
    network    = (1 - 1/p) sum over i = 1 ... lg G of G/2^i S(2^(i-1) B/G)   bytes sent   [D]

B bytes of text in N documents are dealt out to p ranks, whose indexes are merged by a binary tree:
the path to its root crosses a level after the other, and rank 0 writes the file. G batches are
given out, each of 0.1 s or more, and one of two neighbours in the tree is sent, unless both are on
one rank. A search of parcast reads the documents, not the index, in two passes.

The law knows no waiting for a slow rank, since items are given out as they are asked for, and no
tree of another fan-in: both matter little while merges take much less than finding phrases.
All times are processor times of a core of its own for each rank; a slow disk adds to writing.

References
----------
.. [1] H. S. Heaps, "Information retrieval: computational and theoretical aspects," Academic Press,
   1978, section 7.5.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.pipeline.engine.coordinator import BATCH_SIZE, BATCH_TIME, BATCH_TIME_A_RANK

LEAST: Final = 1e-9  # seconds of a document
PHASES: Final = ("extract", "merge", "network", "write", "query")


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCosts:
    """Constants of the law, from runs of a sample; each a number or an array of samples."""

    document: float  # mean bytes of a document [B]
    startup: float  # T_0, of a tagger [s]
    extract: float | Array  # e, of a byte [s/B]
    merge: float | Array  # m, of a byte of the result [s/B]
    write: float | Array  # w, of a byte of the file [s/B]
    reading: float | Array  # r, of a byte in a pass [s/B]
    asking: float | Array  # s, of a byte and a query in both passes [s/B]
    postings: float | Array  # o, of a byte of text [1/B]
    vocabulary: float | Array  # K [1/B^h]
    growth: float | Array  # h, Heaps' exponent [1]
    held: tuple[float, float]  # s_O and s_V [B]
    filed: tuple[float, float]  # f_O and f_V [B]
    base: float  # M_0 [B]
    copies: float  # u, bytes at the peak of merging or writing for a byte of index [1]

    def phrases(self, text: ArrayLike) -> Array:
        """Different phrases in so many bytes of text, V [1]."""
        return np.asarray(self.vocabulary * np.asarray(text, dtype=np.float64) ** self.growth)

    def index(self, text: ArrayLike) -> Array:
        """Bytes of the index of so many bytes of text in memory, S [B]."""
        return self._bytes(self.held, text)

    def file(self, text: ArrayLike) -> Array:
        """Bytes of the index of so many bytes of text in a file, F [B]."""
        return self._bytes(self.filed, text)

    def _bytes(self, each: tuple[float, float], text: ArrayLike) -> Array:
        postings = self.postings * np.asarray(text, dtype=np.float64)
        return np.asarray(each[0] * postings + each[1] * self.phrases(text))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SearchFigures:
    """What a search takes, in arrays of the shape of `p`."""

    extract: Array  # [s]
    merge: Array  # [s]
    network: Array  # [s]
    write: Array  # [s]
    query: Array  # of all queries together [s]
    memory: Array  # of the rank with most [B]
    disk: Array  # written [B]
    sent: Array  # between ranks [B]

    @property
    def time(self) -> Array:
        """Time of all phases, one after another. [s]."""
        return np.asarray(sum(getattr(self, name) for name in PHASES))

    def limiting(self) -> list[str]:
        """The phase that takes longest at each count."""
        times = np.stack(np.broadcast_arrays(*(getattr(self, name) for name in PHASES)))
        return [PHASES[i] for i in np.argmax(times, axis=0).ravel().tolist()]


def search_figures(
    costs: SearchCosts,
    p: ArrayLike,
    *,
    documents: float,
    queries: float = 1.0,
    bandwidth: float | None = None,
) -> SearchFigures:
    """Resources of indexing and searching documents on `p` ranks.

    Parameters
    ----------
    costs : SearchCosts
        Constants of the texts and the machine.
    p : array_like, shape (counts,)
        Ranks, whole numbers from 1. [1]
    documents : float
        Documents, above 0. [1]
    queries : float, default 1
        Queries that are asked together, at least 0; with none nothing is searched. [1]
    bandwidth : float, optional
        Of a channel between two ranks; by default messages take no time. [B/s]

    Returns
    -------
    SearchFigures
        Times of the phases, memory, and bytes written and sent.

    Examples
    --------
    >>> costs = SearchCosts(
    ...     document=1e4, startup=0.0, extract=1e-5, merge=0.0, write=0.0, reading=1e-7,
    ...     asking=0.0, postings=0.04, vocabulary=1.0, growth=0.5, held=(16.0, 20.0),
    ...     filed=(4.0, 10.0), base=1e8, copies=3.0,
    ... )
    >>> search_figures(costs, [1, 4], documents=1000).time
    array([102. ,  25.5])
    """
    p = np.asarray(p, dtype=np.float64)
    text = documents * costs.document
    merged = _local(costs, text / p, documents / p)
    moved = np.zeros(p.shape)
    for level in range(1, int(np.ceil(np.log2(p.max()))) + 1):
        at = p > 2 ** (level - 1)
        merged = merged + at * costs.index(np.minimum(2**level * text / p, text))
        moved = moved + at * costs.index(2 ** (level - 1) * text / p)
    passes = 2 * costs.reading + costs.asking * queries if queries else 0.0
    shape = np.broadcast_shapes(p.shape, np.shape(merged))
    zeros = np.zeros(shape)
    return SearchFigures(
        extract=zeros + costs.startup + costs.extract * text / p,
        merge=zeros + costs.merge * merged,
        network=zeros + (0.0 if bandwidth is None else moved / bandwidth),
        write=zeros + costs.write * costs.file(text),
        query=zeros + passes * text / p,
        memory=zeros + costs.base + costs.copies * costs.index(text),
        disk=zeros + costs.file(text),
        sent=zeros + (1 - 1 / p) * _sent(costs, text, _batches(costs, p, text, documents)),
    )


def _local(costs: SearchCosts, text: Array, documents: Array) -> Array:
    """Bytes that all merges of one rank write, of a binary tree over its documents [B]."""
    total: Array = np.zeros(np.shape(text))
    for level in range(1, max(int(np.ceil(np.log2(np.max(documents)))), 0) + 1):
        size = np.minimum(2**level / documents, 1.0)
        total = total + (2 ** (level - 1) < documents) / size * costs.index(size * text)
    return total


def _batches(costs: SearchCosts, p: Array, text: float, documents: float) -> Array:
    """Batches of documents, as the engine gives them out: a power of two of documents each [1]."""
    seconds = float(np.mean(costs.extract)) * text / documents
    least = np.maximum(BATCH_TIME, BATCH_TIME_A_RANK * p) / max(seconds, LEAST)
    each = 2 ** np.floor(np.log2(np.maximum(np.minimum(least, BATCH_SIZE / costs.document), 1.0)))
    return np.maximum(documents / each, 1.0)


def _sent(costs: SearchCosts, text: float, batches: Array) -> Array:
    """Bytes of one of the two indexes of each merge, of a binary tree over batches [B]."""
    total: Array = np.zeros(batches.shape)
    for level in range(1, int(np.ceil(np.log2(batches.max()))) + 1):
        at = 2 ** (level - 1) < batches
        total = total + at * batches / 2**level * costs.index(2 ** (level - 1) * text / batches)
    return total
