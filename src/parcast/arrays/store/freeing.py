"""What was replaced is removed at once; the blocks of its large files are freed meanwhile.

To free a file of 1 GiB takes a good part of the time that it took to write it. A file that is open
keeps its blocks when it has lost its name; another thread closes it. If the process ends before,
the system does, so that nothing is left in any case.
"""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

DEEPEST: Final = 64  # folders in folders of a store
LARGE: Final = 1 << 20  # file that takes longer to be freed than to be opened [B]
MOST_OPEN: Final = 64  # such files of one store
FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW

_FREEING: Final[list[threading.Thread]] = []


@contextmanager
def freed_later(path: Path) -> Iterator[None]:
    """Remove a file or folder in the block without waiting until its blocks are free."""
    files: list[int] = []
    folder = path if os.path.isdir(path) else None
    try:
        for each in islice(_large_files(path), MOST_OPEN):
            with suppress(OSError):
                files.append(os.open(each, FLAGS))
        yield
    finally:
        if files:
            _FREEING[:] = [thread for thread in _FREEING if thread.is_alive()]
            _FREEING.append(threading.Thread(target=_free, args=(files, folder), daemon=True))
            _FREEING[-1].start()


def wait_until_freed() -> bool:
    """Return when nothing is being freed any more; tell whether something was."""
    was_freeing = bool(_FREEING)
    for thread in [*_FREEING]:
        thread.join()
    _FREEING.clear()
    return was_freeing


def files_below(top: str | os.PathLike[str]) -> Iterator[str]:
    """Paths of what lies below a folder and is no folder, relative to it.

    Links to folders are not followed, and folders not for ever: a store has no such depth.
    """
    waiting = [("", 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(os.path.join(top, folder)) as entries:
                for entry in entries:
                    path = os.path.join(folder, entry.name)
                    if not entry.is_dir(follow_symlinks=False):
                        yield path
                    elif depth < DEEPEST:
                        waiting.append((path, depth + 1))
        except OSError:  # it was removed meanwhile, or may not be looked into
            continue


def remove(path: Path) -> None:
    """Remove a draft or an old store, however deep its folders are."""
    if os.path.islink(path) or not os.path.isdir(path):
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except RecursionError:
        _flatten(path)
        shutil.rmtree(path)


def _flatten(top: Path) -> None:
    """Move every folder that lies deeper up into `top`: Python removes them by recursion."""
    waiting = _folders_in(top)
    while waiting:
        for folder in _folders_in(waiting.pop()):
            waiting.append(os.path.join(top, f".{os.urandom(6).hex()}"))
            os.rename(folder, waiting[-1])


def _folders_in(folder: str | os.PathLike[str]) -> list[str]:
    """Folders in a folder, without links to some."""
    return [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]


def _large_files(path: Path) -> Iterator[str]:
    """Files below a path, or itself, that take a while to be freed."""
    below = (os.path.join(path, name) for name in files_below(path))
    for each in below if os.path.isdir(path) else [os.fspath(path)]:
        with suppress(OSError):
            if os.lstat(each).st_size >= LARGE:
                yield each


def _free(files: list[int], folder: Path | None) -> None:
    """Close files, and remove their folder: on NFS it has names for them until then."""
    for file in files:
        os.close(file)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
