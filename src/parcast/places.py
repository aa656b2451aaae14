"""Objects named by where they stand, "parcast.matching.command:command", loaded when asked for."""

from importlib import import_module
from typing import Any


def load(place: str) -> Any:
    """Give the object of a module that `place` names, or the module where it names no object.

    >>> load("math:sqrt")(9.0)
    3.0
    """
    module, _, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found
