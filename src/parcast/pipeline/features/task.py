"""The task of the pipeline: the lexicon of the noun phrases of documents.

    run_pipeline(items, features_of, merge, zero=zero(), setup=Features(), split=split)

`Features` says how; calling it loads the tagger, once a rank.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from parcast.errors import require_kind
from parcast.pipeline.features.lexicon import Lexicon, merged
from parcast.pipeline.features.phrases import DEFAULT_GRAMMAR, Grammar, find_phrases
from parcast.pipeline.features.tagging import Tagger, load_tagger


class TextPlaces(Protocol):
    """From a clean text to the original one."""

    def spans(self, begins: Any, ends: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Starts and stops in the original text."""


class TextField(Protocol):
    """Clean text of one field."""

    @property
    def name(self) -> str: ...  # noqa: D102 - "title", "body"
    @property
    def text(self) -> str: ...  # noqa: D102 - paragraphs separated by an empty line
    @property
    def offsets(self) -> TextPlaces: ...  # noqa: D102 - places of its characters


class TextDocument(Protocol):
    """A document with its place in a file."""

    @property
    def name(self) -> str: ...  # noqa: D102 - its identifier
    @property
    def path(self) -> str: ...  # noqa: D102 - its file
    @property
    def number(self) -> int: ...  # noqa: D102 - counted from 1 in its file
    @property
    def fields(self) -> Iterable[TextField]: ...  # noqa: D102 - those with text


@dataclass(frozen=True, slots=True)
class State:
    """What a rank keeps between documents."""

    tagger: Tagger
    grammar: Grammar
    fold: bool
    occurrences: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """How phrases are found: small, and sent to every rank, which calls it."""

    tagger: str = "textblob"  # or "denckring" or "module:function"
    grammar: str = DEFAULT_GRAMMAR
    fold: bool = True  # phrases that differ in capital letters only are one
    occurrences: bool = True  # keep where each phrase occurs; else frequencies only

    def __post_init__(self) -> None:
        """Refuse a grammar before anything is read."""
        require_kind("tagger", self.tagger, str, hint="Write textblob or module:function.")
        Grammar.of(self.grammar)

    def __call__(self) -> State:
        """Load the tagger."""
        return State(
            load_tagger(self.tagger), Grammar.of(self.grammar), self.fold, self.occurrences
        )


def document_features(document: TextDocument, state: State) -> Lexicon:
    """Lexicon of one document."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    tokens = 0
    for field in document.fields:
        phrases = find_phrases(field.text, state.tagger, state.grammar)
        tokens += phrases.tokens
        if not phrases.texts:
            continue
        texts = [text.casefold() for text in phrases.texts] if state.fold else phrases.texts
        starts, stops = field.offsets.spans(phrases.begins, phrases.ends)
        rows = zip(texts, starts.tolist(), stops.tolist(), strict=True)
        found.setdefault(field.name, []).extend(rows)
    key = (document.path, document.number, document.name)
    return Lexicon.of_document(key, found, with_places=state.occurrences, tokens=tokens)


def features_of(documents: Iterable[TextDocument], state: State) -> Lexicon:
    """Lexicon of the documents of one item."""
    return merged([document_features(document, state) for document in documents])
