"""What a run may leave behind when it is killed: processes, shared memory, a session's folder.

All processes of a run carry its token in their environment, wherever they stand in the tree of
processes; ranks are often not children of the mpiexec that started them.
"""

import errno
import math
import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

TOKEN: Final = "PARCAST_RUN"
PROCESSES: Final = Path("/proc")
SHARED_MEMORY: Final = Path("/dev/shm")  # where MPI keeps segments, on Linux
OF_MPI: Final = ("mpich_", "mpich-", "ucx_shm_", "sm_segment.", "vader_segment.")
PATTERNS: Final = (*(f"{name}*" for name in OF_MPI), "psm*")  # which other libraries use as well
ALL_USERS: Final = ["0", "0", "4294967295"]  # map of the first user namespace
PATIENCE: Final = 5.0  # until a process that was killed is gone [s]


def processes_of(token: str) -> list[int]:
    """Give the numbers of the processes of a run that are alive, without this one."""
    wanted = f"{TOKEN}={token}".encode()
    alive = []
    for number, folder in _processes():
        with suppress(OSError):  # it ended meanwhile, or it is not ours
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                alive.append(number)
    return alive


def kill_processes_of(token: str) -> int:
    """Kill every process of a run and wait until they are gone; return how many there were."""
    killed: set[int] = set()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        alive = processes_of(token)
        if not alive and not any(map(_has_files, killed)):
            break
        for number in alive:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        killed |= set(alive)
        time.sleep(0.02)
    return len(killed)


def _has_files(number: int) -> bool:
    """Whether a process that was killed may have files open: it lets go of its memory first."""
    with suppress(OSError):
        state = (PROCESSES / str(number) / "stat").read_text(errors="replace").rpartition(")")[2]
        return state.split()[0] not in "ZX"
    return False


def remove_shared_memory(since: float = math.inf) -> int:
    """Remove segments of MPI that are ours and that no process has; return their size [B].

    Those of ranks that were killed stay until somebody removes them. Linux tells for certain
    whether a file is open or mapped, by whatever user and in whatever namespace. Where it does
    not, segments newer than a `time.time` are removed if no process is seen to use them. So is
    nothing where a process of this user cannot be looked at, as one outside a user namespace: it
    may be a rank. What ranks use that cannot be seen at all is removed then, as from a container
    that shares /dev/shm with the host but not processes.
    """
    removed, unknown = 0, {}
    for path in (path for pattern in PATTERNS for path in SHARED_MEMORY.glob(pattern)):
        with suppress(OSError):  # it was removed meanwhile
            known = path.lstat()
            is_new = known.st_mtime >= since
            if not stat.S_ISREG(known.st_mode) or known.st_uid != os.getuid():
                continue
            if not is_new and not path.name.startswith(OF_MPI):
                continue
            with _leased(path) as is_unused:
                if is_unused:
                    path.unlink()
                    removed += known.st_size
            if is_unused is None and is_new:
                unknown[path] = known.st_size
    used = _used() if unknown else ""
    for path, size in unknown.items():
        if used is not None and path.name not in used:
            path.unlink(missing_ok=True)
            removed += size
    return removed


@contextmanager
def _leased(path: Path) -> Iterator[bool | None]:
    """Tell whether no process has a file open or mapped; none can open it in the block then.

    None where that is not known: the system, or the file system, has no leases.
    """
    try:
        from fcntl import F_SETLEASE, F_SETSIG, F_WRLCK, fcntl
    except ImportError:
        yield None
        return
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        is_unused: bool | None = True
        try:
            fcntl(file, F_SETSIG, signal.SIGURG)  # which, unlike SIGIO, ends no process
            fcntl(file, F_SETLEASE, F_WRLCK)
        except OSError as failure:
            is_unused = False if failure.errno == errno.EAGAIN else None
        yield is_unused
    finally:
        os.close(file)


def remove_session(mpiexec: int) -> None:
    """Remove the session's folder of an mpiexec of Open MPI that was killed, by its process."""
    shutil.rmtree(Path(tempfile.gettempdir(), f"ompi.{mpiexec}"), ignore_errors=True)


def _processes() -> Iterator[tuple[int, Path]]:
    """Give every other process that there is."""
    if not PROCESSES.is_dir():
        return
    for folder in PROCESSES.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            yield int(folder.name), folder


def _used() -> str | None:
    """Give what all processes have open or mapped of the shared memory, as text.

    MPI opens a segment and maps it: descriptors are looked at first, and then the maps. None if a
    process that may be a rank cannot be looked at.
    """
    texts = []
    if _in_user_namespace() and not (PROCESSES / "1").exists():
        return None  # processes of others are hidden
    for _, folder in _processes():
        try:
            for link in (folder / "fd").iterdir():
                with suppress(FileNotFoundError):  # it was closed meanwhile
                    texts.append(os.readlink(link))
            texts += (folder / "maps").read_text(errors="replace").splitlines()
        except PermissionError:
            if _may_be_rank(folder):
                return None
        except OSError:  # it ended meanwhile
            continue
    return "\n".join(text for text in texts if str(SHARED_MEMORY) in text)


def _may_be_rank(folder: Path) -> bool:
    """Whether a process that cannot be looked at may be a rank of this user.

    Not one that has ended, or hides what it does, as agents do: the descriptors of such a process
    belong to root. Root itself may look at all, unless it is root of a user namespace only.
    """
    if os.getuid() == 0 and not _in_user_namespace():
        return False
    with suppress(OSError):
        return (folder / "fd").stat().st_uid == os.getuid()
    return False


def _in_user_namespace() -> bool:
    """Whether this is not the user namespace of the system."""
    with suppress(OSError):
        return (PROCESSES / "self" / "uid_map").read_text().split() != ALL_USERS
    return False
