"""The task of the pipeline: the lexicon of the noun phrases of documents.

    run_pipeline(items, features_of, merge, zero=zero(), setup=Features(), split=split)

`Features` says how; calling it loads the tagger, once a rank.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from parcast.applications.text.documents.document import Document, DocumentError, DocumentReading
from parcast.applications.text.documents.items import WorkItem
from parcast.applications.text.documents.reading import read_documents
from parcast.applications.text.features.lexicon import Lexicon, LexiconTotals, merged, of_faults
from parcast.applications.text.features.phrases import DEFAULT_GRAMMAR, Grammar, find_phrases
from parcast.applications.text.features.tagging import Tagger, load_tagger
from parcast.errors import require_kind
from parcast.mpi.payload import EMPTY
from parcast.pipeline.engine.tree import Combiner

MERGED_AT_ONCE = 256  # documents: an archive may hold more than there is memory for one by one
MOST_ROWS = 50_000  # of a document that are held as Python objects: some 25 MB


@dataclass(frozen=True, slots=True)
class TaskState:
    """What a rank keeps between documents."""

    tagger: Tagger
    grammar: Grammar
    settings: "Features"


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """How phrases are found: small, and sent to every rank, which calls it."""

    tagger: str = "textblob"  # or "module:function"
    grammar: str = DEFAULT_GRAMMAR
    fold: bool = True  # phrases that differ in capital letters only are one
    occurrences: bool = True  # keep where each phrase occurs; else frequencies only
    reading: DocumentReading = field(default_factory=DocumentReading)  # how files are read
    skip: bool = False  # count documents that cannot be read, and go on

    def __post_init__(self) -> None:
        require_kind("tagger", self.tagger, str, hint="Write textblob or module:function.")
        Grammar.of(self.grammar)

    def __call__(self) -> TaskState:
        """Load the tagger."""
        return TaskState(load_tagger(self.tagger), Grammar.of(self.grammar), self)


def document_features(document: Document, state: TaskState) -> Lexicon:
    """Lexicon of one document."""
    key = (document.path, document.number, document.name)
    settings = state.settings
    found: dict[str, list[tuple[str, int, int]]] = {}
    parts: list[Lexicon] = []
    tokens = rows = 0

    def add_part() -> None:
        parts.append(Lexicon.of_document(key, found, with_places=settings.occurrences))

    for part in document.fields:
        for phrases in find_phrases(part.text, state.tagger, state.grammar):
            tokens += phrases.tokens
            if not phrases.texts:
                continue
            texts = list(map(str.casefold, phrases.texts)) if settings.fold else phrases.texts
            starts, stops = part.offsets.spans(np.array(phrases.begins), np.array(phrases.ends))
            places = zip(texts, starts.tolist(), stops.tolist(), strict=True)
            found.setdefault(part.name, []).extend(places)
            rows += len(texts)
            if rows > MOST_ROWS:
                add_part()
                found, rows = {}, 0
    add_part()
    lexicon = merged(parts) if len(parts) > 1 else parts[0]
    return replace(lexicon, totals=LexiconTotals(1, tokens))


def features_of(item: WorkItem, state: TaskState) -> Lexicon:
    """Lexicon of the documents of a work item."""
    settings = state.settings
    faults: list[DocumentError] = []
    skipped = faults.append if settings.skip else None
    found = Combiner(merged, MERGED_AT_ONCE)
    for document in read_documents(item, settings.reading, skipped=skipped):
        found.add(document_features(document, state))
    found.add(of_faults(*(fault.in_a_line for fault in faults)))
    total = found.total()
    assert total is not EMPTY
    return total
