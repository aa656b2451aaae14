"""The server stage as a file: every completed reduction is added to it during the run.

A resumed run keeps what was delivered up to its checkpoint, and no more.
"""

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from parcast.errors import ParameterError, RunFailed, is_of_system, text_of
from parcast.files.document import check_place, ending_of
from parcast.pipeline.engine.failures import Unfit
from parcast.pipeline.engine.job import Reduction
from parcast.pipeline.values import Converted, json_text
from parcast.units import shown


class FileServer:
    """Adds reductions to a file, each written before the next is taken."""

    def __init__(self, path: Path, written: Callable[[Reduction], bytes]) -> None:
        self._path, self._written = path, written

    def resume(self, delivered: int) -> None:
        """Keep the first reductions of the file, as many as were delivered."""
        with self._failing(), self._path.open("ab+") as stream:
            stream.seek(0)
            for number in range(delivered):
                if not self._has_next(stream):
                    raise RunFailed(
                        f"{self._path} has {number} reductions in place of the {delivered} that "
                        "the interrupted run delivered before its checkpoint. Restore the file, "
                        "or run all again without resuming."
                    )
            stream.truncate(stream.tell())

    def __call__(self, reduction: Reduction) -> None:
        """Add a reduction."""
        with self._failing(), self._path.open("ab") as stream:
            stream.write(self._written(reduction))

    def _has_next(self, stream: IO[bytes]) -> bool:
        """Move past the next reduction of the file, if there is a whole one."""
        if self._written is as_line:
            return stream.readline().endswith(b"\n")
        try:
            pickle.load(stream)
        except Exception:
            return False
        return True

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Say in words that the file cannot be used, or does not take a value."""
        try:
            yield
        except (TypeError, ValueError) as failure:
            why = text_of(failure, str).rstrip(".")
            raise Unfit(
                f"Reductions cannot be written to {self._path}: {why}. Choose a .pickle file."
            ) from failure
        except OSError as failure:
            if not is_of_system(failure):  # of a value
                raise
            why = (failure.strerror or str(failure)).lower()
            raise RunFailed(
                f"Reductions cannot be written to {self._path}: {why}. Choose another file."
            ) from failure


class Callback:
    """Calls a function of the user with every completed reduction."""

    def __init__(self, call: Callable[[Reduction], Any]) -> None:
        self._call = call

    def resume(self, delivered: int) -> None:
        """Begin after reductions that were delivered; what they led to is the user's."""

    def __call__(self, reduction: Reduction) -> None:
        """Call the function."""
        self._call(reduction)


def as_line(reduction: Reduction) -> bytes:
    """Write a reduction as a line of JSON; sets as lists, what is not finite as null."""
    document = {"first": reduction.first, "stop": reduction.stop, "value": reduction.value}
    return json_text(Converted().json(document)).encode() + b"\n"


def as_pickle(reduction: Reduction) -> bytes:
    """Pickle a reduction."""
    return pickle.dumps(reduction, protocol=5)


def server_stage(server: object) -> FileServer | Callback | None:
    """Make the server stage of a function, a file or None."""
    if server is None:
        return None
    if isinstance(server, str | Path):
        return file_server(server)
    if callable(server):
        return Callback(server)
    raise ParameterError(
        "server",
        must="be a function, or a file that ends in .jsonl or .pickle",
        got=shown(text_of(server)),
        hint="A function gets every completed reduction.",
    )


def file_server(path: str | Path) -> FileServer:
    """Server stage that adds reductions to a file, by its ending ``.jsonl`` or ``.pickle``."""
    formats = {".jsonl": as_line, ".pickle": as_pickle}
    must = "be a function, or a file that ends in .jsonl or .pickle"
    ending = ending_of(path, formats, name="server", must=must)
    check_place(path)
    return FileServer(Path(path).absolute(), formats[ending])
