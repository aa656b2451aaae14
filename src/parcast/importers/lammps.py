"""Logs of LAMMPS: `log.lammps` or what it prints, with one or several runs.

Each `LammpsRun time of 4.2 on 8 procs for 100 steps with 4000 atoms` is a run; procs are MPI tasks
times OpenMP threads. Runs that follow each other in one log are callpaths; where the number of
atoms is not the same in all logs, it is n. Memory is what LAMMPS accounts for in each rank.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parcast.files.faults import Faults
from parcast.files.numbers import number
from parcast.importers.content import (
    first_error,
    note_on_lone_ranks,
    refuse_copies,
    refuse_lone_rank,
    text_lines,
)
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs, left_out
from parcast.words import listed

HEADER = re.compile(r"LAMMPS \([0-9]{1,2} [A-Z][a-z]{2} [0-9]{4}")
LOOP = re.compile(
    r"Loop time of ([0-9.eE+-]{1,40}) on ([0-9]{1,9}) procs(?: \([^)]*\))? for "
    r"([0-9]{1,15}) steps with "
    r"([0-9]{1,15}) atoms"
)
ERROR = re.compile(r"ERROR(?: on proc [0-9]+)?: (.*)")
THREADS = re.compile(r"with ([0-9]+) MPI tasks x ([0-9]{1,9}) OpenMP threads")
MEMORY_OF_RANKS = re.compile(
    r"Per MPI rank memory allocation \(min/avg/max\) = "
    r"[0-9.eE+]{1,40} \| ([0-9.eE+]{1,40}) \| ([0-9.eE+]{1,40}) Mbytes"
)
MIB: Final = 1024.0**2  # LAMMPS counts in
START = re.compile(
    rb"^(?:LAMMPS \([0-9]{1,2} [A-Z][a-z]{2} [0-9]{4}|Loop time of [0-9.e+-]+ on)", re.M
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LammpsRun:
    """One run of a log."""

    time: float | None  # None of what is no number [s]
    p: int
    steps: int
    atoms: int
    number: int  # in its start of LAMMPS, from 1
    line: int
    memory: tuple[float, float] | None  # of the largest rank, and of the mean one [B]


@dataclass(slots=True)
class Log:
    """What was found in one file."""

    loops: list[LammpsRun] = field(default_factory=list)
    starts: int = 0
    errors: list[str] = field(default_factory=list)  # why starts ended without a loop
    threads: int = 1
    idle: int = 0  # runs of no step, which set a system up


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a log of LAMMPS."""
    return bool(START.search(head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each run of each log. The only `metric` is "Loop time"."""
    runs.refuse_metric(metric, but="Loop time")
    logs = [(_log(path, faults), faults) for path, faults in runs.files()]
    errors = [error for log, _ in logs for error in log.errors]
    loops = [loop for log, _ in logs for loop in log.loops]
    if not loops:
        runs.faults.refuse(
            "must have a line such as Loop time of 4.2 on 8 procs, got none: "
            f"{listed(dict.fromkeys(errors)) or 'no run'}. Run it to its end."
        )
    notes = left_out(len(errors), listed(dict.fromkeys(errors)))
    if idle := sum(log.idle for log, _ in logs):
        notes.append(f"{idle} run{'s' * (idle > 1)} of 0 steps left out.")
    threads = max(log.threads for log, _ in logs)
    if threads > 1:
        notes.append("p is the number of MPI tasks times that of OpenMP threads.")
    notes += note_on_lone_ranks([loop.p for loop in loops if loop.number == 1])
    has_size = len({loop.atoms for loop in loops}) > 1
    if has_size:
        notes.append("n is the number of atoms.")
    has_names = len({(loop.number, loop.steps) for loop in loops}) > 1
    for log, faults in logs:
        for loop in log.loops:
            runs.add(
                {"p": loop.p} | ({"n": loop.atoms} if has_size else {}),
                [loop.time],
                faults,
                metric="time_s",
                callpath=f"run {loop.number}: {loop.steps} steps" if has_names else "",
                line=loop.line,
                memory=_memory(loop, log.threads),
            )
    if any(loop.memory for loop in loops):
        notes.append("memory is what LAMMPS counts: its arrays, without the program and MPI.")
    return runs.imported(notes=notes)


FORMAT = Format(title="Logs of LAMMPS", recognises=recognises, timings=read)


def _log(path: Path, faults: Faults) -> Log:
    """Read one file, which may have several starts of LAMMPS one after another."""
    log = Log()
    begun, loops, error = 0, 0, ""  # starts since the last loop; loops of this start
    memory: tuple[float, float] | None = None  # said before the loop
    for line, text in text_lines(path, faults):
        if HEADER.match(text):
            if begun and error:
                log.errors.append(error)
                begun -= 1
            log.starts, begun, loops, error = log.starts + 1, begun + 1, 0, ""
        elif match := LOOP.match(text):
            p = int(match[2])
            if begun > 1 and p == 1:
                refuse_copies(f"{begun} that each say 1 procs", faults, line)
            log.errors += ["no Loop time"] * max(begun - 1, 0)
            begun, error = 0, ""
            if int(match[3]) == 0:
                log.idle += 1
                continue
            loops += 1
            log.loops.append(
                LammpsRun(
                    time=number(match[1]),
                    p=p,
                    steps=int(match[3]),
                    atoms=int(match[4]),
                    number=loops,
                    line=line,
                    memory=memory,
                )
            )
            memory = None
        elif match := MEMORY_OF_RANKS.match(text):
            average, most = (number(x) or 0.0 for x in match.groups())
            memory = (most * MIB, average * MIB)
        elif match := ERROR.match(text):
            error = error or first_error(match[1])
        elif match := THREADS.search(text):
            log.threads = max(log.threads, int(match[2]))
    if begun or error or not log.loops:
        log.errors += [error or "no Loop time"] * max(begun, 1)
    _refuse_copies_in_turn(log, faults)
    for loop in log.loops:
        refuse_lone_rank(loop.p, faults)
    return log


def _memory(loop: LammpsRun, threads: int) -> dict[str, list[float | None]]:
    """Give the memory of the largest rank, and of all of them."""
    if loop.memory is None:
        return {}
    most, average = loop.memory
    return {"memory_B": [most], "memory_total_B": [average * max(loop.p // threads, 1)]}


def _refuse_copies_in_turn(log: Log, faults: Faults) -> None:
    """Refuse equal runs of 1 process that several starts, or none, wrote one after another."""
    alone = [(loop.steps, loop.atoms) for loop in log.loops if loop.p == 1]
    is_alone = len(alone) == len(log.loops)
    if is_alone and log.starts != 1 and any(alone.count(one) > 1 for one in set(alone)):
        most = max(alone.count(one) for one in set(alone))
        refuse_copies(f"{most} equal runs that each say 1 procs", faults, log.loops[0].line)
