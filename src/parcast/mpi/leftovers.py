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
SETTLING: Final = 0.3  # from one look at segments to the next [s]
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
    while (alive := processes_of(token)) and time.monotonic() < end:
        for number in alive:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        killed |= set(alive)
        time.sleep(0.02)
    return len(killed)


def remove_shared_memory(since: float) -> None:
    """Remove segments of MPI that are ours, newer than a `time.time`, and used by no process.

    Another run makes a segment a moment before it maps it, and would wait for ever without it:
    only what is unused twice is removed.
    """
    unused = _unused(since)
    if unused:
        time.sleep(SETTLING)
        for path in unused & _unused(since):
            path.unlink(missing_ok=True)


def _unused(since: float) -> set[Path]:
    """Segments that are ours, newer than a time, and mapped by no process."""
    ours = set()
    for path in (path for pattern in PATTERNS for path in SHARED_MEMORY.glob(pattern)):
        with suppress(OSError):  # it was removed meanwhile
            known = path.stat()
            if path.is_file() and known.st_uid == os.getuid() and known.st_mtime >= since:
                ours.add(path)
    used = _mapped() if ours else ""
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


def _mapped() -> str:
    """Give what all processes have mapped of the shared memory, as text."""
    texts = []
    for _, folder in _processes():
        with suppress(OSError):
            texts.append((folder / "maps").read_text(errors="replace"))
    return "\n".join(line for text in texts for line in text.splitlines() if "/dev/shm" in line)
