"""Trials of any program that a command line runs, such as one of a user's own."""

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Final, NoReturn, Self, TypeAlias

from parcast.errors import ParameterError, RunFailed
from parcast.instrument.accounts import SHORTEST, core_seconds
from parcast.needs import require_unix
from parcast.signals import as_interrupts
from parcast.trials.reason import why_in
from parcast.trials.trial import C, Launch, Trial
from parcast.units import format_quantity, shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """A program that has ended, and what it and all that it started needed."""

    seconds: float  # wall, from its start to its end
    status: int | None  # below 0: minus the signal that ended it; None: it was ended in time
    user: float  # processor time [s]
    system: float  # of the kernel for it [s]
    memory: int | None  # most of one process; None: it was too short to see [B]
    memory_total: int | None  # most of all processes at a time; None: it was not seen [B]
    memory_from: str  # what told it: "cgroup" or "proc"; "" where nothing did
    read: int  # from disks [B]
    written: int  # to disks [B]
    left: int  # processes that it left behind, and that were ended
    output: str  # the first and the last of what it wrote
    others: float | None  # cores that other programs used meanwhile; None: unknown [1]

    @property
    def failure(self) -> str:
        """Why it is no run; "" if it is one."""
        if self.status is None:
            return f"was ended after {format_quantity(self.seconds, 'time')}"
        if self.status == 0:
            return ""
        said = why_in(self.output)
        how = f"by signal {-self.status}" if self.status < 0 else f"with status {self.status}"
        return f"ended {how}{f': {shown(said, limit=MOST_SAID)}' if said else ''}"


MOST_SAID: Final = 300  # characters of why a program failed
LONG: Final = 2**18  # output, for which what watches a program needs more memory than small ones
PLAIN: Final = re.compile(r"[\w{}@%+=:,./-]+")  # a word that no shell takes otherwise
PACKAGES: Final = Path(__file__).parents[2]
WATCHER: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from parcast.trials.watched import main; main(int(sys.argv[2]))"
)
Run: TypeAlias = Callable[..., Ran]


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandLauncher:
    """Runs a command once for every run of a case, and times it from its start to its end.

    ``{n}``, ``{p}`` and whatever else the columns of a case are called are replaced in it.

    >>> CommandLauncher(command=["mpiexec", "-n", "{p}", "./solve", "{n}"]).command
    ['mpiexec', '-n', '{p}', './solve', '{n}']
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)  # more than that of this process
    timeout: float | None = None  # of a run; None: that of the launch [s]
    prepare: Sequence[str] = ()  # run before each run, and not timed
    clock: Callable[[str], float] | None = None  # time that a program tells of itself [s]
    are_reported: bool = False  # failed runs, as trials; else they are raised
    is_grouped: bool = True  # whether memory is that of a control group, where there may be one
    is_any_status_good: bool = False  # whether runs that end with another status than 0 count

    def __call__(self, launch: Launch[C], *, report: Callable[[Trial[C, Ran]], object]) -> None:
        """Make the runs of a launch, one after another."""
        made: Counter[C] = Counter()
        limit = launch.time_limit if launch.expected is not None else None
        with runner() as run:
            for case in launch.cases:
                if self.prepare:
                    words = filled(self.prepare, case.columns)
                    _require(words, run(words, environment=self._environment(case)))
                words = filled(self.command, case.columns)
                ran = run(
                    words,
                    environment=self._environment(case),
                    time_limit=self.timeout or limit,
                    is_grouped=self.is_grouped,
                )
                made[case] += 1
                if self.is_any_status_good and ran.status is not None:
                    ran = replace(ran, status=0)
                if not self.are_reported:
                    _require(words, ran)
                if made[case] > launch.discarded:
                    report(self._trial(launch, case, ran, made[case] - launch.discarded))

    def _trial(self, launch: Launch[C], case: C, ran: Ran, repetition: int) -> Trial[C, Ran]:
        """Make a trial of a run, by the time that the program tells if it does."""
        seconds, failure = ran.seconds, ran.failure
        if self.clock is not None and not failure:
            try:
                seconds = self.clock(ran.output)
            except ParameterError as fault:
                if not self.are_reported:
                    raise
                failure = f"gave no time: {fault.name} must {fault.must}, got {fault.got}"
        facts = {"repetition": repetition, "others": ran.others, "failure": failure}
        return launch.trial(case, seconds, ran, **facts)

    def _environment(self, case: C) -> dict[str, str]:
        named = zip(
            self.environment, filled([*self.environment.values()], case.columns), strict=True
        )
        return dict(named)


def as_typed(words: Sequence[str]) -> str:
    """Write a command as a person types it, with names in braces as they are.

    >>> as_typed(["sh", "-c", "./app {p} > out", "{n}"])
    "sh -c './app {p} > out' {n}"
    """
    return " ".join(x if PLAIN.fullmatch(x) else shlex.quote(x) for x in words)


def filled(words: Sequence[str], columns: Mapping[str, Any]) -> list[str]:
    """Replace the names of columns in braces by their values.

    >>> filled(["-n", "{p}", "{{x}}"], {"p": 4})
    ['-n', '4', '{x}']
    """
    texts = {name: str(value) for name, value in columns.items()}
    try:
        return [word.format_map(texts) for word in words]
    except (KeyError, ValueError, IndexError, AttributeError) as fault:
        raise ParameterError(
            "command",
            must="have no other braces than " + ", ".join(f"{{{x}}}" for x in texts),
            got=shown(as_typed(words)),
            hint="Write a brace of the program's own twice: {{.",
        ) from fault


def _require(words: Sequence[str], ran: Ran) -> None:
    if ran.failure:
        raise RunFailed(f"{shown(as_typed(words))} {ran.failure}. Run it alone to see why.")


class _Runner:
    """Runs programs, through a process that is started with the first."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def __call__(
        self,
        words: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        time_limit: float | None = None,
        is_grouped: bool = True,
    ) -> Ran:
        """Run a program to its end, in a control group where one may be made."""
        variables = {**os.environ, **(environment or {})}
        # Looked for here, as each attempt of a new process takes long.
        program = (
            words[0] if "/" in words[0] else shutil.which(words[0], path=variables.get("PATH"))
        )
        if program is None:
            _refuse_start(words, errno.ENOENT)
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", WATCHER, str(PACKAGES), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # what kills the group of this one leaves it to clean up
            )
        task = {
            "program": program,
            "command": [*words],
            "environment": variables,
            "time_limit": None if time_limit in (None, inf) else max(time_limit or 0.0, 0.0),
            "folder": os.getcwd(),
            "is_grouped": is_grouped,
        }
        ran = _run(self.process, task)
        if len(ran.output) > LONG:
            self.end()
        return ran

    def end(self) -> None:
        """End it, and what it runs."""
        process, self.process = self.process, None
        if process is not None:
            with suppress(OSError):
                process.terminate()
            process.communicate()


_OPEN: Final[ContextVar[_Runner | None]] = ContextVar("_OPEN", default=None)


@contextmanager
def runner() -> Iterator[Run]:
    """Give a function that runs programs, which are ended where the block is left.

    Blocks within the block share its process, which takes longer to start than many programs run.
    """
    require_unix("Running a program needs")
    outer = _OPEN.get()
    run = outer or _Runner()
    token = _OPEN.set(run)
    with as_interrupts():
        try:
            yield run
        except BaseException:
            run.end()
            raise
        finally:
            _OPEN.reset(token)
            if outer is None:
                run.end()


def _run(process: "subprocess.Popen[str]", task: Mapping[str, Any]) -> Ran:
    words = task["command"]
    assert process.stdin is not None
    assert process.stdout is not None
    before = core_seconds()
    try:
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        told = json.loads(answer)
    except (OSError, ValueError) as fault:
        raise RunFailed(
            f"{shown(as_typed(words))} could not be watched to its end: the process that did so "
            "was ended. Was there too little memory?"
        ) from fault
    after = core_seconds()
    number = told.pop("errno")
    if number is not None:
        _refuse_start(words, number)
    told["status"] = None if told.pop("is_late") else told["status"]
    seconds, others = told["seconds"], None
    if before is not None and after is not None and seconds >= SHORTEST:
        own = told["user"] + told["system"]
        others = max(after - before - own, 0.0) / seconds
    return Ran(**told, others=others)


def _refuse_start(words: Sequence[str], number: int) -> NoReturn:
    """Say why a program could not be started."""
    what = {
        errno.ENOENT: "there is no such program. Check the command",
        errno.EACCES: "it may not be executed. Check its permissions (chmod +x)",
        errno.ENOEXEC: "it is neither a program of this machine nor a script with #!",
    }.get(number, os.strerror(number))
    raise RunFailed(f"{shown(words[0])} cannot be started: {what}.")


@dataclass(frozen=True, slots=True)
class CoreAccount:
    """How much all programs, and the processes that this one has waited for, have computed."""

    every: float | None  # None where nobody tells [s]
    own: float  # [s]
    at: float  # [s]

    @classmethod
    def now(cls) -> Self:
        """Read the accounts."""
        import resource  # which not every system has

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
