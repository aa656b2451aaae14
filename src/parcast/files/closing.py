"""What is closed, or given up, when a block of `with` ends."""

import os
from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something that the end of a block closes, however the block ends."""

    __slots__ = ()

    def __enter__(self) -> Self:
        """Begin the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close it; a second time does nothing."""


class OpenFile(Closing):
    """A file that the system has open, by its number; -1 once it is closed."""

    _file: int

    def close(self) -> None:
        """Close the file, flushed or not."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
