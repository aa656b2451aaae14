"""What a reader of timings must know of how they were read, as warnings in Python."""

import warnings
from collections.abc import Iterable
from inspect import currentframe
from itertools import takewhile
from traceback import walk_stack


def bounds_among(failed: int) -> str:
    """Say how many runs that failed were stopped, so that their times are bounds.

    >>> bounds_among(2)
    '2 of them count as lower bounds of the time'
    """
    are = "counts as a lower bound" if failed == 1 else "count as lower bounds"
    return f"{failed} of them {are} of the time"


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
