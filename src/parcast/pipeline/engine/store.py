"""What a rank holds: the values of completed nodes, the oldest of them on disk if they are many.

Values above a budget are written to files of a folder of the run and read again when they are
merged or sent; values of a checkpoint are read from it when they are first needed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from parcast.errors import RunFailed
from parcast.mpi.payload import Written, read_value, size_of, write_value
from parcast.pipeline.engine.tree import Node
from parcast.units import format_quantity

SMALLEST_SPILLED: Final = 4096.0  # a file costs more than what it would free [B]


@dataclass(slots=True)
class Kept:
    """A value in memory, in a file, or both."""

    size: float  # in memory [B]
    value: Any = None
    path: Path | None = None
    is_ours: bool = False  # the file is removed with the value
    in_memory: bool = True


class Store:
    """Values of nodes by their names."""

    def __init__(self, folder: Path | None, budget: float | None) -> None:
        """Keep values in memory up to a budget [B], and the others in a folder."""
        self._folder, self._budget = folder, budget
        self._kept: dict[Node, Kept] = {}
        self._here: dict[Node, None] = {}  # those in memory that may be spilled, oldest first
        self._in_memory = 0.0

    def __contains__(self, name: Node) -> bool:
        """Tell whether a value is here."""
        return name in self._kept

    def put(self, name: Node, value: Any) -> float:
        """Keep a value; give its size [B]."""
        size = size_of(value)
        self._kept[name] = Kept(size, value)
        if size >= SMALLEST_SPILLED:
            self._here[name] = None
        self._in_memory += size
        self._spill()
        return size

    def adopt(self, name: Node, path: Path, size: float) -> None:
        """Keep a value that lies in a file of a checkpoint."""
        self._kept[name] = Kept(size, path=path, in_memory=False)

    def take(self, name: Node) -> Any:
        """Give a value away."""
        kept = self._kept.pop(name)
        self._here.pop(name, None)
        if kept.in_memory:
            self._in_memory -= kept.size
            value = kept.value
        else:
            assert kept.path is not None
            value = read_value(kept.path)
        if kept.is_ours and kept.path is not None:
            kept.path.unlink(missing_ok=True)
        return value

    def save(self, name: Node, path: Path) -> Written:
        """Write a value that stays here to a file of a checkpoint."""
        kept = self._kept[name]
        if kept.in_memory:
            return write_value(path, kept.value, durable=True)
        assert kept.path is not None
        return write_value(path, read_value(kept.path), durable=True)

    def _spill(self) -> None:
        """Write the oldest values to files until the others are within the budget.

        Those just made are wanted next: they are merged with what is made after them.
        """
        while self._budget is not None and self._in_memory > self._budget and self._here:
            self._spill_one(next(iter(self._here)))

    def _spill_one(self, name: Node) -> None:
        """Write a value to a file, and forget it in memory."""
        assert self._folder is not None
        kept = self._kept[name]
        kept.path = self._folder / "-".join(map(str, name))
        try:
            write_value(kept.path, kept.value)
        except OSError as failure:
            why = (failure.strerror or str(failure)).lower()
            raise RunFailed(
                f"A result of {format_quantity(kept.size, 'size')} cannot be written to "
                f"{self._folder}: {why}. "
                "Choose a directory with more space, allow more memory, or use more shards."
            ) from failure
        kept.value, kept.in_memory, kept.is_ours = None, False, True
        del self._here[name]
        self._in_memory -= kept.size
