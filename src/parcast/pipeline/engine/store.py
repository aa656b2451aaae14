"""What a rank holds: the values of completed nodes, the oldest of them on disk if they are many.

Values above a budget are written to files of a folder of the run and read again when they are
merged or sent; values of a checkpoint are read from it when they are first needed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from parcast.errors import FAILURES, FileProblems, Problem, RunFailed, cause_of, is_of_system
from parcast.mpi.payload import WrittenValue, read_value, size_of, write_value
from parcast.pipeline.engine.desk import span
from parcast.pipeline.engine.failures import unreadable, unsendable
from parcast.pipeline.engine.tree import Node
from parcast.units import format_quantity

SMALLEST_SPILLED: Final = 4096.0  # a file costs more than what it would free [B]


@dataclass(slots=True)
class KeptValue:
    """A value in memory, in a file, or both."""

    size: float  # in memory [B]
    items: tuple[int, int]  # whose result it is: the first, and the one after the last
    value: Any = None
    path: Path | None = None
    is_ours: bool = False  # the file is removed with the value
    in_memory: bool = True


class ValueStore:
    """Values of nodes by their names."""

    def __init__(self, folder: Path | None, budget: float | None) -> None:
        """Keep values in memory up to a budget [B], and the others in a folder."""
        self._folder, self._budget = folder, budget
        self._kept: dict[Node, KeptValue] = {}
        self._here: dict[Node, None] = {}  # those in memory that may be spilled, oldest first
        self._in_memory = 0.0

    def __contains__(self, name: Node) -> bool:
        return name in self._kept

    def put(self, name: Node, value: Any, items: tuple[int, int] = (0, 1)) -> float:
        """Keep a value, the result of some items, by which messages name it; give its size [B]."""
        size = size_of(value)
        self._kept[name] = KeptValue(size, items, value)
        if size >= SMALLEST_SPILLED:
            self._here[name] = None
        self._in_memory += size
        self._spill()
        return size

    def adopt(self, name: Node, path: Path, size: float, items: tuple[int, int] = (0, 1)) -> None:
        """Keep a value that lies in a file of a checkpoint."""
        self._kept[name] = KeptValue(size, items, path=path, in_memory=False)

    def take(self, name: Node) -> Any:
        """Give a value away."""
        kept = self._kept.pop(name)
        self._here.pop(name, None)
        if kept.in_memory:
            self._in_memory -= kept.size
            value = kept.value
        else:
            value = _read(kept)
        if kept.is_ours and kept.path is not None:
            kept.path.unlink(missing_ok=True)
        return value

    def save(self, name: Node, path: Path) -> WrittenValue:
        """Write a value that stays here to a file of a checkpoint."""
        kept = self._kept[name]
        value = kept.value if kept.in_memory else _read(kept)
        try:
            return write_value(path, value, durable=True)
        except FAILURES as error:
            if is_of_system(error):
                raise RunFailed(
                    f"The checkpoint cannot be written to {path.parent}: {_why(error)}. Choose "
                    "another folder."
                ) from error
            raise RunFailed(
                f"The result of {span(*kept.items)} cannot be kept in the checkpoint: "
                f"{unsendable(error)}."
            ) from error

    def _spill(self) -> None:
        """Write the oldest values to files until the others are within the budget.

        Those just made are wanted next: they are merged with what is made after them.
        """
        while self._budget is not None and self._in_memory > self._budget and self._here:
            self._spill_one(next(iter(self._here)))

    def _spill_one(self, name: Node) -> None:
        assert self._folder is not None
        kept = self._kept[name]
        kept.path = self._folder / "-".join(map(str, name))
        try:
            write_value(kept.path, kept.value)
        except FAILURES as error:
            if is_of_system(error):
                raise RunFailed(
                    f"A result of {format_quantity(kept.size, 'size')} cannot be written to "
                    f"{self._folder}: {_why(error)}. "
                    "Choose a directory with more space, allow more memory, or use more shards."
                ) from error
            raise RunFailed(
                f"The result of {span(*kept.items)} cannot be written to {self._folder}: "
                f"{unsendable(error)}, or allow more memory."
            ) from error
        kept.value, kept.in_memory, kept.is_ours = None, False, True
        del self._here[name]
        self._in_memory -= kept.size


def _read(kept: KeptValue) -> Any:
    """Read a value from its file; one of a checkpoint is not read the next time either."""
    assert kept.path is not None
    try:
        return read_value(kept.path)
    except FAILURES as error:
        if kept.is_ours:
            raise unreadable(*kept.items, "", error) from error
        what = f"the result of {span(*kept.items)}, cannot be read: {cause_of(error).rstrip('.')}"
        message = f"{what}. Delete it to work on these items again."
        raise FileProblems(str(kept.path), [Problem(message=message)]) from error


def _why(failure: BaseException) -> str:
    return (getattr(failure, "strerror", None) or str(failure)).lower()
