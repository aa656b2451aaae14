"""The other end of a keeper: starts it, interrupts it, ends it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Final

from parcast.errors import RunFailed
from parcast.run.testbed.keeper import INTERRUPT, READY, Plan

PATIENCE: Final = 5.0  # for COMMAND to end by itself after an interrupt [s]
LONGEST_END: Final = 10.0  # for the kernel to take a testbed away [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A keeper that was started, and the pipe that it watches."""

    process: subprocess.Popen[bytes]
    lifeline: IO[bytes]  # the keeper takes the testbed away when this is closed
    report: IO[bytes]  # where it says that COMMAND runs, or why not

    @classmethod
    def started(cls, plan: Plan, streams: Mapping[str, Any]) -> "Kept":
        """Start a keeper.

        Parameters
        ----------
        plan : Plan
            What it is to make and to run.
        streams : mapping
            Standard streams of COMMAND, as `subprocess.Popen` takes them.
        """
        watched, writing = os.pipe()
        reading, report = os.pipe()
        keeper = [sys.executable, "-m", "parcast.run.testbed.keeper"]
        try:
            process = subprocess.Popen(
                [*keeper, plan.to_text(), str(watched), str(report)],
                pass_fds=(watched, report),
                **streams,
            )
        except OSError:
            os.close(writing)
            os.close(reading)
            raise
        finally:
            os.close(watched)
            os.close(report)
        lifeline, said = open(writing, "wb", buffering=0), open(reading, "rb")  # noqa: SIM115 - closed by `end`
        return cls(process=process, lifeline=lifeline, report=said)

    def wait_until_made(self) -> None:
        """Wait until COMMAND runs.

        Raises
        ------
        RunFailed
            If the testbed could not be made.
        """
        said = self.report.read()
        if said != READY:
            why = said.decode(errors="replace").strip().rstrip(".") or "its keeper was killed"
            raise RunFailed(f"The testbed could not be made: {why}. Nothing of it is left.")

    def interrupt(self) -> None:
        """Let COMMAND end by itself after an interrupt, for as long as `PATIENCE`."""
        with suppress(subprocess.TimeoutExpired, OSError):
            if not _is_in_foreground():  # else the terminal has told COMMAND already
                self.lifeline.write(INTERRUPT)
            self.process.wait(timeout=PATIENCE)

    def end(self) -> None:
        """Have everything taken away, and wait for it."""
        self.lifeline.close()
        self.report.close()
        try:
            self.process.wait(timeout=LONGEST_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def exit_status(code: int) -> int:
    """Status as a shell gives it, of what `subprocess` calls the return code.

    >>> exit_status(3), exit_status(-9)
    (3, 137)
    """
    return code if code >= 0 else 128 - code


def _is_in_foreground() -> bool:
    """Whether an interrupt from a terminal goes to this process and those it started."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
