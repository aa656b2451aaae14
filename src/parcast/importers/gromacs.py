"""Logs of GROMACS: the `md.log` of `gmx mdrun`.

`p` is the number of MPI ranks times that of OpenMP threads, and the time the wall time of the run.
Where runs simulated different times, as those that `-maxh` ended, it is the wall time of 1 ns.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from parcast.files.faults import Faults
from parcast.files.numbers import number
from parcast.importers.axes import metric_argument
from parcast.importers.content import first_error, note_on_lone_ranks, refuse_lone_rank, text_lines
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs, left_out
from parcast.units import shown
from parcast.words import listed

START = re.compile(
    rb"GROMACS(?: - |:\s+)(?:gmx\w*,? )?mdrun|GROMACS - gmx|^Using [0-9]+ MPI (?:thread|process)",
    re.M,
)
RANKS = re.compile(r"Using ([0-9]{1,9}) MPI (?:threads?|process(?:es)?)\b")
THREADS = re.compile(r"Using ([0-9]{1,9}) OpenMP threads?\b")
TIME = re.compile(r"Time:\s+([0-9.]+)\s+([0-9.]+)(?:\s|$)")
RATE = re.compile(r"Performance:\s+([0-9.]+)(?:\s|$)")
ERROR = re.compile(r"(?:Fatal error:|Software inconsistency error:|Received the \w+ signal)")
DAY = 86400.0  # [s]
SAME = 1.02  # [D] ratio of simulated times that rounding explains
METRICS = ("wall time", "time of 1 ns")


@dataclass(slots=True)
class GromacsRun:
    """One run, as far as it was read."""

    ranks: int | None = None
    threads: int | None = None
    wall: float | None = None  # [s]
    rate: float | None = None  # simulated time by wall time [ns/day]
    line: int = 0

    @property
    def p(self) -> int | None:
        """Ranks times threads."""
        if self.ranks is None and self.threads is None:
            return None
        return (self.ranks or 1) * (self.threads or 1)


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a log of GROMACS."""
    return bool(START.search(head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each run. `metric` is "wall time" (the default) or "time of 1 ns"."""
    if metric not in {None, *METRICS}:
        runs.faults.refuse(
            f"must have the metric {shown(repr(metric))}, got {', '.join(METRICS)}. Choose one "
            f"of them: {metric_argument(runs.faults)}"
        )
    found: list[tuple[GromacsRun, Faults]] = []
    errors: list[str] = []
    for path, faults in runs.files():
        ended, why = _runs(path, faults)
        found += [(run, faults) for run in ended]
        errors += why
    if not found:
        runs.faults.refuse(
            "must have a line Time: with the wall time, got none: "
            f"{listed(dict.fromkeys(errors))}. Run it to its end."
        )
    notes = left_out(len(errors), listed(dict.fromkeys(errors)))
    if any((run.threads or 1) > 1 for run, _ in found):
        notes.append("p is the number of MPI ranks times that of OpenMP threads.")
    notes += note_on_lone_ranks([run.p or 1 for run, _ in found])
    by_rate = metric == METRICS[1] or _differ([run for run, _ in found])
    if by_rate:
        notes.append(
            "The time is that of 1 ns, from ns/day, as the runs simulated different times."
        )
    for run, faults in found:
        time = DAY / run.rate if by_rate and run.rate else run.wall
        point = {} if run.p is None else {"p": run.p}
        runs.add(point, [time], faults, metric="time_s", line=run.line)
    return runs.imported(notes=notes)


FORMAT = Format(title="Logs of GROMACS", recognises=recognises, timings=read)


def _differ(found: list[GromacsRun]) -> bool:
    """Tell whether runs simulated different times, all of which are known."""
    simulated = [(run.rate or 0.0) * (run.wall or 0.0) for run in found]
    return min(simulated) > 0 and max(simulated) > SAME * min(simulated)


def _runs(path: Path, faults: Faults) -> tuple[list[GromacsRun], list[str]]:
    """Read one log, to which continued runs are appended: those that ended, and why others not."""
    ended: list[GromacsRun] = []
    errors: list[str] = []
    run, error = GromacsRun(), ""
    for line, text in text_lines(path, faults):
        if match := RANKS.match(text):
            if run.ranks is not None and run.wall is None:
                errors.append(error or "no wall time")
            run, error = GromacsRun(ranks=int(match[1])), ""
        elif match := THREADS.match(text):
            if run.wall is not None:
                run = GromacsRun()
            run.threads = int(match[1])
        elif match := TIME.match(text):
            wall = number(match[2])
            run.wall, run.line = wall, line
            ended.append(run)
            refuse_lone_rank(run.p or 0, faults)
        elif (match := RATE.match(text)) and run.wall is not None:
            run.rate = number(match[1])
        elif ERROR.match(text):
            error = error or first_error(text)
    if run.wall is None:
        errors.append(error or "no wall time")
    return ended, errors
