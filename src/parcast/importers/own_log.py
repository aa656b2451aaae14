r"""Logs of one's own: `--time-pattern 'elapsed: ([\d.]+)' --count-pattern 'ranks: (\d+)'`.

A count holds for the times below it, or for the whole file where it stands only once; without
one in the text, that in the name of the file is taken. The unit of a time follows it, or stands in
brackets before it; otherwise it is in seconds.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parcast.errors import Argument
from parcast.files.faults import Faults
from parcast.importers.content import note_on_lone_ranks, refuse_lone_rank, text_lines
from parcast.importers.counts import (
    COUNT_PATTERN,
    TIME_PATTERN,
    Patterns,
    count_of,
    short_names,
)
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs, left_out
from parcast.timings.tables.durations import LONGEST, found_in, group_of
from parcast.units import shown
from parcast.words import listed

EXAMPLE = r"elapsed: ([\d.]+)"
MOST_NAMED = 3  # files in a message


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundTime:
    """A time in a log."""

    time: float  # [s]
    unit: str
    line: int


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each time that the pattern finds. There is no `metric`."""
    if runs.patterns.time is None:
        runs.faults.refuse(
            f"needs the pattern of the time. Give it, such as: {Argument('time_pattern', EXAMPLE)}"
        )
    if metric is not None:
        runs.faults.refuse(f"must have no metric, as {TIME_PATTERN} finds the time. Leave it out.")
    logs = [(_log(path, runs.patterns, faults), faults) for path, faults in runs.files()]
    empty = [faults.path for (times, _), faults in logs if not times]
    if len(empty) == len(logs):
        runs.faults.refuse(
            f"must have a time that {shown(repr(runs.patterns.time.pattern))} finds, got none. "
            f"Correct {TIME_PATTERN}."
        )
    notes = left_out(
        len(empty), f"no time in {listed(map(shown, short_names(empty)), MOST_NAMED)}"
    )
    in_text = [bool(counts) for (times, counts), _ in logs if times]
    if any(in_text) and not all(in_text):
        lacking = next(faults for (times, counts), faults in logs if times and not counts)
        lacking.refuse(
            f"must have a count that {COUNT_PATTERN} finds, as other files do, got none."
        )
    if all(in_text):
        runs.patterns = Patterns(runs.patterns.time)
    alone: list[int] = []
    for (times, counts), faults in logs:
        for p, found in _paired(times, counts, faults):
            point = {} if p is None else {"p": p}
            alone += [] if p is None else [p]
            runs.add(point, [found.time], faults, metric="time_s", line=found.line)
    units = sorted({found.unit for (times, _), _ in logs for found in times})
    notes += [f"The unit of the times is {', '.join(units)}."]
    return runs.imported(notes=notes + note_on_lone_ranks(alone))


FORMAT = Format(title="Logs of your own, by patterns", recognises=lambda *_: False, timings=read)


def _log(
    path: Path, patterns: Patterns, faults: Faults
) -> tuple[list[FoundTime], list[tuple[int, int]]]:
    """Find the times of one log, and the counts with their lines."""
    times: list[FoundTime] = []
    counts: list[tuple[int, int]] = []
    for line, text in text_lines(path, faults):
        part = text[:LONGEST]
        if patterns.count is not None:
            counts += [(count_of(x, faults, line), line) for x in patterns.count.finditer(part)]
        if patterns.time is not None:
            times += [_time(x, part, faults, line) for x in patterns.time.finditer(part)]
    return times, counts


def _paired(
    times: Sequence[FoundTime], counts: Sequence[tuple[int, int]], faults: Faults
) -> list[tuple[int | None, FoundTime]]:
    if not counts:
        return [(None, found) for found in times]
    if len({p for p, _ in counts}) == 1:
        refuse_lone_rank(counts[0][0], faults)
        return [(counts[0][0], found) for found in times]
    if len(counts) == len(times):
        return [(p, found) for (p, _), found in zip(counts, times, strict=True)]
    if times and counts[0][1] > times[0].line:
        faults.refuse(
            f"must have a count for each time, got {len(times)} times and {len(counts)} counts. "
            f"Correct {COUNT_PATTERN}."
        )
    lines = [line for _, line in counts]
    return [(counts[bisect_right(lines, found.line) - 1][0], found) for found in times]


def _time(match: re.Match[str], text: str, faults: Faults, line: int) -> FoundTime:
    """Read a time that the pattern found, in the unit that stands at it."""
    found = found_in(match, text)
    if found is None:
        faults.refuse(
            f"must be a time where {TIME_PATTERN} finds one, got {shown(repr(group_of(match)))}. "
            r"Put only the number into its group: ([\d.]+)",
            line=line,
        )
    time, unit = found
    return FoundTime(time=time, unit=unit, line=line)
