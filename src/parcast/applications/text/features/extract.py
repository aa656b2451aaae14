"""The lexicon of the noun phrases of files, on one process or on ranks."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from parcast.applications.text.documents.items import work_items
from parcast.applications.text.features.lexicon import Lexicon, LexiconTotals, merge, split, zero
from parcast.applications.text.features.output import (
    Rows,
    check_output,
    facts_of,
    lexicon_json,
    write_lexicon,
)
from parcast.applications.text.features.task import Features, features_of
from parcast.errors import ParameterError, RunFailed, as_whole
from parcast.files.document import json_pieces
from parcast.pipeline.paths import document_paths
from parcast.pipeline.result import PipelineResult, items_skipped
from parcast.pipeline.run import run_pipeline
from parcast.show.result import Result

MOST_FREQUENT = 10  # phrases that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesPart:
    """What is known of a lexicon, or of one of its parts, once it has been written."""

    totals: LexiconTotals
    phrases: int  # different ones
    occurrences: int
    frequent: tuple[tuple[int, str], ...]  # frequency and phrase, falling
    paths: tuple[str, ...] = ()  # of files that it was written to


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeaturesResult(Result):
    """Noun phrases of documents: how many, the most frequent, and the lexicon unless in parts."""

    settings: Features
    parts: tuple[FeaturesPart, ...]
    run: PipelineResult
    lexicon: Lexicon | None = None

    def __repr__(self) -> str:
        totals = self.totals
        return f"FeaturesResult({totals.documents} documents, {totals.tokens} tokens)"

    @property
    def totals(self) -> LexiconTotals:
        """What was read in all."""
        if not self.parts:  # on ranks other than the first
            return LexiconTotals()
        items = items_skipped(self.run)
        read, tokens, skipped, faults = zip(*(part.totals for part in self.parts), strict=True)
        return LexiconTotals(
            sum(read), sum(tokens), sum(skipped) + len(items), (*chain(*faults), *items)
        )

    @property
    def frequent(self) -> list[tuple[int, str]]:
        """The most frequent phrases, those of equal frequency in alphabetical order."""
        every = (row for part in self.parts for row in part.frequent)
        return sorted(every, key=_falling)[:MOST_FREQUENT]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every phrase and its frequency; without a lexicon the most frequent ones."""
        if self.lexicon is None:
            for count, phrase in self.frequent:
                yield {"phrase": phrase, "frequency": count}
            return
        columns = self.lexicon.phrases(), self.lexicon.counts.tolist()
        for phrase, count in zip(*columns, strict=True):
            yield {"phrase": phrase, "frequency": count}

    def json_pieces(self, rows: Rows = "phrase") -> Iterator[str]:
        """Text of the lexicon as JSON, piece by piece; of the summary where it is in parts."""
        if self.lexicon is None:
            return json_pieces(self.to_document())
        lexicon = replace(self.lexicon, totals=self.totals)
        return lexicon_json(lexicon, rows, facts_of(self.settings))

    def to_document(self) -> dict[str, Any]:
        """What was found and how, and the most frequent phrases."""
        totals = self.totals
        return {
            "schema": "parcast/features-summary/1",
            **facts_of(self.settings),
            "documents": totals.documents,
            "tokens": totals.tokens,
            "different_phrases": sum(part.phrases for part in self.parts),
            "occurrences": sum(part.occurrences for part in self.parts),
            "skipped": totals.skipped,
            "faults": list(totals.faults),
            "paths": [path for part in self.parts for path in part.paths],
            "seconds": self.run.seconds,
            "ranks": len(self.run.ranks),
            "frequent": [{"phrase": x, "frequency": count} for count, x in self.frequent],
        }


def extract_features(
    documents: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    settings: Features | None = None,
    outputs: Sequence[str | os.PathLike[str]] = (),
    rows: Rows = "phrase",
    least: int = 1,
    shards: int = 1,
    **run: Any,
) -> FeaturesResult:
    """Find the noun phrases of files, folders or patterns, and write their lexicon.

    Phrases that occur less than `least` times are left out at the end. With `shards` above 1 the
    lexicon is reduced in so many parts, and each is written on the rank that holds it: part 2 of 4
    of ``f.parquet`` to ``f-2-of-4.parquet``. Other arguments are those of `run_pipeline`; with
    `on_error="skip"`, documents that cannot be read are skipped and listed.
    """
    settings = settings or Features()
    settings = replace(settings, skip=settings.skip or run.get("on_error") == "skip")
    paths = document_paths(documents)
    count = as_whole("shards", shards, least=1, hint="Give the number of parts.")
    as_whole("least", least, least=1, hint="1 keeps all phrases.")
    if count > 1 and not outputs:
        raise ParameterError(
            "shards",
            must="be 1 where nothing is written",
            got=str(count),
            hint="Name a file to write.",
        )
    places = [os.fspath(path) for path in outputs]
    for place in places:
        for shard in range(count):
            place_of_part = path_of_part(place, shard, count)
            check_output(place_of_part, rows, settings.occurrences, sources=paths)
    settings()  # a tagger that is missing is missed before ranks are started
    finish = partial(
        _finished, places=places, rows=rows, least=least, shards=count, settings=settings
    )
    identity = {
        "documents": repr(paths),
        "options": repr((settings, least)),
    }
    result = run_pipeline(
        work_items(paths, settings.reading),
        features_of,
        merge,
        zero=zero(),
        setup=settings,
        split=split,
        shards=count,
        finish=finish,
        **{"name": "features", "signature": identity, **run},
    )
    values = result.value if count > 1 else [result.value]
    done = [value for value in values or () if value is not None]
    lexicon = done[0][1] if count == 1 and done else None
    return FeaturesResult(
        settings=settings, parts=tuple(part for part, _ in done), run=result, lexicon=lexicon
    )


def _finished(
    lexicon: Lexicon,
    shard: int = 0,
    *,
    places: Sequence[str],
    rows: Rows,
    least: int,
    shards: int,
    settings: Features,
) -> tuple[FeaturesPart, Lexicon | None]:
    """Leave rare phrases out, write the files, and give what is known of the lexicon."""
    often = lexicon.at_least(least)
    paths = [path_of_part(place, shard, shards) for place in places]
    for path in paths:
        try:
            write_lexicon(path, often, rows=rows, facts={**facts_of(settings), "least": least})
        except OSError as failure:
            why = (failure.strerror or str(failure)).lower()
            raise RunFailed(
                f"{path} cannot be written: {why}. Nothing was changed there. Choose another "
                "place, or make room, and run it again."
            ) from failure
    part = FeaturesPart(
        totals=often.totals,
        phrases=len(often),
        occurrences=int(often.counts.sum()),
        frequent=tuple(_most_frequent(often)),
        paths=tuple(paths),
    )
    return part, often if shards == 1 else None


def path_of_part(path: str, shard: int, shards: int) -> str:
    """Name of the file of a part, counted from 0.

    >>> path_of_part("out/f.parquet", 1, 4), path_of_part("f.csv", 0, 1)
    ('out/f-2-of-4.parquet', 'f.csv')
    """
    if shards == 1:
        return path
    place = Path(path)
    return str(place.with_name(f"{place.stem}-{shard + 1}-of-{shards}{place.suffix}"))


def _most_frequent(lexicon: Lexicon) -> list[tuple[int, str]]:
    order = np.argsort(-lexicon.counts, kind="stable")[:MOST_FREQUENT].tolist()
    phrases = lexicon.phrases()
    return [(int(lexicon.counts[i]), phrases[i]) for i in order]


def _falling(row: tuple[int, str]) -> tuple[int, bytes]:
    """Order of phrases by frequency, then by their bytes."""
    return -row[0], row[1].encode()
