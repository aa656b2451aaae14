"""Trials of any program that a command line runs, such as one of a user's own."""

import os
import resource
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from signal import SIGKILL
from typing import Self

from parcast.errors import ParameterError, RunFailed
from parcast.instrument.accounts import SHORTEST, core_seconds
from parcast.mpi.tied import tied
from parcast.signals import as_interrupts
from parcast.trials.trial import C, Launch, Trial
from parcast.units import shown


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandLauncher:
    """Runs a command once for every run of a case, and times it from its start to its end.

    ``{n}``, ``{p}`` and whatever else the columns of a case are called are replaced in it.

    >>> CommandLauncher(command=["mpiexec", "-n", "{p}", "./solve", "{n}"])
    CommandLauncher(command=['mpiexec', '-n', '{p}', './solve', '{n}'])
    """

    command: Sequence[str]

    def __call__(self, launch: Launch[C], *, report: Callable[[Trial[C, None]], object]) -> None:
        """Make the runs of a launch, one after another."""
        end = time.monotonic() + launch.time_limit
        made: Counter[C] = Counter()
        for case in launch.cases:
            seconds, others = timed(self.arguments(case), end - time.monotonic())
            made[case] += 1
            if made[case] > launch.discarded:
                repetition = made[case] - launch.discarded
                report(launch.trial(case, seconds, None, repetition=repetition, others=others))

    def arguments(self, case: C) -> list[str]:
        """Command of a case."""
        columns = {name: str(value) for name, value in case.columns.items()}
        try:
            return [part.format_map(columns) for part in self.command]
        except (KeyError, ValueError, IndexError) as fault:
            raise ParameterError(
                "command",
                must="have no other braces than " + ", ".join(f"{{{x}}}" for x in columns),
                got=shown(" ".join(self.command)),
                hint="Write a brace of the program's own twice: {{.",
            ) from fault


def timed(
    command: Sequence[str],
    time_limit: float,
    *,
    environment: Mapping[str, str] | None = None,
    called: str = "",
) -> tuple[float, float | None]:
    """Wall time of a command, and the cores that other programs used meanwhile [s], [1].

    It has an environment of its own where one is given. Messages speak of what is `called`, by
    default the command.
    """
    named, program = called or shown(" ".join(command)), shutil.which(command[0])
    if program is None:
        raise RunFailed(f"{named} cannot be started: there is no such program. Check the command.")
    before = CoreAccount.now()
    with (
        as_interrupts(),
        subprocess.Popen(
            tied([program, *command[1:]]),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is ours to hand on
        ) as process,
    ):
        try:
            _, said = process.communicate(timeout=max(time_limit, 0.0))
        except subprocess.TimeoutExpired:
            raise RunFailed(
                f"{named} did not end in time and was killed. Give it less work."
            ) from None
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, SIGKILL)
    seconds, others = before.until_now()
    if process.returncode:
        last = said.strip().rpartition("\n")[2]
        raise RunFailed(
            f"{named} ended with status {process.returncode}{f': {shown(last)}' if last else ''}. "
            "Run it alone to see why."
        )
    return seconds, others


@dataclass(frozen=True, slots=True)
class CoreAccount:
    """How much all programs, and the processes that this one has waited for, have computed."""

    every: float | None  # None where nobody tells [s]
    own: float  # [s]
    at: float  # [s]

    @classmethod
    def now(cls) -> Self:
        """Read the accounts."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(core_seconds(), used.ru_utime + used.ru_stime, time.perf_counter())

    def until_now(self) -> tuple[float, float | None]:
        """Time since then, and the cores that other programs have used [s], [1].

        None where nobody tells, or the time was too short.
        """
        later = type(self).now()
        seconds = later.at - self.at
        if self.every is None or later.every is None or seconds < SHORTEST:
            return seconds, None
        return seconds, max(later.every - self.every - (later.own - self.own), 0.0) / seconds
