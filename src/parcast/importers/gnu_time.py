"""What `/usr/bin/time -v` prints: the time and the memory of a command, p from its command line.

Files may hold several outputs, and what the program itself wrote. The memory is that of the
largest process: of `mpirun -n 4 ./app` the largest rank where ranks are processes of this machine.
"""

import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final

from parcast.files.faults import Faults
from parcast.files.numbers import number
from parcast.importers.content import text_lines
from parcast.importers.counts import numbers_in_command
from parcast.importers.hyperfine import LONGEST_COMMAND
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs, left_out
from parcast.units import shown

BEGINNING: Final = re.compile(rb"^[ \t]*Command being timed: ", re.M)
COMMAND: Final = re.compile(r'Command being timed: "(.*)"')
ELAPSED: Final = re.compile(
    r"Elapsed \(wall clock\) time \([^)]*\): "
    r"(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9}(?:\.[0-9]{1,9})?)"
)
MEMORY: Final = re.compile(r"Maximum resident set size \(kbytes\): ([0-9]{1,15})")
STATUS: Final = re.compile(r"Exit status: ([0-9]{1,9})")


@dataclass(slots=True)
class TimedCommand:
    """One output, as far as it was read."""

    command: str
    line: int
    time: float | None = None  # [s]
    memory: float | None = None  # of the largest process [B]
    status: int = 0


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file has what `/usr/bin/time -v` prints."""
    return bool(BEGINNING.search(head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each command that ended well. The only `metric` is "elapsed"."""
    runs.refuse_metric(metric, but="elapsed")
    told = [(x, faults) for path, faults in runs.files() for x in _commands(path, faults)]
    done = [(x, faults) for x, faults in told if not x.status]
    counts = [numbers_in_command(x.command)[2] for x, _ in done]
    is_told = runs.constant_p is None and bool(counts) and all(counts)
    for (x, faults), count in zip(done, counts, strict=True):
        runs.add(
            {"p": prod(count)} if is_told else {},
            [x.time],
            faults,
            metric="elapsed",
            line=x.line,
            memory={"memory_B": [x.memory]} if x.memory else None,
        )
    notes = left_out(len(told) - len(done), "exit status not 0")
    if is_told:
        last = done[-1][0].command
        notes.append(f"p is taken from the commands: {prod(counts[-1])} from {shown(last)}.")
    return runs.imported(metric="elapsed", notes=notes)


FORMAT = Format(title="/usr/bin/time -v", recognises=recognises, timings=read)


def _commands(path: Path, faults: Faults) -> list[TimedCommand]:
    found: list[TimedCommand] = []
    for line, text in text_lines(path, faults):
        if match := COMMAND.search(text):
            found.append(TimedCommand(match[1][:LONGEST_COMMAND], line))
        elif not found:
            continue
        elif match := ELAPSED.search(text):
            hours, minutes, seconds = (float(x or 0) for x in match.groups())
            found[-1].time = 3600 * hours + 60 * minutes + seconds
        elif match := MEMORY.search(text):
            found[-1].memory = 1024 * (number(match[1]) or 0.0)
        elif match := STATUS.search(text):
            found[-1].status = int(match[1])
    return found
