"""Rows that a benchmark marked as failed: left out and counted; and errors reported between rows.

A benchmark that checks its data or runs out of memory goes on printing rows. Their times are those
of something else than was to be measured. Lines of other programs between the rows, such as those
of UCX, are ignored; where one reports an error, the file and the line are named.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from parcast.units import shown
from parcast.words import listed

ERROR = re.compile(
    r"\b(?:errors?|fail(?:ed|ure|s)?|abort(?:ed|ing)?|fatal|segmentation fault|killed"
    r"|out of memory)\b",
    re.IGNORECASE,
)
REASONS_NAMED: Final = 5
WIDTH: Final = 120  # characters of a reported line


class FailedRows:
    """What one file says of failures."""

    def __init__(self, name: str) -> None:
        self._name = shown(name)
        self._reasons: Counter[str] = Counter()  # of rows that are left out
        self._errors: list[tuple[int, str]] = []  # the first line that reports an error
        self._more = 0  # such lines after it

    def __len__(self) -> int:
        """Return how many rows are left out."""
        return self._reasons.total()

    def leave_out(self, reason: str) -> None:
        """Count a row, with what the benchmark says of it."""
        self._reasons[reason] += 1

    def look_at(self, text: str, line: int) -> None:
        """Look at a line that is no row: it may report an error."""
        if not ERROR.search(text[:2000]):
            return
        if self._errors:
            self._more += 1
        else:
            self._errors.append((line, text))

    def notes(self) -> Iterator[str]:
        """Say how many rows are left out and why, and which lines report errors."""
        count = len(self)
        if count:
            reasons = (f"{reason} ({count})" for reason, count in self._reasons.most_common())
            rows = f"{count} row{'s are' if count > 1 else ' is'} left out"
            yield (
                f"{self._name}: {rows}, as the benchmark marked {'them' if count > 1 else 'it'} "
                f"as failed: {listed(reasons, REASONS_NAMED)}."
            )
        for line, text in self._errors:
            also = f" and {self._more} more report" if self._more else " reports"
            yield (
                f"{self._name}: line {line}{also} an error: "
                f"{shown(repr(text.strip()), limit=WIDTH)}. Check whether the run was "
                "disturbed; if so, repeat it."
            )
