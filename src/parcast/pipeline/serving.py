"""The server stage as a file: every completed reduction is added to it during the run.

A resumed run keeps what was delivered up to its checkpoint, and no more.
"""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

from parcast.errors import ParameterError, RunFailed
from parcast.files.document import check_place
from parcast.pipeline.engine.job import Reduction
from parcast.pipeline.values import plain
from parcast.units import shown


class FileServer:
    """Adds reductions to a file, each written before the next is taken."""

    def __init__(self, path: Path, written: Callable[[Reduction], bytes]) -> None:
        self._path, self._written = path, written
        self._is_begun = False

    def resume(self, delivered: int) -> None:
        """Keep the first reductions of the file, as many as were delivered."""
        self._is_begun = True
        end = self._end_of(delivered) if delivered and self._path.exists() else 0
        with self._path.open("ab") as stream:
            stream.truncate(end)

    def __call__(self, reduction: Reduction) -> None:
        """Add a reduction."""
        try:
            if not self._is_begun:
                self.resume(0)
            with self._path.open("ab") as stream:
                stream.write(self._written(reduction))
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as failure:
            why = (failure.strerror or str(failure)).lower()
            raise RunFailed(
                f"Reductions cannot be written to {self._path}: {why}. Choose another file."
            ) from failure

    def _end_of(self, delivered: int) -> int:
        """Find where a number of reductions ends in the file [B]."""
        with self._path.open("rb") as stream:
            for _ in range(delivered):
                if self._written is as_line:
                    stream.readline()
                else:
                    pickle.load(stream)
            return stream.tell()


def as_line(reduction: Reduction) -> bytes:
    """Write a reduction as a line of JSON; arrays and sets as lists."""
    document = {"first": reduction.first, "stop": reduction.stop, "value": reduction.value}
    return json.dumps(document, default=plain).encode() + b"\n"


def as_pickle(reduction: Reduction) -> bytes:
    """Pickle a reduction."""
    return pickle.dumps(reduction, protocol=5)


def file_server(path: str | Path) -> FileServer:
    """Server stage that adds reductions to a file, by its ending ``.jsonl`` or ``.pickle``."""
    formats = {".jsonl": as_line, ".pickle": as_pickle}
    ending = Path(path).suffix.lower()
    if ending not in formats:
        raise ParameterError(
            "server",
            must="be a function, or a file that ends in .jsonl or .pickle",
            got=f'"{shown(str(path))}"',
            hint="The ending chooses the format.",
        )
    check_place(path)
    return FileServer(Path(path).absolute(), formats[ending])
