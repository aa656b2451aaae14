"""What a program gives to its regions, and what is refused of it."""

from collections.abc import Callable
from typing import Any

from parcast.errors import ParameterError


def require_number(name: str, given: object) -> None:
    """Refuse what is no finite number."""
    try:
        is_number = abs(float(given)) < float("inf")  # type: ignore[arg-type]  # what is none is refused
    except (TypeError, ValueError):
        is_number = False
    if not is_number:
        raise ParameterError(f"{name} must be a finite number, got {given!r:.60}.")


def require_count(name: str, given: object) -> None:
    """Refuse what is no finite number of at least 0."""
    require_number(name, given)
    if float(given) < 0:  # type: ignore[arg-type]  # it is a number, as was seen
        raise ParameterError(f"{name} must be at least 0, got {given!r:.60}.")


def require_call_that_computes(name: str, function: Callable[..., Any]) -> None:
    """Refuse to time calls that only make a generator or a coroutine, which runs later."""
    import inspect

    runs_later = (
        inspect.isgeneratorfunction(function)
        or inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
    )
    if runs_later:
        called = getattr(function, "__name__", "a function")
        raise ParameterError(
            f"{name} must not time calls of {called}, which is a generator or a coroutine: its "
            'call ends before it runs. Put "with region(...)" around what computes in it.'
        )
