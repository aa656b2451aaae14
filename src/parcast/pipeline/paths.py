"""The files that names stand for: files, folders with all that is in them, and patterns."""

import glob
import os
from collections.abc import Iterator, Sequence

from parcast.errors import ParameterError
from parcast.files.faults import AnyPath, as_paths

_HINT = "Name files, folders or patterns such as 'docs/**/*.html'."


def document_paths(names: AnyPath | Sequence[AnyPath]) -> list[str]:
    """Give the files that names stand for, each once: in the order of the names, folders sorted.

    Folders are searched to any depth; hidden files and folders in them are left out, and links to
    folders are not followed. A pattern may hold `*`, `?`, `[...]` and `**`.
    """
    found: dict[str, None] = {}
    for name in as_paths(names, hint=_HINT):
        place = os.fspath(name)
        if place == "-":
            raise ParameterError(
                "documents",
                must="be files, whose places in them are given",
                got="standard input",
                hint="Save it to a file first.",
            )
        files = list(files_of(place))
        if not files:
            raise ParameterError(place, must="hold documents", got="no file", hint=_remedy(place))
        found.update(dict.fromkeys(files))
    return list(found)


def files_of(place: str) -> Iterator[str]:
    """Give the files of a folder or pattern, and any other name as it is."""
    if os.path.isdir(place):
        yield from _within(place)
    elif not os.path.lexists(place) and glob.has_magic(place):
        for path in sorted(glob.glob(place, recursive=True)):
            if not os.path.isdir(path):
                yield path
    else:
        yield place  # a name that is wrong is refused where it is opened, with what may be meant


def _within(folder: str) -> Iterator[str]:
    """Give the files in a folder and its folders, sorted by name."""
    for path, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(x for x in folders if not x.startswith("."))
        for name in sorted(names):
            file = os.path.join(path, name)
            if not name.startswith(".") and (os.path.isfile(file) or os.path.islink(file)):
                yield file


def _refuse(error: OSError) -> None:
    raise ParameterError(
        error.filename or "folder",
        must="be readable",
        got=(error.strerror or str(error)).lower(),
        hint="Allow it, or leave it out.",
    ) from error


def _remedy(place: str) -> str:
    if os.path.isdir(place):
        return "Name a folder with files in it; hidden files do not count."
    return "Check the pattern, and quote it so that the shell passes it on."
