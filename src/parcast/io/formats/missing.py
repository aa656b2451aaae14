"""Libraries of other tools, which few need and which are therefore extras of parcast."""

import shlex
from importlib import import_module
from typing import Any

from parcast.errors import FileProblems, Problem
from parcast.io.faults import Faults


class MissingLibrary(  # type: ignore[misc]  # noqa: N818 - both have a path; says what is missing
    FileProblems,
    ModuleNotFoundError,
):
    """A file that only a library can read that is not installed; `name` says which."""


def library(name: str, faults: Faults, *, extra: str, otherwise: str) -> Any:
    """Load the library that reads a file.

    Parameters
    ----------
    name : str
        What is imported.
    faults : Faults
        Those of the file.
    extra : str
        The extra of parcast that installs it.
    otherwise : str
        What to do without it, one sentence that takes `{path}`.

    Raises
    ------
    MissingLibrary
        If it is not installed, or does not load on this machine.
    """
    try:
        return import_module(name)
    except (ImportError, OSError, RuntimeError) as error:  # darshan: no libdarshan-util found
        is_absent = isinstance(error, ModuleNotFoundError) and error.name == name
        why = "which is not installed" if is_absent else f"which does not load: {error}"
        route = otherwise.format(path=shlex.quote(faults.path))
        message = f"needs {name}, {why}. Install it: pip install 'parcast[{extra}]'. {route}"
        missing = MissingLibrary(faults.path, [Problem(message=message)])
        missing.name = name
        raise missing from error
