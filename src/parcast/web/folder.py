"""The files of the page: copies in a folder of their own, the only ones that commands can read."""

import hashlib
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, Literal, Self

from parcast.errors import ParameterError
from parcast.units import shown

FileKind = Literal["program", "machine", "timings", "profile", "other"]
MOST_FILES: Final = 100
LARGEST: Final = 16_000_000  # of a file [B]
LONGEST_NAME: Final = 80
_OTHER = re.compile(r"[^A-Za-z0-9._+-]+")


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page."""

    name: str
    kind: FileKind
    sha256: str


class PageFolder:
    """A folder that is gone when the page ends; a file of a name takes the place of the last."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="parcast-web-")
        self.before = os.getcwd()
        self._files: dict[str, PageFile] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        """Work in the folder, so that messages and command lines have names of files alone."""
        os.chdir(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        os.chdir(self.before)
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def files(self) -> Sequence[PageFile]:
        """All files, in the order in which they came."""
        return tuple(self._files.values())

    def add(self, name: str, content: bytes) -> PageFile:
        """Take a file in, or refuse it."""
        own = plain_name(name)
        if len(content) > LARGEST:
            _refuse(own, f"have at most {LARGEST / 1e6:.0f} MB", f"{len(content) / 1e6:.0f} MB")
        with self._lock:
            if own not in self._files and len(self._files) >= MOST_FILES:
                _refuse(own, f"be one of at most {MOST_FILES} files", "more")
            draft = Path(self.path, f".{own}")  # unknown to commands until it is known to be good
            try:
                draft.write_bytes(content)
                kind = _kind_of(str(draft), own, content)
                draft.replace(Path(self.path, own))
            finally:
                draft.unlink(missing_ok=True)
            added = PageFile(own, kind, hashlib.sha256(content).hexdigest())
            self._files[own] = added
        return added

    def remove(self, name: str) -> None:
        """Forget a file, if it is there."""
        with self._lock:
            if self._files.pop(name, None):
                Path(self.path, name).unlink(missing_ok=True)


def plain_name(name: str) -> str:
    """Name of a file without its folders and without signs that mean something elsewhere.

    >>> plain_name("/etc/my runs;1.csv"), plain_name("..")
    ('my_runs_1.csv', 'file')
    """
    last = re.split(r"[/\\]", name)[-1]
    return _OTHER.sub("_", last).lstrip("._-+")[-LONGEST_NAME:].lstrip("._-+") or "file"


def _kind_of(path: str, name: str, content: bytes) -> FileKind:
    """Tell what a file holds; a description that names files elsewhere is refused."""
    from parcast.characterisation.profiles.reading import kind_of_profile
    from parcast.cli.kinds import kind_of

    if not content.strip():
        _refuse(name, "hold something", "an empty file")
    if kind_of_profile(path):
        return "profile"
    kind = kind_of(path)
    if kind not in ("program", "machine"):
        return "other" if name.lower().endswith(".toml") else "timings"
    _refuse_other_files(name, content)
    return "program" if kind == "program" else "machine"


def _refuse_other_files(name: str, content: bytes) -> None:
    """Refuse a program whose costs are in a file of another folder; here all are in one."""
    try:
        keys = tomllib.loads(content.decode("utf-8-sig"))
    except ValueError:
        return  # who reads it says what is wrong with it, and follows no path
    phases = keys.get("phase")
    for phase in phases if isinstance(phases, list) else []:
        io = phase.get("io") if isinstance(phase, dict) else None
        costs = io.get("costs") if isinstance(io, dict) else None
        if isinstance(costs, str) and costs != plain_name(costs):
            raise ParameterError(
                name,
                must="name files without folders",
                got=f"costs = {shown(costs)!r}",
                hint="Add that file here too, and write its name alone.",
            )


def _refuse(name: str, must: str, got: str) -> None:
    raise ParameterError(name, must=must, got=got, hint="Use another file.")
