"""Collective array I/O: arrays of a parallel program, written and read through I/O servers.

The geometry of arrays on clients and servers, the law of a request, its simulation, and plans;
the library that writes and reads; and the files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from parcast.arrays.library.distribution import Block, Boxes
    from parcast.arrays.library.session import connect
    from parcast.arrays.planning.plan_io import plan_io
    from parcast.arrays.store.reading import open_store

__all__ = ["Block", "Boxes", "connect", "open_store", "plan_io"]

_HOME: Final = {
    "Block": "parcast.arrays.library.distribution",
    "Boxes": "parcast.arrays.library.distribution",
    "connect": "parcast.arrays.library.session",
    "open_store": "parcast.arrays.store.reading",
    "plan_io": "parcast.arrays.planning.plan_io",
}


def __getattr__(name: str) -> Any:
    """Load a name of the library when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names, loaded or not, and what every module has."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
