"""Profiles of Extra-P: text, both dialects of its JSON, JSON Lines, Talpas, and what it saves.

In the document, `values` is null, or [chunk, index] of an array in `values/CHUNK.vals`, whose
place stands in `values/CHUNK.indx`. An archive that was unpacked has the same files in a folder.

The values of a metric are in seconds unless its name ends in another unit. In text, `DATA` lines
stand in the order of the points, below `PARAMETER`, `POINTS`, `REGION` and `METRIC`; in JSON each
measurement names its point.
"""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from parcast.advice import Command
from parcast.files.bounds import require_at_most
from parcast.files.faults import Faults
from parcast.files.numbers import is_number, number
from parcast.importers.content import (
    CUT_OFF,
    LARGEST_DOCUMENT,
    beginning,
    decoded,
    document_text,
    first_line,
    parsed,
    text_lines,
)
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

MEMBER: Final = "experiment.json"
ARCHIVE: Final = b"PK\x03\x04"
VALUES, INDEX = b"Extra-P VALUES\0\0", b"Extra-P INDEX\0\0\0"
BROKEN = (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError, KeyError, ValueError)
CLOSE: Final = 1e-9  # relative difference of a mean that rounding explains
WORDS = "PARAMETER, POINTS, REGION, METRIC or DATA"
GROUP = re.compile(r"\(([^()]*)\)")
TEXT = re.compile(rb"\s*(#[^\n]*\n\s*)*PARAMETER[ \t]+\S")
OBJECT = re.compile(rb"\s*\{")
BEGUN = re.compile(  # a line of JSON Lines or Talpas, even if it is cut off
    r'\{\s*"(?:params"\s*:|parameters"\s*:\s*\{)'
)
DOCUMENT = re.compile(rb'"parameters"\s*:\s*\[')
PARTS = re.compile(rb'"(measurements|callpaths|coordinates)"\s*:\s*[\[{]')


def is_archive(head: bytes) -> bool:
    """Tell by its first bytes whether a file is an archive that Extra-P saved."""
    length = int.from_bytes(head[26:28], "little")
    name = head[30 : 30 + length]
    return head.startswith(ARCHIVE) and (name == MEMBER.encode() or name.startswith(b"values/"))


def archived_text(path: Path, faults: Faults) -> str:
    """Read the document of an archive."""
    return decoded(_member(path, MEMBER, faults), faults)


def _members(path: Path, faults: Faults) -> set[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    except BROKEN as error:
        faults.refuse(f"must be an archive of Extra-P, got: {error}. {CUT_OFF}")


def _member(path: Path, name: str, faults: Faults) -> bytes:
    """Read one file of an archive, or of the folder that an unpacked document is in."""
    try:
        if path.suffix == ".json":
            place = path.parent / name
            return place.read_bytes() if place.stat().st_size <= LARGEST_DOCUMENT else b""
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            content = member.read(LARGEST_DOCUMENT + 1)
    except BROKEN as error:
        got = str(error) or type(error).__name__
        faults.refuse(f"must be an archive of Extra-P with {name}, got: {got}. {CUT_OFF}")
    if len(content) > LARGEST_DOCUMENT:
        faults.refuse(
            f"must be at most {LARGEST_DOCUMENT // 10**6} MB in {name}, got more. Save fewer "
            "callpaths."
        )
    return content


class SavedValues:
    """The times of measurements that Extra-P saved: their values, or else their median or mean."""

    def __init__(self, path: Path, faults: Faults, *, is_archive: bool) -> None:
        self._path = path
        self._faults = faults
        self._is_archive = is_archive
        self._members: set[str] | None = None  # of the archive
        self._chunk: tuple[int, bytes, list[int]] | None = None
        self.medians = 0  # measurements of which only an aggregate is there

    def times(self, one: dict[str, Any]) -> Any:
        """Give the times of one measurement."""
        values = one.get("values")
        if isinstance(values, list) and values:
            if not self._refers(one, values):
                return values
            if (kept := self._kept(*values)) is not None:
                return kept
        self.medians += 1
        return [one.get("median", one.get("mean"))]

    def _refers(self, one: dict[str, Any], values: Sequence[Any]) -> bool:
        """Tell a chunk and an index from two times."""
        if len(values) != 2 or not all(type(x) is int and x >= 0 for x in values):
            return False
        mean = one.get("mean")
        is_mean = is_number(mean) and abs(sum(values) / 2 - mean) <= CLOSE * abs(mean)
        return self._holds(values[0]) or not is_mean

    def _holds(self, chunk: int) -> bool:
        name = f"values/{chunk}.indx"
        if not self._is_archive:
            return (self._path.parent / name).is_file()
        if self._members is None:
            self._members = _members(self._path, self._faults)
        return name in self._members

    def _kept(self, chunk: int, index: int) -> list[float] | None:
        """Read kept values, None where they are not there or are of several processes."""
        if not self._holds(chunk):
            return None
        if self._chunk is None or self._chunk[0] != chunk:
            places = _member(self._path, f"values/{chunk}.indx", self._faults)
            arrays = _member(self._path, f"values/{chunk}.vals", self._faults)
            if not (places.startswith(INDEX) and arrays.startswith(VALUES)):
                self._faults.refuse(f"must have values of Extra-P in chunk {chunk}. {CUT_OFF}")
            count = (len(places) - len(INDEX)) // 8
            numbers = struct.unpack_from(f"<{count}Q", places, len(INDEX))
            self._chunk = chunk, arrays, list(numbers[1:])
        _, arrays, starts = self._chunk
        try:
            start = starts[index]
            array = np.lib.format.read_array(io.BytesIO(arrays[start:]), allow_pickle=False)
        except (IndexError, ValueError, EOFError, MemoryError) as error:
            self._faults.refuse(
                f"must have the values [{chunk}, {index}], got: {error}. {CUT_OFF}"
            )
        return array.tolist() if array.ndim == 1 and array.dtype.kind in "fiu" else None


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


class _TextState:
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
    state = _TextState()
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


def _add_data(text: str, line: int, state: _TextState, runs: Runs, faults: Faults) -> None:
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


def _end_block(state: _TextState, faults: Faults) -> None:
    """Refuse fewer DATA lines than points, and begin to count anew."""
    if 0 < state.done < len(state.points):
        named = f" of {shown(state.region)}" if state.region else ""
        faults.refuse(
            f"must have a DATA line for each of the {len(state.points)} points{named}, got "
            f"{state.done}. Was the file cut off?",
            line=state.begun or None,
        )
    state.done = 0
