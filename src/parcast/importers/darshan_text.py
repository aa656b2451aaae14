"""Darshan logs as the text that `darshan-parser` prints; needs no library.

The header tells the job in comments (`# nprocs: 4`, `# run time: 3.0021`). Records follow, one
counter a line: module, rank, id, counter, value, file, mount point and file system, by tabs.
`--perf` adds the time of the slowest rank of each module, which is used where records are left
out. The lines are read one by one: a log of any length needs no more memory than its ranks.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from parcast.advice import Choice, Command
from parcast.files.faults import Faults
from parcast.files.numbers import finite, whole
from parcast.importers.content import raw_lines
from parcast.importers.darshan_job import (
    PARTS,
    PREFIXES,
    SHARED,
    SLOWEST,
    DarshanJob,
    Each,
    IoTimes,
    Record,
    counted_in_whole_seconds,
)
from parcast.units import shown

VERSION = b"# darshan log version:"
HEADER = {
    b"start_time": "start_time",
    b"end_time": "end_time",
    b"nprocs": "nprocs",
    b"run time": "run time",
    b"exe": "exe",
    b"darshan log version": "version",
}
REGION = re.compile(rb"# (\S+) module: (\d+) bytes")
NO_MODULES = b"# no module data available."
SECTION = re.compile(rb"# (\S+) module data\s*$")
PARTIAL = re.compile(rb"The (\S+) module contains incomplete data")
PERF = re.compile(
    rb"# (?:unique files: (slowest_rank_io_time)|shared files: (time_by_slowest)): (\S+)"
)
COUNTER = re.compile(rb"(POSIX|MPIIO|STDIO)_F_(READ_TIME|WRITE_TIME|META_TIME|SLOWEST_RANK_TIME)")
MODULES = {prefix: module for module, prefix in PREFIXES.items()}
FIELDS = 8  # of a record
LOG: Final = Choice("FILE.darshan")
WRITE: Final = Command(("darshan-parser", LOG), writes="FILE.txt")
WRITE_ALL: Final = Command(("darshan-parser", "--show-incomplete", LOG), writes="FILE.txt")
ASK = f"Write it again: {WRITE}"
CUT_OFF = f"The text may have been cut off. {ASK}"


def jobs(path: Path, faults: Faults, each: Each | None = None) -> Iterator[DarshanJob]:
    """Read the job that a text of `darshan-parser` tells of."""
    text = _Text(faults, each)
    raw = b"\n"
    for line, raw in raw_lines(path, faults):
        if raw.startswith(b"#"):
            text.add_comment(raw, line)
        elif b"\t" in raw:
            text.add_record(raw, line)
        elif raw.strip() and not raw.startswith(b"total_"):
            got = shown(repr(raw[:40].decode(errors="replace")))
            faults.refuse(f"must be a record of darshan-parser, got {got}. {ASK}", line=line)
    if not raw.endswith(b"\n"):
        faults.refuse(f"must end with a complete line, got a part of one. {CUT_OFF}", line=line)
    yield text.job()


class _Text:
    """What the lines so far have told."""

    def __init__(self, faults: Faults, each: Each | None = None) -> None:
        self._faults, self._each = faults, each
        self._header: dict[str, tuple[str, int]] = {}
        self._listed: list[str] = []  # modules that have something in the log
        self._has_modules: bool | None = None  # None: not told
        self._section = ""
        self._partial: list[str] = []
        self._perf: dict[str, float] = {}
        self._times: dict[str, IoTimes] = {}
        self._key: tuple[bytes, bytes, bytes] = (b"", b"", b"")  # of the record being read
        self._record: dict[str, float] = {}
        self._line = 0
        self._whole: Record | None = None  # all counters of a record, for who wants them

    def add_comment(self, raw: bytes, line: int) -> None:
        """Take in a line of the header, or of what stands above and below the records."""
        if match := REGION.match(raw):
            self._has_modules = True
            if match[2].strip(b"0"):  # more than none
                self._listed.append(match[1].decode(errors="replace"))
        elif raw.startswith(NO_MODULES):
            self._has_modules = False
        elif match := SECTION.match(raw):
            self._section = match[1].decode(errors="replace")
        elif match := PARTIAL.search(raw):
            self._partial.append(match[1].decode(errors="replace"))
        elif match := PERF.match(raw):
            name = (match[1] or match[2]).decode()
            value = self._number(match[3], name, line)
            if value < 0:
                self._faults.refuse(f"{name} must be at least 0, got {value:g}. {ASK}", line=line)
            self._perf[self._section] = self._perf.get(self._section, 0.0) + value
        else:
            title, colon, value_text = raw[1:].partition(b":")
            name = HEADER.get(title.strip(), "")
            if colon and name == "version" and name in self._header:
                self._faults.refuse(
                    "must be the text of one log, got a second. Write each to a separate file.",
                    line=line,
                )
            if colon and name and not self._times:
                text = value_text.decode(errors="replace").strip()
                self._header.setdefault(name, (text, line))

    def add_record(self, raw: bytes, line: int) -> None:
        """Take in one counter of a record."""
        if self._is_of_darshan_2:
            return
        fields = raw.split(b"\t", FIELDS - 1)
        if len(fields) < FIELDS:
            self._faults.refuse(
                f"must have {FIELDS} fields separated by tabs, got {len(fields)}. {CUT_OFF}",
                line=line,
            )
        if self._each is not None:
            self._add_counter(fields, line)
        match = COUNTER.fullmatch(fields[3])
        if match is None:
            return
        key = (match[1], fields[1], fields[2])
        if key != self._key or match[2].decode() in self._record:
            self._end_record()
            self._key, self._line = key, line
        self._record[match[2].decode()] = self._number(fields[4], fields[3].decode(), line)

    def _add_counter(self, fields: list[bytes], line: int) -> None:
        """Add one of all counters of a record; the first of the next one ends it."""
        module = fields[0].decode(errors="replace")
        if module not in PREFIXES:
            return
        counter, file_id = fields[3].decode(errors="replace"), fields[2]
        value = self._number(fields[4], counter, line)
        now = self._whole
        is_new = now is None or (now.module, str(now.rank).encode(), now.file_id) != (
            module,
            fields[1],
            file_id,
        )
        if is_new or (now is not None and counter in now.counters):
            self._hand_over()
            file = fields[5].decode(errors="replace")
            self._whole = Record(module, self._rank(fields[1], line), file_id, file, {})
        assert self._whole is not None
        cast("dict[str, float]", self._whole.counters)[counter] = value

    def _hand_over(self) -> None:
        """Give a complete record to who wants it."""
        if self._whole is not None and self._each is not None:
            self._each(self._whole)
        self._whole = None

    def _rank(self, text: bytes, line: int) -> int:
        """Turn text into the number of a rank, or refuse it."""
        rank = whole(text, least=SHARED)
        if rank is None:
            got = shown(repr(text.decode(errors="replace")))
            self._faults.refuse(f"rank must be a number, got {got}. {ASK}", line=line)
        return rank

    def job(self) -> DarshanJob:
        """Make a job of all that was read."""
        self._end_record()
        self._hand_over()
        run_time = self._told("run time")
        job = DarshanJob(
            faults=self._faults,
            p=self._told("nprocs"),
            run_time=run_time,
            line=self._header["run time"][1],
            is_in_whole_seconds=counted_in_whole_seconds(
                run_time, self._told("start_time"), self._told("end_time")
            ),
            program=self._header.get("exe", ("", 0))[0].partition(" ")[0],
            partial=self._partial,
            unread=[module for module in self._listed if module not in PREFIXES],
        )
        for module in PREFIXES:
            if module in self._times:
                job.take(self._times[module])
            elif module in self._perf:
                job.io[module] = self._perf[module]
            elif module in self._listed and module not in self._partial:
                self._faults.refuse(
                    f"must have the records of {module}, which its header lists, got none. The "
                    "text was cut off, or darshan-parser stopped at incomplete data: "
                    f"{WRITE_ALL}"
                )
        if self._is_of_darshan_2:
            job.unread.append("the I/O of Darshan 2")
        elif self._has_modules is None:
            self._faults.refuse(f"must list the modules of the log, got none. {CUT_OFF}")
        return job

    @property
    def _is_of_darshan_2(self) -> bool:
        """Whether the log is older than modules are: other counters, in other fields."""
        return self._header.get("version", ("", 0))[0].startswith(("1.", "2."))

    def _end_record(self) -> None:
        """Add up the record that has been read."""
        if not self._record:
            return
        prefix, rank_text, _ = self._key
        module = MODULES[prefix.decode()]
        rank = self._rank(rank_text, self._line)
        wanted = (*PARTS, SLOWEST) if rank == SHARED else PARTS
        if missing := [name for name in wanted if name not in self._record]:
            self._faults.refuse(
                f"must have {prefix.decode()}_F_{missing[0]} of each record, got none for the "
                f"record that begins here. {CUT_OFF}",
                line=self._line,
            )
        times = self._times.setdefault(module, IoTimes(module))
        times.add(rank, self._record)
        self._record = {}

    def _told_text(self, name: str) -> str:
        """Give what the header says, or refuse a header that does not."""
        if name not in self._header:
            of_text = "darshan log version" if name == "version" else name
            self._faults.refuse(f'must have "# {of_text}:" in its header, got none. {CUT_OFF}')
        return self._header[name][0]

    def _told(self, name: str) -> Any:
        """Give a number of the header."""
        text = self._told_text(name)
        line = self._header[name][1]
        value = self._number(text.encode(), name, line)
        return int(value) if value.is_integer() else value

    def _number(self, text: bytes, name: str, line: int) -> float:
        """Turn text into a finite number, or refuse it."""
        value = finite(text)
        if value is None:
            got = shown(repr(text.decode(errors="replace").strip()))
            self._faults.refuse(f"{name} must be a finite number, got {got}. {ASK}", line=line)
        return value
