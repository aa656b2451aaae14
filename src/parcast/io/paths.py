"""One path or several, as the functions that read files take them."""

import os
from collections.abc import Sequence
from typing import TypeAlias

from parcast.errors import ParameterError, as_list

AnyPath: TypeAlias = str | os.PathLike[str]


def as_paths(paths: AnyPath | Sequence[AnyPath], *, hint: str) -> list[AnyPath]:
    """Paths as a list: one alone will do.

    Parameters
    ----------
    paths : path or sequence of path
        At least one.
    hint : str
        What to do where they are something else ("Name the files to import.").

    Raises
    ------
    ParameterError
        If there is none, or it is something else alone.

    Examples
    --------
    >>> as_paths("a.csv", hint="Name files."), as_paths(["a.csv", "b.csv"], hint="Name files.")
    (['a.csv'], ['a.csv', 'b.csv'])
    >>> as_paths([], hint="Name files.")
    Traceback (most recent call last):
    parcast.errors.ParameterError: paths must name a file, got none. Name files.
    """
    if isinstance(paths, str | os.PathLike):
        return [paths]
    listed: list[AnyPath] = as_list("paths", paths, hint=hint)
    if not listed:
        raise ParameterError(f"paths must name a file, got none. {hint}")
    return listed
