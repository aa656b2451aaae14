"""Folders for the files of a run, removed when it ends; those of a killed one by the next.

Ranks answer with files in them, which may end in half a line.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from parcast.errors import ParameterError, RunFailed
from parcast.files.document import require_umask
from parcast.files.held import hold, host_mark, left_behind, let_go
from parcast.mpi.leftovers import remove_shared_memory


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
    require_umask()
    place = Path(tempfile.gettempdir() if directory is None else directory)
    own = f"{prefix}{host_mark()}-"
    remove_abandoned(place, own)
    while True:
        with tempfile.TemporaryDirectory(
            prefix=own, dir=place, ignore_cleanup_errors=True
        ) as name:
            lock = hold(Path(name))
            try:
                if os.path.exists(name):  # else another run took it for abandoned before that
                    yield Path(name)
                    return
            finally:
                let_go(lock)


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
    for folder in left_behind(place, f"{prefix}*"):
        with suppress(OSError):  # it is no folder
            began = min(path.stat().st_mtime for path in (folder, *folder.iterdir()))
            shutil.rmtree(folder, ignore_errors=True)
            remove_shared_memory(began)


def documents_in(answer: Path) -> Iterator[Any]:
    """Read what ranks have added to a file as lines of JSON, whole lines only."""
    if answer.exists():
        for line in answer.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)
