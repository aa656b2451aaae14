"""The files of the page: copies in a folder of their own, the only ones that commands can read."""

import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, Literal, NoReturn, Self

from parcast.errors import FileProblems, ParameterError, Problem, one_line
from parcast.units import shown

FileKind = Literal["program", "machine", "timings", "profile", "other"]
MOST_FILES: Final = 100
LARGEST: Final = 16_000_000  # of a file [B]
LONGEST_NAME: Final = 60  # characters, of up to 4 bytes
PREFIX: Final = "parcast-web-"
_OTHER = re.compile(r"[^\w.+-]+")


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page."""

    name: str
    kind: FileKind
    sha256: str
    given: str  # path or name that it was given by


class PageFolder:
    """A folder that is gone when the page ends, however that is; else when the next one begins."""

    def __init__(self) -> None:
        _remove_left()
        self.path = tempfile.mkdtemp(prefix=f"{_own_prefix()}{os.getpid()}-")
        self._remover = _remover(self.path)
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
        if self._remover is not None:
            self._remover.communicate()

    @property
    def files(self) -> Sequence[PageFile]:
        """All files, in the order in which they came."""
        return tuple(self._files.values())

    def add(self, given: str, content: bytes) -> PageFile:
        """Take a file in, or refuse it; one that is given again takes the place of the last."""
        if len(content) > LARGEST:
            _refuse(given, f"have at most {LARGEST / 1e6:.0f} MB", f"{len(content) / 1e6:.0f} MB")
        with self._lock:
            own = self._name_for(given)
            if own not in self._files and len(self._files) >= MOST_FILES:
                raise ParameterError(
                    "the page",
                    must=f"have at most {MOST_FILES} files",
                    got="more",
                    hint="Remove one first.",
                )
            draft = Path(self.path, f".{own}")  # unknown to commands until it is known to be good
            try:
                draft.write_bytes(content)
                kind = _kind_of(str(draft), given, content)
                draft.replace(Path(self.path, own))
            finally:
                draft.unlink(missing_ok=True)
            digest = hashlib.sha256(content).hexdigest()
            self._files[own] = PageFile(own, kind, digest, one_line(given))
            return self._files[own]

    def _name_for(self, given: str) -> str:
        """Name for a file: its own, unless a file from elsewhere has it."""
        own = plain_name(given)
        stem, dot, ending = own.partition(".")
        names = (own, *(f"{stem}-{i}{dot}{ending}" for i in range(2, MOST_FILES + 2)))
        return next(
            x for x in names if x not in self._files or self._files[x].given == one_line(given)
        )

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


def _own_prefix() -> str:
    """What folders of this host begin with, before the number of their process."""
    return f"{PREFIX}{plain_name(socket.gethostname())}-"


def _remover(path: str) -> "subprocess.Popen[bytes] | None":
    """Begin a small process that removes a folder when its pipe from this one is closed.

    It is in a session of its own, where no signal of a terminal reaches it.
    """
    if os.name != "posix":
        return None
    command = ["sh", "-c", 'cat; rm -rf -- "$1"', "sh", path]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def _remove_left() -> None:
    """Remove folders of pages that were killed together with what removes them."""
    for path in Path(tempfile.gettempdir()).glob(f"{_own_prefix()}*"):
        process = path.name.removeprefix(_own_prefix()).partition("-")[0]
        if os.name == "posix" and process.isdigit() and not _is_running(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        pass
    return True


def _kind_of(path: str, name: str, content: bytes) -> FileKind:
    """Tell what a file holds; refuse a description that names files elsewhere."""
    from parcast.characterisation.profiles.reading import kind_of_profile
    from parcast.cli.kinds import kind_of
    from parcast.importers.registry import refuse_no_format

    if not content.strip():
        _refuse(name, "hold something", "an empty file")
    refuse_no_format(path, name)
    if kind_of_profile(path):
        return "profile"
    kind = kind_of(path)
    if kind not in ("program", "machine") and not name.lower().endswith(".toml"):
        return "timings"
    _refuse_other_files(name, content)
    if kind not in ("program", "machine"):
        return "other"  # such as costs, which a program names
    return "program" if kind == "program" else "machine"


def _refuse_other_files(name: str, content: bytes) -> None:
    """Refuse a program whose costs are in a file of another folder; here all are in one."""
    try:
        keys = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        _refuse(name, "be valid TOML", shown(f"{error}"), "Correct it.")
    phases = keys.get("phase")
    for phase in phases if isinstance(phases, list) else []:
        io = phase.get("io") if isinstance(phase, dict) else None
        costs = io.get("costs") if isinstance(io, dict) else None
        if isinstance(costs, str) and costs != plain_name(costs):
            got = f"costs = {shown(costs)!r}"
            hint = "Add that file here too, and write its name alone."
            _refuse(name, "name files without folders", got, hint)


def _refuse(name: str, must: str, got: str, hint: str = "Use another file.") -> NoReturn:
    raise FileProblems(name, [Problem(message=f"must {must}, got {got}.", hint=hint)]) from None
