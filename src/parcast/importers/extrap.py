"""Profiles of Extra-P: text, both dialects of its JSON, JSON Lines, Talpas, and what it saves.

The values of a metric are in seconds unless its name ends in another unit. In text, `DATA` lines
stand in the order of the points, below `PARAMETER`, `POINTS`, `REGION` and `METRIC`; in JSON each
measurement names its point.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parcast.advice import Command
from parcast.files.bounds import require_at_most
from parcast.files.faults import Faults
from parcast.files.numbers import number
from parcast.importers.content import beginning, document_text, first_line, parsed, text_lines
from parcast.importers.extrap_archive import SavedValues, archived_text, is_archive
from parcast.importers.extrap_json import (
    Packing,
    add_document,
    add_object,
    is_object_line,
    with_commas,
)
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.timings.columns import MOST_COLUMNS, MOST_POINTS
from parcast.units import shown

WORDS = "PARAMETER, POINTS, REGION, METRIC or DATA"
GROUP = re.compile(r"\(([^()]*)\)")
TEXT = re.compile(rb"\s*(#[^\n]*\n\s*)*PARAMETER[ \t]+\S")
OBJECT = re.compile(rb"\s*\{")
BEGUN = re.compile(  # a line of JSON Lines or Talpas, even if it is cut off
    r'\{\s*"(?:params"\s*:|parameters"\s*:\s*\{)'
)
DOCUMENT = re.compile(rb'"parameters"\s*:\s*\[')
PARTS = re.compile(rb'"(measurements|callpaths|coordinates)"\s*:\s*[\[{]')


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a profile of Extra-P."""
    first = head.lstrip().split(b"\n", 1)[0]
    if TEXT.match(head) or is_object_line(first) or is_archive(head):
        return True
    return bool(OBJECT.match(head) and DOCUMENT.search(head) and PARTS.search(head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each value. Default of `metric`: the only one, or the only time."""
    medians = 0
    for path, faults in runs.files():
        match form := _form(path, faults):
            case "text":
                add_text(text_lines(path, faults), runs, faults)
            case "lines":
                for line, text in text_lines(path, faults):
                    measured = parsed(with_commas(text), faults, line=line)
                    add_object(measured, line, runs, faults)
            case _:
                medians += _add_document(path, runs, faults, is_saved=form == "archive")
    notes = []
    if medians:
        has = "measurement has" if medians == 1 else "measurements have"
        notes.append(
            f"{medians} {has} no values, and the median is used. Keep them: "
            f"{Command(('extrap', '--keep-values'))}"
        )
    return runs.imported(metric=metric, notes=notes)


FORMAT = Format(title="Extra-P text, JSON or .extra-p", recognises=recognises, timings=read)


def _add_document(path: Path, runs: Runs, faults: Faults, *, is_saved: bool) -> int:
    """Add a document, of an archive or by itself; how many medians are used for values."""
    saved = SavedValues(path, faults, is_archive=is_saved)
    packing = Packing(saved.times)
    text = archived_text(path, faults) if is_saved else document_text(path, faults)
    # the document is not bound to a name, which would keep it while the table is built
    add_document(parsed(text, faults, hook=packing), packing, runs, faults)
    return saved.medians


def _form(path: Path, faults: Faults) -> str:
    """Tell the form by the first line that holds something."""
    if is_archive(beginning(path)):
        return "archive"
    first = first_line(path, faults)
    if not first.startswith("{"):
        return "text"
    return "lines" if is_object_line(first) or BEGUN.match(first) else "document"


class _State:
    """What the lines so far have set."""

    def __init__(self) -> None:
        self.parameters: list[str] = []
        self.points: list[dict[str, Any]] = []
        self.lines: list[int] = []  # of the points
        self.region = self.metric = ""
        self.done = 0  # DATA lines of this region and metric
        self.begun = 0  # the line that began them


def add_text(lines: Iterable[tuple[int, str]], runs: Runs, faults: Faults) -> None:
    """Add what some numbered lines of the text format hold."""
    state = _State()
    line = 0
    for line, text in lines:
        if text.startswith("#"):
            continue
        word, _, rest = text.partition(" ") if "\t" not in text else _by_blanks(text)
        rest = rest.strip()
        if word == "DATA":
            _add_data(rest, line, state, runs, faults)
            continue
        if word in {"REGION", "METRIC"}:
            _end_block(state, faults)
            name = " ".join(rest.split())
            state.begun = line
            if word == "REGION":
                state.region = name
            else:
                state.metric = name
        elif word == "PARAMETER":
            if state.points:
                faults.refuse("PARAMETER must come before POINTS. Move it up.", line=line)
            state.parameters += rest.split()
            count = len(state.parameters)
            require_at_most(MOST_COLUMNS, count, "parameters", faults, line=line)
        elif word == "POINTS":
            count = len(state.points) + sum(map(rest.count, "(" if "(" in rest else " \t"))
            require_at_most(MOST_POINTS, count, "points", faults, line=line)
            points = _points(rest, line, state.parameters, faults)
            state.points += points
            state.lines += [line] * len(points)
        else:
            faults.refuse(
                f"must begin with {WORDS}, got {shown(repr(word), limit=24)}. "
                "Correct the line, or name the format if it is another.",
                line=line,
            )
    if not state.points or not state.begun + state.done:
        missing = "POINTS" if not state.points else "DATA"
        faults.refuse(
            f"must have {missing} lines, got none. Was the file cut off?", line=line or None
        )
    _end_block(state, faults)


def _by_blanks(text: str) -> tuple[str, str, str]:
    """Split off the first word, whatever blanks follow it."""
    word, *rest = text.split(maxsplit=1)
    return word, " ", rest[0] if rest else ""


def _points(text: str, line: int, parameters: list[str], faults: Faults) -> list[dict[str, Any]]:
    """Read the points of one line: in parentheses, or one number each."""
    if not parameters:
        faults.refuse("must have a line PARAMETER before POINTS. Add PARAMETER p.", line=line)
    if "(" in text:
        groups = [group.split() for group in GROUP.findall(text)]
        if GROUP.sub("", text).strip():
            faults.refuse(
                "must close each parenthesis around a point. Write POINTS (4 100) (8 100).",
                line=line,
            )
    else:
        groups = [[value] for value in text.split()]
    points = []
    for group in groups:
        if len(group) != len(parameters):
            faults.refuse(
                f"must have {len(parameters)} values in each point, {', '.join(parameters)}, got "
                f"{shown(' '.join(group))}. Put several values in parentheses: (4 100).",
                line=line,
            )
        values = [number(word, named=True) for word in group]
        if None in values:
            faults.refuse(
                f"must be numbers, got {shown(repr(' '.join(group)))}. Correct the point.",
                line=line,
            )
        points.append(dict(zip(parameters, values, strict=True)))
    return points


def _add_data(text: str, line: int, state: _State, runs: Runs, faults: Faults) -> None:
    """Add the repetitions of one point."""
    if state.done >= len(state.points):
        faults.refuse(
            f"must be at most as many DATA lines as points ({len(state.points)}) in a region, "
            "got one more. Begin each region with REGION, each metric with METRIC.",
            line=line,
        )
    words = text.split()
    values = [number(word, named=True) for word in words]
    if None in values:
        got = shown(repr(words[values.index(None)]))
        faults.refuse(f"DATA must be numbers, got {got}. Correct the line.", line=line)
    if not values:
        faults.refuse("DATA must have a value, got none. Add it.", line=line)
    runs.add(
        state.points[state.done],
        values,
        faults,
        metric=state.metric,
        callpath=state.region,
        line=line,
        point_line=state.lines[state.done],
    )
    state.done += 1


def _end_block(state: _State, faults: Faults) -> None:
    """Refuse fewer DATA lines than points, and begin to count anew."""
    if 0 < state.done < len(state.points):
        named = f" of {shown(state.region)}" if state.region else ""
        faults.refuse(
            f"must have a DATA line for each of the {len(state.points)} points{named}, got "
            f"{state.done}. Was the file cut off?",
            line=state.begun or None,
        )
    state.done = 0
