"""OSU Micro-Benchmarks: text of releases 3 to 7, of OMB-Py, with -f and -z or without.

A file holds one table or several, each below a title such as `# OSU MPI Latency Test v7.4`. Other
lines with `#` are ignored: forks and libraries write them in between. `MB/s` is 10^6 B/s, as
the source of the benchmarks has it. No table tells the processes of a collective: they are taken
from a line `mpirun -np 8 ...` above it, or from the name of the file, `osu_bcast.n8.txt`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parcast.calibration.benchmarks.machine_figures import MachineFigures, named_first
from parcast.calibration.benchmarks.message_tables import (
    LARGEST_TEXT,
    RATES,
    Table,
    ends_of_lines,
    is_row,
    row_of,
)
from parcast.files.decoding import base_name, name_of
from parcast.files.faults import Faults
from parcast.importers.content import CUT_OFF, text_lines
from parcast.importers.registry import Format
from parcast.units import shown

HEAD = re.compile(rb"^[ \t]*#[ \t]*(?:OSU|OMB)\b[^\n]{1,100}?\bTest\b", re.MULTILINE)
TITLE = re.compile(
    r"#\s*+(?:OSU|OMB)\s++(?:Python\s++)?(?:MPI(?:-\w++)?\s)?\s*+(\S(?:.{0,98}?\S)??)\s++Test\b"
)
PAIRS = re.compile(r"#\s*\[\s*pairs:\s*(\d{1,9})\s*\]")
LAUNCH = re.compile(r"\b(?:mpirun|mpiexec|srun)\b.{0,200}?\s(?:-np|-n|--ntasks[= ])\s*(\d{1,9})\b")
NAMED = re.compile(r"(?:^|[._-])(?:np|n|p|ranks)(\d{1,9})(?=[._-]|$)")
KINDS: Final = {  # titles, without "latency" after a collective: what is measured, and the program
    "latency": ("message", "osu_latency"),
    "bandwidth": ("rate", "osu_bw"),
    "multiple bandwidth / message rate": ("pairs", "osu_mbw_mr"),
    "broadcast": ("broadcast", "osu_bcast"),
    "bcast": ("broadcast", "osu_bcast"),
    "reduce": ("reduce", "osu_reduce"),
    "allreduce": ("allreduce", "osu_allreduce"),
    "allgather": ("allgather", "osu_allgather"),
    "all-to-all personalized exchange": ("alltoall", "osu_alltoall"),
    "alltoall": ("alltoall", "osu_alltoall"),
    "gather": ("gather", "osu_gather"),
    "scatter": ("scatter", "osu_scatter"),
    "barrier": ("barrier", "osu_barrier"),
}
# The column that is taken, the first of these that there is. An average over messages is moved by
# a single disturbed one, a median is not; a collective is over when its last process is done.
COLUMNS: Final = {
    "message": ("p50 tail lat(us)", "avg latency(us)", "latency(us)"),
    "rate": ("p50 tail bw(mb/s)", "bandwidth(mb/s)"),
    "pairs": ("mb/s",),
    "collective": ("max latency(us)", "avg latency(us)", "latency(us)"),
}
MICROSECOND = 1e-6  # [s]
MEGABYTE = 1e6  # [B]


@dataclass(kw_only=True)
class _Begun:
    """A table while it is read."""

    title: str  # as the file has it
    line: int
    processes: int | None  # told so far
    columns: tuple[str, ...] = ()
    wanted: int | None = None
    points: list[tuple[int, float]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """What it measures; "" if it is ignored."""
        return self.known[0]

    @property
    def known(self) -> tuple[str, str]:
        """Kind and program; two empty texts if it is ignored."""
        title = self.title.casefold()
        return KINDS.get(title) or KINDS.get(title.removesuffix(" latency"), ("", ""))


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is output of the OSU Micro-Benchmarks."""
    return b"#" in head and HEAD.search(head) is not None


def read(paths: Sequence[Path]) -> MachineFigures:
    """Network and primitives of one machine; several files of one benchmark are runs of it."""
    from parcast.calibration.benchmarks.network_figures import machine_of_network  # loads SciPy

    tables: list[Table] = []
    passed_over: dict[str, None] = {}
    uncounted: dict[str, None] = {}
    from_names: dict[str, None] = {}
    for path in paths:
        faults = Faults(name_of(path))
        for begun in _tables(path, faults):
            table = _finished(begun, path, from_names)
            if begun.kind == "" or begun.wanted is None:
                passed_over[begun.title] = None
            elif table is None:
                uncounted[base_name(path)] = None
            else:
                tables.append(table)
    notes = [*ends_of_lines(paths)]
    if uncounted:
        notes.append(
            f"Left out, as the number of processes is unknown: {named_first(uncounted)}. Add it "
            "to the file name, as in osu_bcast.n8.txt."
        )
    if from_names:
        notes.append(
            f"The number of processes is taken from the file name: {named_first(from_names)}."
        )
    if passed_over:
        notes.append(f"Other tables are ignored: {named_first(passed_over)}.")
    hint = "Import osu_latency, osu_bw, osu_mbw_mr or a collective."
    return machine_of_network("OSU Micro-Benchmarks", paths, tables, notes, hint=hint)


FORMAT = Format(title="OSU Micro-Benchmarks", recognises=recognises, machine=read)


def _tables(path: Path, faults: Faults) -> Iterator[_Begun]:
    """Read the tables of a file, those to be ignored without their rows."""
    begun: list[_Begun] = []
    processes: int | None = None
    first = ""
    for line, text in text_lines(path, faults, largest=LARGEST_TEXT):
        first = first or text
        if launched := LAUNCH.search(text[:2000]):
            processes = int(launched[1])
        if text.startswith("#"):
            if title := TITLE.match(text):
                begun.append(_Begun(title=title[1], line=line, processes=processes))
            elif begun and begun[-1].wanted is None:
                _head(begun[-1], text)
        elif begun and is_row(text):
            _row(begun[-1], text, line, faults)
    if not begun:
        faults.refuse(
            "must have a title such as # OSU MPI Latency Test v7.4, got none; it begins with "
            f"{shown(repr(first), limit=40)}. Name the format if it is another.",
        )
    for table in begun:
        if table.kind and table.columns and table.wanted is not None and not table.points:
            if not len(faults):
                faults.add(
                    f"must have rows below this title, got none. {CUT_OFF}", line=table.line
                )
        elif table.kind and not table.columns:
            faults.add(
                f"must have a header below this title, got none. {CUT_OFF}", line=table.line
            )
    if len(faults):
        faults.raise_all()
    yield from begun


def _head(table: _Begun, text: str) -> None:
    """Take a line for the header of a table, or for what it says of the processes."""
    if pairs := PAIRS.match(text):
        table.processes = 2 * int(pairs[1])
    titles = re.split(r"\s{2,}|\t", text[1:].strip())
    columns = tuple(title.replace(" (", "(") for title in titles)
    lower = [column.casefold() for column in columns]
    if not any(re.search(r"\((?:us|mb/s|ms|%)\)$|^mb/s$", column) for column in lower):
        return
    table.columns = columns
    kind = table.kind if table.kind in COLUMNS else "collective"
    there = [lower.index(name) for name in COLUMNS[kind] if name in lower]
    table.wanted = there[0] if there else None


def _row(table: _Begun, text: str, line: int, faults: Faults) -> None:
    """Read a row of a table that is wanted."""
    if not table.kind or table.wanted is None:
        return
    size = 0 if table.columns[0].casefold().startswith("size") else None
    point = row_of(text, table.columns, table.wanted, faults, line=line, size=size)
    if point is not None:
        factor = MEGABYTE if table.kind in RATES else MICROSECOND
        table.points.append((point[0], point[1] * factor))


def _finished(begun: _Begun, path: Path, from_names: dict[str, None]) -> Table | None:
    """Give a table that was read; None where its processes are not told."""
    kind, tool = begun.known
    processes = 2 if kind in ("message", "rate") else begun.processes
    if processes is None and (named := NAMED.search(Path(base_name(path)).stem)):
        processes = int(named[1])
        if kind:
            from_names[base_name(path)] = None
    if not kind or begun.wanted is None or not processes:
        return None
    column = begun.columns[begun.wanted]
    of = re.match(r"(?i)p50|max", column)
    return Table(
        kind=kind,
        tool=f"{tool} ({of[0].casefold()})" if of else tool,
        processes=processes,
        points=tuple(begun.points),
    )
