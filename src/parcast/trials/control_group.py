"""A control group of Linux for one run: the kernel adds up the memory of all processes in it.

Groups of version 1 and 2 are made below the one of this process, whose limits then hold for them
too. Where version 2 allows no group below one that has processes, it is made beside it, unless
that would evade a limit. A group is locked by its owner: one whose lock is free was left behind,
and is removed by the next that is made.
"""

import fcntl
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

MARK: Final = "parcast-run-"  # before the number of the process that made a group
PATIENCE: Final = 1.0  # with processes that are being killed [s]
LIMITS: Final = ("memory.max", "memory.high", "memory.swap.max", "cpu.max", "pids.max")


class GroupFiles(NamedTuple):
    """Names of what a version of control groups tells."""

    now: str
    most: str
    cached: tuple[tuple[str, int], ...]  # lines of memory.stat that add up to what can be dropped


VERSIONS: Final = {
    1: GroupFiles(
        now="memory.usage_in_bytes",
        most="memory.max_usage_in_bytes",
        cached=(("total_cache", 1), ("total_shmem", -1)),
    ),
    2: GroupFiles(
        now="memory.current",
        most="memory.peak",
        cached=(("file", 1), ("shmem", -1), ("slab_reclaimable", 1)),
    ),
}


class Place(NamedTuple):
    """Where groups can be made."""

    folder: str
    version: int


def place_of(mounts: str, groups: str) -> Place | None:
    """Folder of the memory group of this process, by its `mountinfo` and `cgroup` of /proc.

    >>> mounts = "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
    >>> place_of(mounts, "4:memory:/job")
    Place(folder='/sys/fs/cgroup/memory/job', version=1)
    """
    own = {}
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            own[name] = path
    found = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = (*after.split(), "", "")[:3]
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        path = own.get("memory" if version == 1 else "", "")
        if version is None or not path:
            continue
        if version == 1 and "memory" not in options.split(","):
            continue
        inside = path[len(root) :] if root != "/" and path.startswith(root) else path
        found[version] = Place(os.path.normpath(f"{point}/{inside}"), version)
    return found.get(1, found.get(2)) if "memory" in own else found.get(2)


def places(own: Place) -> list[Place]:
    """Where a group may be made that is measured: below the own one, or beside it."""
    if own.version == 1:
        return [own]
    above = own._replace(folder=os.path.dirname(own.folder))
    is_free = all(_text(f"{own.folder}/{x}").startswith("max") for x in LIMITS if _is(own, x))
    return [
        x
        for x in (own, above if is_free else own)
        if "memory" in _text(f"{x.folder}/cgroup.subtree_control").split()
    ]


def _is(place: Place, name: str) -> bool:
    return os.path.exists(f"{place.folder}/{name}")


def _text(path: str) -> str:
    """What a file holds; "" where it cannot be read."""
    try:
        with open(path) as stream:
            return stream.read()
    except OSError:
        return ""


@dataclass(slots=True)
class ControlGroup:
    """A group that was made, and what was seen in it."""

    folder: str
    files: GroupFiles
    lock: int
    most: int = field(default=0, init=False)  # that cannot be dropped [B]
    cached: int = field(default=0, init=False)  # most of files that can be [B]

    @classmethod
    def made(cls) -> Self | None:
        """Make one, and remove those that were left behind; None where it is not allowed."""
        with suppress(OSError, ValueError):
            own = place_of(_text("/proc/self/mountinfo"), _text("/proc/self/cgroup"))
            for place in places(own) if own else ():
                remove_left(place.folder)
                group = cls._made_at(place)
                if group is not None:
                    return group
        return None

    @classmethod
    def _made_at(cls, place: Place) -> Self | None:
        folder = f"{place.folder}/{MARK}{os.getpid()}"
        try:
            os.mkdir(folder)
        except OSError:
            return None
        files = VERSIONS[place.version]
        lock = _locked(folder)
        if lock is not None and _text(f"{folder}/{files.most}"):
            return cls(folder, files, lock)
        with suppress(OSError):
            os.rmdir(folder)
        return None

    def enter(self) -> None:
        """Take this process, and all that it will start, into the group."""
        file = os.open(f"{self.folder}/cgroup.procs", os.O_WRONLY)
        os.write(file, b"0")
        os.close(file)

    def processes(self) -> list[int]:
        """Processes in it."""
        return [int(x) for x in _text(f"{self.folder}/cgroup.procs").split()]

    def look(self) -> None:
        """Note what is in use now."""
        used = _number(f"{self.folder}/{self.files.now}")
        stat = dict(x.split() for x in _text(f"{self.folder}/memory.stat").splitlines())
        cached = sum(sign * int(stat.get(name, 0)) for name, sign in self.files.cached)
        self.cached = max(self.cached, cached)
        self.most = max(self.most, used - cached)

    def peak(self) -> int:
        """Most memory at a time, without files that can be dropped, of all that has ended. [B]."""
        self.look()
        return max(self.most, _number(f"{self.folder}/{self.files.most}") - self.cached)

    def remove(self) -> None:
        """Kill what is in it, and remove it."""
        _remove(self.folder)
        os.close(self.lock)


def remove_left(folder: str) -> None:
    """Remove the groups in a folder that their owners have left behind."""
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        if name.startswith(MARK) and (lock := _locked(path)) is not None:
            _remove(path)
            os.close(lock)


def _locked(folder: str) -> int | None:
    """Lock a group; None if another process has it."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def _remove(folder: str) -> None:
    """Remove a group when what is in it has been killed."""
    until = time.perf_counter() + PATIENCE
    while os.path.isdir(folder) and time.perf_counter() < until:
        for process in _text(f"{folder}/cgroup.procs").split():
            with suppress(OSError):
                if int(process) > 0:  # 0 is one of another namespace
                    os.kill(int(process), signal.SIGKILL)
        try:
            os.rmdir(folder)
        except OSError:
            time.sleep(0.005)


def _number(path: str) -> int:
    return int(_text(path) or 0)
