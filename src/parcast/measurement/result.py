"""What `measure` answers: the runs of a program, and what they needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from statistics import mean, median, stdev
from typing import Any

from parcast.errors import RunFailed
from parcast.measurement.point import MeasuredPoint
from parcast.measurement.table import TIMEOUT, RunRow
from parcast.show.result import Result
from parcast.timings.measurements import Measurements
from parcast.trials.command import as_typed, filled
from parcast.trials.precision import Interval, interval_of


def with_ended(runs: Measurements, rows: Sequence[RunRow]) -> Measurements:
    """Add runs that were ended at a limit to those of the same program."""
    if not rows:
        return runs
    points = {name: [x.point.columns[name] for x in rows] for name in runs.axes}
    return runs.with_cut_off(**points, time=[x.seconds for x in rows])


@dataclass(frozen=True, kw_only=True, slots=True)
class PointSummary:
    """Runs of one point."""

    point: MeasuredPoint
    rows: tuple[RunRow, ...]  # all of them

    @property
    def counting(self) -> list[RunRow]:
        """Runs that count."""
        return [x for x in self.rows if x.counts]

    @property
    def time(self) -> float | None:
        """Median [s]."""
        return median(x.seconds for x in self.counting) if self.counting else None

    @property
    def interval(self) -> Interval | None:
        """90% interval of the median [s]; of two to four runs their range."""
        times = [x.seconds for x in self.counting]
        return interval_of(times) if len(times) > 1 else None

    def most(self, name: str) -> int | None:
        """Largest value of memory over the runs [B]."""
        known = [x for row in self.counting if (x := getattr(row, name)) is not None]
        return max(known, default=None)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeasuredProgram(Result):
    """A program that was measured at some points."""

    _schema = "parcast/measurement/1"
    _axes = "*time_s"

    command: tuple[str, ...]
    points: tuple[MeasuredPoint, ...]
    runs: int  # of each point that were asked for
    table: tuple[RunRow, ...]
    path: str  # of the table
    cores: int  # that this process may use [1]
    ended_by: str = ""  # "interrupted" or "time limit" where not all was measured
    stopped: str = ""  # why no more runs were made, where they were chosen one by one
    is_narrow: bool = True  # whether the interval is then as narrow as asked for
    findings: tuple[str, ...] = ()  # what spoils the measurement
    inputs: Mapping[str, Any] | None = field(default=None)

    @property
    def summaries(self) -> list[PointSummary]:
        """Runs of each point that has any."""
        found = [
            PointSummary(point=x, rows=tuple(row for row in self.table if row.point == x))
            for x in self.points
        ]
        return [x for x in found if x.rows]

    def measurements(self) -> Measurements:
        """Times of the runs that count.

        Raises
        ------
        RunFailed
            If there is none.
        """
        rows = [x for x in self.table if x.counts]
        if not rows:
            notes = [x.note for x in self.table if x.note]
            why = f" The first one {notes[0]}." if notes else ""
            raise RunFailed(f"No run ended well, so that there is no time.{why}")
        names = [*rows[0].point.columns]
        columns = {name: [x.point.columns[name] for x in rows] for name in names}
        for name, memory in (
            ("memory_B", [x.memory for x in rows]),
            ("memory_total_B", [x.memory_total for x in rows]),
        ):
            if any(memory):
                columns[name] = [x or nan for x in memory]
        found = Measurements(
            **columns,
            time=[x.seconds for x in rows],
            repetition=[x.repetition for x in rows],
        )
        ended = [x for x in self.table if x.status == TIMEOUT]
        return with_ended(found, ended)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each run."""
        for row in self.table:
            yield row.row

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document; `results` are those of hyperfine."""
        return {
            "schema": self._schema,
            "command": list(self.command),
            "rows": list(self.rows()),
            "results": [self._as_hyperfine(x) for x in self.summaries if x.counting],
            "runs": self.runs,
            "table": self.path,
            "cores": self.cores,
            "ended_by": self.ended_by or None,
            "stopped": self.stopped or None,
            "is_narrow": self.is_narrow,
            "warnings": list(self.findings),
            "inputs": dict(self.inputs or {}),
        }

    def _as_hyperfine(self, summary: PointSummary) -> dict[str, Any]:
        """Facts of a point with the keys of hyperfine's export."""
        rows = summary.counting
        times = [x.seconds for x in rows]
        memory = [x.memory for x in rows]
        return {
            "command": as_typed(filled(self.command, summary.point.columns)),
            "mean": mean(times),
            "stddev": stdev(times) if len(times) > 1 else None,
            "median": median(times),
            "user": mean(x.user for x in rows),
            "system": mean(x.system for x in rows),
            "min": min(times),
            "max": max(times),
            "times": times,
            "memory_usage_byte": memory if all(memory) else None,
            "exit_codes": [x.exit for x in rows],
            "parameters": {name: str(x) for name, x in summary.point.columns.items()},
        }

    def __repr__(self) -> str:
        """Say what was measured, in one line."""
        return f"MeasuredProgram({len(self.table)} runs at {len(self.points)} points)"
