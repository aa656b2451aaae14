"""A control group of Linux for runs: the kernel adds up the memory of all processes in it.

The process that starts the runs is in it itself, and they with it: to move each of them would
take some 20 ms, which the kernel waits. Groups of version 1 and 2 are made below the one of this
process, whose limits then hold for them too. Where version 2 allows no group below one that has
processes, it is made beside it, unless that would evade a limit. A group is locked by its owner:
one whose lock is free was left behind, and is removed by the next that is made.
"""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

MARK: Final = "parcast-run-"  # before the number of the process that made a group
PATIENCE: Final = 1.0  # with processes that are being killed [s]
LITTLE: Final = 2**24  # of files, from earlier runs, that a group may hold when a run begins [B]
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
        inside = path.removeprefix(root) if f"{path}/".startswith(f"{root}/") else path
        found[version] = Place(os.path.normpath(f"{point}/{inside}"), version)
    return found.get(1, found.get(2)) if "memory" in own else found.get(2)


def places(own: Place) -> list[Place]:
    """Where a group may be made that is measured: below the own one, or beside it."""
    if own.version == 1:
        return [own]
    above = own._replace(folder=os.path.dirname(own.folder))
    limits = [y for x in LIMITS if os.path.exists(y := f"{own.folder}/{x}")]
    is_free = all(_text(x).startswith("max") for x in limits)
    return [
        x
        for x in (own, above if is_free else own)
        if "memory" in _text(f"{x.folder}/cgroup.subtree_control").split()
    ]


def _text(path: str) -> str:
    """What a file holds; "" where it cannot be read."""
    try:
        with open(path) as stream:
            return stream.read()
    except OSError:
        return ""


@dataclass(slots=True)
class ControlGroup:
    """A group that was made, with this process in it, and what was seen in it."""

    folder: str
    home: str  # folder of the group that this process was in before
    files: GroupFiles
    lock: int
    peak_file: int
    least: int = field(
        default=0, init=False
    )  # in use when a run begins, that cannot be dropped [B]
    most: int = field(default=0, init=False)  # the same, since then [B]
    cached: int = field(default=0, init=False)  # most of files that can be, since then [B]

    @classmethod
    def made(cls) -> Self | None:
        """Make one, and remove those that were left behind; None where it is not allowed."""
        with suppress(OSError, ValueError):
            own = place_of(_text("/proc/self/mountinfo"), _text("/proc/self/cgroup"))
            if own is None:
                return None
            for place in places(own):
                remove_left(place.folder)
                group = cls.made_at(place, home=own.folder)
                if group is not None:
                    return group
        return None

    @classmethod
    def made_at(cls, place: Place, home: str) -> Self | None:
        """Make one at a place, for a process that is at home in another."""
        folder = f"{place.folder}/{MARK}{os.getpid()}-{time.monotonic_ns()}"
        files = VERSIONS[place.version]
        try:
            os.mkdir(folder)
        except OSError:
            return None
        lock, peak = _locked(folder), _opened(f"{folder}/{files.most}")
        if lock is not None and peak is not None and _is_moved(folder):
            group = cls(folder, home, files, lock, peak)
            group.least, _ = group.used()
            return group
        for file in (lock, peak):
            if file is not None:
                os.close(file)
        _remove(folder)
        return None

    def is_begun(self) -> bool:
        """Forget what earlier runs needed, for the next; False where that is not possible.

        Version 2 allows it since Linux 6.12. Files that earlier runs left in the memory may be
        dropped meanwhile, which would be taken for memory that this run does not need.
        """
        least, cached = self.used()
        if cached > LITTLE:
            return False
        with suppress(OSError):
            os.write(self.peak_file, b"0")
            self.least, self.most, self.cached = least, 0, 0
            return True
        return False

    def processes(self) -> list[int]:
        """Processes in it, but for this one."""
        return [x for x in _processes(self.folder) if x != os.getpid()]

    def used(self) -> tuple[int, int]:
        """Memory in use now that cannot be dropped, and files that can be. [B]."""
        used = int(_text(f"{self.folder}/{self.files.now}") or 0)
        stat = dict(x.split() for x in _text(f"{self.folder}/memory.stat").splitlines())
        cached = sum(sign * int(stat.get(name, 0)) for name, sign in self.files.cached)
        return used - cached, cached

    def look(self) -> None:
        """Note what is in use now."""
        used, cached = self.used()
        self.cached = max(self.cached, cached)
        self.most = max(self.most, used)

    def peak(self) -> int:
        """Most memory of the run at a time, without files that can be dropped. [B]."""
        self.look()
        peak = int(os.pread(self.peak_file, 32, 0) or 0)
        return max(self.most, peak - self.cached) - self.least

    def remove(self) -> None:
        """Go home, kill what is left in it, and remove it."""
        _is_moved(self.home)
        _remove(self.folder)
        os.close(self.peak_file)
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
    import fcntl  # which not every system has

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


def _opened(path: str) -> int | None:
    """Open a file to read and, where that is allowed, to write; None if there is none."""
    for way in (os.O_RDWR, os.O_RDONLY):
        with suppress(OSError):
            return os.open(path, way)
    return None


def _is_moved(folder: str) -> bool:
    """Move this process to a group, where that is allowed."""
    with suppress(OSError), open(f"{folder}/cgroup.procs", "w") as stream:
        stream.write("0")
        stream.flush()
        return True
    return False


def _processes(folder: str) -> list[int]:
    return [int(x) for x in _text(f"{folder}/cgroup.procs").split()]


def _remove(folder: str) -> None:
    """Remove a group, and those in it, when all processes there have been killed."""
    until = time.perf_counter() + PATIENCE
    while os.path.isdir(folder) and time.perf_counter() < until:
        for part, _, _ in os.walk(folder, topdown=False):
            for process in _processes(part):
                with suppress(OSError):
                    if process not in {0, os.getpid()}:  # 0 is one of another namespace
                        os.kill(process, signal.SIGKILL)
            with suppress(OSError):
                os.rmdir(part)
        if os.path.isdir(folder):
            time.sleep(0.005)
