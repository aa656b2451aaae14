"""Files and folders that a process holds: what killed ones left can be recognised.

The holder has a lock, which the system takes away when it ends, however it does. What can be
locked was left behind. A lock may concern one host alone, so a name carries a mark of its host,
and no other host looks at it.
"""

import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def host_mark() -> str:
    """Mark of this host in the names of what its processes hold."""
    name = os.uname().nodename if hasattr(os, "uname") else ""
    return f"{zlib.crc32(os.fsencode(name)):08x}"


def hold(path: Path, *, is_awaited: bool = True) -> int | None:
    """Lock a file or a folder; give the descriptor that holds the lock, None if it cannot be had.

    It may be awaited: another process has it while it removes what it takes for left behind.
    """
    try:
        import fcntl
    except ImportError:  # not a Unix
        return None
    try:
        is_folder = stat.S_ISDIR(path.lstat().st_mode)
        how = os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR
        descriptor = os.open(path, how | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if is_awaited else fcntl.LOCK_NB))
    except OSError:  # somebody has it, or the file system has no locks
        os.close(descriptor)
        return None
    return descriptor


def let_go(descriptor: int | None) -> None:
    """Unlock what was held."""
    if descriptor is not None:
        os.close(descriptor)


def left_behind(place: Path, pattern: str) -> Iterator[Path]:
    """Give the files and folders of this user that no process holds any more, each held meanwhile.

    `pattern` is of their names, and has to contain the mark of this host.
    """
    if not hasattr(os, "getuid"):  # nor are there locks
        return
    for path in place.glob(pattern):
        with suppress(OSError):  # it is being removed
            known = path.lstat()
            is_one = stat.S_ISREG(known.st_mode) or stat.S_ISDIR(known.st_mode)
            if not is_one or known.st_uid != os.getuid():
                continue
            lock = hold(path, is_awaited=False)
            if lock is not None:
                try:
                    yield path
                finally:
                    let_go(lock)
