"""Constants of a search from a sample of its documents: a run on one core, in a few minutes.

The documents are dealt at random into eight groups. Each group is indexed, and the indexes are
merged two by two, so that there are eight of an eighth of the sample, four of a quarter, and so
on: how phrases, bytes and times grow with the text. A larger sample tells more, since Heaps'
exponent falls slowly as texts grow.
"""

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time, thread_time
from typing import TYPE_CHECKING, Final

import numpy as np

from parcast.aliases import Array
from parcast.applications.text.search.resources import SearchCosts
from parcast.errors import FitFailed
from parcast.files.decoding import opened
from parcast.numerics import fit_non_negative
from parcast.words import counted

if TYPE_CHECKING:
    from parcast.applications.text.features.lexicon import Lexicon
    from parcast.applications.text.features.task import Features, TaskState

GROUPS: Final = 8
FEWEST: Final = 16  # documents: two in each group
QUERIES: Final = (1, 16)  # asked together, to tell reading from asking
PASSES: Final = 5  # of which the median counts: the first loads what is needed
HITS: Final = 10  # of a query, as `search_documents` gives by default
SEED: Final = 1
NORMAL_90: Final = 1.645


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampled:
    """What a sample tells."""

    costs: SearchCosts
    documents: int  # of the sample [1]
    text: int  # bytes of their files [B]
    spreads: dict[str, float]  # half-widths of 90% intervals of constants over them [1]


@dataclass(frozen=True, slots=True)
class _Index:
    """An index of a part of the sample, and what it took."""

    lexicon: "Lexicon"
    text: float  # [B]
    seconds: float  # of its merge, or of finding its phrases [s]
    size: int  # in memory and in a message [B]


def sampled(paths: Sequence[str]) -> Sampled:
    """Measure the constants of a search on files, each of one document or several."""
    from parcast.applications.text.features.task import Features

    files = list(paths)
    random.Random(SEED).shuffle(files)
    for file in files:
        if not os.path.exists(file):
            with opened(file):  # which says what is wrong with it
                pass
    if len(files) < FEWEST:
        raise FitFailed(
            f"The sample has {counted(len(files), 'file')}; {FEWEST} are needed, to see how an "
            "index grows. Add files.",
            outcome="No plan.",
        )
    settings = Features()
    began = thread_time()
    state = settings()
    _indexed([min(files, key=lambda file: Path(file).stat().st_size)], state)  # loads the rest
    startup = thread_time() - began
    levels = [[_indexed(files[i::GROUPS], state) for i in range(GROUPS)]]
    while len(levels[-1]) > 1:
        levels.append([_merged(a, b) for a, b in zip(*[iter(levels[-1])] * 2, strict=True)])
    base, copies = _memory(levels)
    written = [_written(level[0].lexicon, settings) for level in levels]
    reading, asking = _asked(files, levels[-1][0])
    return _fitted(levels, written, startup, (reading, asking), (base, copies))


def _indexed(files: Sequence[str], state: "TaskState") -> _Index:
    from parcast.applications.text.documents.items import work_items
    from parcast.applications.text.features.lexicon import merged
    from parcast.applications.text.features.task import features_of

    began = thread_time()
    parts = [features_of(item, state) for item in work_items(files, state.settings.reading)]
    seconds = thread_time() - began
    text = sum(Path(file).stat().st_size for file in files)
    lexicon = merged(parts)
    return _Index(lexicon, text, seconds, _bytes(lexicon))


def _merged(a: _Index, b: _Index) -> _Index:
    from parcast.applications.text.features.lexicon import merge

    began = thread_time()
    lexicon = merge(a.lexicon, b.lexicon)
    return _Index(lexicon, a.text + b.text, thread_time() - began, _bytes(lexicon))


def _bytes(lexicon: "Lexicon") -> int:
    """Bytes of an index as a message has it."""
    from parcast.mpi.payload import packed

    return packed(lexicon).size


def _written(lexicon: "Lexicon", settings: "Features") -> tuple[int, float]:
    """Bytes of the file of an index, and the least processor time of writing it [B], [s]."""
    from parcast.applications.text.features.output import facts_of, write_lexicon

    with TemporaryDirectory(prefix="parcast-") as folder:
        path, times = Path(folder) / "index.parquet", []
        for _ in range(PASSES):
            began = process_time()  # of its threads too
            write_lexicon(path, lexicon, facts=facts_of(settings))
            times.append(process_time() - began)
        return path.stat().st_size, min(times)


def _memory(levels: Sequence[Sequence[_Index]]) -> tuple[float, float]:
    """Memory of this process, and bytes at the peak of a merge for a byte of its result."""
    import resource
    import tracemalloc

    from parcast.applications.text.features.lexicon import merge

    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    a, b = levels[-2]
    tracemalloc.start()
    try:
        merge(a.lexicon, b.lexicon)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return float(base), float(peak + a.size + b.size) / levels[-1][0].size


def _asked(files: Sequence[str], index: _Index) -> tuple[float, float]:
    """Times of a byte in a pass, and of a byte and a query in both passes [s/B]."""
    from parcast.applications.text.documents.document import DocumentReading
    from parcast.applications.text.documents.items import work_items
    from parcast.applications.text.search.bm25 import Bm25, Statistics
    from parcast.applications.text.search.tasks import (
        SNIPPET,
        Counting,
        Ranking,
        SearchedDocuments,
    )
    from parcast.applications.text.search.words import words_of

    phrases = index.lexicon.phrases()
    often = index.lexicon.counts.tolist()  # people ask for what occurs
    drawn = random.Random(SEED).choices(phrases, often, k=max(QUERIES))
    asked = [Counter(words_of(phrase)) for phrase in drawn]
    items = list(work_items(files, DocumentReading()))
    source, model = SearchedDocuments(DocumentReading(), skips=False), Bm25()
    times = []
    for count in QUERIES:
        counting = Counting(source, frozenset(chain.from_iterable(asked[:count])))
        passes = []
        for _ in range(PASSES):
            began = thread_time()
            found = reduce(Statistics.with_others, map(counting, items), Statistics())
            weights = [model.weights(query, found) for query in asked[:count]]
            ranking = Ranking(source, model, weights, found.mean, HITS, SNIPPET)
            for item in items:
                ranking(item)
            passes.append(thread_time() - began)
        times.append(median(passes) / index.text)
    few, many = QUERIES
    asking = max(times[1] - times[0], 0.0) / (many - few)
    return max(times[0] - few * asking, 0.0) / 2, asking


def _fitted(
    levels: Sequence[Sequence[_Index]],
    written: Sequence[tuple[int, float]],
    startup: float,
    query: tuple[float, float],
    memory: tuple[float, float],
) -> Sampled:
    every = [x for level in levels for x in level]
    weight = np.sqrt([1 / len(level) for level in levels for _ in level])
    text = np.array([x.text for x in every])
    phrases = np.array([float(len(x.lexicon)) for x in every])
    postings = np.array([float(x.lexicon.counts.sum()) for x in every])
    size = np.array([float(x.size) for x in every])
    if not np.all(phrases):
        raise FitFailed("The sample has no noun phrases. Add texts.", outcome="No plan.")
    growth, _ = np.polyfit(np.log(text), np.log(phrases), 1, w=weight)
    counts = np.stack([postings, phrases], axis=1)
    held = fit_non_negative(counts, size).coefficients
    places = np.cumsum([0, *(len(level) for level in levels[:-1])])
    filed, writing = np.array(written, dtype=np.float64).T
    of_file = fit_non_negative(counts[places], filed).coefficients
    merges = [x for level in levels[1:] for x in level]
    of_merge = np.array([x.seconds / x.size for x in merges])
    rates = np.array([x.seconds / x.text for x in levels[0]])
    whole, documents = levels[-1][0], levels[-1][0].lexicon.totals.documents
    costs = SearchCosts(
        document=whole.text / documents,
        startup=startup,
        extract=sum(x.seconds for x in levels[0]) / whole.text,
        merge=sum(x.seconds for x in merges) / sum(x.size for x in merges),
        write=float(
            fit_non_negative(np.stack([filed**0, filed], axis=1), writing).coefficients[1]
        ),
        reading=query[0],
        asking=query[1],
        postings=float(postings[-1] / whole.text),
        vocabulary=float(np.exp(np.log(phrases[-1]) - growth * np.log(text[-1]))),
        growth=float(growth),
        held=(float(held[0]), float(held[1])),
        filed=(float(of_file[0]), float(of_file[1])),
        base=memory[0],
        copies=memory[1],
    )
    spreads = {"extract": _spread(rates), "merge": _spread(of_merge)}
    return Sampled(costs=costs, documents=documents, text=int(whole.text), spreads=spreads)


def _spread(each: Array) -> float:
    """Half-width of the 90% interval of a mean over it [1]."""
    mean = float(each.mean())
    return float(NORMAL_90 * each.std(ddof=1) / np.sqrt(len(each)) / mean) if mean > 0 else 0.0
