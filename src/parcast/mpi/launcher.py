"""Starts MPI ranks on this machine, waits for them, and leaves nothing of them behind."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from parcast.errors import (
    FileProblems,
    FitFailed,
    ParameterError,
    ParcastError,
    Problem,
    RunFailed,
)
from parcast.mpi.find import Mpi, available_cores, find_mpi
from parcast.mpi.folders import failing_for, folder_for
from parcast.mpi.leftovers import (
    TOKEN,
    kill_processes_of,
    remove_session,
    remove_shared_memory,
)
from parcast.mpi.rank import PLACEMENT, TOLD, first_told
from parcast.mpi.tied import tied
from parcast.signals import as_interrupts
from parcast.units import shown

Placement = Literal["auto", "own", "one", "spread", "free"]

TASKS: Final = "parcast-task-"  # folders of `run_task`
RANKS: Final = "parcast-ranks-"  # folders for what ranks tell
GRACE: Final = 3.0  # for mpiexec to end its ranks by itself when it is told to [s]
MOST_RANKS: Final = 4096
LONGEST: Final = 400  # characters of what a rank said
_WORD: Final = re.compile(r"\w")  # that a line of dashes has not
_BANNER: Final = re.compile(  # what MPICH and Intel MPI say of ranks that failed, line by line
    r"Abort\(-?\d+\) on node \d+|=   (BAD TERMINATION|PID \d|EXIT CODE|CLEANING UP|"
    r"YOU CAN IGNORE)|YOUR APPLICATION TERMINATED WITH|This typically refers to a problem with "
    r"your application\.|Please see the FAQ page for debugging"
)
_SIGNAL: Final = re.compile(r"\bsignal ([0-9]{1,3})")
_HINTS: Final = {
    "SIGKILL": ", as happens when memory runs out",
    "SIGBUS": ", as happens when /dev/shm is full",
}
_KINDS: Final[dict[str, type[ParcastError]]] = {
    kind.__name__: kind for kind in (ParameterError, FitFailed, RunFailed)
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a run of ranks ended."""

    status: int
    stdout: str
    stderr: str
    seconds: float  # wall time from the start of mpiexec to its end [s]


def run_ranks(
    module: str,
    arguments: Sequence[str] = (),
    *,
    ranks: int,
    time_limit: float,
    placement: Placement = "auto",
    environment: Mapping[str, str] | None = None,
    mpi: Mpi | None = None,
    called: str = "",
) -> Ended:
    """Run a module, as ``python -m`` does, on several ranks and wait for its end with status 0.

    Each rank has a core of its own ("own"), all share one, they are dealt out to the cores in turn
    ("spread") or not pinned ("free"); "auto" is what PARCAST_PLACEMENT says, else "own" where
    there are enough cores, else "one". A RunFailed says that there is no MPI, a rank failed, or
    they were killed after `time_limit` [s]; a ParameterError, FitFailed or FileProblems of a rank
    is raised as it is. Messages speak of what is `called`, by default the module.
    """
    with started_ranks(
        module,
        arguments,
        ranks=ranks,
        placement=placement,
        environment=environment,
        mpi=mpi,
        called=called,
    ) as started:
        return started.ended(time_limit)


def run_task(
    module: str,
    task: Mapping[str, Any],
    *,
    ranks: int,
    time_limit: float,
    is_pinned: bool = True,
    called: str = "",
) -> Ended:
    """Run a module as `run_ranks` does; its argument is the path of a JSON file with the task.

    Ranks with a core each are pinned, unless not wanted. Those that share cores are not, and give
    them up while they wait: which of them waits would depend on the core.
    """
    is_crowded = ranks > len(available_cores())
    with folder_for(TASKS) as desk:
        path = desk / "task.json"
        path.write_text(json.dumps(task), encoding="utf-8")
        return run_ranks(
            module,
            [str(path)],
            ranks=ranks,
            time_limit=time_limit,
            placement="auto" if is_pinned and not is_crowded else "free",
            environment=find_mpi().environment(crowded=True) if is_crowded else None,
            called=called,
        )


@dataclass(kw_only=True, slots=True)
class Started:
    """Ranks that run."""

    process: "subprocess.Popen[str]"  # mpiexec
    called: str
    ranks: int
    token: str  # in the environment of all its processes
    told: Path  # folder for what they tell
    begun: float  # on the monotonic clock [s]

    def ended(self, time_limit: float) -> Ended:
        """Wait for the end; what failed is raised, also that it took longer than a limit [s]."""
        try:
            out, err = self.process.communicate(timeout=max(time_limit, 0.0))
        except subprocess.TimeoutExpired:
            self.stop()
            raise RunFailed(
                f"{self.called} on {self.ranks} ranks did not end within {time_limit:g} s and was "
                "killed. Allow more time, or give it less work."
            ) from None
        status = self.process.returncode
        if status:
            raise self.failure(out, err)
        seconds = time.monotonic() - self.begun
        return Ended(status=status, stdout=out, stderr=err, seconds=seconds)

    def refusal(self) -> ParcastError | None:
        """Give the refusal of the first rank that told one."""
        told = first_told(self.told)
        if told is None:
            return None
        facts, text = told["facts"], told["message"]
        if told["kind"] == FileProblems.__name__:
            return FileProblems(**facts | {"problems": [Problem(**x) for x in facts["problems"]]})
        if kind := _KINDS.get(told["kind"]):
            return kind(**facts)
        text, *below = text.split("\n")
        return RunFailed(text, below=below)

    def failure(self, out: str, err: str) -> ParcastError:
        """Say why they failed, by what they told, or else from what they printed."""
        printed = _failure(self.called, self.ranks, self.process.returncode, out, err)
        return self.refusal() or printed

    def stop(self) -> None:
        """End mpiexec and its ranks: first as it likes it, then all that is left."""
        self.process.terminate()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        kill_processes_of(self.token)


@contextmanager
def started_ranks(
    module: str,
    arguments: Sequence[str] = (),
    *,
    ranks: int,
    placement: Placement = "auto",
    environment: Mapping[str, str] | None = None,
    mpi: Mpi | None = None,
    called: str = "",
) -> Iterator[Started]:
    """Run a module as `run_ranks` does, during a block; nothing of it is left when that ends."""
    if not 1 <= ranks <= MOST_RANKS:
        hint = "Count from 1." if ranks < 1 else "Start fewer."
        raise ParameterError("ranks", must=f"lie in 1 to {MOST_RANKS}", got=f"{ranks}", hint=hint)
    chosen = mpi or find_mpi()
    token, began = uuid.uuid4().hex, time.time()
    if placement == "auto":
        placement = os.environ.get(PLACEMENT, "auto")  # type: ignore[assignment]  # ours to set
    crowded = placement == "one" or (placement != "free" and ranks > len(available_cores()))
    command = [chosen.mpiexec, "-n", str(ranks), sys.executable, "-m", "parcast.mpi.rank"]
    variables = {
        **chosen.environment(crowded=crowded, one_host=placement != "free"),
        **os.environ,
        **(environment or {}),
        PLACEMENT: placement,
        TOKEN: token,
    }
    remove_shared_memory()  # of ranks that others have started, and that were killed
    with ExitStack() as stack:
        with failing_for(tempfile.gettempdir(), "the run"):
            told = stack.enter_context(folder_for(RANKS))
        stack.enter_context(as_interrupts())
        process = stack.enter_context(
            subprocess.Popen(
                tied([*command, module, *arguments]),
                env=variables | {TOLD: str(told)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C is ours to hand on
            )
        )
        started = Started(
            process=process,
            called=called or _named(module),
            ranks=ranks,
            token=token,
            told=told,
            begun=time.monotonic(),
        )
        try:
            yield started
        finally:
            if process.poll() is None:
                started.stop()
            is_left = process.returncode != 0
            if is_left:
                remove_session(process.pid)
            if kill_processes_of(token) or is_left:
                remove_shared_memory(began)


def _failure(called: str, ranks: int, status: int, stdout: str, stderr: str) -> RunFailed:
    """Say why ranks failed, in the words of the first that printed something."""
    lines = _lines(stderr)
    words = reason_of(status, stdout, stderr) or (lines[-1] if lines else "")
    reason = f": {shown(words, limit=LONGEST)}" if words else ""
    many = "1 rank" if ranks == 1 else f"{ranks} ranks"
    what_to_do = "Use fewer ranks, or read its message." if ranks > 1 else "Read its message."
    return RunFailed(
        f"{called} on {many} ended with status {status}{reason}. All its "
        f"processes were stopped. {what_to_do}"
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if _WORD.search(line)]


def reason_of(status: int, stdout: str, stderr: str) -> str:
    """Name the exception or the signal that ended ranks; nothing where neither is known."""
    words = next((line for line in _lines(stderr) if _is_exception(line)), "")
    return words or _signal_of(status, f"{stderr}\n{stdout}")


def is_banner(line: str) -> bool:
    """Tell a line with which mpiexec says that ranks failed, whatever the reason.

    >>> is_banner("Abort(1) on node 0 (rank 0 in comm 0): application called MPI_Abort")
    True
    """
    return _BANNER.match(line) is not None


def _signal_of(status: int, words: str) -> str:
    """Say which signal ended mpiexec, or a rank of which mpiexec told, and what that may mean."""
    named = _SIGNAL.search(words)
    number = -status if status < 0 else int(named[1]) if named else 0
    if number not in set(signal.Signals):
        return ""
    name = signal.strsignal(number) or f"signal {number}"
    return f"{'mpiexec' if status < 0 else 'a rank'} was ended by a signal: {name}" + (
        _HINTS.get(signal.Signals(number).name, "")
    )


def _is_exception(line: str) -> bool:
    """Tell the last line of a traceback, such as "MemoryError: ..."."""
    head = line.split(":", 1)[0].rpartition(".")[2]
    return head.isidentifier() and head.endswith(("Error", "Exception", "Interrupt"))


def _named(module: str) -> str:
    return module.removeprefix("parcast.mpi.")
