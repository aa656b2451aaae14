"""Tables of message benchmarks: a time or a rate for each size, and their medians over runs."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from parcast.calibration.benchmarks.memories import HOST
from parcast.files.decoding import base_name
from parcast.files.faults import Faults
from parcast.files.numbers import finite, whole
from parcast.importers.content import CUT_OFF
from parcast.units import NUMBER, shown

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
LONG = 2**16  # bytes: of one size alone, from here on it is long [D]
LARGEST_TEXT: Final = 16_000_000  # bytes of a file; benchmarks print some hundred lines
LARGEST = 1e15  # in the unit of a file: a month in microseconds, or more than any memory moves
LARGEST_SIZE = 10**15  # of a message [B]
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


def row_of(
    text: str,
    columns: Sequence[str],
    wanted: int,
    faults: Faults,
    *,
    line: int,
    size: int | None = 0,
) -> tuple[int, float] | None:
    """Read size [B] and value of a row, in the unit of the file, or note what is wrong with it.

    `wanted` and `size` are the places of their columns; without one of sizes, the size is 0.
    """
    words = text.split()
    if len(words) != len(columns):
        faults.add(f"must have {len(columns)} columns, got {len(words)}. {CUT_OFF}", line=line)
        return None
    value = finite(words[wanted])
    if value is None or not (0 <= value <= LARGEST):
        got = shown(repr(words[wanted]), limit=24)
        faults.add(
            f"must be a number of at least 0, got {got}. Run the benchmark again.",
            line=line,
            field=shown(columns[wanted]),
        )
        return None
    if size is None:
        return 0, value
    volume = whole(words[size], most=LARGEST_SIZE)
    if volume is None:
        got = shown(repr(words[size]), limit=24)
        faults.add(f"must be a size in whole bytes, got {got}.", line=line, field=columns[size])
        return None
    return volume, value


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
