"""Regular expressions of a user's own: where a log has the time and the processor count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from parcast.errors import Argument, ParameterError
from parcast.files.faults import Faults
from parcast.importers.counts import counts_of_files, short_names
from parcast.units import shown
from parcast.words import listed

TIME_PATTERN, COUNT_PATTERN = Argument("time_pattern"), Argument("count_pattern")
LONGEST_PATTERN = 1_000  # characters
MOST_NAMED = 3  # files in a message


@dataclass(frozen=True, slots=True)
class Patterns:
    """How to find times and counts: one group of each is what was searched for."""

    time: re.Pattern[str] | None = None
    count: re.Pattern[str] | None = None

    def counts_of_files(
        self, names: Sequence[str], faults: Faults
    ) -> tuple[list[int] | None, list[str]]:
        """Give the processors of files by their names, and a note; None where they have none."""
        if self.count is None:
            counts = counts_of_files(names)
        else:
            found = [self.count.search(name) for name in names]
            for name, match in zip(names, found, strict=True):
                if match is None:
                    faults.refuse(
                        f"must have a count that {COUNT_PATTERN} finds in the names of files, got "
                        f"none in {shown(name)}. Correct the pattern."
                    )
            counts = [count_of(match, faults) for match in found if match]
        if not counts:
            return None, []
        pairs = zip(counts, short_names(names), strict=True)
        told = [f"{p} of {shown(name)}" for p, name in pairs]
        return counts, [f"p is taken from the names of the files: {listed(told, MOST_NAMED)}."]


def count_of(match: re.Match[str], faults: Faults, line: int | None = None) -> int:
    """Give the processors that a pattern found."""
    text = group_of(match)
    if not re.fullmatch(r"\s*\+?[0-9]{1,15}\s*", text):
        faults.refuse(
            f"must be a processor count where {COUNT_PATTERN} finds one, got {shown(repr(text))}. "
            "Put the digits into its group: (\\d+)",
            line=line,
        )
    return int(text)


def group_of(match: re.Match[str]) -> str:
    """Give what the group of a pattern found, or the first of several that found something."""
    return next((text for text in match.groups() if text), "")


def compiled(text: str | None, name: str) -> re.Pattern[str] | None:
    """Take a pattern, or refuse what is no regular expression with a group."""
    if text is None:
        return None
    example = r"time: ([\d.]+)" if name == "time_pattern" else r"ranks: (\d+)"
    if not isinstance(text, str) or len(text) > LONGEST_PATTERN:
        raise ParameterError(
            name, must="be a regular expression", got=f"{text!r:.60}", hint=f"Such as {example!r}."
        )
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ParameterError(
            name,
            must="be a regular expression",
            got=f"{shown(repr(text))}, in which: {error}",
            hint=f"Such as {example!r}.",
        ) from None
    if not pattern.groups:
        raise ParameterError(
            name,
            must="have a group in parentheses",
            got=shown(repr(text)),
            hint=f"Such as {example!r}.",
        )
    return pattern
