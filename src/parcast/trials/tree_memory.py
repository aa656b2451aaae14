"""Memory of a program and of all that it starts: of the largest process, and of all at a time.

A control group has the peak of all from the kernel, where one may be made. Elsewhere processes are
looked at in /proc from time to time, and each counts with the most that it has had: ranks that do
the same have it at the same time, and it is often gone at the next look. Memory that processes
share is divided among those that have it, and files that are mapped count once. In both the
largest process is exact, from `wait4`.
"""

import ctypes
import os
import sys
import time
from collections.abc import Iterable
from typing import Final

from parcast.trials.control_group import ControlGroup
from parcast.trials.process_memory import Resident, Shares, held_by, shares_of

FIRST: Final = 0.005  # until the memory is looked at for the first time [s]
MOST: Final = 0.2  # between two looks, if they are quick [s]
SHARE: Final = 125.0  # times as long as a look computes, until the next one: 0.8% of a core [1]
GROWTH: Final = 1.5  # of the time between looks [1]
SEEN: Final = 0.9  # of the largest process, that must have been seen for a total [1]
LIBC: Final = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
CGROUP, PROC = "cgroup", "proc"  # ways to measure memory of all


def all_processes() -> list[int]:
    """All processes there are, where the system tells."""
    return [int(x) for x in os.listdir("/proc") if x.isdigit()] if LIBC is not None else []


class Descendants:
    """Processes that this one started, and those that they started."""

    def __init__(self, others: Iterable[int] = ()) -> None:
        self.known = dict.fromkeys(others, False)  # whether it is one, of each process there is
        self.known[os.getpid()] = True

    def now(self) -> list[int]:
        """Find them; only of processes that are new the parent is looked for."""
        there = all_processes()
        parents = {x: _parent(x) for x in there if x not in self.known}
        self.known = {x: self.known[x] for x in there if x in self.known}
        for process in parents:
            self._note(process, parents)
        return [x for x, is_one in self.known.items() if is_one and x != os.getpid()]

    def _note(self, process: int, parents: dict[int, int]) -> None:
        """Note of a process, and of those above it, whether they are."""
        line = [process]
        while line[-1] not in self.known and line[-1] in parents:
            line.append(parents[line[-1]])
        is_one = self.known.get(line.pop(), False)
        self.known.update(dict.fromkeys(line, is_one))


def _parent(process: int) -> int:
    try:
        with open(f"/proc/{process}/stat", "rb") as stream:
            return int(stream.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


class Watch:
    """What a program and all that it starts need, as looks from time to time show it."""

    def __init__(self, group: ControlGroup | None, others: Iterable[int] = ()) -> None:
        self.group = group
        self.largest = 0  # process that was seen [B]
        self.files = 0  # most that a process has mapped [B]
        self.most = 0  # of all at a time, without a group [B]
        self.sharing: set[int] = set()  # processes of which the shares are
        self.shares: dict[int, Shares] = {}  # those that were looked at longest ago first
        self.tree = Descendants(others)
        self.wait = FIRST
        self.next = time.perf_counter() + FIRST

    def look(self) -> None:
        """Look at the memory, if it is time for it."""
        if time.perf_counter() < self.next:
            return
        begun = time.process_time()
        self._look()
        self.wait = max(min(GROWTH * self.wait, MOST), SHARE * (time.process_time() - begun))
        self.next = time.perf_counter() + self.wait

    def _look(self) -> None:
        if self.group is not None:
            self.group.look()
        processes = self.tree.now() if self.group is None else self.group.processes()
        held = {x: memory for x in processes if (memory := held_by(x)) is not None}
        if not held:
            return
        self.largest = max(self.largest, *(x.most for x in held.values()))
        files = max(x.files for x in held.values())
        self.files = max(self.files, files)
        if self.group is None:
            total = files + self._without_files(held)
            if self._are_all_there(held):
                self.most = max(self.most, total)

    def _are_all_there(self, held: dict[int, Resident]) -> bool:
        """Whether no process came or went meanwhile, with which others share what they hold."""
        return {x for x in self.tree.now() if held_by(x) is not None} == held.keys()

    def _without_files(self, held: dict[int, Resident]) -> int:
        """Most that each had so far, without files.

        The shares of one process are looked at anew, which costs most; largest first, those of
        others are taken to be as of the first until it is their turn.
        """
        if held.keys() != self.sharing:
            self.sharing = {*held}
            self.shares.clear()
        waiting = held.keys() - self.shares.keys()
        turn = max(waiting, key=lambda x: held[x].own) if waiting else next(iter(self.shares))
        before = self.shares.pop(turn, Shares())
        self.shares[turn] = shares_of(turn, held[turn]) or before
        usual = next(iter(self.shares.values()))
        total = 0.0
        for process, x in held.items():
            part = self.shares.get(process, usual)
            gone = max(x.most - x.own - x.files - x.shared, 0)
            total += part.own * (x.own + gone) + part.shared * x.shared
        return int(total)

    def total(self, largest: int) -> tuple[int | None, str]:
        """Most of all at a time [B], and how it was measured; None where it was not seen.

        The largest process is known when all have ended. Where no look saw it so large, none saw
        all that the others had.
        """
        if self.group is not None and largest:
            return max(self.group.peak() + self.files, largest), CGROUP
        if self.most and self.largest >= SEEN * largest:
            return max(self.most, largest), PROC
        return None, ""
