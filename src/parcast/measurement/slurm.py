"""What Slurm says of jobs: submitted by sbatch, listed by squeue, accounted for by sacct."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from parcast.advice import Choice
from parcast.errors import Argument, ParameterError, RunFailed
from parcast.importers.slurm import size_of
from parcast.measurement.launchers import finished
from parcast.units import shown

PATIENCE: Final = 60.0  # with a busy controller [s]
QUEUED: Final = "%i|%T|%r|%e|%m"  # number, state, reason, end, memory
STEPS: Final = "JobID,JobName,NTasks,MaxRSS,AveRSS"
ACCOUNT: Final = "JobID,State,End,ReqMem"
WAITING: Final = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"}
RUNNING: Final = {"RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "SIGNALING", "RESIZING"}
NEVER: Final = {  # reasons for which a job does not start, and what they mean
    "PartitionTimeLimit": "its time limit is above that of the partition",
    "PartitionNodeLimit": "it needs more nodes than the partition has",
    "PartitionConfig": "it asks for more nodes or time than the partition allows",
    "BadConstraints": "no node is as it asks for",
    "DependencyNeverSatisfied": "a job that it depends on has failed",
    "InvalidAccount": "the account is not known",
    "InvalidQOS": "the quality of service is not known",
    "AssocMaxWallDurationPerJobLimit": "its time limit is above that of the account",
    "QOSMaxWallDurationPerJobLimit": "its time limit is above that of the account",
    "JobHeldUser": "it is held by its user",
    "JobHeldAdmin": "it is held by an administrator",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SlurmState:
    """What Slurm knows of a job."""

    state: str  # its own word: PENDING
    reason: str = ""  # why it waits
    end: float | None = None  # since the epoch [s]
    memory: str = ""  # of a node, as it was asked for: 4G

    @property
    def is_waiting(self) -> bool:
        """Whether it has not begun."""
        return self.state in WAITING

    @property
    def is_running(self) -> bool:
        """Whether it has begun and not ended."""
        return self.state in RUNNING

    @property
    def why(self) -> str:
        """Why it waits, in words."""
        meaning = NEVER.get(self.reason)
        if meaning:
            return f"it will not start: {meaning} ({self.reason})"
        return "" if self.reason == "None" else self.reason


def require_sbatch() -> None:
    """Refuse to submit where there is no Slurm."""
    if shutil.which("sbatch") is None:
        raise ParameterError(
            "submit",
            must="be asked where Slurm is",
            got="no program sbatch",
            hint="Leave it out, and submit the scripts there.",
        )


def submitted(script: Path) -> str:
    """Submit a script; give the number of its job."""
    done = _asked(["sbatch", "--parsable", str(script)])
    found = re.match(r"\s*(\d+)(?:;|\s*$)", done.stdout)
    if done.returncode or not found:
        why = _last_line(done.stderr) or _last_line(done.stdout) or f"status {done.returncode}"
        ranks = Argument("ranks_per_node", Choice("COUNT"))
        nodes = Argument("partition", Choice("NAME"))
        raise RunFailed(
            f"sbatch did not take {shown(script)}: {shown(why, limit=200)}. Ask for another job, "
            f"such as by {ranks} or {nodes}, and go on: {Argument('resume', True)}"
        )
    return found[1]


def states_of(numbers: Iterable[str]) -> dict[str, SlurmState] | None:
    """Say what Slurm knows of jobs, without those that it has forgotten; None: it is not here."""
    asked = {x for x in numbers if x}
    if not asked:
        return {}
    user = str(os.getuid())
    listed = lines_of(["squeue", "--noheader", "--user", user, "--states=all", "-o", QUEUED])
    if listed is None:
        return None
    found = {
        number: SlurmState(state=state, reason=reason, end=_time(end), memory=memory)
        for number, state, reason, end, memory in _rows(listed, 5)
        if number in asked
    }
    ended = [x for x in asked if x not in found or not _is_active(found[x])]
    if ended:
        options = ["--noheader", "--parsable2", "--allocations", "-o", ACCOUNT]
        known = lines_of(["sacct", *options, "--jobs", ",".join(sorted(ended))])
        for number, state, end, memory in _rows(known or [], 4):
            if number in asked and state:
                word = state.split()[0].rstrip("+")  # CANCELLED by 1000
                found[number] = SlurmState(state=word, end=_time(end), memory=memory)
    return found


def memory_of_steps(number: str) -> dict[str, list[tuple[int, int | None]]]:
    """Memory of the steps of a job by their names, in their order, as far as it is accounted for.

    Most of one task, and of all of them: the mean of their most, times how many they are. [B].
    """
    options = ["--noheader", "--parsable2", "-o", STEPS, "--jobs", number]
    found: dict[str, list[tuple[int, int | None]]] = {}
    for job, name, tasks, most, mean in _rows(lines_of(["sacct", *options]) or [], 5):
        memory, average = size_of(most), size_of(mean)
        if job.partition(".")[2].isdigit() and memory:
            total = int(average * int(tasks)) if average and tasks.isdigit() else None
            found.setdefault(name, []).append((int(memory), total))
    return found


def _is_active(told: SlurmState) -> bool:
    return told.is_waiting or told.is_running


def _rows(lines: Sequence[str], count: int) -> list[list[str]]:
    """Give the cells of lines that have so many."""
    cells = [[x.strip() for x in line.split("|")] for line in lines]
    return [x for x in cells if len(x) == count]


def lines_of(command: Sequence[str]) -> list[str] | None:
    """Lines that a program prints; None where it is not there, or fails."""
    with suppress(OSError, RunFailed):
        done = _asked(command)
        return done.stdout.splitlines() if done.returncode == 0 else None
    return None


def _asked(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a program of Slurm."""
    try:
        return finished(command, PATIENCE)
    except subprocess.TimeoutExpired:
        raise RunFailed(f"{command[0]} did not answer for {PATIENCE:g} s.") from None


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2].removeprefix("sbatch: error: ").rstrip(".")


def _time(text: str) -> float | None:
    """Read a time of Slurm, which is local. [s]."""
    with suppress(ValueError):
        return datetime.fromisoformat(text).timestamp()
    return None
