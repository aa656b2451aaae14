"""`search_documents`: the documents that match queries best, ranked by BM25.

Two reductions: the first counts documents, their words and, for the words of the queries alone,
the documents that have them; the second scores every document and keeps the best of each query.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from parcast.applications.text.documents.offsets import plain
from parcast.applications.text.search.bm25 import K1, B, Bm25, Statistics
from parcast.applications.text.search.result import QueryHits, SearchResult
from parcast.applications.text.search.tasks import (
    SNIPPET,
    Counting,
    Hit,
    Hits,
    Ranking,
    SearchedDocuments,
    merged_hits,
)
from parcast.applications.text.search.words import words_of
from parcast.errors import FileProblems, ParameterError, as_whole
from parcast.mpi.launched import ranks_for
from parcast.pipeline.result import PipelineResult, items_skipped
from parcast.pipeline.run import run_pipeline
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.applications.text.documents.document import DocumentReading

SHORTEST: Final = 20  # snippet, in characters


def search_documents(
    documents: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    queries: str | Sequence[str],
    *,
    count: int = 10,
    k1: float = K1,
    b: float = B,
    snippet: int = SNIPPET,
    reading: DocumentReading | None = None,
    **run: Any,
) -> SearchResult:
    """Rank the documents of files by how well they match queries, with the BM25 score.

    The result is the same for every number of ranks; of equal scores the earlier document comes
    first, in the order of the files and within a file. Words are compared without regard to
    capital letters; they are not stemmed. A document that has none of the words is no hit.

    Parameters
    ----------
    documents : path or sequence of paths
        Files, folders or patterns: text, HTML, XML, SGML and JSON Lines, also as .gz and .zst.
    queries : str or sequence of str
        Words to look for; each query has hits of its own.
    count : int, default 10
        Hits of a query, at most. [1]
    k1 : float, default 1.2
        How soon further occurrences of a word count less; at 0 they do not count. [1]
    b : float, default 0.75
        How much long documents are discounted, from 0 to 1. [1]
    snippet : int, default 160
        Characters of the piece of text that is given with a hit. [1]
    reading : Reading, optional
        How the files are read; by default it is found out.
    **run
        Arguments of `run_pipeline`: `ranks`, `checkpoint` and others. With `on_error="skip"`,
        documents that cannot be read are skipped and listed. A `trace` has both reductions.

    Returns
    -------
    SearchResult
        Its `queries` have the `hits`, with places in the original files.

    Raises
    ------
    FileProblems
        If a document cannot be read.
    ParameterError
        If an argument lies outside its domain, or a query has no words.
    RunFailed
        If a rank ends early, or the time limit is reached.

    Examples
    --------
    >>> import parcast, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     a, b = pathlib.Path(folder, "a.txt"), pathlib.Path(folder, "b.txt")
    ...     _ = a.write_text("Latency is the time of an empty message.")
    ...     _ = b.write_text("Bandwidth is bytes a second.")
    ...     result = parcast.search_documents(folder, "message latency")
    >>> hit = result.queries[0].hits[0]
    >>> hit.snippet.text, hit.snippet.matches
    ('Latency is the time of an empty message.', ((0, 7), (32, 39)))
    """
    from parcast.applications.text.documents.document import DocumentReading
    from parcast.applications.text.documents.items import work_items
    from parcast.pipeline.paths import document_paths

    asked, wanted = _asked(queries)
    count = as_whole("count", count, least=1, hint="10 is usual.")
    width = as_whole("snippet", snippet, least=SHORTEST, hint="160 is usual.")
    model, reading = Bm25(k1, b), reading or DocumentReading()
    paths = document_paths(documents)
    source = SearchedDocuments(reading, skips=run.get("on_error") == "skip")
    identity = {
        "documents": repr(paths),
        "queries": repr(asked),
        "options": repr((reading, count, k1, b, width)),
    }
    again = {**run, "signature": identity}
    words = frozenset(word for query in wanted for word in query)
    counted = run_pipeline(
        work_items(paths, reading),
        Counting(source, words),
        Statistics.with_others,
        zero=Statistics(),
        **_apart(again, "statistics"),
    )
    statistics: Statistics = _everywhere(_whole(counted).value, run.get("comm"))
    weights = [model.weights(query, statistics) for query in wanted]
    best: Hits = [[] for _ in asked]
    runs = [counted]
    if any(weights):
        rank = Ranking(source, model, weights, statistics.mean, count, width)
        merge = partial(merged_hits, count=count)
        with _second_trace(again.get("trace")) as trace:
            given = _apart({**again, "trace": trace}, "ranking")
            ranked = _whole(run_pipeline(work_items(paths, reading), rank, merge, **given))
            if trace is not None and ranked.is_root:
                ranked = _with_both(ranked, again["trace"], trace)
        best = ranked.value
        runs.append(ranked)
    if not counted.is_root:
        return SearchResult(run=runs[-1])
    return SearchResult(
        queries=tuple(map(partial(_hits_of, statistics), asked, wanted, best)),
        documents=statistics.documents,
        words=statistics.words,
        model=model,
        faults=(*statistics.faults, *items_skipped(*runs)),
        run=runs[-1],
    )


def _asked(queries: str | Sequence[str]) -> tuple[list[str], list[Counter[str]]]:
    asked = [queries] if isinstance(queries, str) else list(queries)
    if not asked:
        raise ParameterError("queries", must="hold a query", got="none", hint="Give some words.")
    return asked, [_words(query) for query in asked]


def _hits_of(
    statistics: Statistics, query: str, words: Counter[str], hits: Sequence[Hit]
) -> QueryHits:
    frequencies = tuple(statistics.frequencies.get(word, 0) for word in words)
    return QueryHits(query=query, words=tuple(words), frequencies=frequencies, hits=tuple(hits))


def _words(query: str) -> Counter[str]:
    """Words of a query and how often it has them, in their order."""
    words = Counter(words_of(plain(query))) if isinstance(query, str) else Counter[str]()
    if not words:
        got = shown(repr(query))
        raise ParameterError("queries", must="hold a word", got=got, hint="Give some words.")
    return words


def _apart(run: dict[str, Any], name: str) -> dict[str, Any]:
    """Arguments of one of the two reductions, whose checkpoints are apart."""
    given = {**run, "name": f"search, {name}"}
    if given.get("checkpoint") is not None:
        given["checkpoint"] = Path(given["checkpoint"]) / name
    return given


@contextmanager
def _second_trace(trace: Any) -> Iterator[Path | None]:
    """Give a place for the trace of the second reduction, beside that of the first."""
    if trace is None:
        yield None
        return
    with TemporaryDirectory(prefix="parcast-") as folder:
        yield Path(folder) / Path(trace).name


def _with_both(ranked: PipelineResult, trace: Any, second: Path) -> PipelineResult:
    """Put the traces of both reductions into one; a fault is a warning, as of each of them."""
    from parcast.pipeline.traces.trace import joined, read_trace, write_trace

    try:
        write_trace(trace, *joined([read_trace(trace), read_trace(second)], program="search"))
    except (OSError, FileProblems) as failure:
        why = getattr(failure, "strerror", None) or str(failure)
        fault = f"The trace {trace} has the first of two reductions only: {why.lower()}."
        return replace(ranked, warnings=(*ranked.warnings, fault))
    return ranked


def _everywhere(value: Any, comm: Any) -> Any:
    """Tell all ranks under mpiexec what rank 0 has."""
    comm = ranks_for(comm)
    return value if comm is None else comm.bcast(value)


def _whole(run: PipelineResult) -> PipelineResult:
    """Refuse a run of a part of the documents, of which the statistics would be other ones."""
    if run.was_stopped:
        raise KeyboardInterrupt
    return run
