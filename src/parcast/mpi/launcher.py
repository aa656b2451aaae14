"""Starts MPI ranks on this machine, waits for them, and leaves nothing of them behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from parcast.errors import FitFailed, ParameterError, ParcastError, RunFailed
from parcast.mpi.find import Mpi, available_cores, find_mpi
from parcast.mpi.leftovers import (
    TOKEN,
    as_interrupts,
    kill_processes_of,
    remove_session,
    remove_shared_memory,
)
from parcast.mpi.rank import PLACEMENT, REFUSAL
from parcast.mpi.tied import tied
from parcast.units import shown

Placement = Literal["auto", "own", "one", "spread", "free"]

GRACE: Final = 3.0  # for mpiexec to end its ranks by itself when it is told to [s]
MOST_RANKS: Final = 4096
LONGEST: Final = 400  # characters of what a rank said
_WORD: Final = re.compile(r"\w")  # that a line of dashes has not
_SIGNAL: Final = re.compile(r"\bsignal (\d+)")
_HINTS: Final[dict[int, str]] = {
    signal.SIGKILL: ", as happens when memory runs out",
    signal.SIGBUS: ", as happens when /dev/shm is full",
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
    they were killed after `time_limit` [s]; a ParameterError or FitFailed of a rank is raised as
    it is. Messages speak of what is `called`, by default the module.
    """
    if not 1 <= ranks <= MOST_RANKS:
        hint = "Count from 1." if ranks < 1 else "Start fewer."
        raise ParameterError("ranks", must=f"lie in 1 to {MOST_RANKS}", got=f"{ranks}", hint=hint)
    chosen, called = mpi or find_mpi(), called or _named(module)
    token, began = uuid.uuid4().hex, time.time()
    if placement == "auto":
        placement = os.environ.get(PLACEMENT, "auto")  # type: ignore[assignment]  # ours to set
    crowded = placement == "one" or (placement != "free" and ranks > len(available_cores()))
    command = [chosen.mpiexec, "-n", str(ranks), sys.executable, "-m", "parcast.mpi.rank"]
    variables = {
        **chosen.environment(crowded=crowded),
        **os.environ,
        **(environment or {}),
        PLACEMENT: placement,
        TOKEN: token,
    }
    started = time.monotonic()
    status: int | None = None
    try:
        with as_interrupts():
            status, out, err = _waited([*command, module, *arguments], variables, time_limit)
    finally:
        if kill_processes_of(token) or status != 0:
            remove_shared_memory(began)
    if status is None:
        raise RunFailed(
            f"{called} on {ranks} ranks did not end within {time_limit:g} s and was killed. "
            "Allow more time, or give it less work."
        )
    if status:
        raise _failure(called, ranks, status, out, err)
    return Ended(status=status, stdout=out, stderr=err, seconds=time.monotonic() - started)


def _waited(
    command: Sequence[str], variables: Mapping[str, str], time_limit: float
) -> tuple[int | None, str, str]:
    """Start mpiexec and wait for it; a status of None says that the time is over."""
    with subprocess.Popen(
        tied(command),
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C is ours to hand on
    ) as started:
        try:
            out, err = started.communicate(timeout=time_limit)
        except subprocess.TimeoutExpired:
            _stop(started, variables[TOKEN])
            return None, "", ""
        except BaseException:
            _stop(started, variables[TOKEN])
            raise
        finally:
            if started.returncode != 0:
                kill_processes_of(variables[TOKEN])
                remove_session(started.pid)
    return started.returncode, out, err


def _stop(started: "subprocess.Popen[str]", token: str) -> None:
    """End mpiexec and its ranks: first as it likes it, then all that is left."""
    started.terminate()
    try:
        started.wait(GRACE)
    except subprocess.TimeoutExpired:
        started.kill()
    kill_processes_of(token)


def _failure(called: str, ranks: int, status: int, stdout: str, stderr: str) -> ParcastError:
    """Say why ranks failed, in the words of the first that said something."""
    lines = [line.strip() for line in stderr.splitlines() if _WORD.search(line)]
    for line in lines:
        if REFUSAL in line:
            facts = json.loads(line[line.index(REFUSAL) + len(REFUSAL) :])
            kind = _KINDS.get(facts["kind"])
            return kind(**facts["facts"]) if kind else RunFailed(facts["message"])
    words = next((line for line in lines if _is_exception(line)), "")
    if not words:
        words = _signal_of(status, f"{stderr}\n{stdout}") or (lines[-1] if lines else "")
    reason = f": {shown(words, limit=LONGEST)}" if words else ""
    return RunFailed(
        f"{called} on {ranks} ranks ended with status {status}{reason}. All its processes were "
        "stopped. Use fewer ranks, or read its message."
    )


def _signal_of(status: int, words: str) -> str:
    """Say which signal ended mpiexec, or a rank of which mpiexec told, and what that may mean."""
    named = _SIGNAL.search(words)
    number = -status if status < 0 else int(named[1]) if named else 0
    if number not in set(signal.Signals):
        return ""
    name = signal.strsignal(number) or f"signal {number}"
    return f"{'mpiexec' if status < 0 else 'a rank'} was ended by a signal: {name}" + (
        _HINTS.get(number, "")
    )


def _is_exception(line: str) -> bool:
    """Tell the last line of a traceback, such as "MemoryError: ..."."""
    head = line.split(":", 1)[0].rpartition(".")[2]
    return head.isidentifier() and head.endswith(("Error", "Exception", "Interrupt"))


def _named(module: str) -> str:
    """Name a module as a person does."""
    return module.removeprefix("parcast.mpi.")
