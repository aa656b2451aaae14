"""A cluster in a box: virtual hosts on this machine, with real processes, real TCP and disks.

`Testbed` is loaded when it is first asked for, because the keeper of a testbed does not need it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parcast.testbed.testbed import Testbed


__all__ = ["Testbed"]


def __getattr__(name: str) -> Any:
    """Load the public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from parcast.testbed.testbed import Testbed

    return Testbed


def __dir__() -> list[str]:
    """List the public names, and what every module has."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
