"""Distributions of times as the command line gives them: PART=LAW."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, TextIO

from parcast.cli.options import once_each, pairs
from parcast.files.bounds import LARGEST_LIST
from parcast.files.decoding import numbered_lines, opened
from parcast.files.faults import Faults
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.queueing.simulation.cycle import Law

WORDS = ("none", "exponential")


def distributions(texts: Sequence[str], option: str) -> dict[str, str]:
    """Read parts of a program and how their times vary."""
    example = "task=exponential, task=0.5 or task=times.txt"
    given = pairs(texts, option, "a part and its distribution", such_as=example)
    return once_each(given, option, "name a part once")


def law_of(text: str) -> "Law":
    """Give a law by its word, a coefficient of variation, or a file of measured times."""
    if text in WORDS:
        return text
    with suppress(ValueError):
        return float(text)
    import numpy as np

    with opened(text, largest=LARGEST_LIST) as (name, stream):
        faults = Faults(name)
        times = np.fromiter(_times(stream, faults), dtype=np.float64)
        if faults:
            faults.raise_all()
        if not times.any():
            faults.refuse("must have times above 0. Write one on each line.")
        return times


def _times(stream: TextIO | BinaryIO, faults: Faults) -> Iterator[float]:
    """Give the number of each line that is neither empty nor a comment."""
    for block in numbered_lines(stream, faults, largest=LARGEST_LIST):
        for line, text in enumerate(block.lines, block.first_line):
            if not text.strip() or text.startswith("#"):
                continue
            time = -1.0
            with suppress(ValueError):
                time = float(text)
            if 0 <= time < float("inf"):
                yield time
            else:
                got = shown(repr(text))
                faults.add(
                    f"must be a time of at least 0, got {got}. Write one number on each line.",
                    line=line,
                    kind="time",
                )
