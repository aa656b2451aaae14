"""Memory at hand: hypervisors take back what a virtual machine has not used for some seconds."""

import os
from collections.abc import Iterator
from contextlib import suppress
from mmap import PAGESIZE
from pathlib import Path
from typing import Final

import numpy as np

GROUP: Final = Path("/proc/self/cgroup")
GROUPS: Final = Path("/sys/fs/cgroup")


def provide(size: int, *, sharers: int = 1) -> None:
    """Use so much free memory, and free it again. [B].

    What uses it next does not wait until the hypervisor gives it back, which takes up to 20 times
    as long as filling it. Processes that do so at a time use half of what is free at most.
    """
    most = free_memory() // (2 * sharers)
    np.empty(min(size, most), np.uint8)[::PAGESIZE] = 0


def free_memory() -> int:
    """Memory that is free, and that no limit of a container or job withholds. [B]."""
    pages = os.sysconf("SC_AVPHYS_PAGES") if "SC_AVPHYS_PAGES" in os.sysconf_names else 0
    left = [pages * PAGESIZE]
    for folder, limit in _limits():
        with suppress(OSError, ValueError):
            left.append(limit - int((folder / "memory.current").read_text()))
    return max(min(left), 0)


def memory_limit() -> int | None:
    """Least limit of the control groups of this process; None where they have none. [B]."""
    return min((limit for _, limit in _limits()), default=None)


def _limits() -> Iterator[tuple[Path, int]]:
    """Control groups of this process that have limits, and these. [B]."""
    inside = ""
    with suppress(OSError):
        inside = GROUP.read_text(encoding="utf-8").rpartition("::")[2].strip()
    folder = GROUPS / inside.lstrip("/")
    for each in (folder, *folder.parents):
        with suppress(OSError, ValueError):  # there is none, or it is "max"
            yield each, int((each / "memory.max").read_text())
