"""Memory of one process, as the system tells it: now, and the most since it began or was reset."""

import os
import sys
from contextlib import suppress
from typing import Final, NamedTuple

FIELDS: Final = (b"VmHWM:", b"RssAnon:", b"RssFile:", b"RssShmem:")


class Resident(NamedTuple):
    """Memory of a process."""

    most: int  # at a time [B]
    own: int  # now, with what it shares with processes that were forked from it [B]
    files: int  # that it has mapped [B]
    shared: int  # that it has by intention [B]


class Shares(NamedTuple):
    """Parts that a process has of what it holds, if each page is divided by those that hold it."""

    own: float = 1.0
    shared: float = 1.0


def held_by(process: int) -> Resident | None:
    """Memory of a process; None if it has ended, or nobody tells."""
    found = _fields(f"/proc/{process}/status", FIELDS)
    return Resident(*found) if found else None


def shares_of(process: int, held: Resident) -> Shares | None:
    """Parts that a process has of what it holds; None if nobody tells."""
    found = _fields(f"/proc/{process}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:"))
    if not found:
        return None
    parts = zip(found, (held.own, held.shared), strict=True)
    return Shares(*(min(part / max(whole, 1), 1.0) for part, whole in parts))


def _fields(path: str, names: tuple[bytes, ...]) -> list[int] | None:
    """Sizes that a file tells. [B]."""
    try:
        with open(path, "rb") as stream:
            text = stream.read()
        return [int(text.partition(x)[2].split(None, 1)[0]) * 1024 for x in names]
    except (OSError, ValueError, IndexError):
        return None


def peak_memory() -> float | None:
    """Most memory of this process, shared libraries as well; None if nobody tells. [B]."""
    if held := held_by(os.getpid()):
        return float(held.most)  # not ru_maxrss, which begins with that of who forked
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(peak) * (1 if sys.platform == "darwin" else 1024)
    return None


def reset_peak() -> bool:
    """Let the most memory of this process begin anew; False where the system cannot."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
            stream.write("5")
    except OSError:
        return False
    return True
