"""Stores and drafts are removed, whatever lies in them and however deep."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
