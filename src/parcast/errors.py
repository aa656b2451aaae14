"""What goes wrong, in words a person can act on.

Every message says what must be how, what was got, and what to do. A fault in a file also says
where, and all faults of a file come back together.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


class ParcastError(Exception):
    """Base of every error that parcast raises on purpose."""


class ParameterError(ParcastError, ValueError):
    """A value lies outside its domain."""


class FitFailed(ParcastError, ArithmeticError):  # noqa: N818 - says what happened, as a result
    """The measurements do not carry the forecast or the fit that was asked of them."""


class RunFailed(ParcastError, RuntimeError):  # noqa: N818 - says what happened, as a result
    """A program that was to run did not start, or did not end as it should."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One fault in a file: where it is and what to do about it."""

    message: str  # "must be a time above 0, got 'fast'. Write seconds as a number."
    line: int | None = None  # counted from 1, as an editor does; None: the whole file
    field: str = ""  # the column or key the fault is in


class FileProblems(ParcastError, ValueError):  # noqa: N818 - it holds many
    """A file that cannot be used as it stands, with everything that is wrong with it."""

    def __init__(self, path: str, problems: Sequence[Problem], *, unlisted: int = 0) -> None:
        self.path = path
        self.problems = tuple(problems)
        self.unlisted = unlisted  # further faults that were counted and not kept
        super().__init__(_listing(path, self.problems, unlisted))


def _listing(path: str, problems: Sequence[Problem], unlisted: int) -> str:
    """Lay the faults out in aligned columns, as an editor's user can follow them."""
    count = len(problems) + unlisted
    lines = [f"{path}: {count} problem{'s' if count > 1 else ''}"]
    places = [f"line {x.line}" if x.line is not None else "file" for x in problems]
    place_width = max(map(len, places), default=0)
    field_width = max((len(x.field) for x in problems), default=0)
    for place, problem in zip(places, problems, strict=True):
        field = f"{problem.field:{field_width}}  " if field_width else ""
        lines.append(f"  {place:{place_width}}  {field}{problem.message}")
    if unlisted:
        lines.append(f"  and {unlisted} more of the same kinds.")
    return "\n".join(lines)


def require(name: str, value: object, ok: object, *, must: str, hint: str) -> None:
    """Raise `ParameterError` naming the first element of `value` that is not `ok`.

    Parameters
    ----------
    name : str
        What the caller calls the value.
    value : array_like
        What was given.
    ok : array_like of bool, broadcastable to the shape of `value`
        Which elements are in the domain.
    must, hint : str
        The domain ("be at least 1") and what to do ("Count processors from 1.").

    Raises
    ------
    ParameterError
        "`name` must `must`, got ELEMENT. `hint`"

    Examples
    --------
    >>> require("p", 4, True, must="be at least 1", hint="Count processors from 1.")
    """
    import numpy as np  # late: the command line names these errors before it needs arrays

    accepted = np.asarray(ok, dtype=bool)
    if accepted.all():
        return
    given = np.asarray(value)
    first = given[~np.broadcast_to(accepted, given.shape)].flat[0]
    got = f"{first:g}" if isinstance(first, np.number | np.bool_) else repr(first)
    raise ParameterError(f"{name} must {must}, got {got}. {hint}")


def as_number(name: str, value: object, *, hint: str) -> float:
    """Value as a float: what is no number, such as text, is refused in words.

    Parameters
    ----------
    name : str
        What the caller calls the value.
    value : object
        What was given.
    hint : str
        What to do ("Give it in seconds.").

    Raises
    ------
    ParameterError
        "`name` must be a number, got VALUE. `hint`"

    Examples
    --------
    >>> as_number("time_limit", "5s", hint="Give it in seconds.")
    Traceback (most recent call last):
    parcast.errors.ParameterError: time_limit must be a number, got '5s'. Give it in seconds.
    """
    if not isinstance(value, str | bytes):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)  # type: ignore[arg-type]  # whatever was given
    raise ParameterError(f"{name} must be a number, got {value!r:.60}. {hint}")


def as_whole(name: str, value: Any, *, least: int, hint: str) -> int:
    """Value as an int: what is no whole number of at least `least` is refused in words.

    Parameters
    ----------
    name : str
        What the caller calls the value.
    value : object
        What was given.
    least : int
        The least that is accepted.
    hint : str
        What to do ("Count from 1.").

    Raises
    ------
    ParameterError
        "`name` must be a whole number of at least `least`, got VALUE. `hint`"

    Examples
    --------
    >>> as_whole("seed", float("inf"), least=0, hint="Any will do.")
    Traceback (most recent call last):
    parcast.errors.ParameterError: seed must be a whole number of at least 0, got inf. Any will do.
    """
    number = as_number(name, value, hint=hint)
    ok = number >= least and number.is_integer()
    require(name, value, ok, must=f"be a whole number of at least {least}", hint=hint)
    return int(value)


def require_kind(name: str, value: object, kind: type, *, hint: str) -> None:
    """Refuse in words what is not of a class.

    Parameters
    ----------
    name : str
        What the caller calls the value.
    value : object
        What was given.
    kind : type
        What it must be.
    hint : str
        What to do ("Read it with parcast.read_program(path).").

    Raises
    ------
    ParameterError
        "`name` must be a KIND, got CLASS. `hint`"

    Examples
    --------
    >>> require_kind("told", 3, str, hint="Give a text.")
    Traceback (most recent call last):
    parcast.errors.ParameterError: told must be a str, got int. Give a text.
    """
    if not isinstance(value, kind):
        raise ParameterError(
            f"{name} must be a {kind.__name__}, got {type(value).__name__}. {hint}"
        )


def as_list(name: str, values: object, *, hint: str) -> list[Any]:
    """Values as a list: one alone, text or None is refused in words.

    Parameters
    ----------
    name : str
        What the caller calls them.
    values : object
        What was given.
    hint : str
        What to do ("Give such as [1, 2, 4].").

    Raises
    ------
    ParameterError
        "`name` must be a sequence, got VALUE. `hint`"

    Examples
    --------
    >>> as_list("p", 2.5, hint="Give such as [1, 2, 4].")
    Traceback (most recent call last):
    parcast.errors.ParameterError: p must be a sequence, got 2.5. Give such as [1, 2, 4].
    """
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        with suppress(TypeError):  # an array without axes
            return list(values)
    raise ParameterError(f"{name} must be a sequence, got {values!r:.60}. {hint}")
