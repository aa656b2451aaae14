"""Warnings of an answer: ordered by consequence, and grouped over its series.

A warning is a text. A `RankedWarning` is one that also carries of what kind it is, how grave and
how large, so that of seven series with a wide interval only the widest is described. Documents,
pickles and comparisons take it for its text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Self

from parcast.errors import one_line
from parcast.show.sheet import Sheet

MOST_SHOWN: Final = 3


class Rank(IntEnum):
    """Consequence of a warning, the gravest first."""

    VERDICT = -1  # what the answer is worth: stands before it
    UNUSABLE = 0  # there is no answer, or a wrong one
    SERIOUS = 1  # it may be far off
    PLAIN = 2  # worth reading; what a text is that carries no rank
    MINOR = 3  # shown only where all warnings are


class RankedWarning(str):
    """Text of a warning with its kind, its rank and its size among those of its kind."""

    kind: str
    rank: Rank
    size: float

    def __new__(
        cls, text: str, *, kind: str = "", rank: Rank = Rank.PLAIN, size: float = 0.0
    ) -> Self:
        """Warnings of one `kind` are grouped, and the one of the largest `size` is shown."""
        warning = super().__new__(cls, text)
        warning.kind, warning.rank, warning.size = kind or text, rank, size
        return warning


def ranked(text: str) -> RankedWarning:
    """Take a text that carries no rank as a warning of a kind of its own."""
    return text if isinstance(text, RankedWarning) else RankedWarning(text)


def minor(text: str) -> RankedWarning:
    """Make a warning one that is shown only where all are."""
    warning = ranked(text)
    return RankedWarning(text, kind=warning.kind, rank=Rank.MINOR, size=warning.size)


def said_of(name: str, text: str) -> RankedWarning:
    """Put the name of what a warning is about before it; it keeps its rank, and is a kind apart.

    >>> said_of("T3E", RankedWarning("Wide.", kind="wide", rank=Rank.MINOR)).rank.name
    'MINOR'
    """
    warning = ranked(text)
    kind = f"{name}: {warning.kind}"
    return RankedWarning(f"{name}: {text}", kind=kind, rank=warning.rank, size=warning.size)


def verdicts(warnings: Iterable[str]) -> list[RankedWarning]:
    """Give the verdicts among some warnings."""
    return [warning for warning in map(ranked, warnings) if not is_remark(warning)]


def is_remark(warning: str) -> bool:
    """Whether a warning stands below the answer, as all do but verdicts."""
    return ranked(warning).rank > Rank.VERDICT


def by_rank(warnings: Iterable[str]) -> list[RankedWarning]:
    """Order warnings, the gravest first and else as they are; each is one line, as in a sheet."""
    return sorted(map(_on_one_line, warnings), key=lambda warning: warning.rank)


def _on_one_line(text: str) -> RankedWarning:
    """Take a warning with its rank, and what is no line of a sheet escaped."""
    warning = ranked(text)
    line = one_line(text)
    return RankedWarning(line, kind=warning.kind, rank=warning.rank, size=warning.size)


def warnings_in(inputs: Any) -> list[str]:
    """Warnings of the files that an answer was made from, each once.

    >>> warnings_in({"base": {"file": "a.csv", "warnings": ["Noisy."]}, "p": [1, 2]})
    ['Noisy.']
    """
    found: list[str] = []
    if isinstance(inputs, Mapping):
        found += inputs.get("warnings") or ()
        inputs = list(inputs.values())
    if isinstance(inputs, list | tuple):
        found += (text for each in inputs for text in warnings_in(each))
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Gathered:
    """Warnings of a sheet and all its parts, one for each kind, the gravest first."""

    every: Sequence[RankedWarning]

    @property
    def verdicts(self) -> Sequence[RankedWarning]:
        """Those that stand before the answer."""
        return verdicts(self.every)

    @property
    def shown(self) -> Sequence[RankedWarning]:
        """Those that are shown where not all are asked for."""
        return self._important[:MOST_SHOWN]

    @property
    def left_out(self) -> int:
        """How many are not among those shown, minor ones not counted."""
        return len(self._important[MOST_SHOWN:])

    @property
    def _important(self) -> Sequence[RankedWarning]:
        return [
            warning for warning in self.every if is_remark(warning) and warning.rank < Rank.MINOR
        ]


def gathered(sheet: Sheet) -> Gathered:
    """Group the warnings of a sheet and its parts by their kinds.

    >>> parts = [Sheet(title=x, warnings=("Too few runs.",)) for x in ("SP", "T3E")]
    >>> gathered(Sheet(parts=tuple(parts))).shown
    ['Both series: Too few runs.']
    """
    kinds: dict[str, dict[str, RankedWarning]] = {}
    for name, text in _named(sheet):
        warning = ranked(text)
        those = kinds.setdefault(warning.kind, {})
        if name not in those or those[name].size < warning.size:
            those[name] = warning
    names = {_name(part) for part in sheet.parts} - {""}
    groups = [_together(those, len(names), sheet.parts_are) for those in kinds.values()]
    return Gathered(by_rank(groups))


def _named(sheet: Sheet, name: str = "") -> Iterator[tuple[str, str]]:
    """Give every warning with the name of the part that it is of, "" for the whole."""
    yield from ((name, text) for text in sheet.warnings)
    for part in sheet.parts:
        yield from _named(part, _name(part) or name)


def _name(part: Sheet) -> str:
    """Name a part where it is named in a sentence."""
    return part.name or part.title


def _together(those: dict[str, RankedWarning], parts: int, noun: str) -> RankedWarning:
    """Make one warning of those of one kind, by the names of their parts: the gravest speaks."""
    worst = min(those, key=lambda name: (those[name].rank, -those[name].size))
    named = [worst, *(name for name in those if name not in (worst, ""))]
    who = ""
    if worst and parts > 1:
        who = _who(named, [those[name] for name in named], parts, noun)
    speaker: Any = those[worst]
    return RankedWarning(
        f"{who}: {speaker}" if who else speaker,
        kind=speaker.kind,
        rank=speaker.rank,
        size=speaker.size,
    )


def _who(names: Sequence[str], warnings: Sequence[RankedWarning], parts: int, noun: str) -> str:
    """Say for which parts warnings of one kind are given, that of the first in words."""
    worst, *others = names
    if not others:
        return worst
    if len(set(warnings)) == 1:
        if len(names) == parts:
            return f"Both {noun}" if parts == 2 else f"All {parts} {noun}"
        return ", ".join(names) if len(names) == 2 else f"{worst} and {len(others)} more {noun}"
    if len({warning.size for warning in warnings}) == 1:
        return f"{worst}, and similarly {len(others)} more {noun}"
    return f"{worst}, the worst of {len(names)} {noun}"
