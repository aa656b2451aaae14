"""Keys in a file, and sorted keys in another: the disk of the sorters.

The input is written before the run, flushed to the device and dropped from the page cache where
the system allows it, so that reading it reads the device. The output is on the device when the run
ends.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from parcast.errors import RunFailed
from parcast.mpi.folders import failing_for, folder_for
from parcast.units import format_quantity

Keys = NDArray[np.int64]

BLOCK: Final = 1 << 20  # keys that are made, read and written at a time
KEY: Final = 8  # [B]


def keys_of(n: int, seed: int) -> Keys:
    """Give the keys of a run: n whole numbers below 2^63, at random."""
    parts = list(key_blocks(n, seed))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def key_blocks(n: int, seed: int) -> Iterator[Keys]:
    """Give the keys of a run, a block at a time."""
    source = np.random.default_rng(seed)
    for first in range(0, n, BLOCK):
        yield source.integers(0, 2**63 - 1, min(BLOCK, n - first), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class KeyFiles:
    """A folder of its own with the two files."""

    folder: Path
    n: int  # keys [1]
    kept: ExitStack  # removes the folder

    @property
    def input(self) -> Path:
        """The file of the keys as they come."""
        return self.folder / "keys"

    @property
    def output(self) -> Path:
        """The file of the sorted keys."""
        return self.folder / "sorted"

    @classmethod
    def written(cls, directory: Path | None, n: int, seed: int) -> Self:
        """Write the input into a new folder; where there is no room, nothing of it is left."""
        place = directory or Path(tempfile.gettempdir())
        with failing_for(place, "the keys"), ExitStack() as made:
            _require_room(place, 2 * KEY * n)
            folder = made.enter_context(folder_for("parcast-keys-", place))
            files = cls(folder, n, ExitStack())
            with files.input.open("wb", buffering=0) as stream:
                for block in key_blocks(n, seed):
                    _write_all(stream.fileno(), block)
                _flush(stream.fileno())
            files.kept.push(made.pop_all())
        return files

    def read(self) -> Keys:
        """Read the input from the device."""
        return self._keys(self.input)

    def read_output(self) -> Keys:
        """Read the output."""
        return self._keys(self.output)

    def write(self, keys: Keys) -> None:
        """Write the output through to the device."""
        with (
            failing_for(self.folder.parent, "the keys"),
            self.output.open("wb", buffering=0) as stream,
        ):
            for first in range(0, keys.size, BLOCK):
                _write_all(stream.fileno(), keys[first : first + BLOCK])
            os.fsync(stream.fileno())

    def remove(self) -> None:
        """Remove the folder and what is in it."""
        self.kept.close()

    def _keys(self, path: Path) -> Keys:
        keys = np.empty(self.n, dtype=np.int64)
        with failing_for(self.folder.parent, "the keys"), path.open("rb", buffering=0) as stream:
            for first in range(0, self.n, BLOCK):
                left = keys[first : first + BLOCK].data.cast("B")
                while left:
                    count = stream.readinto(left)
                    if not count:
                        raise RunFailed(
                            f"{path} is shorter than when it was written. Run it again."
                        )
                    left = left[count:]
        return keys


def _write_all(number: int, keys: Keys) -> None:
    """Write keys to an open file, all of them: a nearly full disk may take only a part."""
    left = keys.data.cast("B")
    while left:
        left = left[os.write(number, left) :]


def _flush(number: int) -> None:
    """Bring a file to the device, and forget what of it is in memory."""
    os.fsync(number)
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)


def _require_room(place: Path, needed: int) -> None:
    """Refuse a directory that is too full, before anything is written to it."""
    free = shutil.disk_usage(place).free
    if free < needed:
        raise RunFailed(
            f"{place} has {format_quantity(free, 'size')} free, but the files of the keys need "
            f"{format_quantity(needed, 'size')}. Use fewer keys or another directory."
        )
