"""What is said when an array cannot be written or read: what, where, and what to do."""

import errno
import os
from typing import Final

from parcast.advice import Command, File
from parcast.errors import FileProblems, ParameterError, Problem, RunFailed

REMEDIES: Final = {
    errno.ENOSPC: "Free space there, or choose another place.",
    errno.EDQUOT: "Delete files or ask for a larger quota, or choose another place.",
    errno.EROFS: "Choose a place that can be written to.",
    errno.EACCES: "Choose a place that you may write to.",
    errno.EPERM: "Choose a place that you may write to.",
    errno.EIO: "Look for errors of the disk in the system log, and choose another place.",
    errno.ENOENT: "The draft was removed meanwhile, or the place: write it again.",
    errno.EMFILE: f"Allow more open files: {Command(('ulimit', '-n', '4096'))}",
    errno.ENOMEM: "Write to a store of smaller subchunks, or where there is more memory.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}
OTHERWISE: Final = "Choose another place."


def why(failure: OSError) -> str:
    """Say what the system says, as part of a sentence."""
    return (failure.strerror or str(failure)).lower()


def not_written(what: str, target: str, failure: OSError, state: str) -> RunFailed:
    """Say that something cannot be written, and what is at its target now."""
    remedy = REMEDIES.get(failure.errno or 0, OTHERWISE)
    return RunFailed(f"{what} cannot be written to {target}: {why(failure)}. {state} {remedy}")


def not_readable(path: str | os.PathLike[str], failure: OSError) -> FileProblems:
    """Say that a file cannot be read."""
    return problem(path, f"cannot be read: {why(failure)}.")


def problem(path: str | os.PathLike[str], message: str) -> FileProblems:
    """One fault of a file."""
    return FileProblems(os.fspath(path), [Problem(message=message)])


def is_busy(target: str, owner: str, lock: str = "") -> RunFailed:
    """Say that another process writes to the same place.

    `lock` is a file that stays when its process ends: the file system has no locks.
    """
    ended = f" If that process has ended, delete {lock}." if lock else ""
    return RunFailed(
        f"{target} cannot be written now: {owner} is writing it. "
        f"Wait for it to end, or choose another place.{ended}"
    )


def is_busy_here(target: str) -> RunFailed:
    """Say that this process writes to the same place already."""
    return RunFailed(
        f"{target} cannot be written now: a request of this program is writing it. "
        "Call wait() on its handle first."
    )


def is_no_lock(target: str, lock: str) -> RunFailed:
    """Say that something has the name of the lock of a place, and was not made by parcast."""
    return RunFailed(
        f"{target} cannot be written: {lock} must be a lock of parcast, and is something else. "
        "Nothing of it was changed. Move it away."
    )


def _refused(must: str, got: str, hint: str) -> ParameterError:
    """Refuse a path."""
    return ParameterError("path", must=must, got=got, hint=hint)


def within_store(target: str, store: str) -> ParameterError:
    """Refuse a place inside a store."""
    return _refused(
        "not lie inside a store", f"{target}, which is in {store}", "Choose a place beside it."
    )


def exists(target: str) -> ParameterError:
    """Refuse to replace a store that nobody allowed to replace."""
    return _refused(
        "be a place where nothing is",
        f"{target}, which exists",
        "Choose another name, or pass overwrite=True to replace it.",
    )


def no_store(target: str, kind: str) -> ParameterError:
    """Refuse to replace what is no store."""
    return _refused(
        f"be a new place or {kind} to be replaced",
        f"{target}, which is something else",
        "Choose another name; nothing was deleted.",
    )


def no_path(path: object) -> ParameterError:
    """Refuse what is no path."""
    return ParameterError("path", must="be a path", got=f"{path!r:.60}", hint="Example: out.zarr.")


def no_version(target: str) -> ParameterError:
    """Refuse to change a link that was not made for versions."""
    return _refused(
        "be a new place, a store, or a link to a version of it",
        f"{target}, a link to something else",
        "Choose another name, or remove the link; nothing was changed.",
    )


def no_folder(folder: str) -> ParameterError:
    """Refuse a place in a folder that there is not."""
    return _refused(
        "be in a folder that exists",
        folder,
        f"Make it: {Command(('mkdir', '-p', File(folder)))}, or check the path.",
    )
