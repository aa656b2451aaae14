"""Tables of message benchmarks: a time or a rate for each size, and their medians over runs.

A benchmark that checks its data or runs out of memory goes on printing rows. Their times are those
of something else than was to be measured: they are left out and counted. Lines of other programs
between the rows, such as those of UCX, are ignored; where one reports an error, the file and the
line are named.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from parcast.calibration.benchmarks.memories import HOST
from parcast.files.decoding import base_name, name_of
from parcast.files.faults import Faults
from parcast.files.numbers import finite, whole
from parcast.importers.content import CUT_OFF
from parcast.units import NUMBER, shown
from parcast.words import counted, listed

COLLECTIVES: Final = (  # of messages; a barrier has none
    "broadcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "gather",
    "scatter",
)
RATES: Final = ("rate", "pairs")  # whose values are in B/s; all others are times
MICROSECOND: Final = 1e-6  # [s]
LONG = 2**16  # bytes: of one size alone, from here on it is long [D]
LARGEST_TEXT: Final = 16_000_000  # bytes of a file; benchmarks print some hundred lines
LARGEST = 1e15  # in the unit of a file: a month in microseconds, or more than any memory moves
LARGEST_SIZE = 10**15  # of a message [B]
ERROR = re.compile(
    r"\b(?:errors?|fail(?:ed|ure|s)?|abort(?:ed|ing)?|fatal|segmentation fault|killed"
    r"|out of memory)\b",
    re.IGNORECASE,
)
REASONS_NAMED: Final = 5
WIDTH: Final = 120  # characters of a reported line
_NUMBER = re.compile(rf"[-+]?(?:{NUMBER}|nan|inf(?:inity)?)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageTable:
    """One table: one run of one benchmark."""

    kind: str  # "message", "rate" of a pair, "pairs" together, "barrier", or one of COLLECTIVES
    tool: str  # "osu_latency"
    processes: int
    points: tuple[tuple[int, float], ...]  # size [B], and the time of one message or call [s],
    # or the rate [B/s]; what has no size is at 0
    memory: str = HOST  # that the messages lie in; "" for a barrier
    file: str = ""


Values = dict[int, list[float]]  # by size
Named = dict[str, dict[str, None]]  # names of each note that has some, in the order of notes


def is_row(text: str, columns: Sequence[str]) -> bool:
    """Tell a row of a table, possibly one with a fault, from lines of other programs.

    A line that begins with the time of day or with a count, such as "12 errors found", is no row.

    >>> is_row("8  1.25", ["Size", "t"]), is_row("8", ["Size", "t"]), is_row("12 errors found", [])
    (True, True, False)
    """
    first, *others = text[:2000].split()
    if not is_number(first):
        return False
    return len(others) + 1 == len(columns) or not others or is_number(others[0])


def is_number(word: str) -> bool:
    """Tell whether a word of a table is a number, or one of those that stand for none."""
    return _NUMBER.fullmatch(word) is not None


class BenchmarkFile:
    """What one file says of failures, and what is wrong with it."""

    def __init__(self, path: Path) -> None:
        self.name = base_name(path)
        self.faults = Faults(name_of(path))
        self._reasons: Counter[str] = Counter()  # of rows that are left out
        self._errors: list[tuple[int, str]] = []  # lines that report an error

    def leave_out(self, reason: str) -> None:
        """Count a row, with what the benchmark says of it."""
        self._reasons[reason] += 1

    def look_at(self, text: str, line: int) -> None:
        """Look at a line that is no row: it may report an error."""
        if ERROR.search(text[:2000]):
            self._errors.append((line, text))

    def row_of(
        self,
        text: str,
        columns: Sequence[str],
        wanted: int,
        *,
        line: int,
        size: int | None = 0,
    ) -> tuple[int, float] | None:
        """Read size [B] and value of a row, in the unit of the file, or note what is wrong.

        `wanted` and `size` are the places of their columns; without one of sizes, the size is 0.
        """
        words = text.split()
        if len(words) != len(columns):
            must = f"must have {len(columns)} columns, got {len(words)}. {CUT_OFF}"
            self.faults.add(must, line=line)
            return None
        value = finite(words[wanted])
        if value is None or not (0 <= value <= LARGEST):
            got = shown(repr(words[wanted]), limit=24)
            must = f"must be a number of at least 0, got {got}. Run the benchmark again."
            self.faults.add(must, line=line, field=shown(columns[wanted]))
            return None
        volume = 0 if size is None else whole(words[size], most=LARGEST_SIZE)
        if size is not None and volume is None:
            must = f"must be a size in whole bytes, got {shown(repr(words[size]), limit=24)}."
            self.faults.add(must, line=line, field=columns[size])
        return None if volume is None else (volume, value)

    def notes(self) -> Iterator[str]:
        """Say how many rows are left out and why, and which lines report errors."""
        name, count = shown(self.name), self._reasons.total()
        if count:
            reasons = (f"{reason} ({times})" for reason, times in self._reasons.most_common())
            are, them = ("is", "it") if count == 1 else ("are", "them")
            yield (
                f"{name}: {counted(count, 'row')} {are} left out, as the benchmark marked {them} "
                f"as failed: {listed(reasons, REASONS_NAMED)}."
            )
        for line, text in self._errors[:1]:
            more = len(self._errors) - 1
            also = f" and {more} more report" if more else " reports"
            yield (
                f"{name}: line {line}{also} an error: {shown(repr(text.strip()), limit=WIDTH)}. "
                "Check whether the run was disturbed; if so, repeat it."
            )


def ends_of_lines(paths: Iterable[Path]) -> Iterator[str]:
    """Say which files end within a line, where the last number may have been cut off."""
    for path in paths:
        if not os.path.isfile(path):  # of a pipe nothing may be taken away
            continue
        with path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            is_whole = stream.read() in b"\r\n"
        if not is_whole:
            yield (
                f"{shown(base_name(path))} ends in the middle of a line, so its last value may be "
                "incomplete. Write it again."
            )


def by_processes(tables: Iterable[MessageTable], kind: str) -> dict[int, Values]:
    """Give the values of one kind above 0, by processes and then by size, both in order."""
    values: dict[int, Values] = defaultdict(lambda: defaultdict(list))
    for table in tables:
        if table.kind == kind:
            for size, value in table.points:
                if value > 0:
                    values[table.processes][size].append(value)
    return {p: dict(sorted(values[p].items())) for p in sorted(values)}


def medians(values: Values) -> dict[int, float]:
    """Give the median at each size."""
    return {size: float(np.median(given)) for size, given in values.items()}


def is_mostly_bytes(times: dict[int, float], size: int) -> bool:
    """Tell whether the bytes of a message are most of its time, by that of the shortest.

    Otherwise the rate at this size says more of the start-up than of the network.
    """
    shortest = min(times)
    if shortest == size:
        return size >= LONG
    return times[size] >= 2 * times[shortest]


def tools_of(tables: Iterable[MessageTable], kind: str) -> str:
    """Name the benchmarks that measured a kind: "osu_bcast"."""
    return ", ".join(dict.fromkeys(table.tool for table in tables if table.kind == kind))
