"""Folders for the files of a run, removed when it ends; those of a killed one by the next.

The owner of a folder holds a lock on it, which the system takes away when the owner ends, however
it does. So a folder that can be locked was left behind.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from parcast.errors import ParameterError, RunFailed
from parcast.mpi.leftovers import remove_shared_memory

MOST_TO_BE_LOCKED: Final = 60.0  # a folder without a lock may be one just made for so long [s]


@contextmanager
def folder_for(prefix: str, directory: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Make a folder that is removed with all that is in it when the block ends.

    Folders of the same prefix which killed programs left are removed, with the shared memory of
    their ranks.
    """
    if directory is not None and not isinstance(directory, str | os.PathLike):
        raise ParameterError(
            "directory",
            must="be a path",
            got=f"{directory!r:.60}",
            hint="Name a folder for files.",
        )
    place = Path(tempfile.gettempdir() if directory is None else directory)
    remove_abandoned(place, prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        lock = _locked(folder)
        try:
            yield folder
        finally:
            if lock is not None:
                os.close(lock)


@contextmanager
def failing_for(place: str | os.PathLike[str], files_of: str) -> Iterator[None]:
    """Say in words, as a RunFailed, that a place cannot be used for the files of something."""
    try:
        yield
    except OSError as failure:
        why = (failure.strerror or str(failure)).lower()
        raise RunFailed(
            f"{place} cannot be used for the files of {files_of}: {why}. Choose another directory."
        ) from failure


def remove_abandoned(place: Path, prefix: str) -> None:
    """Remove the folders of this user that killed programs left, and their shared memory."""
    if not hasattr(os, "getuid"):  # nor are there locks
        return
    for folder in place.glob(f"{prefix}*"):
        with suppress(OSError):  # somebody else's, or it is being removed
            known = folder.lstat()
            age = time.time() - known.st_mtime
            if known.st_uid != os.getuid() or not folder.is_dir() or age < MOST_TO_BE_LOCKED:
                continue
            lock = _locked(folder)
            if lock is None:
                continue
            began = min((path.stat().st_mtime for path in folder.iterdir()), default=time.time())
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
            remove_shared_memory(min(began, known.st_mtime))


def _locked(folder: Path) -> int | None:
    """Lock a folder; give the descriptor that holds the lock, None where it cannot be had."""
    try:
        import fcntl
    except ImportError:  # not a Unix
        return None
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody has it, or the file system has no locks
        os.close(descriptor)
        return None
    return descriptor
