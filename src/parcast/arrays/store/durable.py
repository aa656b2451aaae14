"""Bytes that stay: folders and files flushed to disk, names exchanged in one step, and removed.

These are the calls of Linux that Python has no names for, with what stands in for them elsewhere.
"""

import ctypes
import errno
import os
import platform
import re
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Final

from parcast.arrays.geometry.choices import MANY

EXCHANGE: Final = 2  # RENAME_EXCHANGE
AT_FDCWD: Final = -100
WRITE: Final = 2  # SYNC_FILE_RANGE_WRITE
NOT_HERE: Final = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL
LARGEST_SMALL: Final = 1 << 27  # metadata: that of arrays that parcast writes takes about 1 kB [B]
MOST_PARTS: Final = 1024  # of one write, on Linux and elsewhere
REPORTS_SINCE: Final = (5, 8)  # Linux, from which on syncfs reports what could not be written


@cache
def _libc() -> Any:
    """Load the C library of the process."""
    return ctypes.CDLL(None, use_errno=True)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system or file system cannot."""
    try:
        call = _libc().renameat2
    except (AttributeError, OSError):
        return False
    first, second = os.fsencode(one), os.fsencode(other)
    if call(AT_FDCWD, first, AT_FDCWD, second, EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in NOT_HERE:
        return False
    raise OSError(code, os.strerror(code), os.fspath(one))


def can_flush_all() -> bool:
    """Tell whether one call flushes a whole file system and reports what could not be written."""
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    if platform.system() != "Linux" or release is None:
        return False
    return tuple(map(int, release.groups())) >= REPORTS_SINCE and hasattr(_libc(), "syncfs")


def flush_all(folder: int) -> None:
    """Flush the file system on which an open folder lies."""
    if _libc().syncfs(folder):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def start_writing(file: int, offset: int, length: int) -> None:
    """Let the system begin to write a part of an open file to disk; nothing waits for it.

    Otherwise Linux begins when much has gathered, or at the flush; the disk is idle until then.
    """
    try:
        call = _libc().sync_file_range
    except (AttributeError, OSError):
        return
    call(file, ctypes.c_int64(offset), ctypes.c_int64(length), WRITE)  # a wish: no error matters


def flush_folder(folder: str | os.PathLike[str]) -> None:
    """Flush the names in a folder."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(place)
    except OSError as failure:
        if failure.errno not in NOT_HERE:  # some file systems have nothing to flush
            raise
    finally:
        os.close(place)


def open_regular(
    path: str | os.PathLike[str], flags: int = os.O_RDONLY, *, folder: int | None = None
) -> int:
    """Open a regular file: a pipe would wait for another process, a device has no end."""
    file = os.open(path, flags | os.O_NONBLOCK, 0o666, dir_fd=folder)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Read a small regular file."""
    with open(open_regular(path), "rb") as stream:
        if os.fstat(stream.fileno()).st_size > LARGEST_SMALL:
            raise OSError(errno.EFBIG, "it is larger than metadata may be", os.fspath(path))
        return stream.read(LARGEST_SMALL)


def is_within(folder: Path, top: Path) -> bool:
    """Tell whether a folder, or the part of it that there is, lies below another without links."""
    return Path(os.path.realpath(folder)) == folder and (folder == top or top in folder.parents)


def path_in(top: str, *names: str) -> str:
    """Path below a folder; names may be empty, as that of the only array of a store is."""
    return "/".join([top, *filter(None, names)])


def make_folders(folder: str, top: str) -> None:
    """Make a folder and those between it and `top`, which must be there."""
    if folder == top:
        return
    try:
        os.mkdir(folder)
    except FileExistsError:
        return
    except FileNotFoundError:
        above = os.path.dirname(folder)
        if above == top:
            raise
        make_folders(above, top)
        make_folders(folder, top)


def create_file(path: str, top: str) -> int:
    """Make a new file and open it to be written; folders between it and `top` as needed."""
    try:
        return os.open(path, NEW, 0o666)
    except FileNotFoundError:
        make_folders(os.path.dirname(path), top)
        return os.open(path, NEW, 0o666)


def write_all(file: int, parts: Iterable[bytes | memoryview], offset: int) -> int:
    """Write bytes at an offset of an open file, one after another; give how many it were."""
    left = [memoryview(part).cast("B") for part in parts if len(part)]
    size = 0
    while left:
        done = os.pwritev(file, left[:MOST_PARTS], offset + size)
        if not done:
            raise OSError(errno.EIO, "nothing was written")
        size += done
        whole = 0
        while whole < len(left) and done >= len(left[whole]):
            done -= len(left[whole])
            whole += 1
        del left[:whole]
        if left:
            left[0] = left[0][done:]
    return size


def read_at(file: int, length: int, offset: int) -> bytes:
    """Read bytes at an offset of an open file; fewer where it ends before."""
    try:
        read = os.pread(file, length, offset)
    except (MemoryError, OverflowError):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from None
    if len(read) in (0, length):
        return read
    pieces = [read]
    while read and (missing := length - sum(map(len, pieces))):
        read = os.pread(file, missing, offset + length - missing)
        pieces.append(read)
    return b"".join(pieces)


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a small new file and flush it."""
    file = os.open(path, NEW, 0o666)
    try:
        write_all(file, [content], 0)
        os.fsync(file)
    finally:
        os.close(file)


class Unflushed:
    """Files and folders that were written below a folder and are not known to be on disk.

    A few files stay open until they are flushed, so that no error is missed; where there are many,
    the file system is flushed as a whole, once for all of a process that have written by then.
    """

    _flushing: ClassVar = threading.Lock()
    _open: ClassVar[dict[int, list["Unflushed"]]] = {}  # by file system, the oldest first

    def __init__(self, top: str | os.PathLike[str]) -> None:
        """Begin before anything is written: what fails from now on is reported."""
        self._top = os.fspath(top)
        self._place = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
        self._files: list[int] = []
        self._folders = {self._top}
        self._can_flush_all = can_flush_all()
        self._as_a_whole = False
        self._changed = self._flushed = perf_counter()
        self._failure: OSError | None = None
        with self._flushing:
            self._others = self._open.setdefault(os.fstat(self._place).st_dev, [])
            self._others.append(self)

    def add_file(self, file: int) -> None:
        """Take over an open file that is complete."""
        self._changed = perf_counter()
        if len(self._files) < MANY and not self._as_a_whole:
            self._files.append(file)
        elif self._can_flush_all:
            self._as_a_whole = True
            os.close(file)
            self._close_files()
        else:
            try:
                os.fsync(file)
            finally:
                os.close(file)

    def add_folder(self, folder: str) -> None:
        """Note a folder in which a file or folder was made, and those above it."""
        self._changed = perf_counter()
        while folder not in self._folders:
            self._folders.add(folder)
            folder = os.path.dirname(folder)

    def flush(self) -> None:
        """Return when everything is on disk."""
        if self._as_a_whole or (len(self._folders) > MANY and self._can_flush_all):
            self._flush_all()
            self._close_files()
        else:
            while self._files:
                os.fsync(self._files[-1])
                os.close(self._files.pop())
            for folder in sorted(self._folders, reverse=True):
                flush_folder(folder)
        self._as_a_whole = False
        self._folders = {self._top}

    def _flush_all(self) -> None:
        """Flush the file system, unless that was done since anything was added.

        The oldest folder reports what could not be written of any, as it was opened before all.
        """
        with self._flushing:
            if self._flushed <= self._changed and self._failure is None:
                begun = perf_counter()
                try:
                    flush_all(self._others[0]._place)
                except OSError as failure:
                    for each in self._others:
                        each._failure = failure
                for each in self._others:
                    each._flushed = begun
            if self._failure is not None:
                raise OSError(self._failure.errno, self._failure.strerror)

    def _close_files(self) -> None:
        """Close the files without flushing each."""
        while self._files:
            os.close(self._files.pop())

    def close(self) -> None:
        """Let go of everything, flushed or not."""
        self._close_files()
        if self._place >= 0:
            with self._flushing:
                self._others.remove(self)
            os.close(self._place)
            self._place = -1


DEEPEST: Final = 64  # folders in folders of a store


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
