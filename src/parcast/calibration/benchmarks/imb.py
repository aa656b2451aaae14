"""Intel MPI Benchmarks: text of IMB-MPI1, one section for each benchmark and count of processes.

Only bytes and times are used, never the column `Mbytes/sec`: it counts 10^6 B in release 2021, as
its own bytes and times show, and 2^20 B in older ones, and no line of the file says which. The
time of a collective is `t_max`, that of the slowest process. A section that ran out of time ends
with `time-out.` and counts as far as it went. A row with `defects` above 0 has received wrong
data, and one with a word such as `int-overflow.` in place of its times was not measured: both are
left out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parcast.calibration.benchmarks.machine_figures import MachineFigures
from parcast.calibration.benchmarks.memories import DEVICE, HOST, SHARED, in_words
from parcast.calibration.benchmarks.message_tables import (
    LARGEST_TEXT,
    MICROSECOND,
    BenchmarkFile,
    MessageTable,
    Named,
    is_row,
)
from parcast.files.numbers import finite
from parcast.importers.content import CUT_OFF, text_lines
from parcast.importers.registry import Format
from parcast.units import shown

BANNER = re.compile(rb"^#[ \t]*(?:Intel\s?\(R\) MPI Benchmark|Benchmarking )", re.MULTILINE)
ANOTHER: Final = "Name the format if it is another."
SECTION = re.compile(r"#\s*Benchmarking\s+(\S{1,60})")
PROCESSES = re.compile(r"#\s*#processes\s*=\s*(\d{1,9})")
GROUPS = re.compile(r"#\s*\(\s*(\d{1,9}) groups? of (\d{1,9}) processes each")
SUITE = re.compile(r"#\s*Intel\s?\(R\) MPI Benchmark.{0,80}?\bpart\b\s*(\(GPU\))?", re.IGNORECASE)
ON_DEVICE = re.compile(r"\bIMB-\w+-GPU\b")
ALLOCATED = re.compile(r"-mem_alloc_type[ =]\s*(\w{1,20})")
MEMORIES: Final = {"device": DEVICE, "host": HOST, "cpu": HOST, "shared": SHARED}
FINISHED = "All processes entering MPI_Finalize"
TIMED_OUT = "time-out"
NOT_MEASURED = re.compile(r"(?:\d+\s+){1,2}([A-Za-z][\w-]{1,30})\.(?:[;\s]|$)")
KINDS: Final = {
    "PingPong": "message",
    "Multi-PingPong": "pairs",
    "Bcast": "broadcast",
    "Reduce": "reduce",
    "Allreduce": "allreduce",
    "Allgather": "allgather",
    "Alltoall": "alltoall",
    "Gather": "gather",
    "Scatter": "scatter",
    "Barrier": "barrier",
}
TIMES: Final = ("t_max[usec]", "t[usec]")  # the column that is taken, the first that there is
DEFECTS: Final = "defects"  # the column of what arrived wrong, of a suite that checks it
ENDED_EARLY: Final = (
    "The time limit of IMB ended these before their largest messages: {}. Run them with a longer "
    "-time."
)
IGNORED: Final = "Other benchmarks are ignored: {}."


@dataclass(kw_only=True)
class _BegunSection:
    """A section while it is read."""

    name: str
    line: int
    processes: int | None = None
    groups: int = 1
    memory: str = HOST
    has_failed: bool = False  # a row at least
    columns: Sequence[str] = ()
    is_timed_out: bool = False
    points: list[tuple[int, float]] = field(default_factory=list)


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is output of the Intel MPI Benchmarks."""
    return b"#" in head and BANNER.search(head) is not None


def read(paths: Sequence[Path], *, memory: str | None = None) -> MachineFigures:
    """Network and primitives of one machine; several sections of one benchmark are runs of it.

    `memory` is that of the messages, "host" or "device", where files have several.
    """
    from parcast.calibration.benchmarks.network_figures import machine_of_network  # loads SciPy

    tables: list[MessageTable] = []
    named: Named = {ENDED_EARLY: {}, IGNORED: {}}
    notes: list[str] = []
    for path in paths:
        file = BenchmarkFile(path)
        for section in _sections(path, file, notes):
            if section.is_timed_out:
                named[ENDED_EARLY][f"{section.name} of {section.processes}"] = None
            table = _finished(section, path)
            if table is None:
                named[IGNORED][section.name] = None
            elif table.points:
                tables.append(table)
        notes += file.notes()
    hint = "Import PingPong, Multi-PingPong or a collective."
    return machine_of_network(
        FORMAT.title, paths, tables, notes, named, format="imb", memory=memory, hint=hint
    )


FORMAT = Format(
    title="Intel MPI Benchmarks", recognises=recognises, machine=read, has_memories=True
)


def _sections(path: Path, file: BenchmarkFile, notes: list[str]) -> list[_BegunSection]:
    """Read the sections of a file, those to be ignored without their rows."""
    faults = file.faults
    begun: list[_BegunSection] = []
    first, is_finished, memory = "", False, HOST
    for line, text in text_lines(path, faults, largest=LARGEST_TEXT):
        first = first or text
        is_finished = is_finished or FINISHED in text
        memory = _memory(text[:2000], memory)
        if match := SECTION.match(text):
            begun.append(_BegunSection(name=match[1], line=line, memory=memory))
        elif begun:
            _add_line(begun[-1], text, line, file)
    if not begun:
        faults.refuse(
            "must have a section such as # Benchmarking PingPong, got none; it begins with "
            f"{shown(repr(first), limit=40)}. {CUT_OFF if 'Intel' in first else ANOTHER}"
        )
    for section in begun:
        is_explained = section.points or section.is_timed_out or section.has_failed
        if section.name in KINDS and not is_explained and not len(faults):
            faults.add(f"must have rows in this section, got none. {CUT_OFF}", line=section.line)
        elif section.points and section.processes is None:
            faults.add("must have a line #processes in this section.", line=section.line)
    if len(faults):
        faults.raise_all()
    if not is_finished:
        notes.append(f"{shown(file.name)} ends before MPI_Finalize: it may have been cut off.")
    return begun


def _memory(text: str, known: str) -> str:
    """Tell the memory of the messages below a line: a suite for devices has another default."""
    if match := SUITE.match(text):
        known = DEVICE if match[1] else HOST
    if ON_DEVICE.search(text):
        known = DEVICE
    if match := ALLOCATED.search(text):
        known = MEMORIES.get(match[1].casefold(), match[1].casefold())
    return known


def _add_line(section: _BegunSection, text: str, line: int, file: BenchmarkFile) -> None:
    if match := PROCESSES.match(text):
        section.processes = int(match[1])
    elif match := GROUPS.match(text):
        section.groups = int(match[1])
        section.processes = int(match[1]) * int(match[2])
    elif text.startswith(("#bytes ", "#repetitions ")):
        section.columns = text.split()
    elif section.name not in KINDS or text.startswith("#"):
        return
    elif match := NOT_MEASURED.match(text[:2000]):
        if match[1] == TIMED_OUT:
            section.is_timed_out = True
        else:
            section.has_failed = True
            file.leave_out(match[1])
    elif is_row(text, section.columns):
        _row(section, text, line, file)
    else:
        file.look_at(text, line)


def _row(section: _BegunSection, text: str, line: int, file: BenchmarkFile) -> None:
    """Read a row, or leave it out where data arrived wrong."""
    columns, words = section.columns, text.split()
    wanted = [columns.index(name) for name in TIMES if name in columns]
    if not wanted:
        file.faults.add(
            "must follow a header such as #bytes #repetitions t[usec], got "
            f"{shown(' '.join(columns), limit=50) or 'none'}. {CUT_OFF}",
            line=line,
        )
        return
    if DEFECTS in columns and len(words) == len(columns):
        defects = finite(words[columns.index(DEFECTS)])
        if defects is None or defects > 0:
            section.has_failed = True
            file.leave_out(DEFECTS)
            return
    size = columns.index("#bytes") if "#bytes" in columns else None
    point = file.row_of(text, columns, wanted[0], line=line, size=size)
    if point is not None:
        section.points.append((point[0], point[1] * MICROSECOND))


def _finished(section: _BegunSection, path: Path) -> MessageTable | None:
    """Give a section as a table; None where it is ignored."""
    kind = KINDS.get(section.name)
    if kind is None or section.processes is None:
        return None
    points, tool = tuple(section.points), f"IMB {section.name}"
    if kind == "pairs":
        if section.processes != 2 * section.groups:
            return None
        # One message at a time is on its way in each pair.
        points = tuple((m, section.groups * m / t) for m, t in points if m > 0 and t > 0)
    elif kind != "message":
        tool += " (t_max)"
    memory = "" if kind == "barrier" else section.memory
    return MessageTable(
        kind=kind,
        tool=tool + in_words(memory),
        processes=section.processes,
        points=points,
        memory=memory,
        file=str(path),
    )
