"""Collective array I/O: arrays of a parallel program, written and read through I/O servers.

The geometry of arrays on clients and servers, the law of a request, its simulation, and plans;
the library that writes and reads; and the files.
"""

from typing import TYPE_CHECKING, Final

from parcast.places import public_names

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

__getattr__, __dir__ = public_names(globals(), _HOME)
