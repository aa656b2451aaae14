"""The table of a measurement: each run is on the disk as soon as it has ended.

It is a table of measurements as every command reads it. A comment says of which command it is, so
that only the same one goes on with it.
"""

import csv
import io
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Final, Self

from parcast.advice import Choice
from parcast.errors import Argument, ParameterError
from parcast.files.document import check_place, csv_pieces, unguarded, write_document
from parcast.files.held import hold, let_go
from parcast.measurement.point import MeasuredPoint
from parcast.timings.disturbed import LEFT_OUT, USED
from parcast.trials.command import Ran
from parcast.trials.trial import Trial
from parcast.units import shown

MARK: Final = "# parcast measure: "  # before the JSON that says what was measured
OK, FAILED, TIMEOUT = "ok", "failed", "timeout"
DISTURBED, OVERSUBSCRIBED = LEFT_OUT  # by others; by more ranks than cores
SYNCED: Final = 1.0  # time for which runs may not be on the disk: writing there takes ms [s]
RESERVE: Final = 2**14  # for a run that ends when the disk is full, in the file of the lock [B]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """One run that has ended."""

    point: MeasuredPoint
    repetition: int  # of its point, from 1
    seconds: float  # [s]
    user: float
    system: float
    memory: int | None  # of the largest process [B]
    memory_total: int | None  # of all at a time [B]
    memory_from: str  # what told that of all: "cgroup", "proc", "sacct" or ""
    read: int
    written: int
    others: float | None  # cores that other programs used [1]
    status: str = OK
    exit: int | None = 0
    host: str = ""
    note: str = ""  # why it failed

    @property
    def is_run(self) -> bool:
        """Whether it ended well."""
        return self.status not in (FAILED, TIMEOUT)

    @property
    def counts(self) -> bool:
        """Whether its time is one of the program."""
        return self.status in (OK, USED)

    @property
    def row(self) -> dict[str, Any]:
        """As the table has it."""
        return {
            **self.point.columns,
            "repetition": self.repetition,
            "time_s": self.seconds,
            "user_s": self.user,
            "system_s": self.system,
            "memory_B": self.memory,
            "memory_total_B": self.memory_total,
            "memory_from": self.memory_from,
            "read_B": self.read,
            "written_B": self.written,
            "others": self.others,
            "status": self.status,
            "exit": self.exit,
            "host": self.host,
            "note": self.note,
        }


def row_of(
    trial: Trial[MeasuredPoint, Ran], repetition: int, *, are_ranks_seen: bool = True
) -> RunRow:
    """Make the row of a trial, without memory where it is that of a launcher alone."""
    ran = trial.observed
    if not are_ranks_seen:
        ran = replace(ran, memory=None, memory_total=None, memory_from="", others=None)
    status = OK if not trial.failure else TIMEOUT if ran.status is None else FAILED
    return RunRow(
        point=trial.case,
        repetition=repetition,
        seconds=trial.seconds,
        user=ran.user,
        system=ran.system,
        memory=ran.memory,
        memory_total=ran.memory_total,
        memory_from=ran.memory_from,
        read=ran.read,
        written=ran.written,
        others=ran.others,
        status=status,
        exit=ran.status,
        host=os.uname().nodename if hasattr(os, "uname") else "",
        note=trial.failure,
    )


class RunTable:
    """A file of runs, which only one process adds to."""

    def __init__(self, path: str, about: Mapping[str, Any], rows: Sequence[RunRow] = ()) -> None:
        self.path = path
        self.about = dict(about)
        self.rows = list(rows)
        self._held: int | None = None
        self._synced = -inf  # when it was on the disk [s]

    @classmethod
    def begun(cls, path: str, about: Mapping[str, Any], *, resume: bool) -> Self:
        """Begin a file, or go on with one of the same command."""
        check_place(path)
        table = cls(path, about)
        table._hold()
        try:
            if os.path.exists(path):
                table._go_on(resume=resume)
            table.save()
        except BaseException:
            table._let_go()
            raise
        return table

    def _go_on(self, *, resume: bool) -> None:
        """Take over the runs of a file that is there."""
        if not resume:
            raise ParameterError(
                "output",
                must="be a new file",
                got=f"{shown(self.path)}, which is there already",
                hint=(
                    *("Go on with it: ", Argument("resume", True), ", or name another table: "),
                    Argument("output", Choice("TABLE.csv")),
                ),
            )
        self.rows = read_rows(self.path, self.about)

    def add(self, row: RunRow) -> None:
        """Keep a run: the system has it when this returns, and the disk a second later at most."""
        self.rows.append(row)
        text = "".join(_pieces([row]))  # with the header, before the first one
        text = text if len(self.rows) == 1 else text.partition("\n")[2]
        try:
            self._append(text)
        except OSError as failure:
            with suppress(OSError):
                os.ftruncate(self._held or -1, 0)  # which makes room
                self._append(text)
            raise self._no_room(failure) from failure

    def _append(self, text: str) -> None:
        """Write all of it, or nothing."""
        whole = os.path.getsize(self.path)
        try:
            with open(self.path, "a", encoding="utf-8", newline="") as stream:
                stream.write(text)
                stream.flush()
                if time.monotonic() - self._synced > SYNCED:
                    os.fsync(stream.fileno())
                    self._synced = time.monotonic()
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, whole)
            raise

    def save(self) -> None:
        """Write all of it anew, in place of what is there."""
        try:
            write_document(self.path, [f"{MARK}{json.dumps(self.about)}\n", *_pieces(self.rows)])
        except OSError as failure:
            raise self._no_room(failure) from failure

    def _no_room(self, failure: OSError) -> ParameterError:
        """Say that the table could not be written, and how many runs it has."""
        with suppress(OSError, ParameterError):
            self.rows = read_rows(self.path, self.about)
        return ParameterError(
            "output",
            must="be a file that can be written to",
            got=f"{shown(self.path)}: {(failure.strerror or str(failure)).lower()}",
            hint=(
                f"{len(self.rows)} runs are in it. Make room and go on: ",
                Argument("resume", True),
            ),
        )

    def close(self) -> None:
        """Let others have it; without a run there is no file."""
        if not self.rows:
            Path(self.path).unlink(missing_ok=True)
        self._let_go()

    def _let_go(self) -> None:
        if self._held is not None:
            self._lock().unlink(missing_ok=True)
            let_go(self._held)
            self._held = None

    def _hold(self) -> None:
        with suppress(ImportError):
            import fcntl  # noqa: F401 - where there are no locks, nobody is kept away

            self._lock().touch()
            self._held = hold(self._lock(), is_awaited=False)
            if self._held is None:
                raise ParameterError(
                    "output",
                    must="be of one measurement at a time",
                    got=f"{shown(self.path)}, which another one is writing",
                    hint="Wait for it, or choose another name.",
                )
            if hasattr(os, "posix_fallocate"):  # macOS has none
                with suppress(OSError):
                    os.posix_fallocate(self._held, 0, RESERVE)

    def _lock(self) -> Path:
        """File beside it, as the table itself is replaced."""
        path = Path(self.path).absolute()
        return path.with_name(f".{path.name}.lock")


def _pieces(rows: Sequence[RunRow]) -> Iterator[str]:
    return csv_pieces([x.row for x in rows], exact=True)


def read_rows(path: str, about: Mapping[str, Any]) -> list[RunRow]:
    """Read the runs of a file, but not a last one that is torn."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    first, _, rest = text.partition("\n")
    known: Any = None
    with suppress(ValueError):
        known = json.loads(first.removeprefix(MARK)) if first.startswith(MARK) else None
    if not isinstance(known, dict):
        raise ParameterError(
            "output",
            must="be a table that parcast measure has begun",
            got=shown(path),
            hint="Choose another name.",
        )
    for name, value in about.items():
        if known.get(name) != value:
            raise ParameterError(
                "output",
                must=f"be of the same {name}, {shown(json.dumps(value))}",
                got=f"{shown(path)} of {shown(json.dumps(known.get(name)))}",
                hint="Choose another name, or give what it was begun with.",
            )
    whole = rest[: rest.rfind("\n") + 1]
    return [_row(x) for x in csv.DictReader(io.StringIO(whole)) if None not in (*x.values(), *x)]


def _row(cells: Mapping[str, str]) -> RunRow:
    beside = [*cells].index("repetition")
    values = tuple((name, _number(cells[name]) or 0) for name in [*cells][:beside])

    def whole(name: str) -> int | None:
        return int(cells[name]) if cells[name] else None

    return RunRow(
        point=MeasuredPoint(values),
        repetition=int(cells["repetition"]),
        seconds=float(cells["time_s"]),
        user=float(cells["user_s"]),
        system=float(cells["system_s"]),
        memory=whole("memory_B"),
        memory_total=whole("memory_total_B"),
        memory_from=cells.get("memory_from", ""),
        read=whole("read_B") or 0,
        written=whole("written_B") or 0,
        others=float(cells["others"]) if cells["others"] else None,
        status=cells["status"],
        exit=whole("exit"),
        host=unguarded(cells["host"]),
        note=unguarded(cells["note"]),
    )


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value == int(value) else value
