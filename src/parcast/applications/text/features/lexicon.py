"""The lexicon: phrases in lexicographic order, how often each occurs, and where.

Everything is in NumPy columns, so that a lexicon travels between processes as buffers and takes
some 14 bytes an occurrence. Lexicons merge associatively: phrases by their UTF-8 bytes (which is
the order of code points), occurrences by document, place and field. The same documents give the
same bytes for every tree of merges.

>>> first = Lexicon.of_document(("a.txt", 1, "a.txt"), {"title": [("fine rain", 0, 9)]})
>>> found = {"body": [("rain", 5, 9), ("fine rain", 0, 9)]}
>>> both = merge(first, Lexicon.of_document(("b.txt", 1, "b.txt"), found))
>>> list(zip(both.phrases(), both.counts.tolist()))
[('fine rain', 2), ('rain', 1)]
>>> [(at.path, at.field, at.start, at.stop) for at in both.occurrences("fine rain")]
[('a.txt', 'title', 0, 9), ('b.txt', 'body', 0, 9)]
"""

import json
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from operator import ne
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parcast.errors import as_whole

DocumentKey: TypeAlias = tuple[str, int, str]  # path, number in it, name
Array: TypeAlias = NDArray[Any]
FAR = 2**32  # offsets from here on need 8 bytes
MOST_FAULTS = 100  # that are kept
NAME_BYTES = 200  # of a document: a tuple of 64, a number, and texts of 50 to 100 each


class Occurrence(NamedTuple):
    """Where a phrase occurs: characters `start` up to `stop` of the original text of a file."""

    path: str
    document: int  # counted from 1 in its file
    name: str
    field: str
    start: int
    stop: int


class LexiconTotals(NamedTuple):
    """What was read for a lexicon."""

    documents: int = 0  # with those without phrases
    tokens: int = 0  # in all of them
    skipped: int = 0  # documents and files that could not be read
    faults: tuple[str, ...] = ()  # of these, the first in alphabetical order


NOTHING = LexiconTotals()


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Occurrences in columns of equal length: those of the first phrase, of the second, ..."""

    documents: tuple[DocumentKey, ...]  # ascending
    fields: tuple[str, ...]  # ascending
    document: Array  # number in `documents`
    field: Array  # number in `fields`
    start: Array  # first character in the original text; uint32, or int64 where that is too small
    length: Array  # characters

    def taken(self, order: Array) -> "Places":
        """Occurrences of these numbers, in this order, and the names that they need."""
        documents, document = np.unique(self.document[order], return_inverse=True)
        fields, field = np.unique(self.field[order], return_inverse=True)
        start = self.start[order]
        return Places(
            tuple(self.documents[i] for i in documents.tolist()),
            tuple(self.fields[i] for i in fields.tolist()),
            document.astype(np.uint32),
            field.astype(np.uint16),
            start.astype(np.uint32) if start.size and start.max() < FAR else start,
            self.length[order],
        )

    def arrays(self) -> tuple[Array, ...]:
        """The columns, without names."""
        return self.document, self.field, self.start, self.length

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle names as one text, which depends on their characters only."""
        names = json.dumps([self.documents, self.fields])
        return _places, (names, *self.arrays())


def _places(names: str, document: Array, field: Array, start: Array, length: Array) -> Places:
    """Make occurrences from their pickle."""
    documents, fields = json.loads(names)
    return Places(tuple(map(tuple, documents)), tuple(fields), document, field, start, length)


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Phrases with their frequencies, and with their occurrences unless `places` is None."""

    blob: Array  # the phrases in UTF-8, one after the other; uint8
    ends: Array  # where each ends in `blob`; int64
    counts: Array  # int64
    places: Places | None = None
    totals: LexiconTotals = NOTHING

    @classmethod
    def of_document(
        cls,
        document: DocumentKey,
        fields: Mapping[str, Iterable[tuple[str, int, int]]],
        *,
        with_places: bool = True,
        tokens: int = 0,
    ) -> "Lexicon":
        """Lexicon of one document, from its phrases with start and stop by field."""
        rows = {name: list(found) for name, found in fields.items()}
        names = tuple(sorted(name for name, found in rows.items() if found))
        found = sorted(
            (phrase.encode("utf-8", "replace"), start, stop - start, number)
            for number, name in enumerate(names)
            for phrase, start, stop in rows[name]
        )
        groups = [(key, sum(1 for _ in group)) for key, group in groupby(found, lambda x: x[0])]
        keys = [key for key, _ in groups]
        counts = np.array([count for _, count in groups], dtype=np.int64)
        places = None
        if with_places and found:
            _, starts, lengths, numbers = zip(*found, strict=True)
            places = Places(
                (document,),
                names,
                np.zeros(len(found), dtype=np.uint32),
                np.array(numbers, dtype=np.uint16),
                np.array(starts, dtype=np.uint32 if max(starts) < FAR else np.int64),
                np.array(lengths, dtype=np.uint32),
            )
        return cls(*_packed(keys), counts, places, LexiconTotals(1, tokens))

    def __len__(self) -> int:
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        """Tell whether all is the same: phrases, frequencies, occurrences and what was read."""
        if not isinstance(other, Lexicon):
            return NotImplemented
        mine, others = self._parts(), other._parts()
        return mine[0] == others[0] and all(map(np.array_equal, mine[1], others[1]))

    __hash__ = None  # type: ignore[assignment]  # as for every class with equality alone

    def _parts(self) -> tuple[tuple[object, ...], tuple[Array, ...]]:
        """Names and totals, and columns."""
        at = self.places
        names = (at.documents, at.fields) if at else None
        columns = (self.blob, self.ends, self.counts, *(at.arrays() if at else ()))
        return (names, *self.totals), columns

    @property
    def nbytes(self) -> int:
        """Bytes of its columns and, estimated, of the names of documents."""
        names = NAME_BYTES * len(self.places.documents) if self.places else 0
        return sum(column.nbytes for column in self._parts()[1]) + names

    def encoded(self) -> list[bytes]:
        """Phrases in UTF-8."""
        text = self.blob.tobytes()
        ends = self.ends.tolist()
        return [text[i:j] for i, j in zip([0, *ends[:-1]], ends, strict=True)] if ends else []

    def phrases(self) -> list[str]:
        """Phrases, ascending."""
        return [key.decode() for key in self.encoded()]

    def occurrences(self, phrase: str) -> list[Occurrence]:
        """Where a phrase occurs; nowhere if it is not in the lexicon."""
        keys, key, at = self.encoded(), phrase.encode(), self.places
        i = bisect_left(keys, key)
        if at is None or i == len(keys) or keys[i] != key:
            return []
        first = int(self.counts[:i].sum())
        rows = slice(first, first + int(self.counts[i]))
        columns = (at.document[rows], at.field[rows], at.start[rows], at.length[rows])
        return [
            Occurrence._make((*at.documents[d], at.fields[f], s, s + n))
            for d, f, s, n in zip(*(x.tolist() for x in columns), strict=True)
        ]

    def taken(self, chosen: Array, *, with_totals: bool = True) -> "Lexicon":
        """Part with the phrases for which `chosen` (bool) holds, and what was read, or zero."""
        keys = [key for key, is_in in zip(self.encoded(), chosen.tolist(), strict=True) if is_in]
        rows = np.flatnonzero(np.repeat(chosen, self.counts))
        places = self.places.taken(rows) if self.places is not None and len(rows) else None
        totals = self.totals if with_totals else NOTHING
        return Lexicon(*_packed(keys), self.counts[chosen], places, totals)

    def at_least(self, frequency: int) -> "Lexicon":
        """Part with the phrases that occur so often: for the end, not between merges."""
        hint = "1 keeps all phrases."
        least = as_whole("frequency", frequency, least=1, hint=hint)
        return self if least == 1 else self.taken(self.counts >= least)


def zero() -> Lexicon:
    """Lexicon of no document, which merges with every other."""
    return Lexicon(*_packed([]), np.zeros(0, dtype=np.int64))


def of_faults(*faults: str) -> Lexicon:
    """Lexicon of documents that could not be read, each with the reason."""
    return replace(
        zero(), totals=LexiconTotals(0, 0, len(faults), tuple(sorted(faults)[:MOST_FAULTS]))
    )


def merge(a: Lexicon, b: Lexicon) -> Lexicon:
    """Lexicon of the documents of both."""
    return merged((a, b))


def merged(lexicons: Iterable[Lexicon]) -> Lexicon:
    """Lexicon of the documents of all, in one merge."""
    every = list(lexicons)
    totals = LexiconTotals(
        sum(part.totals.documents for part in every),
        sum(part.totals.tokens for part in every),
        sum(part.totals.skipped for part in every),
        tuple(sorted(chain.from_iterable(part.totals.faults for part in every))[:MOST_FAULTS]),
    )
    parts = [part for part in every if len(part)]
    if len(parts) < 2:
        return replace(parts[0] if parts else zero(), totals=totals)
    places = [part.places for part in parts if part.places is not None]
    if len(places) == len(parts):
        parts.sort(key=lambda part: part.places.documents[0] if part.places else ())
    keys = list(chain.from_iterable(part.encoded() for part in parts))
    order = sorted(range(len(keys)), key=keys.__getitem__)  # finds and merges the sorted runs
    ascending = [keys[i] for i in order]
    is_new = np.fromiter(
        chain((True,), map(ne, ascending[1:], ascending)), dtype=bool, count=len(keys)
    )
    firsts = np.flatnonzero(is_new)
    counts = np.concatenate([part.counts for part in parts])
    column = np.asarray(order)
    total = np.add.reduceat(counts[column], firsts)
    packed = _packed([ascending[i] for i in firsts.tolist()])
    if len(places) < len(parts):
        return Lexicon(*packed, total, None, totals)
    number = np.empty(len(keys), dtype=np.uint32)  # of each old phrase in the new lexicon
    number[column] = np.cumsum(is_new) - 1
    ordered = [part.places for part in parts if part.places is not None]
    places_of_all = _merged_places(ordered, np.repeat(number, counts))
    return Lexicon(*packed, total, places_of_all, totals)


def _merged_places(parts: Sequence[Places], phrase: Array) -> Places:
    """Occurrences of all parts by phrase, then document, place and field."""
    ordered = all(a.documents[-1] < b.documents[0] for a, b in pairwise(parts))
    every = chain.from_iterable(part.documents for part in parts)
    documents = tuple(every) if ordered else tuple(sorted(set(every)))
    fields = tuple(sorted({name for part in parts for name in part.fields}))
    names = {name: i for i, name in enumerate(fields)}
    columns = (
        _renumbered([p.documents for p in parts], documents, parts, ordered),
        [np.array([names[x] for x in p.fields], dtype=np.uint16)[p.field] for p in parts],
        [part.start for part in parts],
        [part.length for part in parts],
    )
    if ordered:  # within a phrase they stand in order already
        order = np.argsort(phrase, kind="stable")
    else:
        document, field, start, length = map(np.concatenate, columns)
        order = np.lexsort((field, length, start, document, phrase))
    # One column after the other, as they may take hundreds of megabytes:
    return Places(documents, fields, *(np.concatenate(column)[order] for column in columns))


def _renumbered(
    tables: Sequence[tuple[DocumentKey, ...]],
    documents: tuple[DocumentKey, ...],
    parts: Sequence[Places],
    ordered: bool,
) -> list[Array]:
    """Numbers of documents of each part in the table of all."""
    if ordered:
        before = np.cumsum([0, *map(len, tables)])
        return [
            (part.document + np.uint32(first)).astype(np.uint32)
            for part, first in zip(parts, before.tolist(), strict=False)
        ]
    numbers = {key: i for i, key in enumerate(documents)}
    return [
        np.array([numbers[key] for key in table], dtype=np.uint32)[part.document]
        for table, part in zip(tables, parts, strict=True)
    ]


def split(lexicon: Lexicon, parts: int) -> list[Lexicon]:
    """Parts by a checksum of the phrase: of equal size, each in order, the same on every machine.

    Splitting and merging commute, so that each part can be reduced on a rank of its own. What was
    read is counted in the first part.
    """
    count = as_whole("parts", parts, least=1, hint="Give the number of parts.")
    numbers = np.array([zlib.crc32(key) % count for key in lexicon.encoded()], dtype=np.int64)
    return [lexicon.taken(numbers == part, with_totals=not part) for part in range(count)]


def _packed(keys: Sequence[bytes]) -> tuple[Array, Array]:
    """Phrases as one array of bytes, and where each ends."""
    blob = np.frombuffer(bytearray(b"".join(keys)), dtype=np.uint8)
    return blob, np.cumsum([len(key) for key in keys], dtype=np.int64)
