"""Planning a parallel pipeline: ranks, pipelines, fan-in and batch of the least balanced time.

`plan_pipeline` is loaded when it is first asked for: a command's help needs no numpy.
"""

from typing import Any

__all__ = ["plan_pipeline"]


def __getattr__(name: str) -> Any:
    """Load the public name."""
    if name != "plan_pipeline":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from parcast.places import load

    return load(f"{__name__}.plan:plan_pipeline")


def __dir__() -> list[str]:
    """List the public names, and what every module has."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
