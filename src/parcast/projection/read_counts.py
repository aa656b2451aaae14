"""Tables of what a program was counted to do, read whole with every fault named.

A row for each processor count, all ranks together: `p`, `compute_s`, and optionally `busiest_s`
(of the rank that computes most), `messages` and `bytes` between two ranks, `in_turn` (messages
that one rank waits for, one after another), and for each collective `calls_allreduce` and
`bytes_allreduce`, the bytes of one call for one partner. A column `program` or `n` tells several
programs apart. Lines that begin with `#` are comments.
"""

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Final, TextIO

from parcast.descriptions.program import Program
from parcast.files.bounds import LARGEST_LIST
from parcast.files.decoding import numbered_lines, opened
from parcast.files.faults import Faults
from parcast.files.numbers import number
from parcast.laws.counted import COLLECTIVES, tables_of_counts
from parcast.timings.tables.layout import LineLayout, find_layout, is_row
from parcast.timings.tables.rows import byte_fault
from parcast.units import shown
from parcast.words import did_you_mean

LABELS: Final = ("program", "n")
NEEDED: Final = ("p", "compute_s")
KEYS: Final = {  # titles, and what the tables of a phase call them
    "p": "p",
    "compute_s": "compute",
    "busiest_s": "busiest",
    "messages": "messages",
    "bytes": "volume",
    "in_turn": "in_turn",
}
CALLS: Final = {f"calls_{name}": name for name in COLLECTIVES}
VOLUMES: Final = {f"bytes_{name}": name for name in COLLECTIVES if name != "barrier"}
TITLES: Final = (*LABELS, *KEYS, *CALLS, *VOLUMES)
SLACK: Final = 1e-6  # by which printed times may miss each other

Row = tuple[int, dict[str, Any]]  # number of the line, and what tables of a phase are made from


def read_counts(source: str | os.PathLike[str] | TextIO | BinaryIO) -> tuple[Program, ...]:
    r"""Read the programs of a table of counts, each with one phase of law "counted"."""
    with opened(source, largest=LARGEST_LIST) as (name, stream):
        faults = Faults(name)
        titles: list[str] | None = None
        programs: dict[str, list[Row]] = {}
        lines = list(_rows(stream, faults))
        layout = find_layout(lines, faults).layout if lines else LineLayout()
        for line, text in lines:
            cells = _cells(text, line, layout, faults)
            if cells is None:
                continue
            if titles is None:
                titles = _header(cells, line, faults)
            elif len(cells) != len(titles):
                faults.add(
                    f"must have {len(titles)} values like the header, got {len(cells)}. "
                    "Write decimals with a point, and 0 for nothing.",
                    line=line,
                )
            else:
                label, row = _row(dict(zip(titles, cells, strict=True)), line, faults)
                programs.setdefault(label, []).append((line, row))
        if titles is None:
            faults.refuse("must contain a table, got nothing. Start it with a line p,compute_s.")
        if not programs and not faults:
            faults.refuse("must have rows below the header, got none. Add one for each p.")
        for label, rows in programs.items():
            _require_each_p_once(label, rows, faults)
        if faults:
            faults.raise_all()
        return tuple(_program(label, rows) for label, rows in programs.items())


def _rows(stream: TextIO | BinaryIO, faults: Faults) -> Iterator[tuple[int, str]]:
    """Give each line that is no comment and not empty, with its number."""
    for block in numbered_lines(stream, faults, largest=LARGEST_LIST):
        for line, text in enumerate(block.lines, block.first_line):
            if is_row(text):
                yield line, text


def _cells(text: str, line: int, layout: LineLayout, faults: Faults) -> list[str] | None:
    """Split a line, or note why it cannot be."""
    if fault := byte_fault(text):
        faults.add(fault, line=line)
        return None
    try:
        cells = layout.split_one(text)
    except csv.Error as error:
        faults.add(
            f"must be values between commas, got text that cannot be split ({error}). "
            "Check its quotation marks.",
            line=line,
        )
        return None
    return [cell.strip() for cell in cells]


def _header(titles: list[str], line: int, faults: Faults) -> list[str]:
    """Check the titles of the columns; without any that is needed the rest is not read."""
    for title in dict.fromkeys(titles):
        if title not in TITLES:
            hint = did_you_mean(title, TITLES).lstrip() or f"Known: {', '.join(TITLES)}."
            faults.add(f"is not a known column. {hint}", line=line, field=shown(title) or "column")
        elif titles.count(title) > 1:
            faults.add("must occur once in the header. Remove one.", line=line, field=title)
    for title in NEEDED:
        if title not in titles:
            hint = "Add the processors of each row." if title == "p" else "Add processor seconds."
            faults.add(f"must be a column. {hint}", line=line, field=title)
    for title, name in VOLUMES.items():
        if title in titles and f"calls_{name}" not in titles:
            faults.add(f"must have a column calls_{name} as well. Add it.", line=line, field=title)
    if not any(title in titles for title in NEEDED):
        faults.raise_all()
    return titles


def _row(cells: Mapping[str, str], line: int, faults: Faults) -> tuple[str, dict[str, Any]]:
    """Turn one row into its label and numbers, and note what is wrong with it."""
    numbers: dict[str, float] = {}
    for title, cell in cells.items():
        if title == "program":
            if not cell:
                faults.add("must be a name, got nothing. Fill it in.", line=line, field=title)
            continue
        if title not in TITLES:  # told at the header
            continue
        read = number(cell, named=True)
        value = math.nan if read is None else read  # which is in no domain
        if fault := _fault(title, value):
            got = repr(shown(cell)) if cell else "nothing"
            faults.add(f"must be {fault[0]}, got {got}. {fault[1]}", line=line, field=title)
        numbers[title] = value
    row: dict[str, Any] = {KEYS[title]: x for title, x in numbers.items() if title in KEYS}
    row["calls"] = {CALLS[title]: x for title, x in numbers.items() if title in CALLS}
    row["volumes"] = {VOLUMES[title]: x for title, x in numbers.items() if title in VOLUMES}
    busiest, compute, p = (row.get(key, math.nan) for key in ("busiest", "compute", "p"))
    mean = compute / p if p >= 1 else math.nan
    if busiest < mean * (1 - SLACK) or busiest > compute * (1 + SLACK):
        faults.add(
            f"must lie between compute_s / p and compute_s, got {busiest:g} s with {compute:g} s "
            f"on {p:g}. It is the computing of one rank, compute_s that of all.",
            line=line,
            field="busiest_s",
        )
    # A column that is not known may be that of the messages.
    messages = row.get("messages", 0.0 if all(title in TITLES for title in cells) else math.nan)
    if row.get("volume", 0.0) > 0 and messages == 0:
        faults.add(
            f"must be 0 without messages, got {row['volume']:g}. Give messages as well.",
            line=line,
            field="bytes",
        )
    if "busiest" in row:
        row["busiest"] = min(max(busiest, mean), compute)
    named = [cells[x] if x == "program" else f"n = {cells[x]}" for x in LABELS if x in cells]
    return ", ".join(named), row


def _fault(title: str, number: float) -> tuple[str, str] | None:
    """Say what a number must be and what to do, where it is not that."""
    if title == "p" and not (number >= 1 and number.is_integer()):
        return "a whole number of at least 1", "Count processors from 1."
    if title == "compute_s" and not 0 < number < math.inf:
        return "a time above 0", "Write processor seconds as a number."
    if not 0 <= number < math.inf:
        return "a number of at least 0", "Write it without a unit, and 0 for nothing."
    return None


def _require_each_p_once(label: str, rows: Sequence[Row], faults: Faults) -> None:
    """Note rows of one program with one p."""
    first: dict[float, int] = {}
    for line, row in rows:
        p = row.get("p", math.nan)
        if math.isnan(p):  # told in its row
            continue
        if p in first:
            of = f" for {shown(label)}" if label else ""
            faults.add(
                f"must occur once{of}, got {p:g} in line {first[p]} as well. "
                "Distinguish programs by a column program, and keep one row for each p.",
                line=line,
                field="p",
            )
        first.setdefault(p, line)


def _program(label: str, rows: Sequence[Row]) -> Program:
    """Program of the rows of one label."""
    phase: Any = {"law": "counted", "count": tables_of_counts([row for _, row in rows])}
    return Program(name=label or "a program", phase=(phase,))
