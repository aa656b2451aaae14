"""What the system says of the processors at a moment: what was computed, and for whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final, Self

STAT: Final = Path("/proc/stat")
TICKS: Final = 100.0  # of the kernel's accounts a second; the same on all of Linux [1/s]
BUSY: Final = (0, 1, 2, 5, 6, 7)  # user, nice, system, interrupts and what the host has stolen
PROGRAMS: Final = (0, 1, 7)  # of them what is never done by the kernel for a file or a message
OWN_USER: Final = 11  # place of the user time in the accounts of a process, behind its name
SHORTEST: Final = 0.25  # time that ticks can tell something of [s]


def core_seconds(kinds: Sequence[int] = BUSY) -> float | None:
    """Time that all cores of this machine computed, for whomever; None where nobody tells. [s]."""
    try:
        first = STAT.read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
        return sum(int(first[i]) for i in kinds) / TICKS
    except (OSError, ValueError, IndexError):
        return None


def user_seconds(process: int) -> float | None:
    """Time that a process of this machine computed, without the kernel for it. [s]."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[OWN_USER]) / TICKS
    except (OSError, ValueError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class Users:
    """How much all programs of this machine, and some processes, have computed."""

    processes: Sequence[int]
    every: float | None  # [s]
    own: float | None  # [s]
    at: float  # [s]

    @classmethod
    def now(cls, processes: Sequence[int]) -> Self:
        """Read the accounts."""
        own = [user_seconds(process) for process in processes]
        known = [x for x in own if x is not None]
        total = sum(known) if len(known) == len(own) else None
        return cls(processes, core_seconds(PROGRAMS), total, perf_counter())

    def others(self) -> float | None:
        """Cores that other programs have used since then; None where nobody tells. [1].

        What the kernel does for files and messages counts for nobody.
        """
        later = type(self).now(self.processes)
        elapsed = later.at - self.at
        if (
            elapsed < SHORTEST
            or self.every is None
            or later.every is None
            or self.own is None
            or later.own is None
        ):
            return None
        return max(later.every - self.every - (later.own - self.own), 0.0) / elapsed
