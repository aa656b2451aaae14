"""What a run may leave behind when it is killed: processes, shared memory, a session's folder.

All processes of a run carry its token in their environment, wherever they stand in the tree of
processes; ranks are often not children of the mpiexec that started them.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

TOKEN: Final = "PARCAST_RUN"
PROCESSES: Final = Path("/proc")
SHARED_MEMORY: Final = Path("/dev/shm")  # where MPI keeps segments, on Linux
PATTERNS: Final = ("mpich_*", "mpich-*", "sm_segment.*", "psm*", "vader_segment.*")
PATIENCE: Final = 5.0  # until a process that was killed is gone [s]
APART: Final = 0.2  # two looks at what uses a segment: a rank makes, closes and maps it [s] [D]


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


def remove_shared_memory(since: float) -> None:
    """Remove segments of MPI that are ours, newer than a `time.time`, and used by no process.

    Another run would wait for ever without the segment that it has just made, and may be about to
    map: what is unused has to be so twice, some time apart.
    """
    unused = _unused(since)
    if unused:
        time.sleep(APART)
        for path in unused & _unused(since):
            path.unlink(missing_ok=True)


def _unused(since: float) -> set[Path]:
    """Give segments that are ours, newer than a time, and that no process has open or mapped."""
    ours = set()
    for path in (path for pattern in PATTERNS for path in SHARED_MEMORY.glob(pattern)):
        with suppress(OSError):  # it was removed meanwhile
            known = path.stat()
            if path.is_file() and known.st_uid == os.getuid() and known.st_mtime >= since:
                ours.add(path)
    used = _used() if ours else ""
    return {path for path in ours if path.name not in used}


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


def _used() -> str:
    """Give what all processes have open or mapped of the shared memory, as text.

    MPI opens a segment and maps it: descriptors are looked at first, and then the maps.
    """
    texts = []
    for _, folder in _processes():
        with suppress(OSError):
            for link in (folder / "fd").iterdir():
                with suppress(OSError):  # it was closed meanwhile
                    texts.append(os.readlink(link))
        with suppress(OSError):
            texts += (folder / "maps").read_text(errors="replace").splitlines()
    return "\n".join(text for text in texts if str(SHARED_MEMORY) in text)
