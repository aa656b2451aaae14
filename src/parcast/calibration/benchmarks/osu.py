"""OSU Micro-Benchmarks: text of releases 3 to 7, of OMB-Py, with -f and -z or without.

A file holds one table or several, each below a title such as `# OSU MPI Latency Test v7.4`. Other
lines with `#` are ignored: forks and libraries write them in between. `MB/s` is 10^6 B/s, as
the source of the benchmarks has it. No table tells the processes of a collective: they are taken
from a line `mpirun -np 8 ...` above it, or from the name of the file, `osu_bcast.n8.txt`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from parcast.calibration.benchmarks.machine_figures import MachineFigures, named_first
from parcast.calibration.benchmarks.memories import DEVICE, HOST, LETTERS, between, in_words
from parcast.calibration.benchmarks.message_tables import (
    LARGEST_TEXT,
    MICROSECOND,
    RATES,
    BenchmarkFile,
    MessageTable,
    Named,
    is_row,
)
from parcast.files.faults import Faults
from parcast.importers.content import CUT_OFF, text_lines
from parcast.importers.registry import Format
from parcast.units import shown

HEAD = re.compile(rb"^[ \t]*#[ \t]*(?:OSU|OMB)\b[^\n]{1,100}?\bTest\b", re.MULTILINE)
TITLE = re.compile(
    r"#\s*+(?:OSU|OMB(?:-Py)?)\s++(?:Python\s++)?(?:MPI(?:-(\w++(?:\s++MANAGED)?))?\s)?\s*+"
    r"(\S(?:.{0,98}?\S)??)\s++Test\b"
)
BUFFERS = re.compile(
    r"#\s*Send Buffer on .{0,40}?\((\w+)\) and Receive Buffer on .{0,40}?\((\w+)\)"
)
DATATYPE = re.compile(r"#\s*Datatype:\s*(\w{1,60})")
STARTED = re.compile(r"\bosu_\w+\b(?:.{0,500}\s(D|H|M|MD|MH)\s+(D|H|M|MD|MH)\s*$)?")
WRONG_DATA = re.compile(r"DATA VALIDATION ERROR\b.{0,1000}? message size (\d{1,15})")
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
REDUCTIONS: Final = ("reduce", "allreduce")
MEGABYTE = 1e6  # [B]
UNCOUNTED: Final = (
    "Left out, as the number of processes is unknown: {}. Add it to the file name, as in "
    "osu_bcast.n8.txt."
)
FROM_NAMES: Final = "The number of processes is taken from the file name: {}."
ASSUMED: Final = (
    "Both ranks are taken to have had their messages in device memory (D D), as nothing else is "
    "written: {}."
)
IGNORED: Final = "Other tables are ignored: {}."


@dataclass(kw_only=True)
class _Begun:
    """A table while it is read."""

    title: str  # as the file has it
    line: int
    processes: int | None  # told so far
    accelerator: str  # "CUDA", "ROCM", "CUDA MANAGED"; "" for none
    buffers: tuple[str, str] | None  # letters of the memories of both ranks, where they are told
    columns: tuple[str, ...] = ()
    wanted: int | None = None
    points: list[tuple[int, float]] = field(default_factory=list)
    datatype: str = ""  # of the elements, which matters to a reduction
    has_failed: bool = False  # a row at least

    @property
    def kind(self) -> str:
        """What it measures; "" if it is ignored."""
        return self.known[0]

    @property
    def known(self) -> tuple[str, str]:
        """Kind and program; two empty texts if it is ignored."""
        title = self.title.casefold()
        return KINDS.get(title) or KINDS.get(title.removesuffix(" latency"), ("", ""))

    @property
    def is_wanted(self) -> bool:
        """Whether its rows are read."""
        return bool(self.kind) and self.wanted is not None

    @property
    def memory(self) -> str:
        """Memory of the messages."""
        if self.kind == "barrier":
            return ""
        if "MANAGED" in self.accelerator.upper():
            return LETTERS["M"]
        if not self.accelerator:
            return HOST
        sender, receiver = self.buffers or ("D", "D")
        return between(*(LETTERS.get(x, x.casefold()) for x in (sender, receiver)))

    @property
    def is_memory_assumed(self) -> bool:
        """Whether either rank may have had its messages in the memory of its host."""
        is_between_two = self.kind in ("message", *RATES)
        return is_between_two and self.memory == DEVICE and self.buffers is None


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is output of the OSU Micro-Benchmarks."""
    return b"#" in head and HEAD.search(head) is not None


def read(paths: Sequence[Path], *, memory: str | None = None) -> MachineFigures:
    """Network and primitives of one machine; several files of one benchmark are runs of it.

    `memory` is that of the messages, "host" or "device", where files have several.
    """
    from parcast.calibration.benchmarks.network_figures import machine_of_network  # loads SciPy

    typed: list[tuple[MessageTable, str]] = []
    named: Named = {UNCOUNTED: {}, FROM_NAMES: {}, ASSUMED: {}, IGNORED: {}}
    notes: list[str] = []
    for path in paths:
        file = BenchmarkFile(path)
        for begun in _tables(path, file):
            if not begun.is_wanted:
                named[IGNORED][begun.title] = None
                continue
            if begun.kind in ("message", "rate"):
                begun.processes = 2
            if begun.processes is None and (of_name := NAMED.search(Path(file.name).stem)):
                begun.processes = int(of_name[1])
                named[FROM_NAMES][file.name] = None
            if not begun.processes:
                named[UNCOUNTED][file.name] = None
            elif begun.points:
                typed.append((_finished(begun, begun.processes, path), begun.datatype))
                if begun.is_memory_assumed:
                    named[ASSUMED][file.name] = None
        notes += file.notes()
    tables = _of_one_type(typed, notes)
    hint = "Import osu_latency, osu_bw, osu_mbw_mr or a collective."
    return machine_of_network(
        FORMAT.title, paths, tables, notes, named, format="osu", memory=memory, hint=hint
    )


FORMAT = Format(
    title="OSU Micro-Benchmarks", recognises=recognises, machine=read, has_memories=True
)


def _tables(path: Path, file: BenchmarkFile) -> list[_Begun]:
    """Read the tables of a file, those to be ignored without their rows."""
    faults = file.faults
    begun: list[_Begun] = []
    processes: int | None = None
    buffers: tuple[str, str] | None = None
    first = ""
    for line, text in text_lines(path, faults, largest=LARGEST_TEXT):
        first = first or text
        if launched := LAUNCH.search(text[:2000]):
            processes = int(launched[1])
        if started := STARTED.search(text[:2000]):
            buffers = (started[1], started[2]) if started[1] else None
        if text.startswith("#"):
            if title := TITLE.match(text):
                begun.append(
                    _Begun(
                        title=title[2],
                        line=line,
                        processes=processes,
                        accelerator=title[1] or "",
                        buffers=buffers,
                    )
                )
            elif begun and (named := DATATYPE.match(text)):
                begun += _of_another_type(begun[-1], named[1], line)
            elif begun and begun[-1].wanted is None:
                _head(begun[-1], text)
        elif begun and is_row(text, begun[-1].columns):
            _row(begun[-1], text, line, file)
        elif begun:
            _other_line(begun[-1], text, line, file)
    if not begun:
        faults.refuse(
            "must have a title such as # OSU MPI Latency Test v7.4, got none; it begins with "
            f"{shown(repr(first), limit=40)}. Name the format if it is another.",
        )
    _check_whole(begun, faults)
    return begun


def _of_another_type(table: _Begun, datatype: str, line: int) -> list[_Begun]:
    """Note the type of the elements of a table; with -T all, more tables stand below one title."""
    if not (table.points or table.has_failed):
        table.datatype = datatype
        return []
    return [replace(table, line=line, datatype=datatype, columns=(), wanted=None, points=[])]


def _of_one_type(
    tables: Sequence[tuple[MessageTable, str]], notes: list[str]
) -> list[MessageTable]:
    """Keep reductions of the type that comes first of each kind; say which are left out."""
    types: dict[str, dict[str, None]] = {}
    for table, datatype in tables:
        if table.kind in REDUCTIONS:
            types.setdefault(table.kind, {})[datatype] = None
    for kind, found in types.items():
        if len(found) > 1:
            first, *others = found
            notes.append(
                f"Of {kind}, results with {named_first(others)} are left out, as others are with "
                f"{first or 'a type that is not named'}: these are no repetitions. Import each "
                "alone."
            )
    return [
        table
        for table, datatype in tables
        if table.kind not in types or datatype == next(iter(types[table.kind]))
    ]


def _check_whole(begun: Sequence[_Begun], faults: Faults) -> None:
    """Refuse tables without a header or rows, and all that was noted so far."""
    for table in begun:
        is_explained = table.points or table.has_failed or len(faults)
        missing = "" if not table.is_wanted or is_explained else "rows"
        if table.kind and not table.columns:
            missing = "a header"
        if missing:
            faults.add(
                f"must have {missing} below this title, got none. {CUT_OFF}", line=table.line
            )
    if len(faults):
        faults.raise_all()


def _head(table: _Begun, text: str) -> None:
    """Take a line for the header of a table, or for what it says of the processes."""
    if pairs := PAIRS.match(text):
        table.processes = 2 * int(pairs[1])
    if memories := BUFFERS.match(text):
        table.buffers = memories[1], memories[2]
    titles = re.split(r"\s{2,}|\t", text[1:].strip())
    columns = tuple(title.replace(" (", "(") for title in titles)
    lower = [column.casefold() for column in columns]
    if not any(re.search(r"\((?:us|mb/s|ms|%)\)$|^mb/s$", column) for column in lower):
        return
    table.columns = columns
    kind = table.kind if table.kind in COLUMNS else "collective"
    there = [lower.index(name) for name in COLUMNS[kind] if name in lower]
    table.wanted = there[0] if there else None


def _row(table: _Begun, text: str, line: int, file: BenchmarkFile) -> None:
    """Read a row of a table that is wanted, or leave it out where its data were wrong."""
    if not table.kind or table.wanted is None:
        return
    words, titles = text.split(), [title.casefold() for title in table.columns]
    if "validation" in titles and len(words) == len(titles):
        verdict = words[titles.index("validation")]
        if verdict.casefold() != "pass":
            table.has_failed = True
            file.leave_out(f"validation {shown(verdict, limit=24)}")
            return
    size = 0 if titles[0].startswith("size") else None
    point = file.row_of(text, table.columns, table.wanted, line=line, size=size)
    if point is not None:
        factor = MEGABYTE if table.kind in RATES else MICROSECOND
        table.points.append((point[0], point[1] * factor))


def _other_line(table: _Begun, text: str, line: int, file: BenchmarkFile) -> None:
    """Look at a line between the rows: the benchmark itself may say that a row has failed."""
    wrong = WRONG_DATA.match(text[:2000])
    if wrong is None:
        file.look_at(text, line)
    elif table.is_wanted:
        kept = [point for point in table.points if point[0] != int(wrong[1])]
        for _ in range(len(table.points) - len(kept)):  # none where the row says so itself
            file.leave_out("data validation error")
        table.has_failed = True
        table.points = kept


def _finished(begun: _Begun, processes: int, path: Path) -> MessageTable:
    kind, tool = begun.known
    of = re.match(r"(?i)p50|max", begun.columns[begun.wanted or 0])
    tool += f" ({of[0].casefold()})" if of else ""
    return MessageTable(
        kind=kind,
        tool=tool + in_words(begun.memory),
        processes=processes,
        points=tuple(begun.points),
        memory=begun.memory,
        file=str(path),
    )
