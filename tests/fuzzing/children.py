"""Cases in a process of their own, which is forked, serves many cases, and may die of one."""

import faulthandler
import os
import resource
import signal
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fuzzing.attempts import MEMORY, SECONDS, Outcome, attempt
from tests.fuzzing.readers import READERS

GRACE = 5.0  # for code that Python cannot interrupt, before the process is killed [s]
MOST_CASES = 5000  # of one process
MOST_GROWN = 300 * 10**6  # that it may keep from earlier cases [B]


class Children:
    """One child at a time, with a folder for its files; another takes its place when it dies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._served = 0
        self._start()

    def attempt(self, reader: str, content: bytes) -> Outcome:
        if self._served >= MOST_CASES:
            self.close()
            self._start()
        self._served += 1
        self._connection.send((reader, content))
        try:
            if self._connection.poll(SECONDS + GRACE):
                outcome, grown = self._connection.recv()
                if grown > MOST_GROWN or outcome.kind in {"time", "memory"}:
                    self._served = MOST_CASES  # what it may have left behind ends with it
                return outcome
            outcome = Outcome("time", "in code that cannot be interrupted", SECONDS + GRACE)
        except (EOFError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode or 0
            name = signal.Signals(-code).name if code < 0 else f"status {code}"
            outcome = Outcome("dead", f"ended by {name}")
        self.close()
        self._start()
        return outcome

    def close(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.join()
        self._process.close()

    def _start(self) -> None:
        context = get_context("fork")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._connection, self._folder), daemon=False
        )
        self._process.start()
        theirs.close()
        self._served = 0


def _serve(connection: Connection, parents: Connection, folder: Path) -> None:
    """Attempt cases until there are none."""
    parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.disable()  # of a test that starts it
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # C libraries print what they do not like
        os.dup2(nowhere, stream)
    first = _resident()
    with suppress(EOFError, BrokenPipeError):
        while True:
            name, content = connection.recv()
            reader = READERS[name]
            path = folder / name / reader.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            before = _reset_peak()
            outcome = attempt(reader.read, path)
            memory = max(0, _peak() - before)
            kind, detail = outcome.kind, outcome.detail
            if memory > MEMORY + len(content) and not outcome.is_bad:
                kind, detail = "memory", "in a process of its own"
            connection.send((Outcome(kind, detail, outcome.seconds, memory), _resident() - first))


def _status(key: str) -> int:
    """Read a number of kB that the system tells of this process [B]."""
    with open("/proc/self/status") as stream:
        line = next(line for line in stream if line.startswith(key))
    return int(line.split()[1]) * 1024


def _resident() -> int:
    return _status("VmRSS:")


def _peak() -> int:
    return _status("VmHWM:")


def _reset_peak() -> int:
    """Begin to take the peak anew where the system lets us; give what is resident now [B]."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return _resident()
