"""What a reader of timings must know of how they were read, as warnings in Python."""

import warnings
from collections.abc import Iterable
from inspect import currentframe
from itertools import takewhile
from traceback import walk_stack
from typing import Final

AS_BOUNDS: Final = "that {} of them took longer than the time given is used"  # of failed runs


class ImportNote(UserWarning):
    """What was left out of timings that were read, or taken for granted."""


def warn_reader(name: str, notes: Iterable[str]) -> None:
    """Give the notes on a file as warnings that name the line of the first caller outside."""
    for note in notes:
        warnings.warn(f"{name}: {note}", ImportNote, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """Stack level of the first caller outside parcast."""
    names = (frame.f_globals.get("__name__", "") for frame, _ in walk_stack(currentframe()))
    return sum(1 for _ in takewhile(lambda name: name.startswith("parcast."), names))
